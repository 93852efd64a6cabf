"""The end effector at a pose: distance and difference of the quaternions together."""

from math import cos, pi, sin

import pytest
import torch

from clevrskills.predicates import CRITERIA, EndEffectorAtPose
from tests.support.worlds import tabletop

AIM = torch.tensor([-0.2, 0.1, 0.25])


def about_x(angle_rad):
    return torch.tensor([cos(angle_rad / 2), sin(angle_rad / 2), 0.0, 0.0])


TILT = about_x(2.2)


def goal(batch=1, criteria="paper"):
    made = EndEffectorAtPose(AIM.expand(batch, 3), TILT.expand(batch, 4))
    return made.with_criteria(CRITERIA[criteria])


def at(world, position=AIM, orientation=TILT):
    world.set_end_effector_pose(torch.cat((position, orientation)).expand(world.num_envs, 7))
    return world


def quaternion_error(angle_rad):
    return 2.0 * sin(angle_rad / 4.0)


@pytest.mark.parametrize("batch", [1, 1000])
def test_at_the_pose_it_holds(batch):
    world = at(tabletop(batch))
    outcome = goal(batch).evaluate(world, {})
    assert outcome.holds.all() and (outcome.reward == 2.0).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("batch", [1, 1000])
def test_both_quaternions_of_a_rotation_count_as_one(batch, sign):
    """The released code aligned the sign for success but not for the reward."""
    turned = about_x(2.2 + 0.3)
    outcomes = [
        goal(batch).evaluate(at(tabletop(batch), orientation=q), {})
        for q in (sign * turned, turned)
    ]
    assert torch.allclose(outcomes[0].reward, outcomes[1].reward)
    assert goal(batch).evaluate(at(tabletop(batch), orientation=sign * TILT), {}).holds.all()


@pytest.mark.parametrize(
    ("error_m", "paper", "released"),
    [(0.049, True, True), (0.051, False, True), (0.151, False, False)],
)
def test_position_alone(error_m, paper, released):
    world = at(tabletop(), AIM + torch.tensor([0.0, error_m, 0.0]))
    assert bool(goal().evaluate(world, {}).holds) == paper
    assert bool(goal(criteria="released").evaluate(world, {}).holds) == released


@pytest.mark.parametrize(
    ("angle_rad", "paper", "released"),
    [(0.098, True, True), (0.102, False, True), (0.31, False, False)],
)
@pytest.mark.parametrize("way", [1, -1])
def test_orientation_alone(angle_rad, paper, released, way):
    world = at(tabletop(), orientation=about_x(2.2 + way * angle_rad))
    assert bool(goal().evaluate(world, {}).holds) == paper
    assert bool(goal(criteria="released").evaluate(world, {}).holds) == released


def test_the_errors_add_up():
    """Each alone would do."""
    for world, there in (
        (at(tabletop(), AIM + torch.tensor([0.03, 0.0, 0.0])), True),
        (at(tabletop(), orientation=about_x(2.2 + 0.06)), True),
        (at(tabletop(), AIM + torch.tensor([0.03, 0.0, 0.0]), about_x(2.2 + 0.06)), False),
    ):
        assert bool(goal().evaluate(world, {}).holds) == there


def test_the_reward_is_the_published_one():
    world = at(tabletop(), AIM + torch.tensor([0.0, 0.0, 0.1]), about_x(2.2 - 0.4))
    expected = 2.0 - 0.1 - quaternion_error(0.4)
    assert float(goal().evaluate(world, {}).reward) == pytest.approx(expected, abs=1e-5)


def test_upside_down_at_the_place_is_not_the_pose():
    world = at(tabletop(), orientation=about_x(2.2 + pi))
    assert not goal().evaluate(world, {}).holds.any()


def test_description_has_position_and_orientation():
    said = goal().describe(tabletop())
    assert said == (
        "Move the end effector to (-0.20, 0.10, 0.25), pointing along (0.00, -0.81, -0.59)"
    )
