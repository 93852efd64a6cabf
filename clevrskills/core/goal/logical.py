"""Logical predicates, which combine statements into goals.

``Set``: all hold now, in any order. ``Sequence``: all hold now; rewards and the oracle follow the
order. ``Order``: each holds in turn, earlier ones may break again. ``Once``: has held. Children
that an environment does not have are inactive.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import torch
from torch import Tensor

from clevrskills.core.goal.batching import ChildBatches, as_child, child_state
from clevrskills.core.goal.context import Context, any_true
from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate

TOO_EARLY = "something was done before its turn"


ORDER_WORDS = (
    *("first", "then", "after", "afterwards", "before", "next", "second", "last", "finally"),
    "followed",
)
"""Words of order in wordings."""


@dataclass(frozen=True, eq=False)
class Composite(Predicate):
    """Predicate made of others."""

    children: tuple[Predicate, ...]  # the children
    # children that an environment uses, at least one, (B, n) bool; ``None``: all
    active: Tensor | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", tuple(self.children))
        if not self.children:
            raise ValueError(f"{type(self).__name__} needs at least one child")
        if self.active is not None:
            if self.active.shape[-1] != len(self.children):
                raise ValueError(
                    f"active has {self.active.shape[-1]} columns for {len(self.children)} children"
                )
            if not self.active.any(-1).all():
                raise ValueError("each environment needs at least one active child")

    @cached_property
    def _used(self) -> Tensor:
        """Children that an environment uses, (B, n) bool, or (1, n) if all use all."""
        if self.active is None:
            return torch.ones((1, len(self.children)), dtype=torch.bool, device=self.device)
        return self.active

    @cached_property
    def _unused(self) -> Tensor:
        return ~self._used

    @cached_property
    def _num_used(self) -> Tensor:
        """Number of children that an environment uses, (B,) or (1,) float."""
        return self._used.sum(-1).float()

    @cached_property
    def _max_rewards(self) -> Tensor:
        """Greatest reward of each child, (B, n) or (1, n)."""
        rewards = [
            torch.as_tensor(c.max_reward, dtype=torch.float32, device=self.device).reshape(-1)
            for c in self.children
        ]
        alike = torch.broadcast_tensors(*rewards)  # type: ignore[no-untyped-call]
        return torch.stack(alike, dim=-1)

    @cached_property
    def _batches(self) -> ChildBatches:
        return ChildBatches(self.children, self._used)

    @property
    def max_reward(self) -> Tensor | float:
        if self.active is None:
            return sum(child.max_reward for child in self.children)
        device = self.active.device
        rewards = [torch.as_tensor(child.max_reward, device=device) for child in self.children]
        total: Tensor = sum(r * a for r, a in zip(rewards, self.active.T, strict=True))
        return total

    def initial_state(self, world: Any) -> GoalState:
        state: GoalState = {}
        for i, child in enumerate(self.children):
            state |= as_child(i, child.initial_state(world))
        return state

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return tuple(f"{i}/{name}" for i in self.needed for name in self.children[i].failure_flags)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for i in self.needed:
            for reason, where in self.children[i].unsolvable(child_state(i, state)).items():
                where = where & self._required(i, state)
                found[reason] = found[reason] | where if reason in found else where
        return found

    @property
    def needed(self) -> Iterable[int]:
        """Indices of the children that are necessary where they are active."""
        return range(len(self.children))

    def _required(self, child: int, state: GoalState) -> Tensor:
        """Return where a child must still hold, (B,) or (1,) bool."""
        del state
        return self._used[:, child]

    def leaves(self) -> Iterator[Leaf]:
        for child in self.children:
            yield from child.leaves()

    def steps(self, env: int = 0) -> Iterator[Predicate]:
        for i, child in enumerate(self.children):
            if self._uses(i, env):
                yield from child.steps(env)

    def with_criteria(self, table: Any) -> Self:
        children = tuple(c.with_criteria(table) for c in self.children)
        return self if children == self.children else dataclasses.replace(self, children=children)

    def holds(self, world: Context, state: GoalState) -> Tensor:
        found = torch.ones(world.num_envs, dtype=torch.bool, device=world.device)
        for i in self.needed:
            required = self._required(i, state)
            if any_true(required):
                found = found & (self.children[i].holds(world, child_state(i, state)) | ~required)
            if not any_true(found):
                break
        return found

    @cached_property
    def _first_leaf(self) -> Tensor:
        """Index of each child's first leaf among all leaves, (n,)."""
        counts = [sum(1 for _ in child.leaves()) for child in self.children]
        return torch.tensor([0, *accumulate(counts)][:-1], device=self.device)

    def _next_of(self, child: Tensor, outcome: Outcome) -> Tensor:
        """Return the index (B,) of the next leaf in a child (B,); -1 where the composite holds."""
        if all(isinstance(each, Leaf) for each in self.children):
            return child.masked_fill(outcome.holds, -1)
        chosen = self._first_leaf[child]
        for i, (each, part) in enumerate(zip(self.children, outcome.children, strict=True)):
            if not isinstance(each, Leaf):
                # finished steps of an order may not hold any more, later ones may already hold
                chosen = chosen + (child == i) * each.next_index(part).clamp(min=0)
        return chosen.masked_fill(outcome.holds, -1)

    def describe(self, world: Any, env: int = 0) -> str:
        parts = [c.describe(world, env) for i, c in enumerate(self.children) if self._uses(i, env)]
        return self.conjunction.join(parts)

    conjunction = ", "

    def _uses(self, child: int, env: int) -> bool:
        return self.active is None or bool(self.active[env, child])

    def realize(self, world: Any, where: Tensor | None = None) -> None:
        for i, child in enumerate(self.children):
            mask = where
            if self.active is not None:
                mask = self.active[:, i] if where is None else where & self.active[:, i]
            child.realize(world, mask)


