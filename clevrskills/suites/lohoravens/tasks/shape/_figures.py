"""Base of tasks that ask for a shape, and the scene they are laid out in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clevrskills.assets import shape
from clevrskills.sim.body import Body
from clevrskills.suites.lohoravens.palette import all_apart, choose_colors, texture_of
from clevrskills.suites.lohoravens.scene import DENSITY, MAT_M, Block, FieldScene
from clevrskills.suites.lohoravens.setting import FIELD
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.layout import EpisodeRng, LayoutError

LINE_M, LINE_BROAD_M = 0.60, 0.01
"""Length and breadth of a line."""
RING_M, RING_BROAD_M = 0.13, 0.01
"""Radius of a drawn circle, and how broad it is drawn."""
DRAWN_CIRCLE = "drawn circle"
ROOM_M = 0.04
"""What is kept free to either side of a line or circle."""
LINE_X_M, LINE_Y_M = (-0.24, -0.02), (-0.07, 0.07)
"""Where the middle of a line is."""
TABLE_COLOR = "brown"
"""A color that is not drawn: the table is of wood."""
BOX_SIDES_M = (0.030, 0.035, 0.040, 0.045, 0.050, 0.055)
"""Sides of boxes that differ in size."""


class FigureScene(FieldScene):
    """A field with boxes, lines and circles."""

    def box(self, color: str, side_m: float) -> Block:
        """Put a box at a free place.

        Raises:
            LayoutError: There is none.
        """
        size, texture = (side_m,) * 3, texture_of(color)
        pose = self._table.place(shape("cube", size, DENSITY))
        slot = self._enter(
            "box",
            lambda key: Body(key, "cube", texture, pose, size, density=DENSITY, noun="box"),
        )
        self.blocks.append(Block(slot, color, side_m, (pose[0], pose[1])))
        return self.blocks[-1]

    def line(self, color: str) -> np.ndarray:
        """Draw a line along y; its middle, (2,).

        Raises:
            LayoutError: There is no room.
        """
        x, y = (float(self.rng.places.uniform(*span)) for span in (LINE_X_M, LINE_Y_M))
        size = (LINE_BROAD_M, LINE_M, MAT_M)
        if not self._table.take(shape("cube", (2 * ROOM_M, LINE_M + ROOM_M, MAT_M)), x, y, 0.0):
            raise LayoutError("no room for a line")
        self._draw("line", "cube", color, (x, y), size)
        return np.array([x, y])

    def circle(self, color: str, radius_m: float = RING_M) -> np.ndarray:
        """Draw a circle; its middle, (2,).

        Raises:
            LayoutError: There is no room.
        """
        wide = 2 * (radius_m + ROOM_M)
        low, high = np.array([FIELD.x_m, FIELD.y_m]).T + np.array([[wide / 2], [-wide / 2]])
        x, y = self.rng.places.uniform(low, high).tolist()
        self._table.reserve(x, y, wide / 2)
        size = (2 * radius_m + RING_BROAD_M, 2 * radius_m + RING_BROAD_M, MAT_M)
        self._draw("circle", DRAWN_CIRCLE, color, (x, y), size)
        return np.array([x, y])

    def mat(self, color: str, size_m: tuple[float, float]) -> int:
        """Put a zone of some size along x and y at a free place; its slot.

        Raises:
            LayoutError: There is none.
        """
        (x0, x1), (y0, y1) = FIELD.x_m, FIELD.y_m
        half = np.array(size_m) / 2
        where = replace(FIELD, x_m=(x0 + half[0], x1 - half[0]), y_m=(y0 + half[1], y1 - half[1]))
        size, texture = (*size_m, MAT_M), texture_of(color)
        pose = self._table.place(shape("cube", size), yaw_rad=0.0, workspace=where)
        return self._enter(
            "zone", lambda key: Body(key, "cube", texture, pose, size, static=True, noun="zone")
        )

    def _draw(
        self,
        kind: str,
        name: str,
        color: str,
        place: tuple[float, float],
        size: tuple[float, float, float],
    ) -> None:
        pose = (*place, MAT_M / 2, 1.0, 0.0, 0.0, 0.0)
        texture = texture_of(color)
        self._enter(
            kind,
            lambda key: Body(key, name, texture, pose, size, static=True, ghost=True, noun=kind),
        )


@dataclass(kw_only=True, eq=False)
class ShapeTask(RavensTask):
    """Blocks form a shape."""

    family = "shape"

    def color_to_draw(self, rng: EpisodeRng, apart_from: Sequence[str]) -> str:
        """A color of a line or circle that is seen on the table and looks apart from others.

        Raises:
            LayoutError: There is none.
        """
        pool = [color for color in self.pool(rng) if color != TABLE_COLOR]
        return choose_colors(rng, 1, pool, tuple(dict.fromkeys(apart_from)))[0]

    def mixed_colors(
        self, rng: EpisodeRng, count: int, apart_from: Sequence[str] = ()
    ) -> list[str]:
        """Colors of some blocks, of one to three that look apart from each other and from others.

        Raises:
            LayoutError: There is none.
        """
        found = all_apart(rng, self.pool(rng), apart_from)
        few = found[: int(rng.roles.integers(1, 4))]
        if not few:
            raise LayoutError("no color looks apart")
        return [str(color) for color in rng.textures.choice(few, count)]
