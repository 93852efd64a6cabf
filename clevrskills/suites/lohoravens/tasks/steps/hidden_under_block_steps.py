"""Put the block hidden under another one into the bowl of its color, the steps said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from clevrskills.predicates import Predicate
from clevrskills.suites.lohoravens.predicates.put_in import InArea
from clevrskills.suites.lohoravens.scene import QUADRANTS
from clevrskills.suites.lohoravens.solver.rehearsal import Placed
from clevrskills.suites.lohoravens.tasks.hidden.hidden_under_block import HiddenUnderBlock
from clevrskills.suites.lohoravens.tasks.steps._stepwise import Stepwise, in_bowl
from clevrskills.suites.lohoravens.things import area_bounds_m
from clevrskills.tasks.layout import Layout


@dataclass(kw_only=True, eq=False)
class HiddenUnderBlockSteps(Stepwise, HiddenUnderBlock):
    """Put the block hidden under another one into the bowl of its color, the steps said: the one
    above it goes to an area in which there is room.
    """

    key = "hidden_under_block_steps"
    level = "unseen"
    family = "steps"
    sentence = f"{HiddenUnderBlock.sentence}, step by step"

    def with_plan(self, layout: Layout, plan: Sequence[Placed]) -> Layout:
        layout = super().with_plan(layout, plan)
        low, high = area_bounds_m(QUADRANTS[int(layout.roles["step_area"][0])])
        return replace(layout, roles={**layout.roles, "low": low, "high": high})

    def thing(self, layout: Layout, number: int) -> str:
        return f"{super().thing(layout, number)}{' hidden' if number else ''}"

    def step(
        self, roles: Mapping[str, Tensor], body: Tensor, onto: Tensor, number: int
    ) -> Predicate:
        return in_bowl(body, onto) if number else InArea(body, roles["low"], roles["high"])
