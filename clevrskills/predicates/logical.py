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
from typing import Self

import torch
from torch import Tensor

from clevrskills.predicates.base import GoalState, Outcome, Predicate
from clevrskills.predicates.criteria import Criteria
from clevrskills.world import World


def _nothing(world: World, state: GoalState) -> Outcome:
    """The outcome of a part that no environment uses."""
    zero = torch.zeros(world.num_envs, device=world.device)
    return Outcome(zero.bool(), zero, zero, state)


def _part_of(index: int, state: GoalState) -> GoalState:
    """What the state of a whole has of one of its parts."""
    prefix = f"{index}/"
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def _as_part(index: int, state: GoalState) -> GoalState:
    """The state of a part as the whole has it."""
    return {f"{index}/{key}": value for key, value in state.items()}


def _stack(values: list[Tensor]) -> Tensor:
    return torch.stack(values, dim=-1)  # (B, n)


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

    def _mask(self, like: Tensor) -> Tensor:
        """(B, n) bool."""
        if self.active is None:
            return torch.ones((len(like), len(self.children)), dtype=torch.bool, device=like.device)
        return self.active

    def _most(self, like: Tensor) -> Tensor:
        """The greatest reward of each child, (B, n)."""
        return _stack(
            [
                torch.as_tensor(child.max_reward).to(like).expand(len(like))
                for child in self.children
            ]
        )

    @property
    def max_reward(self) -> Tensor | float:  # noqa: D102
        if self.active is None:
            return sum(child.max_reward for child in self.children)
        rewards = [torch.as_tensor(child.max_reward) for child in self.children]
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

    def _look(self, world: World, state: GoalState) -> tuple[tuple[Outcome, ...], GoalState]:
        """Evaluate every child once."""
        outcomes: list[Outcome] = []
        new_state: GoalState = {}
        for i, child in enumerate(self.children):
            look = child.evaluate if self._used[i] else _nothing
            outcomes.append(look(world, _part_of(i, state)))
            new_state |= _as_part(i, outcomes[i].state)
        return tuple(outcomes), new_state

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


@dataclass(frozen=True, eq=False)
class Set(Composite):
    """All active children hold now, in any order."""

    name = "set"

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        outcomes, new_state = self._look(world, state)
        holds, reward, progress = (
            _stack([getattr(o, f) for o in outcomes]) for f in ("holds", "reward", "progress")
        )
        active = self._mask(holds)
        done, open_ = holds & active, ~holds & active
        everything = ~open_.any(-1)
        # the published rule: what is done, plus the best of what is not
        total = (reward * done).sum(-1) + torch.where(open_, reward, -torch.inf).amax(-1).clamp(
            min=0.0
        )
        best = torch.where(open_, progress, 0.0).amax(-1)
        share = (done.sum(-1) + best) / active.sum(-1)
        return Outcome(everything, total, torch.where(everything, 1.0, share), new_state, outcomes)

    def next_leaf(self, outcome: Outcome, env: int = 0) -> Predicate | None:  # noqa: D102
        for i, (child, part) in enumerate(zip(self.children, outcome.children, strict=True)):
            if self._uses(i, env) and not bool(part.holds[env]):
                return child.next_leaf(part, env)
        return None


@dataclass(frozen=True, eq=False)
class Sequence(Set):
    """All active children hold now; they are rewarded and solved in order."""

    name = "sequence"
    conjunction = ", then "

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        outcomes, new_state = self._look(world, state)
        holds, reward, progress = (
            _stack([getattr(o, f) for o in outcomes]) for f in ("holds", "reward", "progress")
        )
        active = self._mask(holds)
        most = self._most(reward)
        # what only has to come to rest does not hide the reward for what comes next
        passed = (holds | (reward >= most) | ~active).long().cumprod(-1).bool()
        reached = torch.cat((torch.ones_like(passed[:, :1]), passed[:, :-1]), dim=-1) & active
        everything = (holds | ~active).all(-1)
        share = (progress * reached).sum(-1) / active.sum(-1)
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
        outcomes, new_state = self._look(world, state)
        holds, reward, progress = (
            _stack([getattr(o, f) for o in outcomes]) for f in ("holds", "reward", "progress")
        )
        active = self._mask(holds)
        stage = state["stage"]
        for i in range(len(self.children)):
            stage = stage + ((stage == i) & (holds[:, i] | ~active[:, i])).long()
        index = torch.arange(len(self.children), device=holds.device)
        for i in range(len(self.children)):
            # what a later part remembers starts when its turn comes
            for key in [k for k in new_state if k.startswith(f"{i}/")]:
                turn = (stage >= i).reshape(-1, *(1,) * (new_state[key].dim() - 1))
                new_state[key] = torch.where(turn, new_state[key], state[key])
        finished, current = (index < stage[:, None]) & active, (index == stage[:, None]) & active
        most = self._most(reward)
        everything = stage == len(self.children)
        share = (finished + progress * current).sum(-1) / active.sum(-1)
        total = (most * finished + reward * current).sum(-1)
        return Outcome(
            everything,
            total,
            torch.where(everything, 1.0, share),
            {"stage": stage, **new_state},
            outcomes,
        )

    def next_leaf(self, outcome: Outcome, env: int = 0) -> Predicate | None:  # noqa: D102
        stage = int(outcome.state["stage"][env])
        if stage == len(self.children):
            return None
        return self.children[stage].next_leaf(outcome.children[stage], env)


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

    def next_leaf(self, outcome: Outcome, env: int = 0) -> Predicate | None:  # noqa: D102
        if bool(outcome.holds[env]):
            return None
        return self.child.next_leaf(outcome.children[0], env)

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
