"""Scene of an episode under construction: zones, bowls and blocks at free places of the field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import atan2, cos, sin
from typing import Any, NamedTuple

import numpy as np

from clevrskills.assets import shape
from clevrskills.sim.body import Body, Pose
from clevrskills.sim.setting import Workspace
from clevrskills.suites.lohoravens.field import AREAS, SIDES, area_bounds_m
from clevrskills.suites.lohoravens.palette import NAMESPACE
from clevrskills.suites.lohoravens.predicates.figures import LINE_M, RING_M
from clevrskills.suites.lohoravens.setting import FIELD, FIELD_MIDDLE_M
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError, Size, TableLayout

SMALL_M, BIG_M = 0.04, 0.06
"""Sides of small and big blocks."""
QUADRANTS = tuple(area for area in AREAS if " " in area)
DENSITY = 600.0
ZONE_M, WIDE_ZONE_M, WIDEST_ZONE_M, MAT_M = 0.10, 0.15, 0.20, 0.001
"""Sides of zones for a tower, for up to four blocks side by side and for more; their height."""
BOWL, ZONE = "shallow bowl", "zone frame"
GAP_M, MIXED_GAP_M = 0.015, 0.03
"""Least distance between outlines; beside big blocks the gripper's head needs more."""
INSET_M = 0.045
"""Least distance of middles from the border of the field."""
TOWER_REACH_M = 0.72
"""Greatest distance from the base at which the arm reaches the top of a tower of five."""


def _inset(x_m: float, y_m: float) -> Workspace:
    """Return the field without a margin."""
    (x0, x1), (y0, y1) = FIELD.x_m, FIELD.y_m
    return replace(FIELD, x_m=(x0 + x_m, x1 - x_m), y_m=(y0 + y_m, y1 - y_m))


INNER = _inset(INSET_M, INSET_M)
BOWLS = _inset(0.065, 0.065)
TOWERS = replace(BOWLS, reach_m=(0.28, TOWER_REACH_M))


BROAD_M = 0.01
"""Breadth of drawn lines and circles."""
DRAWN_CIRCLE = "drawn circle"
ROOM_M = 0.04
"""Free space on either side of a line or circle."""
LINE_X_M, LINE_Y_M = (-0.24, -0.02), (-0.07, 0.07)
"""Ranges for the middle of a line."""
MIDDLE_M = 0.25
"""Greatest distance of towers from the field's middle: there big blocks hide the small ones under
them, 1 cm inside their outline, from the camera 1.1 m above."""
PITCH_M = 0.044
"""Distance of neighbors in a row of a pyramid."""
TURN_RAD = 0.1
"""Turn of every other block of a tower: contacts push equal blocks with coinciding edges aside by
up to 3 mm.
"""
HIDDEN = replace(INNER, y_m=(FIELD_MIDDLE_M[1] - MIDDLE_M, FIELD_MIDDLE_M[1] + MIDDLE_M))
BORDER_M = 0.03
"""Least distance of blocks from the border of an area that a sentence refers to."""
BEYOND_M, SHORT_M = 0.055, -0.02
"""Distance beyond another block, along an axis: at least that of blocks on that side of it, and at
most that of all others, which are at least 2 cm on the opposite side."""


def within(area: str) -> Workspace:
    """Return the part of an area in which blocks are clearly inside."""
    low, high = area_bounds_m(area)
    return _cut(low + BORDER_M, high - BORDER_M)


def beside(place_m: tuple[float, float], side: str, beyond: bool) -> Workspace:
    """Return the part of the field clearly on a side of a place, or clearly not.

    Raises:
        LayoutError: There is no room.
    """
    axis = int(SIDES[side][0] == 0.0)
    sign, bounds = SIDES[side][axis], np.array([INNER.x_m, INNER.y_m])
    limit = place_m[axis] + sign * (BEYOND_M if beyond else SHORT_M)
    bounds[axis, 0 if (sign > 0) == beyond else 1] = limit
    return _cut(bounds[:, 0], bounds[:, 1])


