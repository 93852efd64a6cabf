"""Tasks whose sentences say the steps that lead to the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import OnTop, Order, Predicate, Strict
from clevrskills.suites.lohoravens.predicates.put_in import InArea, InBowl, InZone
from clevrskills.suites.lohoravens.scene import QUADRANTS, padded
from clevrskills.suites.lohoravens.solver.rehearsal import MoveOutcome
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.hidden import HiddenUnderBlock
from clevrskills.suites.lohoravens.things import area_bounds_m, quadrant_of
from clevrskills.tasks.bank import STYLES, Fields, Sentences, WordingSet
from clevrskills.tasks.bank_files import read_banks
from clevrskills.tasks.layout import Layout

LEADS = ("Step by step:", "The steps are these:", "Do it like this:", "One after the other:")
"""What comes between the goal and the steps in a sentence."""


@dataclass(kw_only=True, eq=False)
class Stepwise(RavensTask):
    """A task whose sentences end with the solver's moves, one after the other.

    Every layout has the roles ``step_object``, the slots of the blocks in the order of the steps,
    ``step_onto``, what each is put on or in, -1 for the table, ``step_source`` and ``step_area``,
    from and to which area, and ``steps``, which there are.
    """

    # kinds of what a block is put on or in, step by step, of ``area``, ``bowl``, ``block`` and
    # ``zone``; the last one is that of all further steps
    targets: ClassVar[tuple[str, ...]]
    sources: ClassVar[bool] = False  # whether a step says from which area a block is taken

    @property
    def bank(self) -> WordingSet:
        """The sentences of the task without steps, with steps behind them."""
        return _with_steps(read_banks(self.bank_folder)[self.key.removesuffix("_steps")])

    def with_plan(self, layout: Layout, plan: Sequence[MoveOutcome]) -> Layout:
        layout = super().with_plan(layout, plan)
        rows = [
            (placed.slot, placed.onto, _area(placed.move.place[:2]), _area(placed.move.pick[:2]))
            for placed in plan
        ]
        names = ("step_object", "step_onto", "step_area", "step_source")
        most, columns = self.moves[1], zip(names, zip(*rows, strict=True), strict=True)
        roles = {name: padded(column, most) for name, column in columns}
        active = np.arange(most) < len(plan)
        return replace(layout, roles={**layout.roles, **roles, "steps": active})

    def fields(self, layout: Layout) -> Fields:
        return {**super().fields(layout), "steps": " ".join(self._sentences(layout))}

    def _sentences(self, layout: Layout) -> list[str]:
        """Return the steps in words, as the primitives have them."""
        roles, sentences = layout.roles, []
        for k in range(int(roles["steps"].sum())):
            onto = int(roles["step_onto"][k])
            below = layout.bodies[onto] if onto >= 0 else None
            area = f"{QUADRANTS[int(roles['step_area'][k])]} area"
            place = area if below is None else below.name
            sentences.append(f"Pick up the {self.thing(layout, k)} and place it on the {place}.")
        return sentences

    def thing(self, layout: Layout, number: int) -> str:
        """Return what is picked up in a step."""
        body = layout.body("step_object", number)
        if not self.sources:
            return body.name
        return f"{body.name} on the {QUADRANTS[int(layout.roles['step_source'][number])]} area"

    def followed(self, roles: Mapping[str, Tensor]) -> Predicate:
        """Return whether each step was taken in its turn, and none before."""
        objects, onto = (roles[f"step_{r}"].clamp(min=0) for r in ("object", "onto"))
        steps = tuple(self.step(roles, objects[:, k], onto[:, k], k) for k in range(self.moves[1]))
        order = Order(steps, roles["steps"])
        due = roles["steps"].long().cumsum(-1) - 1
        return Strict(order, steps, due.masked_fill(~roles["steps"], 0))

    def step(
        self, roles: Mapping[str, Tensor], body: Tensor, onto: Tensor, number: int
    ) -> Predicate:
        """Return what holds when a block (B,) was put on or in something (B,) in a step."""
        target = self.targets[min(number, len(self.targets) - 1)]
        if target == "area":
            return InArea(body, roles["low"], roles["high"])
        if target == "bowl":
            return InBowl(body, onto[:, None])
        return OnTop(body, onto) if target == "block" else InZone(body, onto)


@dataclass(kw_only=True, eq=False)
class HiddenUnderBlockSteps(Stepwise, HiddenUnderBlock):
    """The hidden block goes into the bowl of its color, after the one above it went to an area in
    which there is room.
    """

    targets = ("area", "bowl")

    def with_plan(self, layout: Layout, plan: Sequence[MoveOutcome]) -> Layout:
        layout = super().with_plan(layout, plan)
        low, high = area_bounds_m(QUADRANTS[int(layout.roles["step_area"][0])])
        return replace(layout, roles={**layout.roles, "low": low, "high": high})

    def thing(self, layout: Layout, number: int) -> str:
        return f"{super().thing(layout, number)}{' hidden' if number else ''}"


@cache
def _with_steps(bank: WordingSet) -> WordingSet:
    """Return a bank with the steps ``{steps}`` behind each of its sentences."""
    paper = f"{bank.paper} {LEADS[0]} {{steps}}"
    return replace(bank, paper=paper, seen=_led(bank.seen), held_out=_led(bank.held_out))


def _led(sentences: Sentences) -> Sentences:
    found: dict[str, list[str]] = {style: [] for style in STYLES}
    for number, (style, text) in enumerate(sentences.alternating()):
        found[style].append(f"{text} {LEADS[number % len(LEADS)]} {{steps}}")
    return Sentences(**{style: "\n".join(lines) for style, lines in found.items()})


def _area(place: Sequence[float]) -> int:
    """Return the number of the quadrant of a place."""
    return QUADRANTS.index(quadrant_of(np.asarray(place)))
