"""Household environment: one instance, one verb per turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.tree import leaves_met
from clevrskills.core.policy import GaveUp, TextAction
from clevrskills.suites.asgardbench.drawing.views import VIEWS, draw_view
from clevrskills.suites.asgardbench.predicates import HouseWorld
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.verbs import VERBS, Result, apply
from clevrskills.suites.asgardbench.rules.world import Household
from clevrskills.suites.asgardbench.state_text import describe
from clevrskills.suites.asgardbench.tasks.care import Care
from clevrskills.suites.asgardbench.tasks.goals import READINGS, goal_of, locations, tidy
from clevrskills.suites.asgardbench.tasks.instances import FAMILIES, Variant
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.solver import StuckError, solve
from clevrskills.suites.asgardbench.tasks.termination import Termination
from clevrskills.suites.symbolic import SymbolicEnv, SymbolicEpisode, TextPrompt

HIDDEN = frozenset({"StoveKnob"})
"""Types that are hidden from policies."""
CLASSES = {
    "UNKNOWN_VERB": "invalid_action",
    **dict.fromkeys(("UNKNOWN_OBJECT", "NO_SUCH_OBJECT"), "invalid_object"),
    "UNPARSABLE": "unparsable",
}
"""Class of a refused turn by code; other codes are ``undoable``."""
COUNTED = ("invalid_action", "invalid_object", "undoable", "unparsable")


class HouseEnv(SymbolicEnv):
    """Environment of household instances.

    Attributes:
        house: Current state of the household.
        variant: Variant of the instance.
    """

    goal_hidden = True
    house: Household
    variant: Variant

    def __init__(self, config: EnvConfig, level: str) -> None:
        super().__init__(config, level)
        self._reading = config.criteria if config.criteria in READINGS else READINGS[0]

    def start(self, episode: SymbolicEpisode) -> None:
        data = episode.start
        self.variant = Variant.from_json(data["variant"])
        items = [PlacedObject(**item) for item in data["things"]]
        self.house = house_of(episode.task, self.variant, items, self._reading)
        self.world = HouseWorld(self.house)
        self.goal = goal_of(episode.task, self.variant, self._reading, self.house)
        self._released = goal_of(episode.task, self.variant, "released", self.house)
        self._also = self._released.initial_state(self.world)
        self._tidy = tidy("released", self.house)
        self._ends = Termination(data["n"])
        self._care = Care(episode.task, self.variant, self.house)
        self._plan: list[str] = []
        self._planned = ""
        self._classes: Counter[str] = Counter()
        self._plans, self._agreed, self._first = 0, 0, ""

    @property
    def prompt(self) -> TextPrompt:
        """Prompt of the episode, with the object types."""
        return prompt_of(self.episode, self.house)

    def apply(self, text: str) -> tuple[bool, str, Mapping[str, str]]:
        verb, kind, code = self.read(str(text))
        refused = Result(False, code, {"verb": verb, "object": kind})
        found = refused if code else apply(self.house, verb, kind)
        self._ends.turn(verb, kind, ok=found.ok)
        if found.ok:
            self._care.turn(verb, self.house)
        else:
            gone = found.code == "ALREADY_SLICED" and verb == "FIND"
            name = "invalid_object" if gone else CLASSES.get(found.code, "undoable")
            if self._reading == "released" and found.code in ("UNKNOWN_VERB", "UNKNOWN_OBJECT"):
                name = "unparsable"
            self._classes[name] += 1
        if self._first:
            self._plans += 1
            self._agreed += self._first == f"{verb} {kind}".lower()
            self._first = ""
        return found.ok, found.code, found.args

    def read(self, text: str) -> tuple[str, str, str]:
        """Return verb, type and error code of a command; the code is empty if it is valid."""
        words = text.split()
        if len(words) != 2:
            return "", "", "UNPARSABLE"
        verb = words[0].upper()
        kinds = {kind.lower(): kind for kind in self.house.types}
        kind = kinds.get(words[1].lower(), words[1])
        return verb, kind, "" if verb in VERBS else "UNKNOWN_VERB"

    def hear(self, action: TextAction) -> None:
        """Record the first step of the plan that accompanies a command."""
        self._first = action.plan[0].lower() if action.plan else ""

    def _look(self, state: Any) -> None:
        super()._look(state)
        self._also = self._released.evaluate(self.world, self._also).state

    def ended(self) -> str:
        return "" if self.outcome.holds[0] else self._ends.reason

    def solve(self) -> str:
        """Return the next command of the solver, from the current state."""
        return self.plan()[0]

    def plan(self) -> list[str]:
        """Return the remaining commands of the solver.

        Raises:
            GaveUp: The solver finds no plan.
        """
        now = f"{self.elapsed_steps} {self.house.state_hash}"
        if not self._plan or now != self._planned:
            try:
                self._plan = solve(self.episode.task, self.variant, self.house)
            except StuckError as error:
                raise GaveUp(str(error)) from None
            if not self._plan:
                raise GaveUp("the solver has nothing left to do")
        after = self.house.copy()
        apply(after, *self._plan[0].split())
        left, self._plan = self._plan, self._plan[1:]
        self._planned = f"{self.elapsed_steps + 1} {after.state_hash}"
        return left

    def look(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return views by name: ``text_state``, a description of the visible objects, or an image
        of :data:`~clevrskills.suites.asgardbench.drawing.views.VIEWS`, (1024, 1024, 3) uint8 unless
        another size is configured.
        """
        size = self.config.size_px
        return {
            name: draw_view(name, self.house, size) if name in VIEWS else describe(self.house)
            for name in names
        }

    def capture(self) -> Mapping[str, np.ndarray]:
        """Return the images of the configured cameras."""
        return self.look(self.config.cameras)

    def get_state(self) -> np.ndarray:
        """Return the hash of entities, held object and events, (32,) uint8."""
        return np.frombuffer(bytes.fromhex(self.house.state_hash), np.uint8)

    def measures(self) -> Mapping[str, float]:
        """Return the measures of the episode so far, as defined in ``docs/asgardbench.md``."""
        turns, solved = max(self.elapsed_steps, 1), bool(self.outcome.holds[0])
        met, of = leaves_met(self.goal, self.outcome)
        also = self._released.evaluate(self.world, self._also)
        parts = also if self._tidy is None else also.children[0]
        states = [bool(part.holds[0]) for part in parts.children]
        states += [leaf.met(self.house) for leaf in (self._tidy.children if self._tidy else ())]  # type: ignore[attr-defined]
        found = {
            "partial": 100 * met / of,
            "partial_released": 100 * sum(states) / len(states),
            "step_ratio": self.elapsed_steps / self.episode.start["n"],
            "extended": float(self._ends.extended),
            "hit_hard_limit": float(self._ends.hit_hard_limit and not solved),
            "careful": float(solved and not self._classes and not self._care.needless),
            "needless": self._care.needless,
            "refused_share": 100 * sum(self._classes.values()) / turns,
            **{name: 100 * self._classes[name] / turns for name in COUNTED},
        }
        if self._plans:
            found["plan_first"] = 100 * self._agreed / self._plans
        return found


def prompt_of(
    episode: SymbolicEpisode, house: Household, wording: Mapping[str, Any] | None = None
) -> TextPrompt:
    """Return the prompt of an episode, with the object types.

    Args:
        episode: The episode.
        house: Household of the episode.
        wording: Another ``text`` with data on its wording; ``None``: the episode's own.
    """
    own = {"text": episode.text, "index": episode.start.get("wording", 0)}
    used = {**own, **(wording or {})}
    types = [kind for kind in house.types if kind not in HIDDEN]
    return TextPrompt(used.pop("text"), about={"objects": types}, wording=used)


def house_of(
    task: str, variant: Variant, items: Sequence[PlacedObject], reading: str = READINGS[0]
) -> Household:
    """Return the household at the start of an instance, with the rules of a reading."""
    house = Household(room(variant.label), items, FAMILIES[task].dirty)
    house.locations, house.released = locations(task, variant), reading == "released"
    return house
