"""Logical predicates: how statements are combined into goals.

``Set``: all hold now, in any order. ``Sequence``: all hold now; reward and oracle go in order.
``Order``: each in turn, earlier ones may break again. ``Once``: has held. Environments whose tree
has fewer parts mark the others as inactive.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, Self

import torch
from torch import Tensor

from clevrskills.predicates.base import GoalState, Outcome, PhysicalPredicate, Predicate
from clevrskills.predicates.criteria import Criteria
from clevrskills.world import World


def _part_of(index: int, state: GoalState) -> GoalState:
    """What the state of a whole has of one of its parts."""
    prefix = f"{index}/"
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def _as_part(index: int, state: GoalState) -> GoalState:
    """The state of a part as the whole has it."""
    return {f"{index}/{key}": value for key, value in state.items()}


class Look(NamedTuple):
    """What was seen of the n parts of a whole: their outcomes, the same as (B, n), and the state of
    the whole.
    """

    outcomes: tuple[Outcome, ...]
    holds: Tensor
    reward: Tensor
    progress: Tensor
    state: GoalState


@dataclass(frozen=True, eq=False)
class Composite(Predicate):
    """A predicate made of others.

    Args:
        children: The parts.
        active: Which parts an environment uses, (B, n) bool; ``None``: all. At least one must be
            active.
    """

    children: tuple[Predicate, ...]
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
    def _used(self) -> tuple[bool, ...]:
        """Which children any environment uses."""
        if self.active is None:
            return (True,) * len(self.children)
        return tuple(self.active.any(0).tolist())

    @cached_property
    def _mask(self) -> Tensor:
        """Which children an environment uses, (B, n) bool, or (1, n) if all use all."""
        if self.active is None:
            return torch.ones((1, len(self.children)), dtype=torch.bool, device=self.device)
        return self.active

    @cached_property
    def _count(self) -> Tensor:
        """How many children an environment uses, (B,) or (1,)."""
        return self._mask.sum(-1)

    @cached_property
    def _most(self) -> Tensor:
        """The greatest reward of each child, (B, n) or (1, n)."""
        rewards = [
            torch.as_tensor(c.max_reward, dtype=torch.float32, device=self.device).reshape(-1)
            for c in self.children
        ]
        return torch.stack(torch.broadcast_tensors(*rewards), dim=-1)

    @cached_property
    def _groups(self) -> list[tuple[Predicate, list[int]]]:
        """The children that any environment uses; those that differ in numbers only are joined and
        looked at together, as more environments than there are.
        """
        groups: dict[object, list[int]] = {}
        for i, child in enumerate(self.children):
            if self._used[i]:
                groups.setdefault(_likeness(child) or i, []).append(i)
        return [(_joined([self.children[i] for i in group]), group) for group in groups.values()]

    @property
    def max_reward(self) -> Tensor | float:  # noqa: D102
        if self.active is None:
            return sum(child.max_reward for child in self.children)
        device = self.active.device
        rewards = [torch.as_tensor(child.max_reward, device=device) for child in self.children]
        return sum(r * a for r, a in zip(rewards, self.active.T, strict=True))

    def initial_state(self, world: World) -> GoalState:  # noqa: D102
        state: GoalState = {}
        for i, child in enumerate(self.children):
            state |= _as_part(i, child.initial_state(world))
        return state

    def leaves(self) -> Iterator[Predicate]:  # noqa: D102
        for child in self.children:
            yield from child.leaves()

    def steps(self, env: int = 0) -> Iterator[Predicate]:  # noqa: D102
        for i, child in enumerate(self.children):
            if self._uses(i, env):
                yield from child.steps(env)

    def using(self, table: Criteria) -> Self:  # noqa: D102
        return dataclasses.replace(self, children=tuple(c.using(table) for c in self.children))

    def _look(self, world: World, state: GoalState) -> Look:
        """Evaluate every child once."""
        outcomes: list[Outcome | None] = [None] * len(self.children)
        for predicate, group in self._groups:
            parts = [_part_of(i, state) for i in group]
            if len(group) == 1:
                outcomes[group[0]] = predicate.evaluate(world, parts[0])
                continue
            joined = {key: torch.cat([part[key] for part in parts]) for key in parts[0]}
            outcome = predicate.evaluate(world.repeat(len(group)), joined)
            for i, part in zip(group, outcome.split(len(group)), strict=True):
                outcomes[i] = part
        zero = world.end_effector_pose.new_zeros(world.num_envs)
        said = tuple(
            outcome or Outcome(zero.bool(), zero, zero, _part_of(i, state))
            for i, outcome in enumerate(outcomes)
        )
        return Look(
            said,
            torch.stack([o.holds for o in said], dim=-1),
            torch.stack([o.reward for o in said], dim=-1),
            torch.stack([o.progress for o in said], dim=-1),
            {k: v for i, o in enumerate(said) for k, v in _as_part(i, o.state).items()},
        )

    @cached_property
    def _first_leaf(self) -> Tensor:
        """Index of the first leaf of each child among the leaves of the whole, (n,)."""
        counts = [sum(1 for _ in child.leaves()) for child in self.children]
        return torch.tensor([0, *accumulate(counts)][:-1], device=self.device)

    def _next_of(self, child: Tensor, outcome: Outcome) -> Tensor:
        """The index (B,) of the leaf that is next in a child (B,); -1 where the whole holds."""
        chosen = self._first_leaf[child]
        for i, (each, part) in enumerate(zip(self.children, outcome.children, strict=True)):
            if not isinstance(each, PhysicalPredicate):
                # what an order has behind it may hold no more, what it asks for may hold already
                chosen = chosen + (child == i) * each.next_index(part).clamp(min=0)
        return torch.where(outcome.holds, -1, chosen)

    def says(self, world: World, env: int = 0) -> str:  # noqa: D102
        parts = [c.says(world, env) for i, c in enumerate(self.children) if self._uses(i, env)]
        return self.conjunction.join(parts)

    conjunction = ", "

    def _uses(self, child: int, env: int) -> bool:
        return self.active is None or bool(self.active[env, child])

    def realise(self, world: World, where: Tensor | None = None) -> None:  # noqa: D102
        for i, child in enumerate(self.children):
            mask = where
            if self.active is not None:
                mask = self.active[:, i] if where is None else where & self.active[:, i]
            child.realise(world, mask)


def _likeness(predicate: Predicate) -> object:
    """What predicates must share to be looked at together; ``None`` for one that must stay
    alone.
    """
    if not isinstance(predicate, PhysicalPredicate):
        return None
    values = [getattr(predicate, field.name) for field in dataclasses.fields(predicate)]
    kinds = [tuple(v.shape) if isinstance(v, Tensor) else v for v in values]
    return (type(predicate), *kinds)


def _joined(predicates: list[Predicate]) -> Predicate:
    """One predicate for several that are alike, their environments one after the other."""
    if len(predicates) == 1:
        return predicates[0]
    tensors = {
        field.name: torch.cat([getattr(predicate, field.name) for predicate in predicates])
        for field in dataclasses.fields(predicates[0])
        if isinstance(getattr(predicates[0], field.name), Tensor)
    }
    return dataclasses.replace(predicates[0], **tensors)


@dataclass(frozen=True, eq=False)
class Set(Composite):
    """All active children hold now, in any order."""

    name = "set"

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        outcomes, holds, reward, progress, new_state = self._look(world, state)
        done, open_ = holds & self._mask, ~holds & self._mask
        everything = ~open_.any(-1)
        # the published rule: what is done, plus the best of what is not
        total = (reward * done).sum(-1) + torch.where(open_, reward, -torch.inf).amax(-1).clamp(
            min=0.0
        )
        best = torch.where(open_, progress, 0.0).amax(-1)
        share = (done.sum(-1) + best) / self._count
        return Outcome(everything, total, torch.where(everything, 1.0, share), new_state, outcomes)

    def next_index(self, outcome: Outcome) -> Tensor:  # noqa: D102
        holds = torch.stack([part.holds for part in outcome.children], dim=-1)
        return self._next_of((~holds & self._mask).long().argmax(-1), outcome)


@dataclass(frozen=True, eq=False)
class Sequence(Set):
    """All active children hold now; they are rewarded and solved in order."""

    name = "sequence"
    conjunction = ", then "

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        outcomes, holds, reward, progress, new_state = self._look(world, state)
        active = self._mask
        # what only has to come to rest does not hide the reward for what comes next
        passed = (holds | (reward >= self._most) | ~active).long().cumprod(-1).bool()
        reached = torch.cat((torch.ones_like(passed[:, :1]), passed[:, :-1]), dim=-1) & active
        everything = (holds | ~active).all(-1)
        share = (progress * reached).sum(-1) / self._count
        return Outcome(
            everything,
            (reward * reached).sum(-1),
            torch.where(everything, 1.0, share),
            new_state,
            outcomes,
        )


@dataclass(frozen=True, eq=False)
class Order(Composite):
    """Each active child has held in turn; earlier ones may break again."""

    name = "order"
    conjunction = ", then "

    def initial_state(self, world: World) -> GoalState:  # noqa: D102
        stage = torch.zeros(world.num_envs, dtype=torch.long, device=world.device)
        return {"stage": stage, **super().initial_state(world)}

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        outcomes, holds, reward, progress, new_state = self._look(world, state)
        active = self._mask
        index = torch.arange(len(self.children), device=holds.device)
        behind = holds | ~active | (index < state["stage"][:, None])
        stage = behind.long().cumprod(-1).sum(-1)
        for i in range(len(self.children)):
            # what a later part remembers starts when its turn comes
            for key in [k for k in new_state if k.startswith(f"{i}/")]:
                turn = (stage >= i).reshape(-1, *(1,) * (new_state[key].dim() - 1))
                new_state[key] = torch.where(turn, new_state[key], state[key])
        finished, current = (index < stage[:, None]) & active, (index == stage[:, None]) & active
        everything = stage == len(self.children)
        share = (finished + progress * current).sum(-1) / self._count
        total = (self._most * finished + reward * current).sum(-1)
        return Outcome(
            everything,
            total,
            torch.where(everything, 1.0, share),
            {"stage": stage, **new_state},
            outcomes,
        )

    def next_index(self, outcome: Outcome) -> Tensor:  # noqa: D102
        return self._next_of(outcome.state["stage"].clamp(max=len(self.children) - 1), outcome)


@dataclass(frozen=True, eq=False)
class Wrapper(Predicate):
    """A predicate that adds something to another one.

    Args:
        child: The other one.
    """

    child: Predicate

    @property
    def max_reward(self) -> Tensor | float:  # noqa: D102
        return self.child.max_reward

    def initial_state(self, world: World) -> GoalState:  # noqa: D102
        return _as_part(0, self.child.initial_state(world))

    def _look(self, world: World, state: GoalState) -> tuple[Outcome, GoalState]:
        """Evaluate the child once."""
        part = self.child.evaluate(world, _part_of(0, state))
        return part, _as_part(0, part.state)

    def leaves(self) -> Iterator[Predicate]:  # noqa: D102
        yield from self.child.leaves()

    def steps(self, env: int = 0) -> Iterator[Predicate]:  # noqa: D102
        yield from self.child.steps(env)

    def next_index(self, outcome: Outcome) -> Tensor:  # noqa: D102
        return torch.where(outcome.holds, -1, self.child.next_index(outcome.children[0]))

    def using(self, table: Criteria) -> Self:  # noqa: D102
        return dataclasses.replace(self, child=self.child.using(table))

    def says(self, world: World, env: int = 0) -> str:  # noqa: D102
        return self.child.says(world, env)

    def realise(self, world: World, where: Tensor | None = None) -> None:  # noqa: D102
        self.child.realise(world, where)


@dataclass(frozen=True, eq=False)
class Once(Wrapper):
    """The child has held at some time.

    Args:
        child: The statement to remember.
    """

    name = "once"

    def initial_state(self, world: World) -> GoalState:  # noqa: D102
        held = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"held": held, **super().initial_state(world)}

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        part, new_state = self._look(world, state)
        held = state["held"] | part.holds
        most = torch.as_tensor(self.max_reward, device=held.device)
        return Outcome(
            held,
            torch.where(held, most, part.reward),
            torch.where(held, 1.0, part.progress),
            {"held": held, **new_state},
            (part,),
        )
