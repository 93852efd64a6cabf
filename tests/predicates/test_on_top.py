"""OnTop: carried by the other body, not by the table, both at rest and let go."""

from math import exp

import pytest
import torch

from clevrskills.core.goal.context import broadcast_slots
from clevrskills.predicates import CRITERIA, OnTop
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import CONTACT_TOLERANCE_M, STATIC_SPEED_M_PER_S, STATIC_SPIN_RAD_PER_S
from tests.support.worlds import CUBE, SLAB, index, make_world, move_gripper, pose

CUBE_SLOT, SLAB_SLOT = 0, 1
ON = pose(CUBE, 0.0, 0.0, bottom_z=0.03)


class Weighing(TensorWorld):
    """A world in which the share of the weight that is carried can be set."""

    share = 1.0

    @broadcast_slots
    def supports(self, lower, upper):
        return torch.full((self.num_envs,), self.share)


def world_with(cube=ON, slab=None):
    world = make_world([CUBE, SLAB], [cube, pose(SLAB, 0.0, 0.0) if slab is None else slab])
    move_gripper(world, (-0.1, 0.0, 0.4))
    return world


def look(world, criteria="paper"):
    goal = OnTop(index(world, CUBE_SLOT), index(world, SLAB_SLOT)).with_criteria(CRITERIA[criteria])
    outcome = goal.evaluate(world, {})
    assert bool(outcome.holds) == (float(outcome.progress) == 1.0)
    return outcome


@pytest.mark.parametrize("criteria", CRITERIA)
def test_resting_in_the_middle(criteria):
    outcome = look(world_with(), criteria)
    assert outcome.holds and float(outcome.reward) == 6.0


@pytest.mark.parametrize("criteria", CRITERIA)
def test_reaching_over_the_edge_is_still_on_top(criteria):
    assert look(world_with(pose(CUBE, 0.075, 0.0, bottom_z=0.03)), criteria).holds


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(
    "cube",
    [
        pose(CUBE, 0.2, 0.0),  # on the table, away
        pose(CUBE, 0.0851, 0.0),  # on the table, leaning on the side
        pose(CUBE, 0.2, 0.0, bottom_z=0.03),  # at the right height beside it
        pose(CUBE, 0.0, 0.0, bottom_z=0.05),  # in the air above it
    ],
)
def test_elsewhere(cube, criteria):
    assert not look(world_with(cube), criteria).holds


def test_under_it_is_not_on_top():
    world = world_with(pose(CUBE, 0.0, 0.0), pose(SLAB, 0.0, 0.0, bottom_z=0.05))
    assert not look(world).holds


@pytest.mark.parametrize(("off_m", "holds"), [(-2e-4, True), (2e-4, False)])
def test_touch_boundary(off_m, holds):
    gap = CONTACT_TOLERANCE_M + off_m
    assert bool(look(world_with(pose(CUBE, 0.0, 0.0, bottom_z=0.03 + gap))).holds) == holds


def test_carried_by_both_the_body_and_the_table():
    """A plate thinner than the contact tolerance: what stands on it touches the table too."""
    world = world_with(pose(CUBE, 0.0, 0.0, bottom_z=0.0015))
    assert not look(world).holds


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(("off", "holds"), [(-0.01, False), (0.0, True), (0.01, True)])
def test_share_of_the_weight_boundary(criteria, off, holds):
    plain = world_with()
    world = Weighing(plain.keys, plain.solids, plain.body_pose, plain.end_effector_pose)
    world.share = CRITERIA[criteria].support_share + off
    assert CRITERIA[criteria].support_share == 0.5
    assert bool(look(world, criteria).holds) == holds


@pytest.mark.parametrize("slot", [CUBE_SLOT, SLAB_SLOT])
@pytest.mark.parametrize("axis", [0, 2, 3, 5])
@pytest.mark.parametrize(("factor", "holds"), [(0.98, True), (1.02, False)])
def test_both_must_be_at_rest(slot, axis, factor, holds):
    world = world_with()
    velocity = torch.zeros(1, 6)
    velocity[0, axis] = factor * (STATIC_SPEED_M_PER_S if axis < 3 else STATIC_SPIN_RAD_PER_S)
    world.set_body_velocity(index(world, slot), velocity)
    outcome = look(world)
    assert bool(outcome.holds) == holds
    assert float(outcome.reward) == 6.0  # the published reward does not mind
    short = 0.95 if slot == CUBE_SLOT else 0.99  # 0.99 is for what is at rest itself
    assert float(outcome.progress) == (1.0 if holds else pytest.approx(short))


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(("slot", "reward"), [(CUBE_SLOT, 5.0), (SLAB_SLOT, 6.0)])
def test_neither_may_be_held(slot, reward, criteria):
    world = world_with()
    world.hold(index(world, slot), world.pose(index(world, slot)))
    outcome = look(world, criteria)
    assert not outcome.holds and float(outcome.reward) == reward


@pytest.mark.parametrize("off_m", [-2e-4, 2e-4])
def test_the_cups_must_have_left_it_in_the_paper_only(off_m):
    world = world_with()
    limit = CRITERIA["paper"].release_distance_m
    assert limit == 0.002
    move_gripper(world, (0.0, 0.0, 0.08 + limit + off_m))
    assert bool(look(world, "paper").holds) == (off_m > 0)
    assert look(world, "released").holds


def test_the_cups_may_touch_the_lower_body():
    world = world_with()
    move_gripper(world, (0.05, 0.05, 0.03))
    assert look(world).holds


@pytest.mark.parametrize(
    ("aside_m", "height_m", "reward"),
    [
        (0.0, -0.001, 4.0),
        (0.0, 0.05, 4 + exp(-6 * 0.05)),
        (0.029, 0.2, 4 + exp(-6 * 0.2)),
        (0.13, 0.05, 2 + exp(-0.1) + exp(-0.6)),
        (0.13, 0.15, 2 + exp(-0.1) + 1),
        (0.13, 0.3, 2 + exp(-0.1) + 1),
    ],
)
def test_reward_of_carrying_is_the_published_one(aside_m, height_m, reward):
    """Heights are between the origins of the two bodies."""
    at = pose(CUBE, aside_m, 0.0)
    at[2] = 0.015 + height_m
    slab = pose(SLAB, 0.0, 0.0)
    if aside_m < 0.06 and height_m < 0.04:
        slab[2] = 0.5  # out of the way of support: only the difference of heights matters
        at[2] = 0.5 + height_m
    world = world_with(at, slab)
    world.hold(index(world, CUBE_SLOT), world.pose(index(world, CUBE_SLOT)))
    assert float(look(world).reward) == pytest.approx(reward, abs=1e-4)


def test_carrying_is_worth_more_than_reaching_and_less_than_success():
    world = world_with(pose(CUBE, 0.3, 0.3))
    reaching = float(look(world).reward)
    world.hold(index(world, CUBE_SLOT), world.pose(index(world, CUBE_SLOT)))
    carrying = float(look(world).reward)
    assert reaching <= 2.0 < carrying <= 5.0 < 6.0


def test_realized_on_an_unsuitable_support_raises():
    world = world_with(pose(CUBE, 0.3, 0.3))
    with pytest.raises(ValueError, match="no stable, free place"):
        OnTop(index(world, SLAB_SLOT), index(world, CUBE_SLOT)).realize(
            make_world([CUBE, SLAB], [torch.tensor([0, 0, 0.1, 0.9239, 0.3827, 0, 0]), ON])
        )