@dataclass(frozen=True, eq=False)
class Set(Composite):
    """Set of children that all hold now, in any order."""

    name = "set"

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        outcomes, holds, both, new_state = self._batches.evaluate(world, state)
        if not world.rewards:
            return Outcome.without_rewards((holds | self._unused).all(-1), new_state, outcomes)
        # the published rule: children that hold, plus the best of the others
        done, best = (both * holds).sum(-1), both.masked_fill(holds, 0.0).amax(-1)
        total, share = (done + best).unbind(0)
        everything = (holds | self._unused).all(-1)
        return Outcome(everything, total, share / self._num_used, new_state, outcomes)

    def next_index(self, outcome: Outcome) -> Tensor:
        holds = torch.stack([part.holds for part in outcome.children], dim=-1)
        missing = self._used.masked_fill(holds, False)
        return self._next_of(missing.byte().argmax(-1), outcome)


@dataclass(frozen=True, eq=False)
class Sequence(Set):
    """Sequence of children that all hold now, rewarded and solved in order."""

    name = "sequence"
    goal_words = ORDER_WORDS
    conjunction = ", then "

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        outcomes, holds, (reward, progress), new_state = self._batches.evaluate(world, state)
        if not world.rewards:
            return Outcome.without_rewards((holds | self._unused).all(-1), new_state, outcomes)
        active = self._used
        # a child that only has to come to rest does not block the reward of the next one
        passed = (holds | (reward >= self._max_rewards) | ~active).long().cumprod(-1).bool()
        reached = torch.cat((torch.ones_like(passed[:, :1]), passed[:, :-1]), dim=-1) & active
        everything = (holds | ~active).all(-1)
        share = (progress * reached).sum(-1) / self._num_used
        progress = torch.where(everything, 1.0, share)
        return Outcome(everything, (reward * reached).sum(-1), progress, new_state, outcomes)


@dataclass(frozen=True, eq=False)
class Order(Composite):
    """Order in which the children have held in turn.

    Earlier children may break again. Holding before its turn does not count for a child.
    """

    name = "order"
    goal_words = ORDER_WORDS
    conjunction = ", then "

    def initial_state(self, world: Context) -> GoalState:
        stage = torch.zeros(world.num_envs, dtype=torch.long, device=world.device)
        return {"stage": stage, **super().initial_state(world)}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        outcomes, holds, (reward, progress), new_state = self._batches.evaluate(world, state)
        index = self._numbers
        behind = holds | self._unused | (index < state["stage"][:, None])
        stage = behind.long().cumprod(-1).sum(-1)
        for i in range(len(self.children)):
            # the state of a later child starts with its turn
            for key in [k for k in new_state if k.startswith(f"{i}/")]:
                turn = (stage >= i).reshape(-1, *(1,) * (new_state[key].dim() - 1))
                new_state[key] = torch.where(turn, new_state[key], state[key])
        new_state = {"stage": stage, **new_state}
        holds = stage == len(self.children)
        if not world.rewards:
            return Outcome.without_rewards(holds, new_state, outcomes)
        finished = (index < stage[:, None]) & self._used
        current = index == stage[:, None]
        return Outcome(
            holds,
            (self._max_rewards * finished + reward * current).sum(-1),
            (finished + progress * current).sum(-1) / self._num_used,
            new_state,
            outcomes,
        )

    def behind(self, stage: Tensor) -> tuple[Tensor, Tensor]:
        """Return reward and progress of the children before a stage (B,), each (B,)."""
        finished = (self._numbers < stage[:, None]) & self._used
        return (self._max_rewards * finished).sum(-1), finished.sum(-1) / self._num_used

    def _required(self, child: int, state: GoalState) -> Tensor:
        return super()._required(child, state) & (state["stage"] <= child)

    @cached_property
    def _numbers(self) -> Tensor:
        """Indices of the children, (n,)."""
        return torch.arange(len(self.children), device=self._used.device)

    def next_index(self, outcome: Outcome) -> Tensor:
        return self._next_of(outcome.state["stage"].clamp(max=len(self.children) - 1), outcome)


