"""InsideAfter: an object in an area, put there after another one."""

import pytest
import torch

from clevrskills.predicates import CRITERIA, InsideAfter
from tests.support.worlds import AREA, CUBE, TWIN, BodySpec, index, make_world, move_gripper, pose

OUT, IN = (0.0, 0.4, 0.0), (0.05, 0.05, 0.01)
FIRST_OUT, FIRST_IN = (0.0, -0.4, 0.0), (-0.05, -0.05, 0.01)


def follow(*steps, criteria="paper"):
    """Outcomes step by step, for positions of the object and the first one."""
    world = make_world(
        [CUBE, TWIN, AREA], [pose(CUBE, *OUT[:2]), pose(TWIN, *FIRST_OUT[:2]), pose(AREA, 0, 0)]
    )
    move_gripper(world, (-0.2, 0.0, 0.4))
    goal = InsideAfter(index(world, 0), index(world, 2), index(world, 1)).with_criteria(
        CRITERIA[criteria]
    )
    state, found = goal.initial_state(world), []
    for places in steps:
        for slot, (spec, (x, y, z)) in enumerate(zip((CUBE, TWIN), places, strict=True)):
            world.set_body_pose(index(world, slot), pose(spec, x, y, 0.0, z)[None])
        outcome = goal.evaluate(world, state)
        state = outcome.state
        assert (outcome.progress == 1.0) == outcome.holds
        assert (outcome.reward == 6.0) == outcome.holds
        found.append(bool(outcome.holds))
    return found


def test_first_the_one_then_the_other():
    assert follow((OUT, FIRST_OUT), (OUT, FIRST_IN), (IN, FIRST_IN)) == [False, False, True]


def test_the_other_order_does_not_count():
    for criteria in CRITERIA:
        assert follow((IN, FIRST_OUT), (IN, FIRST_IN), criteria=criteria) == [False, False]


def test_taken_out_and_put_in_again_it_counts():
    steps = (IN, FIRST_OUT), (IN, FIRST_IN), (OUT, FIRST_IN), (IN, FIRST_IN)
    assert follow(*steps) == [False, False, False, True]


@pytest.mark.parametrize("lifted_m", [0.003, 0.01, 0.05])
def test_lifted_over_the_area_it_is_not_out(lifted_m):
    above = (*IN[:2], IN[2] + lifted_m)
    steps = (IN, FIRST_OUT), (IN, FIRST_IN), (above, FIRST_IN), (IN, FIRST_IN)
    assert follow(*steps) == [False] * 4


@pytest.mark.parametrize(("gap_m", "repaired"), [(-1e-3, False), (1e-3, True)])
@pytest.mark.parametrize("height_m", [0.0, 0.2])
def test_it_is_out_when_clear_of_the_outline(gap_m, repaired, height_m):
    beside = (AREA.size[0] / 2 + CUBE.size[0] / 2 + gap_m, 0.0, height_m)
    steps = (IN, FIRST_OUT), (IN, FIRST_IN), (beside, FIRST_IN), (IN, FIRST_IN)
    assert follow(*steps)[-1] == repaired


def test_without_the_first_one_it_does_not_hold_any_more():
    steps = (OUT, FIRST_IN), (IN, FIRST_IN), (IN, FIRST_OUT), (IN, FIRST_IN)
    assert follow(*steps) == [False, True, False, False]


ON_FIRST = (-0.05, -0.05, 0.06)


def test_on_the_first_one_is_inside_too():
    assert follow((OUT, FIRST_IN), (ON_FIRST, FIRST_IN))[-1]


def test_on_something_in_the_area_it_is_too_early_as_well():
    third = BodySpec("third", "cube", CUBE.size)
    world = make_world(
        [CUBE, TWIN, AREA, third],
        [
            pose(CUBE, 0.05, 0.05, 0.0, 0.06),
            pose(TWIN, *FIRST_OUT[:2]),
            pose(AREA, 0, 0),
            pose(third, 0.05, 0.05, 0.0, 0.01),
        ],
    )
    move_gripper(world, (-0.2, 0.0, 0.4))
    goal = InsideAfter(index(world, 0), index(world, 2), index(world, 1))
    outcome = goal.evaluate(world, goal.initial_state(world))
    assert outcome.state["early"]
    world.set_body_pose(index(world, 1), pose(TWIN, *FIRST_IN[:2], 0.0, 0.01)[None])
    assert not goal.evaluate(world, outcome.state).holds


def test_reaching_for_a_body_that_came_too_early_is_rewarded():
    world = make_world(
        [CUBE, TWIN, AREA], [pose(CUBE, *IN[:2], 0.0, 0.01), pose(TWIN, 0, -0.4), pose(AREA, 0, 0)]
    )
    goal = InsideAfter(index(world, 0), index(world, 2), index(world, 1))
    rewards = []
    for tip in ((-0.2, 0.0, 0.4), (0.0, 0.05, 0.2), (0.05, 0.05, 0.063)):
        move_gripper(world, tip)
        rewards.append(float(goal.evaluate(world, goal.initial_state(world)).reward))
    assert rewards == sorted(rewards) and len(set(rewards)) == 3
    body = torch.tensor([0])
    world.hold(body, world.pose(body))
    assert float(goal.evaluate(world, goal.initial_state(world)).reward) <= rewards[-1]
