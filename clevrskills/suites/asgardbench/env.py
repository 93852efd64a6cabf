"""Household environment: one instance, a verb each turn, until one of four ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clevrskills.core.env_config import EnvConfig
from clevrskills.suites.asgardbench.drawing.views import VIEWS, draw_view
from clevrskills.suites.asgardbench.predicates import HouseWorld
from clevrskills.suites.asgardbench.rules.layout import Placed
from clevrskills.suites.asgardbench.rules.verbs import VERBS, apply
from clevrskills.suites.asgardbench.rules.world import World
from clevrskills.suites.asgardbench.tasks.goals import READINGS, goal_of, locations
from clevrskills.suites.asgardbench.tasks.instances import Variant
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.solver import solve
from clevrskills.suites.asgardbench.tasks.termination import Termination
from clevrskills.suites.symbolic import SymbolicEnv, SymbolicEpisode


class HouseEnv(SymbolicEnv):
    """One instance after the other.

    Attributes:
        house: The present household.
    """

    house: World

    def __init__(self, config: EnvConfig, level: str) -> None:
        super().__init__(config, level)
        self._reading = config.criteria if config.criteria in READINGS else READINGS[0]

    def start(self, episode: SymbolicEpisode) -> None:
        data = episode.start
        given = dict(data["variant"])
        lists = {key: tuple(given[key]) for key in ("objects", "dirty")}
        self._variant = Variant(**{**given, **lists})
        things = [Placed(**thing) for thing in data["things"]]
        dirty = ("Mirror_1",) if episode.task == "clean_mirror" else ()
        self.house = World(room(self._variant.label), things, dirty)
        self.house.locations = locations(episode.task, self._variant)
        self.world = HouseWorld(self.house)
        self.goal = goal_of(episode.task, self._variant, self._reading, self.house)
        self._plan = solve(episode.task, self._variant, self.house)
        self._ends = Termination(len(self._plan))

    def apply(self, text: str) -> tuple[bool, str, Mapping[str, str]]:
        words = str(text).split()
        if len(words) != 2:
            self._ends.turn("", "", ok=False)
            return False, "UNPARSABLE", {}
        verb = words[0].upper()
        kinds = {kind.lower(): kind for kind in self.house.types}
        kind = kinds.get(words[1].lower(), words[1])
        if verb not in VERBS:
            self._ends.turn(verb, kind, ok=False)
            return False, "UNKNOWN_VERB", {}
        result = apply(self.house, verb, kind)
        self._ends.turn(verb, kind, ok=result.ok)
        return result.ok, result.code, result.args

    def ended(self) -> str:
        return self._ends.reason

    def solve(self) -> str:
        """The next command of the solver's plan, which is followed from the start."""
        return self._plan[self.elapsed_steps]

    def look(self, names: Any) -> Mapping[str, Any]:
        """Views by name: ``text_state``, what is seen, in sentences; those of
        :data:`~clevrskills.suites.asgardbench.drawing.views.VIEWS`, (1024, 1024, 3) uint8.
        """
        return {
            name: draw_view(name, self.house) if name in VIEWS else self._text() for name in names
        }

    def _text(self) -> str:
        house, lines = self.house, []
        held = house.held
        lines.append(f"You hold: {held.type if held else 'nothing'}.")
        for entity in house.entities.values():
            if not house.visible(entity):
                continue
            states = [s for s in ("dirty", "cooked", "open", "on", "sprayed") if getattr(entity, s)]
            if entity.filled:
                states.append(f"filled with {entity.filled}")
            parent = house.entities.get(entity.parent)
            where = f" in or on the {parent.type}" if parent else ""
            lines.append(f"{entity.type}{where}{': ' if states else ''}{', '.join(states)}.")
        return "\n".join(lines)
