"""How much of a goal tree is achieved: leaves met, depth of ordered goals."""

from dataclasses import dataclass, replace

import pytest
import torch

from clevrskills.core.goal.logical import Wrapper
from clevrskills.core.goal.predicate import SymbolicPredicate
from clevrskills.core.goal.tree import depth, leaf_status, leaves_met
from clevrskills.predicates import Keeping, Leaf, Once, Order, Outcome, Predicate, Sequence, Set
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

    def describe(self, world, env=0):
        return ""

    def realize(self, world, where=None):
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Never(Wrapper):
    """Does not hold, whatever its child does."""

    def evaluate(self, world, state):
        part, new_state = self._evaluate_child(world, state)
        return Outcome(part.holds & False, part.reward, part.progress, new_state, (part,))


Bit.name, Never.name = "bit", "never"  # set here, so that they are not registered
A, B, C = (Bit(i) for i in range(3))


def world_of(bits: str) -> TensorWorld:
    one = make_world([CUBE], [pose(CUBE, 0.0, 0.0)])
    world = TensorWorld(one.keys, one.solids, one.body_pose)
    world.bits = torch.tensor([[bit == "1" for bit in bits]])
    return world


def after(goal: Predicate, *history: str) -> Outcome:
    """Outcome of a goal after evaluations with these bits in turn."""
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


def test_a_sequence_counts_children_that_hold_from_the_start() -> None:
    goal = Sequence((A, B, C))
    assert depth(goal, after(goal, "011")) == (0, 3)
    assert leaves_met(goal, after(goal, "011")) == (2, 3)
    assert depth(goal, after(goal, "110")) == (2, 3)
    assert depth(goal, after(goal, "110", "010")) == (0, 3)
    used = Sequence((A, B, C), torch.tensor([[False, True, True]]))
    assert depth(used, after(used, "010")) == (1, 2)


def test_only_the_current_step_of_an_order_is_required() -> None:
    """Earlier steps may break, and later ones do not count yet."""
    goal = Set((A, Order((B, C))))

    def status(*bits: str) -> list[tuple[bool, bool]]:
        return [(each.met, each.asked) for each in leaf_status(goal, after(goal, *bits))]

    assert status("000") == [(False, True), (False, True), (False, False)]
    assert status("010") == [(False, True), (True, False), (False, True)]
    assert status("010", "000") == [(False, True), (True, False), (False, True)]
    assert status("001") == [(False, True), (False, True), (True, False)]
    unused = replace(goal, active=torch.tensor([[True, False]]))
    assert [each.leaf for each in leaf_status(unused, after(unused, "100"))] == [A]


def test_nested_orders() -> None:
    goal = Order((Sequence((A, B)), C))
    assert depth(goal, after(goal, "100")) == (0, 2)  # the outermost
    assert leaves_met(goal, after(goal, "100")) == (1, 3)
    assert leaves_met(goal, after(goal, "110", "000")) == (2, 3)
    assert leaves_met(goal, after(goal, "110", "001")) == (3, 3)
    side_by_side = Set((Order((A, B)), Once(Order((B, C)))))
    assert depth(side_by_side, after(side_by_side, "100", "010")) == (3, 4)


@pytest.mark.parametrize("bits", ["100", "000"])
def test_achieved_steps_stay_met(bits: str) -> None:
    goal = Once(A)
    assert leaves_met(goal, after(goal, "100", bits)) == (1, 1)
    vain = Never(A)
    assert leaves_met(vain, after(vain, "100", bits)) == (0, 1)


def test_leaves_count_by_their_weight_and_credit() -> None:
    heavy = replace(B, weight=3.0)
    goal = Set((A, heavy))
    assert leaves_met(goal, after(goal, "100")) == (1, 4)
    assert leaves_met(goal, after(goal, "010")) == (3, 4)
    per_env = replace(A, weight=torch.tensor([0.0]))
    assert leaves_met(Set((per_env, B)), after(Set((per_env, B)), "100")) == (0, 1)

    half = after(heavy, "000")
    half = replace(half, credit=torch.tensor([0.5]))
    assert leaves_met(heavy, half) == (1.5, 3)


def test_weights_are_in_the_json_only_where_they_are_set() -> None:
    assert "weight" not in A.to_json()
    assert replace(A, weight=2.0).to_json()["weight"] == 2.0


def test_a_kept_condition_is_a_veto_without_credit() -> None:
    goal = Keeping(Set((A, B)), C)
    kept, broken = after(goal, "111"), after(goal, "110")
    assert kept.holds.item() and kept.progress.item() == 1.0
    assert not broken.holds.item() and broken.progress.item() == pytest.approx(0.99)
    assert leaves_met(goal, kept) == leaves_met(goal, broken) == (2, 2)
    assert broken.reward.item() == kept.reward.item() == goal.max_reward
    assert goal.next_index(kept).item() == -1 and goal.next_index(broken).item() == 0
    assert leaves_met(goal, after(goal, "001")) == (0, 2)  # what was kept earns nothing
    assert [leaf.index for leaf in goal.leaves()] == [0, 1]


class Lamp(SymbolicPredicate):
    """A lamp is on; half the credit for a lamp that is plugged in."""

    def credit(self, world):
        return world.bits.float()[:, :2].mean(-1)

    def describe(self, world, env=0):
        return "Switch the lamp on"

    def realize(self, world, where=None):
        raise NotImplementedError


Lamp.name = "lamp"


def test_symbolic_leaves_have_credit() -> None:
    goal = Set((Lamp(), Lamp(weight=3.0)))
    for bits, met in (("000", 0.0), ("100", 2.0), ("110", 4.0)):
        outcome = after(goal, bits)
        assert leaves_met(goal, outcome) == (met, 4.0)
        assert outcome.holds.item() == (bits == "110")
    assert after(goal, "100").progress.item() == pytest.approx(0.25)