@dataclass(frozen=True, eq=False)
class Wrapper(Predicate):
    """Predicate that modifies another one."""

    child: Predicate  # the modified predicate

    @property
    def max_reward(self) -> Tensor | float:
        return self.child.max_reward

    def initial_state(self, world: Any) -> GoalState:
        return as_child(0, self.child.initial_state(world))

    def _evaluate_child(self, world: Context, state: GoalState) -> tuple[Outcome, GoalState]:
        """Return the outcome of the child and the state of the wrapper."""
        part = self.child.evaluate(world, child_state(0, state))
        return part, as_child(0, part.state)

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return tuple(f"0/{name}" for name in self.child.failure_flags)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return self.child.unsolvable(child_state(0, state))

    def leaves(self) -> Iterator[Leaf]:
        yield from self.child.leaves()

    def steps(self, env: int = 0) -> Iterator[Predicate]:
        yield from self.child.steps(env)

    def next_index(self, outcome: Outcome) -> Tensor:
        return torch.where(outcome.holds, -1, self.child.next_index(outcome.children[0]))

    def with_criteria(self, table: Any) -> Self:
        return dataclasses.replace(self, child=self.child.with_criteria(table))

    def describe(self, world: Any, env: int = 0) -> str:
        return self.child.describe(world, env)

    def realize(self, world: Any, where: Tensor | None = None) -> None:
        self.child.realize(world, where)


@dataclass(frozen=True, eq=False)
class Once(Wrapper):
    """Statement that the child has held at some time."""

    name = "once"

    def initial_state(self, world: Context) -> GoalState:
        held = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"held": held, **super().initial_state(world)}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        part, new_state = self._evaluate_child(world, state)
        held = state["held"] | part.holds
        most = torch.as_tensor(self.max_reward, device=held.device)
        return Outcome(
            held,
            torch.where(held, most, part.reward),
            torch.where(held, 1.0, part.progress),
            {"held": held, **new_state},
            (part,),
        )

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        found = super().unsolvable(state)
        return {reason: where & ~state["held"] for reason, where in found.items()}


@dataclass(frozen=True, eq=False)
class Keeping(Wrapper):
    """Goal with a condition that must be kept.

    Reward, credit and next leaf are those of the child; success requires both.
    """

    name = "keeping"
    kept: Predicate

    def initial_state(self, world: Context) -> GoalState:
        return {**super().initial_state(world), **as_child(1, self.kept.initial_state(world))}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        part, new_state = self._evaluate_child(world, state)
        veto = self.kept.evaluate(world, child_state(1, state))
        new_state = {**new_state, **as_child(1, veto.state)}
        progress = torch.where(veto.holds, part.progress, part.progress.clamp(max=0.99))
        return Outcome(part.holds & veto.holds, part.reward, progress, new_state, (part,))

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return (*super().failure_flags, *(f"1/{name}" for name in self.kept.failure_flags))

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        found = super().unsolvable(state)
        for reason, where in self.kept.unsolvable(child_state(1, state)).items():
            found[reason] = found[reason] | where if reason in found else where
        return found

    def next_index(self, outcome: Outcome) -> Tensor:
        # where only the kept condition fails, the child is done but the predicate does not hold
        left = self.child.next_index(outcome.children[0]).clamp(min=0)
        return torch.where(outcome.holds, -1, left)

    def with_criteria(self, table: Any) -> Self:
        kept = self.kept.with_criteria(table)
        return dataclasses.replace(self, child=self.child.with_criteria(table), kept=kept)


@dataclass(frozen=True, eq=False)
class Strict(Wrapper):
    """Order that ends for good when something holds before its turn; finished steps still count."""

    name = "strict"
    child: Order  # the order
    visits: tuple[Predicate, ...]  # stateless predicates that must not hold too early
    due: Tensor  # finished steps of the order before each of them may hold, (B, n) int

    def initial_state(self, world: Context) -> GoalState:
        over = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"over": over, **super().initial_state(world)}

    def evaluate(self, world: Context, state: GoalState) -> Outcome:
        over, before = state["over"], child_state(0, state)
        part = self.child.evaluate(world, before)
        kept = {
            key: torch.where(over.reshape(-1, *(1,) * (value.dim() - 1)), before[key], value)
            for key, value in part.state.items()
        }
        part = dataclasses.replace(part, holds=part.holds & ~over, state=kept)
        holds = torch.stack([each.evaluate(world, {}).holds for each in self.visits], dim=-1)
        early = holds & (kept["stage"][:, None] < self.due)
        over = over | (early.any(-1) & ~part.holds)
        reward, progress = self.child.behind(kept["stage"])
        return Outcome(
            part.holds,
            torch.where(over, reward, part.reward),
            torch.where(over, progress, part.progress),
            {"over": over, **as_child(0, kept)},
            (part,),
        )

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return ("over", *super().failure_flags)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return {**super().unsolvable(state), TOO_EARLY: state["over"]}

    def with_criteria(self, table: Any) -> Self:
        visits = tuple(visit.with_criteria(table) for visit in self.visits)
        return dataclasses.replace(self, child=self.child.with_criteria(table), visits=visits)
