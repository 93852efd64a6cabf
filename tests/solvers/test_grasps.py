"""Grasps are where a cup seals and where there is room for the gripper."""

from math import pi

import numpy as np
import pytest
import torch
from sapien import Pose

from clevrskills.assets import pools, shape
from clevrskills.core import geometry
from clevrskills.sim.robots.description import robot
from clevrskills.sim.suction import cup_samples, sealed_cups
from clevrskills.solvers.grasps import HEAD_HALF_SIZE_M, down, tilted_grasps, vertical_grasps
from tests.support.worlds import CUBE, SLAB, BodySpec, make_world, pose

DESCRIPTION = robot("xarm6")
CUPS = np.array(DESCRIPTION.cup_centers)
RADIUS = DESCRIPTION.cup_radius
SAMPLES = cup_samples(torch.tensor([(x, y, 0.0) for x, y in DESCRIPTION.cup_centers]), RADIUS)
MIDDLE = DESCRIPTION.cup_centers.index((0.0, 0.0))
TOWER = BodySpec("tower", "cube", (0.06, 0.06, 0.20))


def found_in(world, body=0, near_yaw_rad=0.0):
    return vertical_grasps(world, body, CUPS, RADIUS, near_yaw_rad)


def sealed_at(world, grasp, body=0):
    """Which cups seal when the gripper is at a grasp, (N,)."""
    at = np.concatenate((grasp.position, grasp.orientation))
    world._end_effector_pose = torch.as_tensor(at, dtype=torch.float32)[None]
    world.invalidate()
    return sealed_cups(world, SAMPLES)[0][0, body]


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_shape_that_is_picked_has_a_grasp_where_the_middle_cup_seals(split):
    names = pools(split)
    for name in dict.fromkeys(names.top + names.random + names.primitive):
        world = make_world([BodySpec("it", name)], [pose(shape(name), -0.2, 0.1, 0.7)])
        found = found_in(world)
        assert found, name
        for grasp in found[:5]:
            assert bool(sealed_at(world, grasp)[MIDDLE]), name


def test_the_best_grasp_of_a_slab_is_its_middle_with_all_cups():
    world = make_world([SLAB], [pose(SLAB, -0.2, 0.1)])
    best = found_in(world)[0]
    assert best.position == pytest.approx([-0.2, 0.1, 0.03], abs=5e-3)
    assert best.cups == 5 and sealed_at(world, best).all()
    assert best.orientation == pytest.approx(down(0.0))


