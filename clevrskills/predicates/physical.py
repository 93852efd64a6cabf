"""Physical predicate: a leaf about bodies and the robot."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor

from clevrskills.core.goal.predicate import Leaf, Outcome
from clevrskills.predicates.criteria import PAPER, Criteria, criteria


@dataclass(frozen=True, eq=False)
class PhysicalPredicate(Leaf):
    """A predicate about bodies and the robot of a :class:`~clevrskills.sim.world.World`."""

    criteria: Criteria = dataclasses.field(default=PAPER, kw_only=True)

    def with_criteria(self, table: Criteria) -> Self:
        return dataclasses.replace(self, criteria=table)

    def _entry(self, name: str) -> Any:
        return self.criteria.name if name == "criteria" else super()._entry(name)

    @classmethod
    def _value(cls, name: str, entry: Any) -> Any:
        return criteria(entry) if name == "criteria" else super()._value(name, entry)

    def outcome(self, holds: Tensor, shaping: Tensor, progress: Tensor | None = None) -> Outcome:
        """Build the outcome.

        Args:
            holds: Whether it holds, (B,).
            shaping: The reward short of success, on the published scale, (B,).
            progress: How far it is short of success, in [0, 1], (B,); ``None``: the share that
                the shaping has of the greatest reward.
        """
        most = float(self.max_reward)
        short = (shaping / most if progress is None else progress).clamp(0.0, 0.99)
        return Outcome(holds, shaping.masked_fill(holds, most), short.masked_fill(holds, 1.0), {})
