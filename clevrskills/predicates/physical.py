"""Base of predicates about bodies and the robot."""

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Types
from clevrskills.predicates.criteria import PAPER, Criteria, criteria

SHORT_OF_MOST = 0.999
"""Bound of the reward before success, relative to a greatest reward given as a tensor."""


@dataclass(frozen=True, eq=False)
class PhysicalPredicate(Leaf):
    """Predicate about bodies and the robot of a :class:`~clevrskills.sim.world.World`."""

    handles: ClassVar[tuple[str, ...]] = ()
    """Names of the fields with bodies that the robot manipulates; empty: all :meth:`bodies`."""
    unsettles: ClassVar[tuple[str, ...]] = ()
    """Names of the fields with bodies that may slide, fly or fall over on the way."""

    criteria: Criteria = dataclasses.field(default=PAPER, kw_only=True)

    def with_criteria(self, table: Criteria) -> Self:
        return self if self.criteria is table else dataclasses.replace(self, criteria=table)

    def bodies(self) -> tuple[str, ...]:
        """Return the names of the fields with body indices; -1 is an empty entry."""
        return self._body_names

    @cached_property
    def _body_names(self) -> tuple[str, ...]:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        whole = (torch.long, torch.int)
        return tuple(n for n, v in values.items() if isinstance(v, Tensor) and v.dtype in whole)

    def _entry(self, name: str) -> Any:
        return self.criteria.name if name == "criteria" else super()._entry(name)

    @classmethod
    def _value(cls, name: str, entry: Any, types: Types) -> Any:
        return criteria(entry) if name == "criteria" else super()._value(name, entry, types)

    def outcome(
        self,
        holds: Tensor,
        shaping: Tensor,
        progress: Tensor | None = None,
        state: GoalState | None = None,
    ) -> Outcome:
        """Return the outcome, with ``max_reward`` and progress 1 where the predicate holds.

        Args:
            holds: Whether the predicate holds, (B,).
            shaping: Reward elsewhere, on the published scale, (B,); clipped at 0.999 ``max_reward``
                if that is a tensor.
            progress: Progress elsewhere, (B,), clipped to [0, 0.99]; ``None``: ``shaping /
                max_reward``.
            state: The next goal state.
        """
        most = self.max_reward
        short = (shaping / most if progress is None else progress).clamp(0.0, 0.99)
        if isinstance(most, Tensor):
            reward = torch.where(holds, most, shaping.minimum(SHORT_OF_MOST * most))
        else:
            reward = shaping.masked_fill(holds, most)
        return Outcome(holds, reward, short.masked_fill(holds, 1.0), state or {})


@dataclass(frozen=True, eq=False)
class Placing(PhysicalPredicate):
    """Base of predicates about placing one body, the first of ``handles``."""

    @abstractmethod
    def placed(self, world: Any, state: GoalState) -> Tensor:
        """Return whether the body is in place, held or not, (B,) bool."""

    def located(self, world: Any, state: GoalState) -> Tensor:
        """Return whether the body is in place at any angle, held or not, (B,) bool."""
        return self.placed(world, state)
