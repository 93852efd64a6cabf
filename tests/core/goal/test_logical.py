"""Set, Sequence, Order and Once: truth tables and rewards of hand-made statements.

Reward rules: clevrskills 1.0.0 (arXiv 2411.09052), logical predicates, without their defects.
"""

import dataclasses
from dataclasses import dataclass
from itertools import product

import pytest
import torch
from torch import Tensor

from clevrskills.core.goal.tree import depth, reasons
from clevrskills.predicates import (
    Keeping,
    Leaf,
    Once,
    OnTop,
    Order,
    Outcome,
    Picked,
    Sequence,
    Set,
    Strict,
    Touched,
)
from clevrskills.sim.tensor_world import TensorWorld
from tests.support.worlds import CUBE, index, make_world, pose, row_of, row_of_world, tabletop

LEVELS = (0.0, 0.25, 0.5, 1.0)
"""How far along a statement is; it holds at 1."""
MOST = (2.0, 4.0, 6.0)
"""The most that statement 0, 1 and 2 are worth."""


class LevelWorld(TensorWorld):
    """Holds numbers in [0, 1], (B, n), and nothing else that matters."""

    def __init__(self, levels: Tensor) -> None:
        one = make_world([CUBE], [pose(CUBE, 0.0, 0.0)])
        super().__init__(one.keys, one.solids, one.body_pose)
        self.levels = levels.clone().float()
        self.num_envs = len(levels)


@dataclass(frozen=True, eq=False)
class Level(Leaf):
    """Number ``column`` of the world is 1."""

    column: int

    @property
    def max_reward(self) -> float:
        return MOST[self.column]

    def evaluate(self, world, state):
        level = world.levels[:, self.column]
        return Outcome(level >= 1.0, level * self.max_reward, level, {})

    def describe(self, world, env=0):
        return f"raise {self.column}"

    def realize(self, world, where=None):
        rows = slice(None) if where is None else where
        world.levels[rows, self.column] = 1.0


Level.name = "level"  # set here, so that the class is not registered as a kind of predicate
LEAVES = tuple(Level(i) for i in range(3))


def look(goal, levels, state=None):
    world = LevelWorld(torch.as_tensor(levels))
    return goal.evaluate(world, goal.initial_state(world) if state is None else state)


def masks(count):
    return [mask for mask in product((False, True), repeat=count) if any(mask)]


ROWS = [(levels, mask) for levels in product(LEVELS, repeat=3) for mask in masks(3)]
ALL_LEVELS = torch.tensor([levels for levels, _ in ROWS])
ALL_MASKS = torch.tensor([mask for _, mask in ROWS])


def expect_set(levels, mask):
    used = [(level, most) for level, most, on in zip(levels, MOST, mask, strict=True) if on]
    done = [most for level, most in used if level == 1.0]
    rest = [level * most for level, most in used if level < 1.0]
    near = [level for level, _ in used if level < 1.0]
    progress = (len(done) + max(near, default=0.0)) / len(used)
    return not rest, sum(done) + max(rest, default=0.0), progress


def expect_sequence(levels, mask):
    used = [(level, most) for level, most, on in zip(levels, MOST, mask, strict=True) if on]
    reward = progress = 0.0
    for level, most in used:
        reward, progress = reward + level * most, progress + level
        if level < 1.0:
            break
    return all(level == 1.0 for level, _ in used), reward, progress / len(used)


@pytest.mark.parametrize(("kind", "expect"), [(Set, expect_set), (Sequence, expect_sequence)])
def test_truth_table_and_rewards(kind, expect):
    """Every combination of levels and of active parts, all in one batch."""
    outcome = look(kind(LEAVES, ALL_MASKS), ALL_LEVELS)
    for row, (levels, mask) in enumerate(ROWS):
        holds, reward, progress = expect(levels, mask)
        assert bool(outcome.holds[row]) == holds, (levels, mask)
        assert float(outcome.reward[row]) == pytest.approx(reward), (levels, mask)
        assert float(outcome.progress[row]) == pytest.approx(progress), (levels, mask)
        assert (float(outcome.progress[row]) == 1.0) == holds
    assert outcome.holds.any() and not outcome.holds.all()


@pytest.mark.parametrize("kind", [Set, Sequence, Order])
def test_without_a_mask_all_parts_count(kind):
    everything = torch.ones(len(ROWS), 3, dtype=torch.bool)
    plain, masked = look(kind(LEAVES), ALL_LEVELS), look(kind(LEAVES, everything), ALL_LEVELS)
    for face in ("holds", "reward", "progress"):
        assert torch.equal(getattr(plain, face), getattr(masked, face))
    assert kind(LEAVES).max_reward == 12.0
    assert kind(LEAVES, everything).max_reward.unique().tolist() == [12.0]


