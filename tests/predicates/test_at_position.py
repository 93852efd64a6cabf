"""AtPosition: on the table, near a place, let go."""

from math import cos, exp, sin

import pytest
import torch

from clevrskills.predicates import CRITERIA, AtPosition
from clevrskills.sim.world import CONTACT_TOLERANCE_M, STATIC_SPEED_M_PER_S
from tests.support.worlds import CUBE, SLAB, index, make_world, move_gripper, pose

TARGET = (0.1, -0.2, 0.07)
LIMIT_M = CRITERIA["paper"].position_m


def world_with(cube, slab=None):
    world = make_world([CUBE, SLAB], [cube, pose(SLAB, -0.3, 0.3) if slab is None else slab])
    move_gripper(world, (-0.1, 0.0, 0.4))
    return world


def look(world, criteria="paper"):
    goal = AtPosition(index(world, 0), torch.tensor([TARGET])).with_criteria(CRITERIA[criteria])
    return goal.evaluate(world, {})


def at(distance_m, angle_rad=0.0, **kwargs):
    x, y = TARGET[0] + distance_m * cos(angle_rad), TARGET[1] + distance_m * sin(angle_rad)
    return pose(CUBE, x, y, **kwargs)


@pytest.mark.parametrize("criteria", CRITERIA)
@pytest.mark.parametrize("angle_rad", [0.0, 1.0, 2.5, 4.0])
@pytest.mark.parametrize(("off_m", "holds"), [(-0.05, True), (-2e-4, True), (2e-4, False)])
def test_distance_boundary(criteria, angle_rad, off_m, holds):
    assert CRITERIA[criteria].position_m == 0.05
    outcome = look(world_with(at(LIMIT_M + off_m, angle_rad)), criteria)
    assert bool(outcome.holds) == holds
    assert (float(outcome.reward) == 6.0) == holds


@pytest.mark.parametrize("yaw_rad", [0.5, 3.0])
def test_orientation_and_height_of_the_target_do_not_matter(yaw_rad):
    assert look(world_with(at(0.0, yaw_rad=yaw_rad))).holds


def test_lying_on_its_side_counts():
    quarter = torch.tensor([TARGET[0], TARGET[1], 0.025, 0.70710678, 0.70710678, 0.0, 0.0])
    assert look(world_with(quarter)).holds


@pytest.mark.parametrize(("off_m", "holds"), [(-2e-4, True), (2e-4, False)])
def test_it_must_be_on_the_table(off_m, holds):
    assert bool(look(world_with(at(0.0, bottom_z=CONTACT_TOLERANCE_M + off_m))).holds) == holds


def test_on_something_that_stands_there_does_not_count():
    world = world_with(at(0.0, bottom_z=0.03), pose(SLAB, TARGET[0], TARGET[1]))
    outcome = look(world)
    assert not outcome.holds and float(outcome.reward) < 6.0


@pytest.mark.parametrize(("factor", "holds"), [(0.98, True), (1.02, False)])
def test_it_must_be_at_rest(factor, holds):
    world = world_with(at(0.0))
    velocity = torch.tensor([[0.0, factor * STATIC_SPEED_M_PER_S, 0, 0, 0, 0]])
    world.set_body_velocity(index(world, 0), velocity)
    assert bool(look(world).holds) == holds
    assert (float(look(world).progress) == 1.0) == holds


@pytest.mark.parametrize("criteria", CRITERIA)
def test_it_must_not_be_held(criteria):
    world = world_with(at(0.0))
    world.hold(index(world, 0), world.pose(index(world, 0)))
    outcome = look(world, criteria)
    assert not outcome.holds and float(outcome.reward) == 5.0
    world.hold(index(world, 1), world.pose(index(world, 1)))  # something else in hand is fine
    assert look(world, criteria).holds


@pytest.mark.parametrize("off_m", [-2e-4, 2e-4])
def test_the_cups_must_have_left_it_in_the_paper_only(off_m):
    world = world_with(at(0.0))
    limit = CRITERIA["paper"].release_distance_m
    move_gripper(world, (TARGET[0], TARGET[1], 0.05 + limit + off_m))
    assert bool(look(world, "paper").holds) == (off_m > 0)
    assert look(world, "released").holds


@pytest.mark.parametrize(
    ("aside_m", "height_m", "reward"),
    [
        (0.029, 0.1, 4 + exp(-6 * 0.1)),
        (0.13, 0.05, 2 + exp(-0.1) + exp(-0.6)),
        (0.13, 0.2, 2 + exp(-0.1) + 1),
    ],
)
def test_reward_of_carrying_is_the_published_one(aside_m, height_m, reward):
    cube = at(aside_m)
    cube[2] = TARGET[2] + height_m
    world = world_with(cube)
    world.hold(index(world, 0), world.pose(index(world, 0)))
    assert float(look(world).reward) == pytest.approx(reward, abs=1e-4)


def test_realized_it_stands_on_the_table_as_it_was_turned():
    tilted = torch.tensor([0.3, 0.3, 0.4, 0.70710678, 0.0, 0.70710678, 0.0])
    world = world_with(tilted)
    AtPosition(index(world, 0), torch.tensor([TARGET])).realize(world)
    assert look(world).holds
    assert torch.allclose(world.orientation(index(world, 0))[0], tilted[3:])
    assert float(world.bottom(index(world, 0))) == pytest.approx(0.0, abs=1e-5)
    assert world.position(index(world, 0))[0, :2].tolist() == pytest.approx(TARGET[:2])


def test_description_has_the_position():
    goal = AtPosition(torch.tensor([0]), torch.tensor([TARGET]))
    assert goal.describe(world_with(at(0.0))) == "Put {obj:cube} at (0.1, -0.2)"
