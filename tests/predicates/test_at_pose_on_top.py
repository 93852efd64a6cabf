"""AtPoseOnTop: back at a pose on another body."""

from math import pi, radians

import pytest

from clevrskills.core.geometry import yaw_quaternion
from clevrskills.predicates import CRITERIA, AtPoseOnTop
from tests.support.worlds import AREA, CUBE, SLAB, index, make_world, move_gripper, pose

YAW = 0.4


def holds(x=0.0, y=0.0, yaw=YAW, bottom_z=0.01, bottom=1, criteria="paper"):
    world = make_world(
        [CUBE, AREA, SLAB], [pose(CUBE, x, y, yaw, bottom_z), pose(AREA, 0, 0), pose(SLAB, 0, 0.4)]
    )
    move_gripper(world, (-0.2, 0.0, 0.4))
    wanted = pose(CUBE, 0.0, 0.0, YAW, 0.01)[None]
    goal = AtPoseOnTop(index(world, 0), wanted[:, :3], wanted[:, 3:], index(world, bottom))
    return bool(goal.with_criteria(CRITERIA[criteria]).evaluate(world, {}).holds)


@pytest.mark.parametrize("criteria", CRITERIA)
def test_at_the_pose(criteria):
    assert holds(criteria=criteria)
    assert not holds(bottom_z=0.02, criteria=criteria)


def test_elsewhere_on_the_same_area():
    limit = CRITERIA["paper"].position_m
    assert holds(x=limit - 5e-4) and not holds(x=limit + 5e-4)
    assert holds(y=-limit + 5e-4) and not holds(y=-limit - 5e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_turned(sign):
    assert holds(yaw=YAW + sign * radians(4.9)) and not holds(yaw=YAW + sign * radians(5.1))
    released = {"criteria": "released"}
    assert holds(yaw=YAW + sign * radians(17.9), **released)
    assert not holds(yaw=YAW + sign * radians(18.1), **released)
    assert not holds(yaw=YAW + sign * pi / 2)  # a cube looks alike, but it was turned


def test_on_another_body():
    assert not holds(bottom=2)


def test_held_or_moving():
    world = make_world([CUBE, AREA], [pose(CUBE, 0, 0, 0, 0.01), pose(AREA, 0, 0)])
    body, area = index(world, 0), index(world, 1)
    wanted = world.pose(body)
    turn = yaw_quaternion(wanted[:, 0] * 0)
    goal = AtPoseOnTop(body, wanted[:, :3], turn, area)
    assert goal.evaluate(world, {}).holds
    world.hold(body, wanted)
    outcome = goal.evaluate(world, {})
    assert not outcome.holds and float(outcome.reward) == 5.0
