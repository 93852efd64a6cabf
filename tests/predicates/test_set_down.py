"""SetDown: a body resting on the other one counts, unless it was thrown there."""

import pytest
import torch

from clevrskills.predicates import CRITERIA, OnTop, SetDown
from clevrskills.predicates.criteria import PAPER
from tests.support.worlds import CUBE, SLAB, index, make_world, move_gripper, pose

TOP, BOTTOM = 0, 1
ON = torch.tensor([[0.0, 0.0, 0.03 + CUBE.geometry.half_extents[2]]])
START, FAR = (-0.3, 0.0, 0.4), PAPER.fling_distance_m


def put(world, position, held):
    """The cube at a place of its origin, held or let go."""
    place = world.pose(index(world, TOP)).clone()
    place[:, :3] = torch.as_tensor(position)
    move_gripper(
        world, torch.as_tensor(position) + torch.tensor([0.0, 0.0, 0.025 if held else 0.3])
    )
    if held:
        world.hold(index(world, TOP), place)
    else:
        world.set_body_pose(index(world, TOP), place)


def play(*events, criteria="paper", kind=SetDown):
    """The last outcome of an episode that begins with the cube in the gripper."""
    world = make_world([CUBE, SLAB], [pose(CUBE, -0.3, 0.0), pose(SLAB, 0.0, 0.0)])
    put(world, START, True)
    goal = kind(index(world, TOP), index(world, BOTTOM)).with_criteria(CRITERIA[criteria])
    outcome = goal.evaluate(world, goal.initial_state(world))
    assert not outcome.holds
    for position, held in events:
        put(world, position, held)
        outcome = goal.evaluate(world, outcome.state)
        assert bool(outcome.holds) == (float(outcome.progress) == 1.0)
    return outcome


def flight(way_m):
    """In the air, this far from where it was let go."""
    return (START[0] + way_m, 0.0, 0.3), False


HELD_ABOVE, RESTS = ((0.0, 0.0, 0.1), True), (ON[0].tolist(), False)


@pytest.mark.parametrize("criteria", CRITERIA)
def test_carried_there_and_let_go(criteria):
    assert play(HELD_ABOVE, RESTS, criteria=criteria).holds.all()


@pytest.mark.parametrize(("way_m", "counts"), [(FAR - 0.001, True), (FAR + 0.001, False)])
def test_a_long_flight_does_not_count(way_m, counts):
    outcome = play(flight(way_m), RESTS)
    assert bool(outcome.holds) == counts
    assert play(flight(way_m), RESTS, kind=OnTop).holds.all()
    if not counts:
        assert float(outcome.progress) < 0.2 and float(outcome.reward) <= 2.0


def test_it_counts_once_it_was_held_again():
    assert not play(flight(0.25), RESTS).holds
    assert play(flight(0.25), RESTS, HELD_ABOVE, RESTS).holds.all()


def test_sliding_after_it_came_down_is_no_throw():
    on_table = (-0.25, 0.0, float(ON[0, 2]) - 0.03)
    assert play((on_table, False), flight(0.28), RESTS).holds.all()


def test_released_criteria_know_no_throws():
    assert play(flight(0.25), RESTS, criteria="released").holds.all()
