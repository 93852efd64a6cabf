"""Achieving something without ever touching some bodies."""

import pytest
import torch

from clevrskills.predicates import Avoiding, EndEffectorAtPosition, Order, Traced
from tests.support.worlds import CUBE, index, make_world, move_gripper, pose, row_of_world, tabletop

AIM = torch.tensor([-0.2, 0.1, 0.25])


def setting(batch=1):
    world = tabletop(batch)
    goal = Avoiding(
        EndEffectorAtPosition(AIM.expand(batch, 3)),
        torch.tensor([[0, 3]]).expand(batch, 2),
    )
    return world, goal, goal.initial_state(world)


def touch(world, slot, envs=None):
    """Bring the cups to the top of a body."""
    body = index(world, slot)
    top = world.position(body).clone()
    top[:, 2] = world.top(body) - world.cup_tips[0, 2]
    tip = world.end_effector_pose[:, :3].clone()
    envs = slice(None) if envs is None else envs
    tip[envs] = top[envs]
    move_gripper(world, tip)


@pytest.mark.parametrize("batch", [1, 1000])
def test_reached_without_a_touch_it_holds(batch):
    world, goal, state = setting(batch)
    move_gripper(world, AIM)
    outcome = goal.evaluate(world, state)
    assert outcome.holds.all() and (outcome.reward == 2.0).all()
    assert not outcome.state["touched"].any()


@pytest.mark.parametrize("slot", [0, 3])
@pytest.mark.parametrize("batch", [1, 1000])
def test_after_a_touch_it_never_holds(batch, slot):
    world, goal, state = setting(batch)
    touch(world, slot)
    state = goal.evaluate(world, state).state
    assert state["touched"].all()
    for _ in range(3):
        move_gripper(world, AIM)
        outcome = goal.evaluate(world, state)
        state = outcome.state
        assert not outcome.holds.any()
        assert (outcome.reward == 0.0).all() and (outcome.progress == 0.0).all()


def test_each_environment_has_its_own_touch():
    world, goal, state = setting(1000)
    hit = torch.arange(1000) % 3 == 0
    touch(world, 0, hit)
    state = goal.evaluate(world, state).state
    move_gripper(world, AIM)
    outcome = goal.evaluate(world, state)
    assert torch.equal(outcome.holds, ~hit)
    assert torch.equal(outcome.state["touched"], hit)


def test_other_bodies_may_be_touched():
    world, goal, state = setting()
    touch(world, 1)
    state = goal.evaluate(world, state).state
    move_gripper(world, AIM)
    assert goal.evaluate(world, state).holds.all()


def test_a_touch_at_the_goal_itself_counts():
    world, _, _ = setting()
    touch(world, 0)
    there = world.end_effector_pose[:, :3].clone()
    goal = Avoiding(EndEffectorAtPosition(there), torch.tensor([[0]]))
    outcome = goal.evaluate(world, goal.initial_state(world))
    assert outcome.children[0].holds.all() and not outcome.holds.any()
    assert float(outcome.progress) < 1.0


def test_near_is_not_touching():
    world, goal, state = setting()
    touch(world, 0)
    tip = world.end_effector_pose[:, :3] + torch.tensor([0.0, 0.0, 0.004])
    move_gripper(world, tip)
    assert not goal.evaluate(world, state).state["touched"].any()


def test_empty_slots_are_never_touched():
    world = make_world([CUBE, None], [pose(CUBE, -0.2, 0.1), None])
    goal = Avoiding(EndEffectorAtPosition(AIM[None]), torch.tensor([[0, 1]]))
    move_gripper(world, world.body_pose[0, 1, :3])
    assert not goal.evaluate(world, goal.initial_state(world)).state["touched"].any()
    assert goal.describe(world).endswith("without touching {obj:cube}")


def test_goal_state_of_the_child_is_kept():
    world = tabletop()
    goal = Avoiding(Order((Traced(index(world, 1)), Traced(index(world, 2)))), torch.tensor([[3]]))
    state = goal.initial_state(world)
    for slot in (1, 2):
        move_gripper(world, world.position(index(world, slot)))
        outcome = goal.evaluate(row_of_world(world, 0), state)
        state = outcome.state
    assert outcome.holds.all() and float(outcome.reward) == 12.0


def test_after_a_touch_there_is_still_a_next_leaf():
    """It does not hold, so something is left to do, though it will not help."""
    world, goal, state = setting()
    touch(world, 0)
    state = goal.evaluate(world, state).state
    move_gripper(world, AIM)
    outcome = goal.evaluate(world, state)
    assert goal.next_leaf(outcome) is goal.child


def test_after_a_touch_it_can_not_be_achieved_any_more():
    world, goal, state = setting(3)
    outcome = goal.evaluate(world, state)
    assert not any(where.any() for where in goal.unsolvable(outcome.state).values())
    touch(world, 0, [1])
    (where,) = goal.unsolvable(goal.evaluate(world, outcome.state).state).values()
    assert where.tolist() == [False, True, False]