@pytest.mark.parametrize("kind", [Set, Sequence, Order])
def test_the_most_is_that_of_the_active_parts(kind):
    goal = kind(LEAVES, ALL_MASKS)
    expected = (ALL_MASKS * torch.tensor(MOST)).sum(-1)
    assert torch.equal(torch.as_tensor(goal.max_reward), expected)
    outcome = look(goal, torch.ones(len(ROWS), 3))
    assert outcome.holds.all()
    assert torch.equal(outcome.reward, expected) and (outcome.progress == 1.0).all()


@pytest.mark.parametrize("kind", [Set, Sequence])
def test_set_and_sequence_forget(kind):
    goal = kind(LEAVES)
    first = look(goal, [[1.0, 1.0, 1.0]])
    assert first.holds.all() and first.state == {}
    assert not look(goal, [[1.0, 0.0, 1.0]], first.state).holds.any()


# ---- order ----


class ByHand:
    """What Order is to do, for one environment, in plain Python."""

    def __init__(self, mask):
        self.used = [i for i in range(3) if mask[i]]
        self.finished = 0

    def look(self, levels):
        while self.finished < len(self.used) and levels[self.used[self.finished]] == 1.0:
            self.finished += 1
        reward = sum(MOST[i] for i in self.used[: self.finished])
        share = float(self.finished)
        if self.finished < len(self.used):
            current = self.used[self.finished]
            reward += levels[current] * MOST[current]
            share += levels[current]
        return self.finished == len(self.used), reward, share / len(self.used)


