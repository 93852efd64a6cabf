"""The LoHoRavens suite: its tasks, environments, interfaces and solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.feedback import Phrasebook
from clevrskills.core.interface import Interface
from clevrskills.core.suite import Environment, Oracle
from clevrskills.suites.tabletop import TabletopSuite

if TYPE_CHECKING:
    from clevrskills.envs.environment import ClevrSkillsEnv
    from clevrskills.sim.setting import Setting

EPISODES_DIR = Path(__file__).parent / "episodes"
"""Where frozen episodes will be."""


@dataclass(frozen=True)
class LoHoRavensSuite(TabletopSuite):
    """Long-horizon rearrangements of blocks, bowls and zones, asked for in one sentence.

    Attributes:
        folder: Where the frozen episodes are; ``None``: those of the package.
    """

    name = "lohoravens"
    title = "re-implementation of LoHoRavens"
    episodes_dir = EPISODES_DIR

    def setting(self, task: str = "") -> Setting:
        from clevrskills.suites.lohoravens.setting import SETTING

        return SETTING

    def env_kind(self) -> type[ClevrSkillsEnv]:
        from clevrskills.suites.lohoravens.env import LoHoRavensEnv

        return LoHoRavensEnv

    def levels(self) -> Mapping[str, str]:
        from clevrskills.suites.lohoravens.tasks import tasks

        return {key: kind.level for key, kind in tasks().items()}

    def describe(self, task: str) -> Mapping[str, Any]:
        from clevrskills.suites.lohoravens.tasks import tasks

        return tasks()[task]().describe()

    def splits(self) -> Sequence[str]:
        from clevrskills.suites.lohoravens.tasks.base import SPLITS

        return SPLITS

    def default_splits(self) -> Sequence[str]:
        return ("train", "test")

    def groups(self) -> Mapping[str, Sequence[str]]:
        """The families of tasks."""
        from clevrskills.suites.lohoravens.tasks import tasks

        found: dict[str, list[str]] = {}
        for key, kind in tasks().items():
            if kind.family != kind.level:
                found.setdefault(kind.family, []).append(key)
        return found

    def robots(self) -> Sequence[str]:
        from clevrskills.suites.lohoravens.tasks import RavensTask

        return RavensTask.robots

    def views(self) -> Mapping[str, str]:
        from clevrskills.suites.lohoravens.env import VIEWS

        return {**super().views(), **VIEWS}

    def interfaces(self) -> Mapping[str, Interface]:
        from clevrskills.sim.robots.delta_action import DELTA
        from clevrskills.suites.lohoravens.interfaces.numbers import PICK_PLACE, PICK_PLACE_PIXELS
        from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT

        known: Sequence[Interface] = (PICK_PLACE, PICK_PLACE_PIXELS, PICK_PLACE_TEXT, DELTA)
        return {interface.name: interface for interface in known}

    def phrasebook(self) -> Phrasebook:
        from clevrskills.suites.lohoravens.interfaces.actuator import CODES

        return CODES

    def oracle(self, env: Environment) -> Oracle:
        return self.solver(env, self.interface())

    def solver(self, env: Environment, interface: Interface) -> Oracle:
        from clevrskills.suites.lohoravens.agents import MoveOracle
        from clevrskills.suites.lohoravens.env import LoHoRavensEnv

        assert isinstance(env, LoHoRavensEnv)
        self.require_oracle()
        return MoveOracle(env, interface)
