"""Drawn room: what the agent sees of it, in first person, with what it holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import sapien

from clevrskills.assets.outlines import rounded_rectangle
from clevrskills.assets.solids import box, loft
from clevrskills.suites.asgardbench.drawing.fixtures import FRONT, TOP
from clevrskills.suites.asgardbench.drawing.model import Model, Piece, State, rod
from clevrskills.suites.asgardbench.drawing.rooms import Palette, Placed, Room
from clevrskills.suites.asgardbench.drawing.stage import SIZE_PX, Stage, model
from clevrskills.suites.asgardbench.drawing.surfaces import Contrast, Surface

WALL_M = 2.6
SHELL, HAND, HELD = "room", "hand", "held"
"""Keys of what is no entity of the room: walls and floor, the hand; and of the held thing."""
HELD_AT = (0.62, 0.0, -0.29)
"""Where the lower end of a held thing is, metres forward, left and up from the camera."""
_SKIN = Surface((0.86, 0.66, 0.52))
_SLEEVE = Surface((0.28, 0.38, 0.52), "fabric", (0.20, 0.28, 0.40), 0.04)


class RoomScene:
    """A room of which images are taken.

    Args:
        room: What stands where.
        contrast: How strongly states show.
        size_px: Width and height of images.
    """

    def __init__(self, room: Room, contrast: Contrast = "high", size_px: int = SIZE_PX) -> None:
        self._contrast: Contrast = contrast
        self._palette = room.palette
        self.stage = Stage(max(room.size_m) / 2 + 0.2, size_px, contrast)
        self.stage.show_model(SHELL, _shell(room.size_m, room.palette), (0, 0, 0, 0), State())
        self._ids: set[str] = set()
        self.sync(room.placed)

    def sync(self, placed: Iterable[Placed]) -> None:
        """Show exactly these entities, in their poses and states."""
        now = set()
        for entity in placed:
            drawn = _painted(entity.kind, entity.state, self._contrast, self._palette)
            self.stage.show_model(entity.id, drawn, entity.pose, entity.state)
            now.add(entity.id)
        for gone in self._ids - now:
            self.stage.hide(gone)
        self._ids = now

    def image(
        self,
        eye_m: tuple[float, float, float],
        target_m: tuple[float, float, float],
        held: Placed | None = None,
        hand: bool = True,
    ) -> np.ndarray:
        """What is seen from a place when looking at another.

        Args:
            eye_m: Where the camera is.
            target_m: What is in the middle of the image.
            held: What the agent holds; its pose is of no matter.
            hand: Whether the hand that holds it is drawn.

        Returns:
            (n, n, 3) uint8.
        """
        self.stage.look(eye_m, target_m)
        self.stage.hide(HELD)
        self.stage.hide(HAND)
        if held is not None:
            drawn = model(held.kind, held.state, self._contrast)
            low, high = drawn.bounds_m()
            middle = (low + high) / 2
            self.stage.show_model(HELD, drawn, (0, 0, 0, 0), held.state)
            # seen from behind: the thing's −y is towards the agent
            turn = sapien.Pose(list(HELD_AT), [np.cos(-np.pi / 4), 0, 0, np.sin(-np.pi / 4)])
            offset = sapien.Pose([-middle[0], -middle[1], -low[2]])
            self.stage.place(HELD, self.stage.camera_pose * turn * offset, held.state)
            if hand:
                self.stage.show_model(HAND, _hand(), (0, 0, 0, 0), State())
                at = sapien.Pose(list(HELD_AT))
                self.stage.place(HAND, self.stage.camera_pose * at)
        return self.stage.image()

    def pixels(self, key: Hashable) -> np.ndarray:
        """Mask of the pixels of the last image that show an entity, (n, n) bool."""
        return self.stage.pixels(key)


@lru_cache(maxsize=2048)
def _painted(kind: str, state: State, contrast: Contrast, palette: Palette) -> Model:
    """A model with the room's colors of fronts and tops."""
    drawn = model(kind, state, contrast)
    paint = {
        FRONT: replace(FRONT, color=palette.front),
        TOP: replace(TOP, color=palette.top, second=_darker(palette.top)),
    }
    if not any(piece.surface in paint for piece in drawn.pieces):
        return drawn
    pieces = tuple(
        replace(piece, surface=paint.get(piece.surface, piece.surface)) for piece in drawn.pieces
    )
    return Model(pieces, drawn.joints)


def _darker(color: tuple[float, float, float]) -> tuple[float, float, float]:
    return 0.6 * color[0], 0.6 * color[1], 0.6 * color[2]


@lru_cache(maxsize=64)
def _shell(size_m: tuple[float, float], palette: Palette) -> Model:
    """Floor, four walls and skirting boards."""
    wide, deep = 1000 * size_m[0], 1000 * size_m[1]
    if palette.tiled:
        floor = Surface((0.80, 0.82, 0.82), "tiles", (0.60, 0.62, 0.62), 0.45)
        wall = Surface((0.93, 0.95, 0.95), "tiles", palette.wall, 0.3)
    else:
        floor = Surface(palette.floor, "planks", _darker(palette.floor), 0.9)
        wall = Surface(palette.wall)
    white = Surface((0.96, 0.96, 0.95))
    pieces = [Piece(box(wide, deep, 20, bottom=-20), floor)]
    for side in (-1, 1):
        x, y = side * (wide / 2 + 20), side * (deep / 2 + 20)
        pieces += [
            Piece(box(40, deep + 80, 1000 * WALL_M, x=x), wall),
            Piece(box(wide + 80, 40, 1000 * WALL_M, y=y), wall),
            Piece(box(14, deep, 80, x=x - side * 26), white),
            Piece(box(wide, 14, 80, y=y - side * 26), white),
        ]
    return Model(tuple(pieces))


@lru_cache(maxsize=1)
def _hand() -> Model:
    """Right hand that holds something from below and from the right; x forward, y left, z up, from
    the lower end of what is held, mm.
    """
    ring = rounded_rectangle(120, 90, 34)
    palm = loft([([(0.8 * a, 0.8 * b) for a, b in ring], -52.0), (ring, -36.0),
                 ([(0.95 * a, 0.95 * b) for a, b in ring], -12.0),
                 ([(0.8 * a, 0.8 * b) for a, b in ring], -6.0)])  # fmt: skip
    fingers = [
        rod([(a, 30, -26), (a, 58, -10), (a - 4, 66, 20), (a - 8, 60, 46)], [12, 12, 10.5, 8], 12)
        for a in (-36, -12, 12, 36)
    ]
    thumb = rod([(-30, -34, -28), (-44, -58, -8), (-40, -62, 26), (-34, -56, 44)], [15, 14, 12, 9])
    wrist = rod([(-40, -10, -34), (-120, -40, -70), (-190, -70, -110)], [34, 31, 34], 16)
    sleeve = rod([(-150, -55, -88), (-420, -160, -230)], [46, 60], 18)
    skin = [Piece(part, _SKIN) for part in (palm, *fingers, thumb, wrist)]
    return Model((*skin, Piece(sleeve, _SLEEVE)))
