"""Stack all the blocks on a zone, the steps said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.tasks.stack._anywhere import ZONE, where
from clevrskills.suites.lohoravens.tasks.stack.stack_all_on_zone import StackAllOnZone
from clevrskills.suites.lohoravens.tasks.steps._stepwise import Stepwise, in_tower


@dataclass(kw_only=True, eq=False)
class StackAllOnZoneSteps(Stepwise, StackAllOnZone):
    """Stack all the blocks on a zone, the steps said."""

    key = "stack_all_on_zone_steps"
    level = "seen"
    family = "steps"
    sentence = f"{StackAllOnZone.sentence}, step by step"

    where: tuple[str, ...] = where(ZONE)

    def step(
        self, roles: Mapping[str, Tensor], body: Tensor, onto: Tensor, number: int
    ) -> Predicate:
        return in_tower(body, onto, number)
