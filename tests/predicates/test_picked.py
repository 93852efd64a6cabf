"""Picked: held, and clear of everything."""

from math import exp

import pytest
import torch

from clevrskills.predicates import CRITERIA, Picked
from tests.support.worlds import CUBE, SLAB, index, make_world, move_gripper, pose

CUBE_SLOT, SLAB_SLOT = 0, 1


def held_over_slab(gap_m, held=CUBE_SLOT, x=0.0):
    """The cube in the gripper, a gap above a slab."""
    world = make_world(
        [CUBE, SLAB], [pose(CUBE, x, 0.0, bottom_z=0.03 + gap_m), pose(SLAB, 0.0, 0.0)]
    )
    if held >= 0:
        world.hold(index(world, held), world.pose(index(world, held)))
    return world


def look(world, criteria="paper", slot=CUBE_SLOT):
    goal = Picked(index(world, slot)).with_criteria(CRITERIA[criteria])
    return goal.evaluate(world, {})


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize(("off_m", "holds"), [(-1e-4, False), (1e-4, True), (0.1, True)])
def test_clearance_boundary(criteria, off_m, holds):
    least = CRITERIA[criteria].pick_clearance_m
    assert least == 0.02
    outcome = look(held_over_slab(least + off_m), criteria)
    assert bool(outcome.holds) == holds
    assert (float(outcome.reward) == 4.0) == holds


@pytest.mark.parametrize(("share", "holds"), [(0.99, True), (1.01, False)])
def test_a_moving_object_is_not_picked(share, holds):
    world = held_over_slab(0.1)
    world._end_effector_speed[:] = share * CRITERIA["paper"].pick_speed_m_per_s
    assert bool(look(world).holds) == holds
    assert (float(look(world).reward) == 4.0) == holds
    assert bool(look(world, "released").holds)


@pytest.mark.parametrize(("off_m", "holds"), [(-1e-4, False), (1e-4, True)])
def test_clearance_of_the_table(off_m, holds):
    world = make_world([CUBE], [pose(CUBE, 0.0, 0.0, 0.3, bottom_z=0.02 + off_m)])
    world.hold(index(world, 0), world.pose(index(world, 0)))
    assert bool(look(world).holds) == holds


@pytest.mark.parametrize(("off_m", "holds"), [(-1e-3, False), (1e-3, True)])
def test_clearance_to_the_side(off_m, holds):
    x = 0.06 + 0.025 + 0.02 + off_m
    world = make_world(
        [CUBE, SLAB], [pose(CUBE, x, 0.0, bottom_z=0.021), pose(SLAB, 0.0, 0.0, bottom_z=0.021)]
    )
    world.hold(index(world, 0), world.pose(index(world, 0)))
    assert bool(look(world).holds) == holds


def test_high_up_but_not_held():
    outcome = look(held_over_slab(0.2, held=-1))
    assert not outcome.holds and float(outcome.reward) <= 2.0


def test_another_body_is_held():
    world = held_over_slab(0.2, held=SLAB_SLOT)
    assert not look(world).holds
    high = world.pose(index(world, SLAB_SLOT)).clone()
    high[:, 0] += 0.3
    high[:, 2] += 0.3
    world.hold(index(world, SLAB_SLOT), high)
    assert not look(world).holds and look(world, slot=SLAB_SLOT).holds


def test_a_body_that_moves_is_picked_all_the_same():
    world = held_over_slab(0.1)
    world.set_body_velocity(index(world, CUBE_SLOT), torch.full((1, 6), 0.5))
    assert look(world).holds


@pytest.mark.parametrize(("gap_m", "reward"), [(0.0, 2.0), (0.005, 2.25), (0.015, 2.75)])
def test_reward_grows_with_clearance(gap_m, reward):
    outcome = look(held_over_slab(gap_m))
    assert float(outcome.reward) == pytest.approx(reward, abs=1e-2)
    assert float(outcome.progress) == pytest.approx(0.7 + 0.3 * (reward - 2.0), abs=1e-2)


@pytest.mark.parametrize(
    ("aside_m", "above_m", "reward"),
    [
        (0.00, 0.004, 2.0),
        (0.029, 0.0, 2.0),
        (0.00, 0.006, 1 + exp(-0.006)),
        (0.00, 0.3, 1 + exp(-0.3)),
        (0.05, 0.0, exp(-0.02)),
        (0.33, 0.2, exp(-0.3)),
    ],
)
def test_reward_of_reaching_is_the_published_one(aside_m, above_m, reward):
    world = held_over_slab(0.0, held=-1)
    move_gripper(world, (0.0, aside_m, 0.08 + above_m))
    assert float(look(world).reward) == pytest.approx(reward, abs=1e-4)


def test_progress_is_made_from_above():
    world, said = held_over_slab(0.0, held=-1), []
    for aside_m, above_m in [(0.4, 0.3), (0.2, 0.1), (0.05, 0.05), (0.0, 0.0)]:  # down on the cube
        move_gripper(world, (0.0, aside_m, 0.08 + above_m))
        said.append(float(look(world).progress))
    assert said == sorted(said) and said[-1] == pytest.approx(0.4)
    for above_m in (0.0, -0.03, 0.2):  # beside it, or too high: not as good as on the way down
        move_gripper(world, (0.0, 0.05, 0.08 + above_m))
        assert float(look(world).progress) < said[-2]
    assert float(look(held_over_slab(0.0)).progress) > said[-1]


def test_realized_it_keeps_the_orientation_and_is_under_the_gripper():
    world = held_over_slab(0.0, held=-1)
    cube = index(world, CUBE_SLOT)
    before = world.orientation(cube).clone()
    Picked(cube).realize(world)
    assert look(world).holds and world.is_held(cube).all()
    assert torch.equal(world.orientation(cube), before)
    assert float(world.gripper_distance(cube)) == pytest.approx(0.0, abs=1e-4)


def test_a_body_no_cup_seals_on_cannot_be_realized():
    tilted = torch.tensor([0.0, 0.0, 0.1, 0.9238795, 0.3826834, 0.0, 0.0])
    world = make_world([CUBE], [tilted])
    with pytest.raises(ValueError, match="no flat spot"):
        Picked(index(world, 0)).realize(world)
