"""Interface of commands in words, executed by skills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clevrskills.core.interface import Controller, TextInterface
from clevrskills.core.suite import Preset
from clevrskills.envs.scene_text import STATE_VIEW
from clevrskills.suites.clevrskills.words.forms import COMMANDS, any_command

if TYPE_CHECKING:
    from clevrskills.suites.clevrskills.words.actuator import SkillActuator

_EXAMPLE_KEYS = ("object_0", "object_1", "object_2", "base_0", "area_0")
CODES = {
    "DONE": ("", ""),
    "NOT_ACHIEVED": ("It was tried, and does not hold.", "not achieved"),
    "FAILED": ("The arm gave up: {reason}.", "gave up"),
    "UNREACHABLE": ("The arm does not get there: {reason}.", "unreachable"),
    "TIMED_OUT": ("It took too long.", "gave up"),
    "NOTHING_HELD": ("The gripper holds nothing.", "holding state"),
    "NOT_HERE": ("There is nothing of this kind to do here.", "not here"),
    "UNPARSABLE": ("That is no command.", "format"),
    "UNKNOWN_OBJECT": ("There is no {phrase} here; there are: {names}.", "unknown object"),
    "AMBIGUOUS": ("{phrase} may be {names}.", "ambiguous"),
}

PRESETS = {
    "words": Preset(
        "Commands in words; the prompt and the scene are told in words, too.",
        {
            "interface": "skills",
            "view": (STATE_VIEW,),
            "prompt": "language",
            "feedback": "detailed",
        },
    ),
    "words_images": Preset(
        "Commands in words; the scene and what the prompt names are shown in images.",
        {"interface": "skills", "view": ("base_camera",), "feedback": "detailed"},
    ),
}
"""Presets with commands in words."""


@dataclass(frozen=True)
class SkillsInterface(TextInterface):
    """Commands in words, executed by skills or a controller."""

    takes_controller: ClassVar[bool] = True

    def begin(self, env: Any) -> SkillActuator:
        """Return the actuator of commands.

        Raises:
            ClevrSkillsError: The planner is not installed or cannot run.
        """
        return self._actuator(env)

    def hand_to(self, controller: Controller, env: Any) -> SkillActuator:
        return self._actuator(env, controller)  # skills still execute `put down`

    @staticmethod
    def _actuator(env: Any, controller: Controller | None = None) -> SkillActuator:
        from clevrskills.solvers.requirements import require_planner
        from clevrskills.suites.clevrskills.words.actuator import SkillActuator

        require_planner()
        return SkillActuator(env, controller)

    def random(self, generator: np.random.Generator) -> str:
        """Return a random sentence of the grammar about common objects."""
        return any_command(generator, _EXAMPLE_KEYS)


def _canonical(text: str) -> str:
    from clevrskills.suites.clevrskills.words.grammar import canonical

    return canonical(text)


SKILLS = SkillsInterface(
    "skills",
    {
        "commands": list(COMMANDS),
        "examples": ["pick up object_0", "put object_0 on base_0", "put down", "wait"],
    },
    "one command each turn, which the arm carries out; X, Y and Z are keys or names of things, "
    "places are in metres",
    codes=CODES,
    grammar=_canonical,
)
