"""Stack what lies on one side of a block, the steps said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.tasks.stack.stack_by_side import StackBySide
from clevrskills.suites.lohoravens.tasks.steps._stepwise import Stepwise, in_tower


@dataclass(kw_only=True, eq=False)
class StackBySideSteps(Stepwise, StackBySide):
    """Stack what lies on one side of a block, the steps said."""

    key = "stack_by_side_steps"
    level = "seen"
    family = "steps"
    sentence = f"{StackBySide.sentence}, step by step"

    def step(
        self, roles: Mapping[str, Tensor], body: Tensor, onto: Tensor, number: int
    ) -> Predicate:
        return in_tower(body, onto, number)
