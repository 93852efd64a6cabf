"""First-person images of a household."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache, lru_cache
from math import cos, sin

import numpy as np

from clevrskills.assets.outlines import rounded_rectangle
from clevrskills.assets.solids import box, loft
from clevrskills.suites.asgardbench.drawing.stage import SIZE_PX, RenderStage, model
from clevrskills.suites.asgardbench.models.model import FixtureModel, Piece, State, rod
from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.models.style import Style, style
from clevrskills.suites.asgardbench.models.surfaces import Appearance, Contrast
from clevrskills.suites.asgardbench.rules.layout import Fixture
from clevrskills.suites.asgardbench.rules.sight import HELD_FORWARD_M, held_low_m
from clevrskills.suites.asgardbench.rules.slots import Pose
from clevrskills.suites.asgardbench.rules.world import GONE, Entity, Household

WALL_M = 2.6
SHELL, HAND = "room", "hand"
"""Keys of walls and floor, and of the hand."""
SHADOWS_M = 3.4
"""Half the width of the square that shadows cover."""
_SKIN = Appearance((0.86, 0.66, 0.52))
_SLEEVE = Appearance((0.28, 0.38, 0.52), "fabric", (0.20, 0.28, 0.40), 0.04)


class HouseScene:
    """Scene that renders households.

    Args:
        contrast: Contrast of visible states.
        size_px: Width and height of images.

    Attributes:
        stage: Rendered stage.
    """

    def __init__(self, contrast: Contrast = "high", size_px: int = SIZE_PX) -> None:
        self._contrast: Contrast = contrast
        self.stage = RenderStage(SHADOWS_M, size_px, contrast)
        self._label = 0
        self._there: set[Hashable] = set()

    def image(self, world: Household, hand: bool = True) -> np.ndarray:
        """Return the agent's view of a household, (n, n, 3) uint8.

        Args:
            world: The household.
            hand: Whether to draw the hand that holds an object.
        """
        room = world.room
        look = style(room.label, room.kind)
        if self._label != room.label:
            self.stage.clear()
            self._label, self._there = room.label, set()
            for fixture in room.scenery:
                self._show_fixture(("scenery", fixture.id), fixture, State(), look)
        camera = world.camera
        ahead = [a + b for a, b in zip(camera.eye, camera.forward, strict=True)]
        self.stage.look(camera.eye, ahead)
        now: set[Hashable] = set()
        for entity in world.entities.values():
            drawn = world.fixtures.get(entity.id)
            if drawn is not None:
                self._show_fixture(entity.id, drawn, state_of(entity), look)
            elif entity.parent != GONE and not world.concealed(entity):
                self._show_item(world, entity)
            else:
                continue
            now.add(entity.id)
        if hand and world.held is not None:
            self.stage.show_at(HAND, _hand(), self._held_frame(world.held.type), State())
            now.add(HAND)
        for gone in self._there - now:
            self.stage.hide(gone)
        self._there = now
        if not self.stage.shows(SHELL):  # drawn last, so that hidden parts are not shaded
            shell = _shell(room.width_m, room.depth_m, look)
            self.stage.show_at(SHELL, shell, np.eye(4), State())
        return self.stage.image()

    def _show_fixture(self, key: Hashable, fixture: Fixture, state: State, look: Style) -> None:
        drawn = model(fixture.model, state, self._contrast, look, fixture.width_m)
        self.stage.show_at(key, drawn, _matrix((*fixture.origin, 0.0)), state)

    def _show_item(self, world: Household, entity: Entity) -> None:
        state = state_of(entity)
        drawn = model(entity.type, state, self._contrast)
        self.stage.show_at(entity.id, drawn, self.pose_of(world, entity), state)

    def pose_of(self, world: Household, entity: Entity) -> np.ndarray:
        """Return the pose of an object's model in the room (4, 4), for the last camera."""
        middle = np.eye(4)
        middle[:3, 3] = -shape(entity.type).middle
        pose = _matrix(world.pose(entity)) @ middle
        if not world.in_hand(entity):
            return pose
        held = world.held
        assert held is not None
        # poses are relative to the center of the held object
        down = np.eye(4)
        down[2, 3] = shape(held.type).size_m[2] / 2
        return self._held_frame(held.type) @ down @ pose

    def _held_frame(self, kind: str) -> np.ndarray:
        """Return the pose of the bottom center of the held object, whose -y faces the agent."""
        at = np.eye(4)
        at[:3, 3] = HELD_FORWARD_M, 0.0, held_low_m(float(shape(kind).size_m[2]))
        turn = _matrix((0.0, 0.0, 0.0, -np.pi / 2, 0.0))
        camera: np.ndarray = self.stage.camera_pose.to_transformation_matrix()
        return camera @ at @ turn


@cache
def house_scene(contrast: Contrast = "high", size_px: int = SIZE_PX) -> HouseScene:
    """Return the scene of a contrast and size, cached per process."""
    return HouseScene(contrast, size_px)


def state_of(entity: Entity) -> State:
    """Return the visible state of an entity."""
    return State(
        entity.dirty,
        entity.cooked,
        entity.filled or None,  # type: ignore[arg-type]
        entity.open,
        entity.on,
        entity.sprayed,
    )


def _matrix(pose: Pose) -> np.ndarray:
    """Return the matrix (4, 4) of a pose."""
    x, y, z, yaw, tilt = pose
    c, s, ct, st = cos(yaw), sin(yaw), cos(tilt), sin(tilt)
    return np.array(
        [[c * ct, -s, c * st, x], [s * ct, c, s * st, y], [-st, 0, ct, z], [0, 0, 0, 1.0]]
    )


@lru_cache(maxsize=64)
def _shell(width_m: float, depth_m: float, look: Style) -> FixtureModel:
    """Build floor, four walls and skirting boards."""
    wide, deep = 1000 * width_m, 1000 * depth_m
    white = Appearance((0.96, 0.96, 0.95))
    pieces = [Piece(box(wide, deep, 20, bottom=-20), look.floor)]
    for side in (-1, 1):
        x, y = side * (wide / 2 + 20), side * (deep / 2 + 20)
        pieces += [
            Piece(box(40, deep + 80, 1000 * WALL_M, x=x), look.wall),
            Piece(box(wide + 80, 40, 1000 * WALL_M, y=y), look.wall),
            Piece(box(14, deep, 80, x=x - side * 26), white),
            Piece(box(wide, 14, 80, y=y - side * 26), white),
        ]
    return FixtureModel(*pieces)


@lru_cache(maxsize=1)
def _hand() -> FixtureModel:
    """Build a right hand that holds an object from below and the right: x right, y forward, z up
    from the bottom of the object, mm.
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
    skin = [(part, _SKIN) for part in (palm, *fingers, thumb, wrist)]
    pieces = [Piece(part.turned("z", 90), paint) for part, paint in (*skin, (sleeve, _SLEEVE))]
    return FixtureModel(*pieces)
