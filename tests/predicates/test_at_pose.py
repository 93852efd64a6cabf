"""AtPose: at a place, turned the right way."""

from math import exp, pi, radians

import pytest
import torch

from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.predicates import CRITERIA, AtPose
from tests.support.worlds import BRICK, index, make_world, move_gripper, pose

TARGET = (0.1, -0.2, 0.015)
YAW_RAD = 2.0


def world_with(brick):
    world = make_world([BRICK], [brick])
    move_gripper(world, (-0.1, 0.0, 0.4))
    return world


def look(world, criteria="paper", orientation=None):
    if orientation is None:
        orientation = yaw_quaternion(torch.tensor([YAW_RAD]))
    goal = AtPose(index(world, 0), torch.tensor([TARGET]), orientation).with_criteria(
        CRITERIA[criteria]
    )
    outcome = goal.evaluate(world, {})
    assert bool(outcome.holds) == (float(outcome.progress) == 1.0)
    return outcome


def turned(angle_rad, aside_m=0.0):
    return pose(BRICK, TARGET[0] + aside_m, TARGET[1], YAW_RAD + angle_rad)


@pytest.mark.parametrize(("criteria", "limit_deg"), [("paper", 5.0), ("released", 18.0)])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("off_deg", "holds"), [(-0.1, True), (0.1, False)])
def test_angle_boundary(criteria, limit_deg, sign, off_deg, holds):
    assert CRITERIA[criteria].angle_rad == pytest.approx(radians(limit_deg))
    outcome = look(world_with(turned(sign * radians(limit_deg + off_deg))), criteria)
    assert bool(outcome.holds) == holds
    assert (float(outcome.reward) == 6.0) == holds


@pytest.mark.parametrize("turn_rad", [pi / 2, pi, -2.0])
def test_far_from_the_orientation(turn_rad):
    assert not look(world_with(turned(turn_rad)), "released").holds


@pytest.mark.parametrize(("aside_m", "located"), [(0.0, True), (0.06, False)])
def test_it_is_located_at_any_angle(aside_m, located):
    world = world_with(turned(1.0, aside_m))
    orientation = yaw_quaternion(torch.tensor([YAW_RAD]))
    goal = AtPose(index(world, 0), torch.tensor([TARGET]), orientation)
    assert bool(goal.located(world, {})) == located and not bool(goal.placed(world, {}))


def test_whole_turns_and_the_sign_of_a_quaternion_do_not_matter():
    assert look(world_with(turned(2 * pi))).holds
    negative = -yaw_quaternion(torch.tensor([YAW_RAD]))
    assert look(world_with(turned(0.0)), orientation=negative).holds


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(("aside_m", "holds"), [(0.0498, True), (0.0502, False)])
def test_distance_boundary(criteria, aside_m, holds):
    assert bool(look(world_with(turned(0.0, aside_m)), criteria).holds) == holds


def test_lying_on_another_side_does_not_count():
    """Its turn about the vertical is right, but it was tipped over."""
    tip = torch.tensor([[0.70710678, 0.70710678, 0.0, 0.0]])
    q = quaternion_multiply(yaw_quaternion(torch.tensor([YAW_RAD])), tip)
    at = torch.cat((torch.tensor([[TARGET[0], TARGET[1], 0.02]]), q), -1)[0]
    assert not look(world_with(at), "released").holds
    assert look(world_with(at), orientation=q).holds


@pytest.mark.parametrize("criteria", CRITERIA)
def test_held_moving_or_touched(criteria):
    world = world_with(turned(0.0))
    move_gripper(world, (TARGET[0], TARGET[1], 0.0305))
    assert bool(look(world, criteria).holds) == (criteria == "released")
    move_gripper(world, (-0.1, 0.0, 0.4))
    world.set_body_velocity(index(world, 0), torch.tensor([[0, 0, 0, 0, 0, 0.04]]))
    assert not look(world, criteria).holds
    world.set_body_velocity(index(world, 0), torch.zeros(1, 6))
    assert look(world, criteria).holds
    world.hold(index(world, 0), world.pose(index(world, 0)))
    outcome = look(world, criteria)
    assert not outcome.holds and float(outcome.reward) == 5.0


@pytest.mark.parametrize(
    ("aside_m", "turn_rad", "height_m", "reward"),
    [
        (0.02, 0.04 * pi, 0.1, 4 + exp(-0.6)),  # near in both
        (0.02, 0.06 * pi, 0.2, 2 + 1 + (1 + 0.94) / 2),  # near, but turned too far
        (0.13, 0.0, 0.05, 2 + exp(-0.6) + (exp(-0.1) + 1) / 2),
        (0.13, 0.5 * pi, 0.2, 2 + 1 + (exp(-0.1) + 0.5) / 2),
    ],
)
def test_reward_of_carrying_is_the_published_one(aside_m, turn_rad, height_m, reward):
    at = turned(turn_rad, aside_m)
    at[2] = TARGET[2] + height_m
    world = world_with(at)
    world.hold(index(world, 0), world.pose(index(world, 0)))
    assert float(look(world).reward) == pytest.approx(reward, abs=1e-4)


def test_realized_it_stands_there_turned():
    world = world_with(pose(BRICK, 0.3, 0.3, 0.1))
    q = yaw_quaternion(torch.tensor([YAW_RAD]))
    AtPose(index(world, 0), torch.tensor([TARGET]), q).realize(world)
    assert look(world).holds
    assert torch.allclose(world.orientation(index(world, 0)), q)
    assert world.position(index(world, 0))[0].tolist() == pytest.approx(TARGET, abs=1e-5)


def test_description_has_the_rotation():
    q = yaw_quaternion(torch.tensor([radians(-30.0)]))
    goal = AtPose(torch.tensor([0]), torch.tensor([TARGET]), q)
    said = goal.describe(world_with(turned(0.0)))
    assert said == "Put {obj:brick} at (0.1, -0.2) turned to -30 degrees"
    same = AtPose(torch.tensor([0]), torch.tensor([TARGET]), -q)
    assert same.describe(world_with(turned(0.0))) == said
