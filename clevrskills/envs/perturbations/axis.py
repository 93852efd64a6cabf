"""Axis of robustness and the greatest change at each of its levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.setting import Setting
from clevrskills.tasks import Layout, Task

LEVELS = (1, 2, 3, 4, 5)
"""Levels of an axis; 0 is the clean episode."""
Range = Mapping[str, float]


class PerturbationError(ClevrSkillsError):
    """An episode cannot be perturbed along an axis."""


@dataclass
class Draft:
    """An episode while it is perturbed."""

    clean: EpisodeSpec  # the episode that it is made of
    task: Task  # its task
    layout: Layout  # the bodies
    robot: str  # key of the robot
    wording: int | None = None  # which of the task's wordings asks for it; ``None``: its own
    # what changes the words of its prompt; ``None``: nothing
    misspell: Callable[[str], str] | None = None
    # fields of its :class:`~clevrskills.sim.conditions.Conditions`
    conditions: dict[str, Any] = field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        """Cameras and table."""
        return self.task.setting

    def present(self) -> list[int]:
        """Return slots of the bodies that are not held at the start."""
        held = self.layout.in_gripper
        return [k for k, body in enumerate(self.layout.bodies) if body and k != held]

    def free(self) -> list[int]:
        """Return the slots of bodies that can be taken elsewhere."""
        bodies = self.layout.bodies
        return [k for k in self.present() if (body := bodies[k]) and body.movable]


@dataclass(frozen=True)
class TabletopAxis:
    """A way to perturb episodes."""

    name: str  # its name
    levels: Sequence[Range]  # greatest change at each level, by name
    # whether it changes images, which the oracle, as it knows the state, does not need
    visual: bool
    physical: bool  # whether it changes the physics, so that the oracle must solve it anew
    # changes a draft at a level, with a random generator; it is the same generator at every level,
    # so that higher levels go further the same way
    draw: Callable[[Draft, Range, np.random.Generator], None]

    def range_of(self, level: int) -> Range:
        """Return the greatest change at a level.

        Raises:
            ClevrSkillsError: There is no such level.
        """
        if not 1 <= level <= len(self.levels):
            count = len(self.levels)
            allowed = f"1 to {count}" if count > 1 else "1"
            raise ClevrSkillsError(f"axis {self.name} has no level {level}; allowed: {allowed}")
        return self.levels[level - 1]


def steps_of(**greatest: float) -> tuple[Range, ...]:
    """Return five levels that rise evenly to the greatest."""
    return tuple(
        {name: round(value * level / len(LEVELS), 6) for name, value in greatest.items()}
        for level in LEVELS
    )
