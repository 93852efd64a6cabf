"""Tests of the shortcuts of drawing: each tells what the longer way tells, bit for bit."""

from itertools import product
from math import pi

import numpy as np
import pytest

from clevrskills.assets import shape
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.setting import TABLETOP
from clevrskills.tasks.end_effector import APART_M, GOAL_M, STARTS_M, _is_apart, position_in
from clevrskills.tasks.l0.trace import DIAMETER_M, WAY_M, _hides, _is_long, _shortest_way_m
from clevrskills.tasks.layout import EpisodeRng, Table, _corners, _Outline, uniform

CAMERAS = [
    TABLETOP.main_camera,
    FixedCamera((0.4, 0.1, 0.5), (-0.1, 0.0, 0.0), 1.0, 256, 320),
    FixedCamera((-0.1, 0.0, 1.0), (-0.1, 0.0, 0.0), 1.0, up=(1.0, 0.0, 0.0), orthographic_m=0.6),
]


def test_uniform_gives_numpys_numbers() -> None:
    limits = np.random.default_rng(1).normal(size=(500, 2))
    one, other = np.random.default_rng(2), np.random.default_rng(2)
    for low, high in np.sort(limits).tolist():
        assert uniform(one, low, high) == other.uniform(low, high)
    assert one.bit_generator.state == other.bit_generator.state


def test_positions_are_numpys() -> None:
    one, other = (EpisodeRng(3, "trace", 0, "train") for _ in range(2))
    for _ in range(200):
        assert position_in(one, GOAL_M).tolist() == other.places.uniform(*GOAL_M).tolist()


@pytest.mark.parametrize("camera", CAMERAS)
def test_a_camera_that_may_not_see_a_point_sees_nothing_around_it(camera: FixedCamera) -> None:
    generator, seen = np.random.default_rng(4), 0
    for center in generator.uniform((-0.6, -0.7, -0.1), (0.6, 0.7, 0.6), (2000, 3)):
        box = center + generator.uniform(0.0, 0.1) * np.array([[-1.0, -1, -1], [1, 1, 1]])
        seen += camera.sees(center[None])
        assert camera.may_see(center.tolist()) == camera.sees(center[None])
        assert camera.may_see(center.tolist()) or not camera.sees(box)
    assert 100 < seen < 1900


@pytest.mark.parametrize("camera", CAMERAS)
def test_a_camera_sees_a_box_if_it_sees_its_corners(camera: FixedCamera) -> None:
    generator, seen = np.random.default_rng(8), 0
    for center in generator.uniform((-0.6, -0.7, -0.1), (0.6, 0.7, 0.6), (2000, 3)):
        half_m = generator.uniform(0.0, 0.1, 3)
        corners = center + half_m * np.array([*product((-1.0, 1.0), repeat=3)])
        a, b, c = half_m.tolist()
        assert camera.sees_box(center.tolist(), (a, b, c)) == camera.sees(corners)
        seen += camera.sees(corners)
    assert 50 < seen < 1900


def test_ways_are_long_if_the_shortest_is() -> None:
    generator, long = np.random.default_rng(9), 0
    for number in (2, 3, 4, 5, 6):
        for _ in range(100):
            places = generator.uniform(*GOAL_M, (number, 3))
            assert _is_long(places) == (_shortest_way_m(places) >= WAY_M)
            long += _is_long(places)
    assert 50 < long < 450


def test_taken_places_are_those_of_the_outlines() -> None:
    generator, taken, refused = np.random.default_rng(5), 0, 0
    items = [shape(name) for name in ("bowl", "hexagon", "star", "letter R", "raindrop")]
    for _ in range(40):
        table = Table(np.random.default_rng(0))
        table.reserve(-0.2, 0.1, 0.09)
        kept = list(table._taken)
        for _ in range(40):
            item = items[generator.integers(len(items))]
            x, y, yaw = generator.uniform((-0.5, -0.5, 0.0), (0.2, 0.5, 2 * pi)).tolist()
            outline = _Outline(_corners(item, x, y, yaw), x, y)
            box = np.zeros((2, len(outline.corners), 3))
            box[..., :2], box[1, :, 2] = outline.corners, 2 * item.half_extents[2]
            fits = all(outline.keeps(0.02, other) for other in kept)
            fits = fits and TABLETOP.main_camera.sees(box.reshape(-1, 3))
            assert table.take(item, x, y, yaw) == fits
            if fits:
                kept.append(outline)
            taken, refused = taken + fits, refused + (not fits)
    assert min(taken, refused) > 100


def test_goals_are_apart_as_their_distance_says() -> None:
    generator, found = np.random.default_rng(6), []
    for _ in range(500):
        goal, others = generator.uniform(*GOAL_M), generator.uniform(*GOAL_M, (2, 3))
        taken = np.array([*STARTS_M, *others])
        nearest_m = np.linalg.norm(taken - goal, axis=1).min()
        assert _is_apart(goal, (*STARTS_M, *others)) == (nearest_m >= APART_M)
        found.append(nearest_m >= APART_M)
    assert 50 < sum(found) < 450


def test_goals_hide_each_other_as_their_angle_says() -> None:
    generator, camera, found = np.random.default_rng(7), TABLETOP.main_camera, []
    for _ in range(500):
        one = generator.uniform(*GOAL_M)
        other = one + generator.normal(size=3) * 0.06
        rays = [place - np.array(camera.eye_m) for place in (one, other)]
        lengths = [float(np.linalg.norm(ray)) for ray in rays]
        least = np.sqrt(max(0.0, 1.0 - (DIAMETER_M / 2 / min(lengths)) ** 2))
        hides = bool(rays[0] @ rays[1] / np.prod(lengths) > least)
        assert _hides(camera, one, other) == hides
        found.append(hides)
    assert 50 < sum(found) < 450


def test_a_pose_is_reached_by_the_same_joint_angles_again() -> None:
    solver, generator = kinematics("xarm6"), np.random.default_rng(8)
    poses = [solver.forward(generator.uniform(-0.5, 0.5, 6)) for _ in range(10)]
    first = [solver.reach(pose) for pose in poses]
    for pose, qpos in reversed(list(zip(poses, first, strict=True))):
        again = solver.reach(pose)
        assert (again is None) == (qpos is None)
        assert qpos is None or again.tolist() == qpos.tolist()  # whatever was asked for between
