"""Move all blocks of a quadrant to another one, the steps said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.tasks.move.move_area import MoveArea
from clevrskills.suites.lohoravens.tasks.steps._stepwise import Stepwise, in_area


@dataclass(kw_only=True, eq=False)
class MoveAreaSteps(Stepwise, MoveArea):
    """Move all blocks of a quadrant to another one, the steps said."""

    key = "move_area_steps"
    level = "unseen"
    family = "steps"
    sentence = f"{MoveArea.sentence}, step by step"
    sources = True
    distinct = True

    def step(
        self, roles: Mapping[str, Tensor], body: Tensor, onto: Tensor, number: int
    ) -> Predicate:
        return in_area(roles, body)
