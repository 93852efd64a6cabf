"""First-person views: with or without the hand, at three contrasts; SAPIEN is loaded lazily."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clevrskills.suites.asgardbench.models.surfaces import Contrast
from clevrskills.suites.asgardbench.rules.sight import SIZE_PX
from clevrskills.suites.asgardbench.rules.world import Household


@dataclass(frozen=True)
class DrawingView:
    """Settings of the agent's view."""

    contrast: Contrast = "high"  # contrast of visible states
    hand: bool = True  # whether the hand is drawn


VIEWS: Mapping[str, DrawingView] = {
    "first_person": DrawingView(),
    "first_person-medium": DrawingView("medium"),
    "first_person-low": DrawingView("low"),
    "first_person-no_hand": DrawingView(hand=False),
}
"""First-person views by name."""


def draw_view(name: str, world: Household, size_px: int | None = None) -> np.ndarray:
    """Return the agent's view, (size, size, 3) uint8.

    Args:
        name: One of :data:`VIEWS`.
        world: The household.
        size_px: Width and height of the image; ``None``: 1024.

    Raises:
        ClevrSkillsError: The renderer is not available.
    """
    from clevrskills.suites.asgardbench.drawing.house import house_scene

    view = VIEWS[name]
    return house_scene(view.contrast, size_px or SIZE_PX).image(world, view.hand)
