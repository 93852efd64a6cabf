"""InsideAfter: an object in an area, put there after another one."""

import torch

from clevrskills.predicates import CRITERIA, InsideAfter
from tests.support.worlds import AREA, CUBE, TWIN, index, make_world, move_gripper, pose

OUT, IN = (0.0, 0.4, 0.0), (0.05, 0.05, 0.01)
FIRST_OUT, FIRST_IN = (0.0, -0.4, 0.0), (-0.05, -0.05, 0.01)


def follow(*steps, criteria="paper"):
    """What is said at each step of where the object and the first one are."""
    world = make_world(
        [CUBE, TWIN, AREA], [pose(CUBE, *OUT[:2]), pose(TWIN, *FIRST_OUT[:2]), pose(AREA, 0, 0)]
    )
    move_gripper(world, (-0.2, 0.0, 0.4))
    goal = InsideAfter(index(world, 0), index(world, 2), index(world, 1)).with_criteria(
        CRITERIA[criteria]
    )
    state, found = goal.initial_state(world), []
    for places in steps:
        for slot, (thing, (x, y, z)) in enumerate(zip((CUBE, TWIN), places, strict=True)):
            world.set_body_pose(index(world, slot), pose(thing, x, y, 0.0, z)[None])
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


def test_lifted_is_out():
    above = (0.05, 0.05, 0.06)
    assert follow((IN, FIRST_OUT), (IN, FIRST_IN), (above, FIRST_IN), (IN, FIRST_IN))[-1]


def test_without_the_first_one_it_does_not_hold_any_more():
    steps = (OUT, FIRST_IN), (IN, FIRST_IN), (IN, FIRST_OUT), (IN, FIRST_IN)
    assert follow(*steps) == [False, True, False, False]


def test_on_the_first_one_is_not_inside():
    assert not follow((OUT, FIRST_IN), ((-0.05, -0.05, 0.06), FIRST_IN))[-1]


def test_what_came_too_early_is_rewarded_for_being_taken_again():
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
