"""Tasks whose sentences also give the steps that lead to the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import OnTop, Order, Predicate, Strict
from clevrskills.suites.lohoravens.field import area_bounds_m, quadrant_of
from clevrskills.suites.lohoravens.predicates.put_in import InArea, InBowl, InZone
from clevrskills.suites.lohoravens.scene import QUADRANTS, padded
from clevrskills.suites.lohoravens.solver.rehearsal import MoveOutcome
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.bowls import HiddenUnderBlock
from clevrskills.tasks.bank import STYLES, Fields, Sentences, WordingSet
from clevrskills.tasks.bank_files import read_banks
from clevrskills.tasks.layout import Layout

LEADS = ("Step by step:", "The steps are these:", "Do it like this:", "One after the other:")
"""Words between the goal and the steps in a sentence."""


@dataclass(kw_only=True, eq=False)
class Stepwise(RavensTask):
    """A task whose sentences end with the moves of the solver, in order.

    Every layout has the roles ``step_object``, the slots of the blocks that the steps move,
    ``step_onto``, the slots of what they are put on or in (-1 for the table), ``step_source`` and
    ``step_area``, the quadrants before and after each step, and ``steps``, a mask of the steps.
    """

    # target of each step: ``area``, ``bowl``, ``block`` or ``zone``; the last one is that of all
    # further steps
    targets: ClassVar[tuple[str, ...]]
    sources: ClassVar[bool] = False  # whether steps name the quadrant of the block

    @property
    def bank(self) -> WordingSet:
        """Sentences of the task without steps, followed by the steps."""
        return _with_steps(read_banks(self.bank_folder)[self.key.removesuffix("_steps")])

    def with_plan(self, layout: Layout, plan: Sequence[MoveOutcome]) -> Layout:
        layout = super().with_plan(layout, plan)
        columns = {
            "step_object": [done.slot for done in plan],
            "step_onto": [done.onto for done in plan],
            "step_area": [_area(done.move.place) for done in plan],
            "step_source": [_area(done.move.pick) for done in plan],
        }
        roles = {name: padded(column, self.moves[1]) for name, column in columns.items()}
        active = np.arange(self.moves[1]) < len(plan)
        return replace(layout, roles={**layout.roles, **roles, "steps": active})

    def fields(self, layout: Layout) -> Fields:
        steps = (
            f"Pick up the {self.block_name(layout, k)} and place it on the {_place(layout, k)}."
            for k in range(int(layout.roles["steps"].sum()))
        )
        return {**super().fields(layout), "steps": " ".join(steps)}

    def block_name(self, layout: Layout, number: int) -> str:
        """Return the name of the block that a step picks up."""
        source = QUADRANTS[int(layout.roles["step_source"][number])]
        name = layout.body("step_object", number).name
        return f"{name} on the {source} area" if self.sources else name

    def followed(self, roles: Mapping[str, Tensor]) -> Predicate:
        """Return the predicate that the steps are done in order and none before its turn."""
        objects, onto = (roles[f"step_{r}"].clamp(min=0) for r in ("object", "onto"))
        steps = tuple(self.step(roles, objects[:, k], onto[:, k], k) for k in range(self.moves[1]))
        order = Order(steps, roles["steps"])
        due = roles["steps"].long().cumsum(-1) - 1
        return Strict(order, steps, due.masked_fill(~roles["steps"], 0))

    def step(
        self, roles: Mapping[str, Tensor], body: Tensor, onto: Tensor, number: int
    ) -> Predicate:
        """Return the predicate of a step that puts a block (B,) on or in a body (B,)."""
        target = self.targets[min(number, len(self.targets) - 1)]
        if target == "area":
            return InArea(body, roles["low"], roles["high"])
        if target == "bowl":
            return InBowl(body, onto[:, None])
        return OnTop(body, onto) if target == "block" else InZone(body, onto)


@dataclass(kw_only=True, eq=False)
class HiddenUnderBlockSteps(Stepwise, HiddenUnderBlock):
    """The block on top is put aside in a quadrant, then the hidden one into its bowl."""

    targets = ("area", "bowl")

    def with_plan(self, layout: Layout, plan: Sequence[MoveOutcome]) -> Layout:
        layout = super().with_plan(layout, plan)
        low, high = area_bounds_m(QUADRANTS[int(layout.roles["step_area"][0])])
        return replace(layout, roles={**layout.roles, "low": low, "high": high})

    def block_name(self, layout: Layout, number: int) -> str:
        return f"{super().block_name(layout, number)}{' hidden' if number else ''}"


@cache
def _with_steps(bank: WordingSet) -> WordingSet:
    """Return a bank with the slot ``{steps}`` after each of its sentences."""
    paper = f"{bank.paper} {LEADS[0]} {{steps}}"
    return replace(bank, paper=paper, seen=_led(bank.seen), held_out=_led(bank.held_out))


def _led(sentences: Sentences) -> Sentences:
    found: dict[str, list[str]] = {style: [] for style in STYLES}
    for number, (style, text) in enumerate(sentences.alternating()):
        found[style].append(f"{text} {LEADS[number % len(LEADS)]} {{steps}}")
    return Sentences(**{style: "\n".join(lines) for style, lines in found.items()})


def _area(place: Sequence[float]) -> int:
    """Return the index of the quadrant of a place: x, y and turn."""
    return QUADRANTS.index(quadrant_of(np.asarray(place[:2])))


def _place(layout: Layout, number: int) -> str:
    """Return the name of the target of a step."""
    onto = int(layout.roles["step_onto"][number])
    if onto >= 0:
        return layout.slot(onto).name
    return f"{QUADRANTS[int(layout.roles['step_area'][number])]} area"
