"""Axis of robustness and the largest change at each level."""

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
"""Levels of an axis; 0 means the clean episode."""
Range = Mapping[str, float]


class PerturbationError(ClevrSkillsError):
    """An episode cannot be perturbed along an axis."""


@dataclass
class Draft:
    """Episode being perturbed."""

    clean: EpisodeSpec
    task: Task
    layout: Layout
    robot: str  # key of the robot
    wording: int | None = None  # index of the wording; ``None``: that of the clean episode
    misspell: Callable[[str], str] | None = None  # changes the text of the prompt
    # fields of :class:`~clevrskills.sim.conditions.Conditions`
    conditions: dict[str, Any] = field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        """Cameras and table."""
        return self.task.setting

    def present(self) -> list[int]:
        """Return the slots of bodies that are not held at the start."""
        held = self.layout.in_gripper
        return [k for k, body in enumerate(self.layout.bodies) if body and k != held]

    def free(self) -> list[int]:
        """Return the slots of movable bodies that are not held at the start."""
        bodies = self.layout.bodies
        return [k for k in self.present() if (body := bodies[k]) and body.movable]


@dataclass(frozen=True)
class TabletopAxis:
    """Axis of perturbations."""

    name: str
    levels: Sequence[Range]  # largest change at each level, by quantity
    visual: bool  # whether it changes images
    physical: bool  # whether it changes the physics, so the oracle must solve the episode again
    # changes a draft, given the largest change and a generator that is the same at every level
    draw: Callable[[Draft, Range, np.random.Generator], None]

    def range_of(self, level: int) -> Range:
        """Return the largest change at a level.

        Raises:
            ClevrSkillsError: The level does not exist.
        """
        if not 1 <= level <= len(self.levels):
            count = len(self.levels)
            allowed = f"1 to {count}" if count > 1 else "1"
            raise ClevrSkillsError(f"axis {self.name} has no level {level}; allowed: {allowed}")
        return self.levels[level - 1]


def steps_of(**greatest: float) -> tuple[Range, ...]:
    """Return five levels that rise linearly to the largest change."""
    return tuple(
        {name: round(value * level / len(LEVELS), 6) for name, value in greatest.items()}
        for level in LEVELS
    )