def test_the_number_of_cups_is_not_exaggerated():
    bar = BodySpec("bar", "cube", (0.12, 0.05, 0.03))
    world = make_world([bar], [pose(bar, -0.2, 0.1, 0.3)])
    found = found_in(world)
    assert len({grasp.cups for grasp in found}) > 1
    for grasp in found[:: max(1, len(found) // 40)]:
        assert int(sealed_at(world, grasp).sum()) >= grasp.cups


def test_grasps_point_down_and_are_on_top():
    world = make_world([CUBE], [pose(CUBE, -0.2, 0.1, 0.3)])
    for grasp in found_in(world):
        axis = Pose(q=grasp.orientation).to_transformation_matrix()[:3, 2]
        assert axis == pytest.approx([0.0, 0.0, -1.0], abs=1e-5)
        assert grasp.position[2] == pytest.approx(0.05, abs=1e-4)


def test_little_turning_of_the_wrist_is_preferred():
    world = make_world([CUBE], [pose(CUBE, -0.2, 0.1)])
    for near in (0.0, 0.8, -2.0):
        best = found_in(world, near_yaw_rad=near)[0]
        turn = float(
            geometry.rotation_angle(torch.as_tensor(best.orientation), torch.as_tensor(down(near)))
        )
        assert min(turn, abs(turn - pi)) < 1e-3


def head_overlaps(grasp, tower_xy, half=0.03):
    """Whether the underside of the gripper's head, seen from above, covers some of the tower."""
    matrix = Pose(q=grasp.orientation).to_transformation_matrix()[:2, :2]
    ticks = [np.linspace(-h, h, 25) for h in HEAD_HALF_SIZE_M]
    points = np.stack(np.meshgrid(*ticks), -1).reshape(-1, 2) @ matrix.T + grasp.position[:2]
    return bool((np.abs(points - tower_xy) < half - 0.008).all(-1).any())


@pytest.mark.parametrize("direction", [(1, 0), (0, 1), (-0.7, 0.7)])
def test_clear_of_a_tall_neighbour(direction):
    tower_xy = np.array([-0.2, 0.1]) + 0.067 * np.array(direction)
    alone = make_world([CUBE], [pose(CUBE, -0.2, 0.1)])
    world = make_world([CUBE, TOWER], [pose(CUBE, -0.2, 0.1), pose(TOWER, *tower_xy)])
    free, found = found_in(alone), found_in(world)
    assert any(head_overlaps(grasp, tower_xy) for grasp in free)  # it would have been in the way
    assert found and len(found) < len(free)
    assert not any(head_overlaps(grasp, tower_xy) for grasp in found)


def test_a_low_neighbour_is_no_obstacle():
    low = BodySpec("low", "cube", (0.06, 0.06, 0.03))
    world = make_world([CUBE, low], [pose(CUBE, -0.2, 0.1), pose(low, -0.13, 0.1)])
    alone = make_world([CUBE], [pose(CUBE, -0.2, 0.1)])
    assert len(found_in(world)) == len(found_in(alone))


def test_no_grasp_on_covered_objects():
    world = make_world([CUBE, SLAB], [pose(CUBE, -0.2, 0.1), pose(SLAB, -0.2, 0.1, bottom_z=0.05)])
    assert found_in(world, 0) == []
    assert found_in(world, 1)


def test_a_body_that_carries_a_small_one_is_grasped_beside_it():
    dice = BodySpec("dice", "cube", (0.03, 0.03, 0.03))
    world = make_world(
        [SLAB, dice], [pose(SLAB, -0.2, 0.1), pose(dice, -0.235, 0.1, bottom_z=0.03)]
    )
    found = found_in(world)
    for grasp in found:
        assert float(np.linalg.norm(grasp.position[:2] - [-0.235, 0.1])) > RADIUS + 0.01


def test_no_grasp_without_a_flat_top():
    tilted = torch.tensor([-0.2, 0.1, 0.05, 0.9238795, 0.3826834, 0.0, 0.0])
    world = make_world([CUBE], [tilted])
    assert found_in(world) == []


@pytest.mark.parametrize("axis", [0, 1])
def test_tilted_objects_are_grasped_at_right_angles_to_a_side(axis):
    """A slab that leans at 45 degrees has no flat top, but two sides that can be got at."""
    q = [0.9238795, 0.0, 0.0, 0.0]
    q[1 + axis] = 0.3826834
    world = make_world([SLAB], [torch.tensor([-0.2, 0.1, 0.08, *q])])
    found = tilted_grasps(world, 0, CUPS, RADIUS)
    assert found_in(world) == [] and found
    for grasp in found[:20]:
        assert bool(sealed_at(world, grasp)[MIDDLE])
        z_axis = Pose(q=grasp.orientation).to_transformation_matrix()[:3, 2]
        assert z_axis[2] < -0.35  # the gripper comes from above, not from below


def test_an_object_on_its_edge_is_grasped_from_the_side():
    """A slab of which no edge is wide enough: the gripper comes level, on its wide faces."""
    thin = BodySpec("thin", "cube", (0.12, 0.12, 0.015))
    world = make_world([thin], [torch.tensor([-0.2, 0.1, 0.06, 0.70710678, 0.70710678, 0.0, 0.0])])
    found = tilted_grasps(world, 0, CUPS, RADIUS)
    assert found_in(world) == [] and found
    for grasp in found[:20]:
        z_axis = Pose(q=grasp.orientation).to_transformation_matrix()[:3, 2]
        assert abs(z_axis[2]) < 0.05 and abs(z_axis[1]) > 0.99
        assert bool(sealed_at(world, grasp)[MIDDLE])


def test_tilted_grasps_have_room_for_the_head_beside_the_object():
    """Between the horns of a moon on its edge a cup would seal, but the head does not fit in."""
    for turn_rad in (0.0, 1.0, 4.0):
        lean = Pose(q=[np.cos(turn_rad / 2), 0.0, np.sin(turn_rad / 2), 0.0])
        q = (lean * Pose(q=[0.70710678, 0.70710678, 0.0, 0.0])).q
        world = make_world(
            [BodySpec("moon", "moon")], [torch.tensor([-0.2, 0.1, 0.05, *q.tolist()])]
        )
        points = world.world_points(torch.tensor([0]))[0].numpy()
        for grasp in tilted_grasps(world, 0, CUPS, RADIUS)[::10]:
            local = Pose(grasp.position, grasp.orientation).inv().to_transformation_matrix()
            seen = points @ local[:3, :3].T + local[:3, 3]
            under = (np.abs(seen[:, :2]) < np.array(HEAD_HALF_SIZE_M) - 0.008).all(-1)
            assert (seen[under, 2] > -0.020).all()


def test_other_bodies_do_not_move_the_grasps_of_one_far_away():
    one = make_world([CUBE], [pose(CUBE, -0.2, 0.1)])
    two = make_world([CUBE, TOWER], [pose(CUBE, -0.2, 0.1), pose(TOWER, 0.1, -0.3)])
    for a, b in zip(found_in(one)[:10], found_in(two)[:10], strict=True):
        assert a.position == pytest.approx(b.position)
