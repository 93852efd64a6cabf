"""Areas of the field by name, as sentences have them."""

from __future__ import annotations

import numpy as np

from clevrskills.sim.setting import Workspace
from clevrskills.suites.lohoravens.setting import FIELD, FIELD_MIDDLE_M

__all__ = ["AREAS", "CENTER", "QUADRANTS", "SIDES", "area_bounds_m"]

QUADRANTS = ("top left", "top right", "bottom left", "bottom right")
"""Quarters of the field; the top is near the robot, left is world -y."""
CENTER = "center"
AREAS = (*QUADRANTS, CENTER)
CENTER_M = 0.08
"""Side of the square that is the center."""
SIDES = {"left": (0.0, -1.0), "right": (0.0, 1.0), "top": (-1.0, 0.0), "bottom": (1.0, 0.0)}
"""Directions in the world, (x, y), by name."""


def area_bounds_m(area: str, field: Workspace = FIELD) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest x and y of an area, (2,) each."""
    middle = np.array(FIELD_MIDDLE_M)
    if area == CENTER:
        return middle - CENTER_M / 2, middle + CENTER_M / 2
    low, high = (np.array([field.x_m[k], field.y_m[k]]) for k in range(2))
    row, column = area.split()
    (high if row == "top" else low)[0] = middle[0]
    (high if column == "left" else low)[1] = middle[1]
    return low, high
