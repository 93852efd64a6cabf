"""Put the blocks into the bowls with matching colors, the steps said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.tasks.bowls.bowls_matching import BowlsMatching
from clevrskills.suites.lohoravens.tasks.steps._stepwise import Stepwise, in_bowl


@dataclass(kw_only=True, eq=False)
class BowlsMatchingSteps(Stepwise, BowlsMatching):
    """Put the blocks into the bowls with matching colors, the steps said."""

    key = "bowls_matching_steps"
    level = "seen"
    family = "steps"
    sentence = f"{BowlsMatching.sentence}, step by step"

    def step(
        self, roles: Mapping[str, Tensor], body: Tensor, onto: Tensor, number: int
    ) -> Predicate:
        return in_bowl(body, onto)
