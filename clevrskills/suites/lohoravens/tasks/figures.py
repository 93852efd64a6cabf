"""Scene of tasks that ask for a shape."""

from __future__ import annotations

import numpy as np

from clevrskills.assets import shape
from clevrskills.suites.lohoravens.predicates.figures import LINE_M, RING_M
from clevrskills.suites.lohoravens.scene import MAT_M, FieldScene
from clevrskills.suites.lohoravens.setting import FIELD
from clevrskills.tasks.layout import LayoutError, Size

BROAD_M = 0.01
"""How broad lines and circles are drawn."""
DRAWN_CIRCLE = "drawn circle"
ROOM_M = 0.04
"""What is kept free to either side of a line or circle."""
LINE_X_M, LINE_Y_M = (-0.24, -0.02), (-0.07, 0.07)
"""Where the middle of a line is."""


class FigureScene(FieldScene):
    """A field with lines and circles."""

    def line(self, color: str) -> np.ndarray:
        """Draw a line along y, and return its middle, (2,).

        Raises:
            LayoutError: There is no room.
        """
        x, y = (float(self.rng.places.uniform(*span)) for span in (LINE_X_M, LINE_Y_M))
        size = (BROAD_M, LINE_M, MAT_M)
        if not self._table.take(shape("cube", (2 * ROOM_M, LINE_M + ROOM_M, MAT_M)), x, y, 0.0):
            raise LayoutError("no room for a line")
        self._draw("line", "cube", color, (x, y), size)
        return np.array([x, y])

    def circle(self, color: str, radius_m: float = RING_M) -> np.ndarray:
        """Draw a circle, and return its middle, (2,).

        Raises:
            LayoutError: There is no room.
        """
        wide = 2 * (radius_m + ROOM_M)
        low, high = np.array([FIELD.x_m, FIELD.y_m]).T + np.array([[wide / 2], [-wide / 2]])
        x, y = self.rng.places.uniform(low, high).tolist()
        self._table.reserve(x, y, wide / 2)
        size = (2 * radius_m + BROAD_M, 2 * radius_m + BROAD_M, MAT_M)
        self._draw("circle", DRAWN_CIRCLE, color, (x, y), size)
        return np.array([x, y])

    def _draw(
        self, kind: str, name: str, color: str, place: tuple[float, float], size: Size
    ) -> None:
        pose = (*place, MAT_M / 2, 1.0, 0.0, 0.0, 0.0)
        self._add(kind, name, color, pose, size, static=True, ghost=True)
