"""Interface of commands in words, executed by skills, with their forms and random commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clevrskills.core.interface import Controller, TextInterface
from clevrskills.core.suite import Preset
from clevrskills.envs.scene_text import STATE_VIEW

if TYPE_CHECKING:
    from clevrskills.suites.clevrskills.words.actuator import SkillActuator

_EXAMPLE_KEYS = ("object_0", "object_1", "object_2", "base_0", "area_0")
COMMANDS = (
    "pick up X",
    "put down",
    "put X on Y",
    "put X in Y",
    "put X at (x, y)",
    "put X at (x, y) turned to N degrees",
    "put X at (x, y) turned to N degrees on Y",
    "push X",
    "push X towards Y",
    "push X to (x, y)",
    "rotate X N degrees clockwise",
    "rotate X N degrees anti-clockwise",
    "throw X to Y",
    "throw X to Y such that it falls over",
    "touch X",
    "topple X",
    "stack X, Y and Z on top of each other",
    "topple the stack of X, Y, Z",
    "balance the scale with X, Y and Z",
    "move to X",
    "move to (x, y, z)",
    "wait",
)
"""Forms of commands; X, Y and Z are keys or names of objects, places are in meters."""
_LEAST_M, _MOST_M = (-0.30, -0.30, 0.05), (0.10, 0.30, 0.40)
_PLACES, _HEIGHTS, _ANGLES = 41 * 61, 36, 17
"""Numbers of sampled places and heights, in centimetres, and of angles, in steps of ten degrees."""
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
        "Commands in words; prompt and scene as text.",
        {
            "interface": "skills",
            "view": (STATE_VIEW,),
            "prompt": "language",
            "feedback": "detailed",
        },
    ),
    "words_images": Preset(
        "Commands in words; scene and prompt with images.",
        {"interface": "skills", "view": ("base_camera",), "feedback": "detailed"},
    ),
}
"""Presets with commands in words."""


def any_command(generator: np.random.Generator, keys: Sequence[str], by_form: bool = False) -> str:
    """Sample a command, uniformly over all sentences with centimetres and steps of ten degrees.

    Args:
        generator: Source of randomness.
        keys: Keys of the objects.
        by_form: Whether to sample uniformly over :data:`COMMANDS` instead.
    """
    weights = np.array([1.0 if by_form else _sentences(form, len(keys)) for form in COMMANDS])
    command = str(generator.choice(COMMANDS, p=weights / weights.sum()))
    for name in ("X", "Y", "Z"):
        command = command.replace(name, str(generator.choice(keys)))
    centimetres = [
        int(generator.integers(round(100 * a), round(100 * b) + 1))
        for a, b in zip(_LEAST_M, _MOST_M, strict=True)
    ]
    x, y, z = (f"{value / 100:.2f}" for value in centimetres)
    command = command.replace("(x, y, z)", f"({x}, {y}, {z})").replace("(x, y)", f"({x}, {y})")
    return command.replace(" N ", f" {10 * int(generator.integers(1, _ANGLES + 1))} ")


def _sentences(form: str, objects: int) -> float:
    """Return the number of sentences of a form."""
    count = float(objects ** sum(word.strip(",") in ("X", "Y", "Z") for word in form.split()))
    count *= _PLACES if "(x, y" in form else 1
    count *= _HEIGHTS if "z)" in form else 1
    return count * (_ANGLES if " N " in form else 1)


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
    "places are in meters",
    codes=CODES,
    grammar=_canonical,
)