def _cut(low: np.ndarray, high: np.ndarray) -> Workspace:
    """Return the part of the field between two corners."""
    least, most = np.array((INNER.x_m, INNER.y_m)).T
    (x0, y0), (x1, y1) = np.maximum(low, least).tolist(), np.minimum(high, most).tolist()
    if x0 >= x1 or y0 >= y1:
        raise LayoutError("no room there")
    return replace(INNER, x_m=(x0, x1), y_m=(y0, y1))


class Block(NamedTuple):
    """A block of the scene."""

    slot: int
    color: str
    side_m: float
    place_m: tuple[float, float]  # world x and y of its middle


class FieldScene:
    """Layout in progress; methods that add bodies raise ``LayoutError`` if there is no room.

    Args:
        rng: Random choices of the episode.
        slots: Keys of the task's slots.
        gap_m: Least distance between outlines.
    """

    def __init__(self, rng: EpisodeRng, slots: tuple[str, ...], gap_m: float = GAP_M) -> None:
        self.rng, self.slots = rng, slots
        self._table: TableLayout = rng.table(INNER, gap_m)
        self._bodies: list[Body | None] = [None] * len(slots)
        self.blocks: list[Block] = []

    def block(
        self, color: str, side_m: float = SMALL_M, where: Workspace = INNER, kind: str = "block"
    ) -> Block:
        """Put a block at a free place, and return it.

        Args:
            color: Its color.
            side_m: Its side.
            where: Part of the field for its middle, see :func:`within` and :func:`beside`.
            kind: ``block`` or ``box``.
        """
        pose = self._table.place(shape("cube", (side_m,) * 3, DENSITY), workspace=where)
        return self._add_block(color, side_m, pose, kind)

    def deal(self, colors: Sequence[str], counts: Sequence[int]) -> list[list[Block]]:
        """Put some blocks of each color at free places, and return them."""
        return [self.row([color] * n) for color, n in zip(colors, counts, strict=True)]

    def row(self, colors: Iterable[str], side_m: float = SMALL_M) -> list[Block]:
        """Put blocks of some colors at free places, and return them."""
        return [self.block(color, side_m) for color in colors]

    def pair(self, color: str) -> list[Block]:
        """Put a big and a small block of a color at free places, and return them."""
        return [self.block(color, side_m) for side_m in (BIG_M, SMALL_M)]

    def _add_block(self, color: str, side_m: float, pose: Pose, kind: str = "block") -> Block:
        slot = self._add(kind, "cube", color, pose, (side_m,) * 3, density=DENSITY)
        self.blocks.append(Block(slot, color, side_m, (pose[0], pose[1])))
        return self.blocks[-1]

    def zone(self, color: str, side_m: float = ZONE_M, tower: bool = False) -> int:
        """Put a zone at a free place, or one with room for a tower, and return its slot."""
        where = TOWERS if tower else _inset(side_m / 2 + 0.01, side_m / 2 + 0.01)
        return self.mat(color, (side_m, side_m), where)

    def mat(self, color: str, size_m: tuple[float, float], where: Workspace | None = None) -> int:
        """Put a zone of some size along x and y at a free place, by default anywhere in the field;
        return its slot.
        """
        size, where = (*size_m, MAT_M), where or _inset(size_m[0] / 2, size_m[1] / 2)
        pose = self._table.place(shape("cube", size), yaw_rad=0.0, workspace=where)
        return self._add("zone", ZONE, color, pose, size, static=True)

    def bowl(self, color: str) -> int:
        """Put a bowl at a free place, and return its slot."""
        pose = self._table.place(shape(BOWL), yaw_rad=0.0, workspace=BOWLS)
        return self._add("bowl", BOWL, color, pose, static=True)

    def tower(self, colors: Sequence[str], sides_m: Sequence[float]) -> list[Block]:
        """Put blocks on each other, the first one lowest, and return them; see :data:`TURN_RAD`."""
        wide = max(sides_m)
        x, y, _, w, _, _, z = self._table.place(
            shape("cube", (wide, wide, sum(sides_m)), DENSITY), workspace=HIDDEN
        )
        found, height = list[Block](), 0.0
        for color, side_m in zip(colors, sides_m, strict=True):
            half = atan2(z, w) + TURN_RAD / 2 * (len(found) % 2)
            pose = (x, y, height + side_m / 2, cos(half), 0.0, 0.0, sin(half))
            found.append(self._add_block(color, side_m, pose))
            height += side_m
        return found

    def pyramid(self, rows: Sequence[Sequence[str]]) -> list[Block]:
        """Build a wall of small blocks and return them.

        Args:
            rows: Colors of each row, the lowest first, each one shorter than the one below.
        """
        length = PITCH_M * (len(rows[0]) - 1) + SMALL_M
        x, y, _, w, _, _, z = self._table.place(
            shape("cube", (length, SMALL_M, SMALL_M * len(rows)), DENSITY), workspace=HIDDEN
        )
        yaw, found = 2 * atan2(z, w), list[Block]()
        for level, colors in enumerate(rows):
            for k, color in enumerate(colors):
                along = PITCH_M * (k - (len(colors) - 1) / 2)
                place = (x + along * cos(yaw), y + along * sin(yaw), SMALL_M * (level + 0.5))
                found.append(self._add_block(color, SMALL_M, (*place, w, 0.0, 0.0, z)))
        return found

    def line(self, color: str) -> np.ndarray:
        """Draw a line along y, and return its middle, (2,)."""
        x, y = (float(self.rng.places.uniform(*span)) for span in (LINE_X_M, LINE_Y_M))
        size = (BROAD_M, LINE_M, MAT_M)
        if not self._table.take(shape("cube", (2 * ROOM_M, LINE_M + ROOM_M, MAT_M)), x, y, 0.0):
            raise LayoutError("no room for a line")
        self._draw("line", "cube", color, (x, y), size)
        return np.array([x, y])

    def circle(self, color: str) -> np.ndarray:
        """Draw a circle, and return its middle, (2,)."""
        wide = 2 * (RING_M + ROOM_M)
        low, high = np.array([FIELD.x_m, FIELD.y_m]).T + np.array([[wide / 2], [-wide / 2]])
        x, y = self.rng.places.uniform(low, high).tolist()
        self._table.reserve(x, y, wide / 2)
        size = (2 * RING_M + BROAD_M, 2 * RING_M + BROAD_M, MAT_M)
        self._draw("circle", DRAWN_CIRCLE, color, (x, y), size)
        return np.array([x, y])

    def _draw(
        self, kind: str, name: str, color: str, place: tuple[float, float], size: Size
    ) -> None:
        pose = (*place, MAT_M / 2, 1.0, 0.0, 0.0, 0.0)
        self._add(kind, name, color, pose, size, static=True, ghost=True)

    def keep_free(self, place_m: np.ndarray, radius_m: float) -> None:
        """Keep a place (2,) free of other bodies."""
        self._table.reserve(float(place_m[0]), float(place_m[1]), radius_m)

    def _add(
        self, kind: str, name: str, color: str, pose: Pose, size: Size | None = None, **options: Any
    ) -> int:
        """Put a body into the first free slot of a kind, and return the slot."""
        for slot, key in enumerate(self.slots):
            if key.startswith(kind) and self._bodies[slot] is None:
                texture = f"{NAMESPACE}/{color}"
                self._bodies[slot] = Body(key, name, texture, pose, size, noun=kind, **options)
                return slot
        raise LayoutError(f"no slot is left for a {kind}")

    def slots_of(self, blocks: Sequence[Block], length: int) -> np.ndarray:
        """Return the slots of some blocks, padded with -1, (length,)."""
        return padded([block.slot for block in blocks], length)

    def other_slots(self, blocks: Sequence[Block], length: int) -> np.ndarray:
        """Return the slots of all other blocks, padded with -1, (length,)."""
        return self.slots_of([block for block in self.blocks if block not in blocks], length)

    def layout(self, **roles: object) -> Layout:
        """Return the layout."""
        return Layout(tuple(self._bodies), {name: np.asarray(of) for name, of in roles.items()})


def padded(values: Sequence[int], length: int, fill: int = -1) -> np.ndarray:
    """Return padded values, (length,)."""
    found = np.full(length, fill)
    found[: len(values)] = values
    return found
