"""The points on an arm, and what they are clear of."""

import numpy as np
import pytest
import torch
from sapien import Pose

from clevrskills.errors import UnknownNameError
from clevrskills.sim.robots.clearance import SPACING_M, arm_surface
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.solvers.planner import motion_planner
from tests.support.worlds import CUBE, make_world

HALF_M = 0.025
"""Of the cube."""


@pytest.fixture(params=ROBOTS)
def name(request):
    return request.param


def neutral(name):
    return np.array(ROBOTS[name].neutral_qpos)


def some_qpos(name, count):
    noise = np.random.default_rng(0).normal(size=(count, len(neutral(name)))) * 0.5
    return np.clip(neutral(name) + noise, *np.array(ROBOTS[name].joint_limits).T)


def with_cube(x, y, z):
    pose = torch.tensor([x, y, z, 1.0, 0.0, 0.0, 0.0], dtype=torch.float32)
    return make_world([CUBE], [pose])


FAR = (5.0, 0.0, 0.025)


def test_points_lie_on_the_links_that_can_be_touched(name):
    points = arm_surface(name).points(neutral(name))
    assert set(points) == {link.name for link in ROBOTS[name].links if link.collision}
    tip = Pose(ROBOTS[name].base_position) * kinematics(name).forward(neutral(name))
    distance = np.linalg.norm(points["gripper"] - tip.p, axis=1)
    assert distance.min() < 0.02 and distance.max() < 0.16
    assert points["gripper"][:, 2].min() == pytest.approx(tip.p[2] - 0.001, abs=1e-3)


def test_no_gap_between_neighbouring_points_is_wide(name):
    for part in arm_surface(name).points(neutral(name)).values():
        gaps = np.linalg.norm(part[:, None] - part[None], axis=-1)
        np.fill_diagonal(gaps, np.inf)
        assert gaps.min(axis=1).max() < 1.5 * SPACING_M


@pytest.mark.parametrize(("gap_m", "clear"), [(0.021, True), (0.019, False), (-0.01, False)])
def test_it_keeps_the_margin_from_bodies(name, gap_m, clear):
    """A cube below the cups."""
    low = arm_surface(name).points(neutral(name))["gripper"][:, 2].min()
    tip = Pose(ROBOTS[name].base_position) * kinematics(name).forward(neutral(name))
    world = with_cube(tip.p[0], tip.p[1], low - gap_m - HALF_M)
    assert arm_surface(name).clear(neutral(name), world, 0.02) == clear


def test_it_is_not_in_its_own_way_where_it_holds_something(name):
    tip = Pose(ROBOTS[name].base_position) * kinematics(name).forward(neutral(name))
    world = with_cube(*tip.p)
    assert not arm_surface(name).clear(neutral(name), world, 0.0)
    world.hold(torch.tensor([0]), world.pose(torch.tensor([0])))
    assert arm_surface(name).clear(neutral(name), world, 0.0)


@pytest.mark.parametrize(("height_m", "clear"), [(0.03, True), (0.01, False), (-0.05, False)])
def test_it_keeps_the_margin_from_the_table(name, height_m, clear):
    base = Pose(ROBOTS[name].base_position)
    qpos = kinematics(name).reach(base.inv() * Pose([-0.15, 0.0, height_m], [0, 1, 0, 0]))
    assert arm_surface(name).clear(qpos, with_cube(*FAR), 0.02) == clear


def test_it_finds_the_solution_of_the_planner(name):
    """A box among random poses of the arm: never clear where the planner sees a collision, and
    collisions only where it is not clear.
    """
    planner, seen = motion_planner(name), set()
    base = Pose(ROBOTS[name].base_position)
    center = np.array([-0.15, 0.05, 0.45])
    pose = base.inv() * Pose(center)
    box = np.full(3, 2 * HALF_M), np.concatenate((pose.p, pose.q))
    planner.set_scene({"cube": box}, None)
    world = with_cube(*center)
    for qpos in some_qpos(name, 150):
        hit = bool(planner._backend.touched(qpos) & {"table", "cube"})
        # what is further than half a spacing apart can't lie between two points
        assert not (hit and arm_surface(name).clear(qpos, world, SPACING_M / 2))
        assert hit or arm_surface(name).clear(qpos, world, -SPACING_M / 2)
        seen.add(hit)
    planner.set_scene({}, None)
    assert seen == {True, False}


def test_unknown_robots_raise():
    with pytest.raises(UnknownNameError, match="unknown robot 'ur5'"):
        arm_surface("ur5")
