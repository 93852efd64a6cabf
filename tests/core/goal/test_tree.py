"""How much of a goal tree is achieved: leaves met, depth of ordered goals."""

from dataclasses import dataclass

import pytest
import torch

from clevrskills.core.goal.logical import Wrapper
from clevrskills.core.goal.tree import depth, leaves_met
from clevrskills.predicates import Leaf, Once, Order, Outcome, Predicate, Sequence, Set
from clevrskills.sim.tensor_world import TensorWorld
from tests.support.worlds import CUBE, make_world, pose


@dataclass(frozen=True, eq=False)
class Bit(Leaf):
    """Bit ``index`` of the world's ``bits`` is set."""

    index: int
    max_reward = 1.0

    def evaluate(self, world, state):
        holds = world.bits[:, self.index]
        return Outcome(holds, holds.float(), holds.float(), {})

    def says(self, world, env=0):
        return ""

    def realise(self, world, where=None):
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Never(Wrapper):
    """Does not hold, whatever its child does."""

    def evaluate(self, world, state):
        part, new_state = self._look(world, state)
        return Outcome(part.holds & False, part.reward, part.progress, new_state, (part,))


Bit.name, Never.name = "bit", "never"  # set here, so that they are not registered
A, B, C = (Bit(i) for i in range(3))


def world_of(bits: str) -> TensorWorld:
    one = make_world([CUBE], [pose(CUBE, 0.0, 0.0)])
    world = TensorWorld(one.keys, one.solids, one.body_pose)
    world.bits = torch.tensor([[bit == "1" for bit in bits]])
    return world


def after(goal: Predicate, *history: str) -> Outcome:
    """What a goal says after the bits were seen one after the other."""
    state = goal.initial_state(world_of("000"))
    for bits in history:
        outcome = goal.evaluate(world_of(bits), state)
        state = outcome.state
    return outcome


def test_leaves_of_a_set() -> None:
    goal = Set((A, B, C), torch.tensor([[True, True, False]]))
    assert leaves_met(goal, after(goal, "000")) == (0, 2)
    assert leaves_met(goal, after(goal, "101")) == (1, 2)  # the third is not used
    assert leaves_met(goal, after(goal, "110")) == (2, 2)
    assert depth(goal, after(goal, "110")) is None
    assert leaves_met(A, after(A, "100")) == (1, 1) and depth(A, after(A, "100")) is None


def test_steps_of_an_order_stay_done_and_do_not_count_ahead() -> None:
    goal = Order((A, B, C))
    for history, expected in (
        (["011"], 0),  # two hold before their turn
        (["100"], 1),
        (["100", "000"], 1),  # broken again, but done
        (["100", "010"], 2),
        (["100", "010", "001"], 3),
    ):
        outcome = after(goal, *history)
        assert leaves_met(goal, outcome) == depth(goal, outcome) == (expected, 3)


def test_a_sequence_counts_what_holds_from_the_start() -> None:
    goal = Sequence((A, B, C))
    assert depth(goal, after(goal, "011")) == (0, 3)
    assert leaves_met(goal, after(goal, "011")) == (2, 3)
    assert depth(goal, after(goal, "110")) == (2, 3)
    assert depth(goal, after(goal, "110", "010")) == (0, 3)
    used = Sequence((A, B, C), torch.tensor([[False, True, True]]))
    assert depth(used, after(used, "010")) == (1, 2)


def test_nested_orders() -> None:
    goal = Order((Sequence((A, B)), C))
    assert depth(goal, after(goal, "100")) == (0, 2)  # the outermost
    assert leaves_met(goal, after(goal, "100")) == (1, 3)
    assert leaves_met(goal, after(goal, "110", "000")) == (2, 3)
    assert leaves_met(goal, after(goal, "110", "001")) == (3, 3)
    side_by_side = Set((Order((A, B)), Once(Order((B, C)))))
    assert depth(side_by_side, after(side_by_side, "100", "010")) == (3, 4)


@pytest.mark.parametrize("bits", ["100", "000"])
def test_what_was_once_achieved_is_met(bits: str) -> None:
    goal = Once(A)
    assert leaves_met(goal, after(goal, "100", bits)) == (1, 1)
    vain = Never(A)
    assert leaves_met(vain, after(vain, "100", bits)) == (0, 1)
