"""Batched evaluation of the children of a composite that differ only in numbers."""

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from clevrskills.core.goal.context import Context
from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate


def child_state(index: int, state: GoalState) -> GoalState:
    """Return the state of one child from that of a composite."""
    prefix = f"{index}/"
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def as_child(index: int, state: GoalState) -> GoalState:
    """Return the state of a child under its names in a composite."""
    return {f"{index}/{key}": value for key, value in state.items()}


class ChildOutcomes(NamedTuple):
    """Outcomes of the n children of a composite; 0 where an environment does not use one."""

    outcomes: tuple[Outcome, ...]
    holds: Tensor
    """(B, n) bool."""
    both: Tensor
    """Reward and progress, (2, B, n)."""
    state: GoalState
    """State of the composite."""


class ChildBatches:
    """Groups of children, each evaluated as one leaf in a repeated context.

    Args:
        children: The n children of a composite.
        used: Which of them an environment uses, (B, n) bool, or (1, n) if all are the same.
    """

    def __init__(self, children: Sequence[Predicate], used: Tensor) -> None:
        self._children, self._used = children, used
        self._unused, self._all_used = ~used, bool(used.all())
        used_anywhere = used.any(0).tolist()
        groups: dict[object, list[int]] = {}
        for i, child in enumerate(children):
            groups.setdefault(_batch_key(child) or i, []).append(i)
        self._groups = [
            (_joined([children[i] for i in group]), group)
            for group in groups.values()
            if any(used_anywhere[i] for i in group)
        ]

    @cached_property
    def _columns(self) -> Tensor | None:
        """Column of each child in the joined groups, (n,), one past the last if it is in none;
        ``None`` if they are in order.
        """
        found = [i for _, group in self._groups for i in group]
        if found == list(range(len(self._children))):
            return None
        places = {i: column for column, i in enumerate(found)}
        columns = [places.get(i, len(found)) for i in range(len(self._children))]
        return torch.tensor(columns, device=self._used.device)

    def evaluate(self, world: Context, state: GoalState) -> ChildOutcomes:
        """Evaluate every child once."""
        states = [child_state(i, state) for i in range(len(self._children))]
        within: list[tuple[Outcome, ...]] = [()] * len(states)
        found = []
        for predicate, group in self._groups:
            if len(group) == 1:
                outcome = predicate.evaluate(world, states[group[0]])
                states[group[0]], within[group[0]] = outcome.state, outcome.children
            else:
                several = [states[i] for i in group]
                joined = {key: _interleave([each[key] for each in several]) for key in several[0]}
                outcome = predicate.evaluate(world.repeat(len(group)), joined)
                for key, values in outcome.state.items():
                    apart = values.unflatten(0, (-1, len(group)))  # type: ignore[no-untyped-call]
                    for i, value in zip(group, apart.unbind(1), strict=True):
                        states[i][key] = value
            found.append(outcome)
        holds = self._by_child([outcome.holds for outcome in found], world.num_envs)
        if world.rewards:
            rated = [torch.stack((outcome.reward, outcome.progress)) for outcome in found]
            both = self._by_child(rated, world.num_envs)
        else:
            both = torch.zeros((2, *holds.shape), device=holds.device)
        rewards, progresses = (values.unbind(-1) for values in both.unbind(0))
        credits: tuple[Tensor | None, ...] = (None,) * len(states)
        if any(outcome.credit is not None for outcome in found):
            known = [o.holds.float() if o.credit is None else o.credit for o in found]
            credits = self._by_child(known, world.num_envs).unbind(-1)
        by_field = (holds.unbind(-1), rewards, progresses, states, within, credits)
        return ChildOutcomes(
            tuple(Outcome(*values) for values in zip(*by_field, strict=True)),
            holds,
            both,
            {k: v for i, each in enumerate(states) for k, v in as_child(i, each).items()},
        )

    def _by_child(self, values: list[Tensor], num_envs: int) -> Tensor:
        """Return values of the groups, each (..., B * m), by child, (..., B, n)."""
        tables = [v.unflatten(-1, (num_envs, -1)) for v in values]  # type: ignore[no-untyped-call]
        if self._columns is not None:
            tables.append(torch.zeros_like(tables[0][..., :1]))
        table = tables[0] if len(tables) == 1 else torch.cat(tables, dim=-1)
        table = table if self._columns is None else table[..., self._columns]
        return table if self._all_used else table.masked_fill(self._unused, 0)


def _batch_key(predicate: Predicate) -> object:
    """Return the key shared by leaves that can be evaluated together; ``None`` for composites."""
    if not isinstance(predicate, Leaf):
        return None
    values = [getattr(predicate, field.name) for field in dataclasses.fields(predicate)]
    kinds = [tuple(v.shape) if isinstance(v, Tensor) else v for v in values]
    return (type(predicate), *kinds)


def _joined(predicates: list[Predicate]) -> Predicate:
    """Return one leaf in a repeated context for several leaves with the same batch key."""
    if len(predicates) == 1:
        return predicates[0]
    tensors = {
        field.name: _interleave([getattr(predicate, field.name) for predicate in predicates])
        for field in dataclasses.fields(predicates[0])
        if isinstance(getattr(predicates[0], field.name), Tensor)
    }
    return dataclasses.replace(predicates[0], **tensors)


def _interleave(values: list[Tensor]) -> Tensor:
    """Interleave the values of n children, each (B, ...), to (B * n, ...)."""
    return torch.stack(values, dim=1).flatten(0, 1)
