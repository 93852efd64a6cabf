"""The tool center point at a body without collisions."""

import pytest
import torch

from clevrskills.predicates import Order, Traced
from tests.predicates.examples import achieve
from tests.support.worlds import draw_slots, index, move_gripper, tabletop

ASIDE = torch.tensor([0.48, -0.64, 0.6])


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize(("error_m", "there"), [(0.0, True), (0.049, True), (0.051, False)])
def test_it_holds_up_to_the_tolerance(batch, error_m, there):
    world = tabletop(batch)
    body = draw_slots(world, (0, 1, 2, 3), 5)
    move_gripper(world, world.position(body) + error_m * ASIDE)
    outcome = Traced(body).evaluate(world, {})
    assert outcome.holds.tolist() == [there] * batch
    if not there:
        assert outcome.reward.tolist() == pytest.approx([2.0 - error_m] * batch, abs=1e-5)
    else:
        assert (outcome.reward == 6.0).all()


def test_at_another_body_it_does_not_hold():
    world = tabletop()
    move_gripper(world, world.position(index(world, 1)))
    assert not Traced(index(world, 0)).evaluate(world, {}).holds.any()


def test_far_away_the_reward_is_not_negative():
    world = tabletop()
    move_gripper(world, (5.0, 0.0, 0.0))
    outcome = Traced(index(world, 0)).evaluate(world, {})
    assert float(outcome.reward) == 0.0 and 0.0 < float(outcome.progress) < 0.05


@pytest.mark.parametrize("batch", [1, 1000])
def test_goals_count_in_their_order_only(batch):
    world = tabletop(batch)
    slots = [index(world, k) for k in range(3)]
    goal = Order(tuple(Traced(slot) for slot in slots))
    state = goal.initial_state(world)
    stages = []
    for slot in (2, 1, 0, 2, 1, 0, 2):
        move_gripper(world, world.position(slots[slot]))
        outcome = goal.evaluate(world, state)
        state = outcome.state
        stages.append(state["stage"].tolist())
    assert stages == [[n] * batch for n in (0, 0, 1, 1, 2, 2, 3)]
    assert outcome.holds.all() and (outcome.reward == 18.0).all()


def test_visited_goals_stay_visited():
    world = tabletop()
    goal = Order((Traced(index(world, 0)), Traced(index(world, 1))))
    outcome = achieve(goal, world)
    move_gripper(world, (0.0, 0.0, 0.4))
    assert goal.evaluate(world, outcome.state).holds.all()