def test_order_over_time():
    """Random levels over 12 evaluations, for every mask many times."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.tensor(masks(3)).repeat(40, 1)
    goal, by_hand = Order(LEAVES, mask), [ByHand(m) for m in mask.tolist()]
    world = LevelWorld(torch.zeros(len(mask), 3))
    state = goal.initial_state(world)
    finished = 0
    for _ in range(12):
        choice = torch.randint(len(LEVELS), (len(mask), 3), generator=generator)
        world.levels = torch.tensor(LEVELS)[choice]
        outcome = goal.evaluate(world, state)
        state = outcome.state
        for row, reference in enumerate(by_hand):
            holds, reward, progress = reference.look(world.levels[row].tolist())
            assert bool(outcome.holds[row]) == holds
            assert float(outcome.reward[row]) == pytest.approx(reward)
            assert float(outcome.progress[row]) == pytest.approx(progress)
        finished = int(outcome.holds.sum())
    assert 0 < finished < len(mask)


def test_order_earlier_parts_may_break_again():
    goal = Order(LEAVES)
    steps = [
        ((0.0, 1.0, 1.0), 0, 0.0),  # the first counts first
        ((1.0, 0.5, 0.0), 1, 2.0 + 2.0),
        ((0.0, 0.5, 1.0), 1, 2.0 + 2.0),  # broken; the last does not count yet
        ((0.0, 1.0, 0.5), 2, 2.0 + 4.0 + 3.0),
        ((0.0, 0.0, 0.25), 2, 2.0 + 4.0 + 1.5),
        ((0.0, 0.0, 1.0), 3, 12.0),
        ((0.0, 0.0, 0.0), 3, 12.0),
    ]
    state = None
    for levels, stage, reward in steps:
        outcome = look(goal, [levels], state)
        state = outcome.state
        assert int(state["stage"]) == stage
        assert float(outcome.reward) == pytest.approx(reward)
        assert bool(outcome.holds) == (stage == 3)


def test_order_reports_success_in_the_same_look():
    outcome = look(Order(LEAVES), [[1.0, 1.0, 1.0]])
    assert outcome.holds.all() and float(outcome.reward) == 12.0
    state = {"stage": torch.tensor([2])}
    assert look(Order(LEAVES), [[0.0, 0.0, 1.0]], state).holds.all()


def test_order_in_the_wrong_order_does_not_hold():
    goal, state = Order(LEAVES[:2]), None
    for levels in ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]):
        outcome = look(goal, [levels], state)
        state = outcome.state
    assert not outcome.holds.any() and int(state["stage"]) == 1


def test_order_continues_from_a_saved_state():
    goal = Order(LEAVES)
    saved = look(goal, [[1.0, 0.5, 0.0]]).state
    ahead = look(goal, [[0.0, 1.0, 1.0]], saved)
    assert ahead.holds.all()
    again = look(goal, [[0.0, 0.5, 1.0]], saved)  # what came after does not leak back
    assert int(again.state["stage"]) == 1 and not again.holds.any()


def test_environments_have_stages_of_their_own():
    goal = Order(LEAVES)
    first = look(goal, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    assert first.state["stage"].tolist() == [1, 0, 2]
    state = {"stage": torch.where(torch.tensor([True, False, False]), 0, first.state["stage"])}
    second = look(goal, [[0.0, 1.0, 1.0]] * 3, state)  # the first one was reset
    assert second.holds.tolist() == [False, False, True]


# ---- once ----


def test_once_remembers():
    goal, state = Once(LEAVES[1]), None
    for level, holds, reward, progress in (
        (0.5, False, 2.0, 0.5),
        (0.25, False, 1.0, 0.25),
        (1.0, True, 4.0, 1.0),
        (0.0, True, 4.0, 1.0),
    ):
        outcome = look(goal, [[0.0, level, 0.0]], state)
        state = outcome.state
        assert bool(outcome.holds) == holds == bool(state["held"])
        assert (float(outcome.reward), float(outcome.progress)) == (reward, progress)


def test_once_in_each_environment_by_itself():
    goal = Once(LEAVES[0])
    first = look(goal, [[1.0, 0, 0], [0.0, 0, 0]])
    second = look(goal, [[0.0, 0, 0], [0.5, 0, 0]], first.state)
    assert second.holds.tolist() == [True, False]
    assert second.reward.tolist() == [2.0, 1.0]


# ---- trees ----


def test_nested_state_is_kept_apart():
    goal = Set((Once(LEAVES[0]), Order((Once(LEAVES[1]), LEAVES[2])), Once(LEAVES[1])))
    world = LevelWorld(torch.zeros(1, 3))
    state = goal.initial_state(world)
    assert set(state) == {"0/held", "1/stage", "1/0/held", "2/held"}
    for levels, expected in (
        ([1.0, 0.0, 0.0], (True, 0, False, False)),
        ([0.0, 1.0, 0.0], (True, 1, True, True)),
        ([0.0, 0.0, 1.0], (True, 2, True, True)),
    ):
        outcome = look(goal, [levels], state)
        state = outcome.state
        found = (bool(state["0/held"]), int(state["1/stage"]), bool(state["1/0/held"]))
        assert (*found, bool(state["2/held"])) == expected
    assert outcome.holds.all() and float(outcome.reward) == 2.0 + 10.0 + 4.0


def test_nested_rewards():
    """Sequence of a set and a leaf: the set's own rule first, then the leaf's reward on top."""
    goal = Sequence((Set(LEAVES[:2]), LEAVES[2]))
    for levels, reward, progress in (
        ([0.5, 0.25, 1.0], 1.0, (0.5 / 2) / 2),
        ([1.0, 0.5, 1.0], 2.0 + 2.0, (1.5 / 2) / 2),
        ([1.0, 1.0, 0.5], 6.0 + 3.0, 0.75),
        ([1.0, 1.0, 1.0], 12.0, 1.0),
    ):
        outcome = look(goal, [levels])
        assert float(outcome.reward) == pytest.approx(reward)
        assert float(outcome.progress) == pytest.approx(progress)
        assert bool(outcome.holds) == (progress == 1.0)


def test_outcomes_of_the_parts_are_given():
    goal = Sequence((Set(LEAVES[:2]), LEAVES[2]))
    outcome = look(goal, [[1.0, 0.0, 1.0]])
    assert [bool(part.holds) for part in outcome.children] == [False, True]
    assert [bool(part.holds) for part in outcome.children[0].children] == [True, False]


def test_every_part_is_evaluated_once():
    calls = []

    class Counting(Level):
        def evaluate(self, world, state):
            calls.append(self.column)
            return super().evaluate(world, state)

    parts = tuple(Counting(i) for i in range(3))
    goal = Order((Set(parts[:2]), Once(parts[2])))
    look(goal, [[0.0, 1.0, 0.0]] * 4)
    assert sorted(calls) == [0, 1, 2]


def next_column(goal, outcome, env=0):
    leaf = goal.next_leaf(outcome, env)
    return None if leaf is None else leaf.column


@pytest.mark.parametrize("kind", [Set, Sequence])
@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([0.0, 0.0, 0.0], 0),
        ([1.0, 0.0, 0.0], 1),
        ([1.0, 0.0, 1.0], 1),
        ([0.0, 1.0, 1.0], 0),
        ([1.0, 1.0, 0.5], 2),
        ([1.0, 1.0, 1.0], None),
    ],
)
def test_next_leaf_is_the_first_open_one(kind, levels, expected):
    goal = kind(LEAVES)
    assert next_column(goal, look(goal, [levels])) == expected


def test_next_leaf_of_an_order_is_that_of_its_stage():
    goal = Order(LEAVES)
    outcome = look(goal, [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    assert [next_column(goal, outcome, env) for env in range(3)] == [1, 0, None]
    later = look(goal, [[0.0, 0.0, 0.0]] * 3, outcome.state)  # broken, but that is allowed
    assert [next_column(goal, later, env) for env in range(3)] == [1, 0, None]


def test_next_leaf_skips_parts_that_are_not_active():
    mask = torch.tensor([[False, True, True], [True, False, True], [False, False, True]])
    for kind in (Set, Sequence, Order):
        goal = kind(LEAVES, mask)
        outcome = look(goal, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        assert [next_column(goal, outcome, env) for env in range(3)] == [1, 2, None], kind


def test_next_leaf_goes_down_a_tree():
    goal = Order((Set(LEAVES[:2]), Once(LEAVES[2])))
    outcome = look(goal, [[1.0, 0.0, 0.0]])
    assert next_column(goal, outcome) == 1
    outcome = look(goal, [[1.0, 1.0, 0.0]], outcome.state)
    assert next_column(goal, outcome) == 2
    outcome = look(goal, [[0.0, 0.0, 1.0]], outcome.state)
    assert next_column(goal, outcome) is None


def test_steps_leaves_and_sentence():
    mask = torch.tensor([[True, True, True], [False, True, True]])
    world = LevelWorld(torch.zeros(2, 3))
    goal = Order((Sequence(LEAVES, mask), Once(LEAVES[0])))
    assert [leaf.column for leaf in goal.leaves()] == [0, 1, 2, 0]
    assert [step.column for step in goal.steps(0)] == [0, 1, 2, 0]
    assert [step.column for step in goal.steps(1)] == [1, 2, 0]
    assert goal.describe(world, 1) == "raise 1, then raise 2, then raise 0"
    assert Set(LEAVES, mask).describe(world, 1) == "raise 1, raise 2"


def mixed(world):
    """Parts of several kinds, those that are alike not side by side; one of them remembers."""
    a, b, c, slab = (index(world, k) for k in (0, 1, 2, 3))
    parts = (OnTop(a, slab), Touched(b), Picked(c), OnTop(b, slab), Once(Picked(a)), Touched(a))
    mask = torch.ones(world.num_envs, len(parts), dtype=torch.bool)
    mask[1, :2] = mask[2, 2:] = mask[:, 5] = False  # no environment uses the last one
    return Set(parts, mask)


def test_similar_children_are_batched_with_separate_outcomes():
    world = tabletop(4)
    goal = mixed(world)
    goal.children[0].realize(world)
    goal.children[1].realize(world)
    outcome = goal.evaluate(world, goal.initial_state(world))
    assert outcome.children[0].holds.tolist() == [True, False, True, True]
    for i, (part, given) in enumerate(zip(goal.children, outcome.children, strict=True)):
        alone, used = part.evaluate(world, part.initial_state(world)), goal.active[:, i]
        for name in ("holds", "reward", "progress"):
            assert torch.equal(getattr(given, name), getattr(alone, name) * used), (i, name)
        for key, value in alone.state.items():
            if used.any():
                assert torch.equal(outcome.state[f"{i}/{key}"], value), (i, key)


def test_each_environment_of_a_tree_is_as_it_would_be_alone():
    """Also where an environment does not use parts that others use."""
    world = tabletop(4)
    goal = mixed(world)
    goal.children[3].realize(world)
    together = goal.evaluate(world, goal.initial_state(world))
    for env in range(4):
        part, one = row_of(goal, env), row_of_world(world, env)
        alone = part.evaluate(one, part.initial_state(one))
        assert float(together.reward[env]) == float(alone.reward)
        for ours, own in zip(together.children, alone.children, strict=True):
            assert float(ours.reward[env]) == float(own.reward)
            assert bool(ours.holds[env]) == bool(own.holds)


def test_realizing_changes_only_active_parts_of_chosen_environments():
    mask = torch.tensor([[True, False, True], [True, True, False], [True, True, True]])
    for kind in (Set, Sequence, Order):
        world = LevelWorld(torch.zeros(3, 3))
        kind(LEAVES, mask).realize(world, torch.tensor([True, True, False]))
        assert world.levels.tolist() == [[1, 0, 1], [1, 1, 0], [0, 0, 0]]
        kind(LEAVES, mask).realize(world)
        assert world.levels.tolist() == [[1, 0, 1], [1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize("kind", [Set, Sequence, Order])
def test_malformed_trees_raise(kind):
    with pytest.raises(ValueError, match="at least one child"):
        kind(())
    with pytest.raises(ValueError, match="2 columns for 3 children"):
        kind(LEAVES, torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(ValueError, match="at least one active child"):
        kind(LEAVES, torch.tensor([[True, True, True], [False, False, False]]))


# ---- strict orders, and goals that can't be achieved any more ----


def strict(due=(0, 1, 2)):
    return Strict(Order(LEAVES), LEAVES, torch.tensor([due]))


def walk(goal, *rows):
    """The outcomes along levels."""
    state, seen = goal.initial_state(LevelWorld(torch.zeros(1, 3))), []
    for row in rows:
        seen.append(goal.evaluate(LevelWorld(torch.tensor([row])), state))
        state = seen[-1].state
    return seen


FIRST, SECOND, THIRD = (1, 0, 0), (0, 1, 0), (0, 0, 1)


@pytest.mark.parametrize("rows", [(FIRST, SECOND, THIRD), (FIRST, (1, 1, 0), FIRST, (0, 1, 1))])
def test_a_strict_order_in_turn_holds_as_any_order(rows):
    ours, theirs = walk(strict(), *rows)[-1], walk(Order(LEAVES), *rows)[-1]
    assert ours.holds and ours.progress == 1.0 and ours.reward == theirs.reward == sum(MOST)
    assert reasons(strict(), strict().failure_flags, ours.state) is None


@pytest.mark.parametrize(("wrong", "behind"), [((SECOND,), 0), ((THIRD,), 0), ((FIRST, THIRD), 1)])
def test_a_visit_before_its_turn_ends_a_strict_order(wrong, behind):
    """Earlier steps still count, later ones do not."""
    goal = strict()
    for outcome in walk(goal, *wrong, FIRST, SECOND, THIRD)[len(wrong) - 1 :]:
        assert not outcome.holds
        assert float(outcome.progress) == pytest.approx(behind / 3)
        assert float(outcome.reward) == sum(MOST[:behind])
        assert reasons(goal, goal.failure_flags, outcome.state) == [
            "something was done before its turn"
        ]
        assert depth(goal, outcome) == (behind, 3)
    assert walk(Order(LEAVES), *wrong, FIRST, SECOND, THIRD)[-1].holds  # it earns nothing there


def test_a_visit_that_is_due_from_the_start_is_free():
    assert walk(strict(due=(0, 0, 2)), SECOND, FIRST, SECOND, THIRD)[-1].holds


@dataclass(frozen=True, eq=False)
class Spoilt(Level):
    """Number ``column`` is 1, and has never been a quarter."""

    def initial_state(self, world):
        return {"spoilt": torch.zeros(world.num_envs, dtype=torch.bool)}

    def evaluate(self, world, state):
        outcome = super().evaluate(world, state)
        spoilt = state["spoilt"] | (outcome.progress == 0.25)
        return dataclasses.replace(outcome, holds=outcome.holds & ~spoilt, state={"spoilt": spoilt})

    @property
    def failure_flags(self):
        return ("spoilt",)

    def unsolvable(self, state):
        return {"spoilt": state["spoilt"]}


SPOILT = tuple(Spoilt(i) for i in range(3))
ONCE_SPOILT = (0, 0.25, 0)


@pytest.mark.parametrize(
    ("goal", "rows", "lost"),
    [
        (Set(SPOILT), (ONCE_SPOILT,), True),
        (Set(SPOILT, torch.tensor([[True, False, True]])), (ONCE_SPOILT,), False),
        (Sequence(SPOILT), (FIRST, ONCE_SPOILT), True),
        (Order(SPOILT), (FIRST, ONCE_SPOILT), True),
        (Order(SPOILT), (FIRST, SECOND, ONCE_SPOILT), False),  # it is behind
        (Once(SPOILT[1]), (ONCE_SPOILT,), True),
        (Once(SPOILT[1]), (SECOND, ONCE_SPOILT), False),  # it has held
        (Keeping(LEAVES[0], SPOILT[1]), (ONCE_SPOILT,), True),
        (Set(LEAVES), (ONCE_SPOILT,), False),
    ],
)
def test_an_unsolvable_goal_has_its_reasons(goal, rows, lost):
    found = reasons(goal, goal.failure_flags, walk(goal, *rows)[-1].state)
    assert (found == ["spoilt"]) if lost else (found in (None, [""]))
