"""Drawn household: what the agent sees of a world of the rules, in first person."""

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
"""Keys of what is no entity: walls and floor, and the hand."""
SHADOWS_M = 3.4
"""Half the width of the square in which there are shadows."""
_SKIN = Appearance((0.86, 0.66, 0.52))
_SLEEVE = Appearance((0.28, 0.38, 0.52), "fabric", (0.20, 0.28, 0.40), 0.04)


class HouseScene:
    """A stage on which households are shown, one after the other.

    Args:
        contrast: How strongly states show.
        size_px: Width and height of images.
    """

    def __init__(self, contrast: Contrast = "high", size_px: int = SIZE_PX) -> None:
        self._contrast: Contrast = contrast
        self.stage = RenderStage(SHADOWS_M, size_px, contrast)
        self._label = 0
        self._there: set[Hashable] = set()

    def image(self, world: Household, hand: bool = True) -> np.ndarray:
        """Return what the agent sees.

        Args:
            world: The household.
            hand: Whether the hand that holds something is drawn.

        Returns:
            (n, n, 3) uint8.
        """
        self.sync(world, hand)
        return self.stage.image()

    def sync(self, world: Household, hand: bool = True) -> None:
        """Show exactly what there is in a household, but for what is shut in, from where the agent
        looks.
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
                self._show_thing(world, entity)
            else:
                continue
            now.add(entity.id)
        if hand and world.held is not None:
            self.stage.show_at(HAND, _hand(), self._held_frame(world.held.type), State())
            now.add(HAND)
        for gone in self._there - now:
            self.stage.hide(gone)
        self._there = now
        if not self.stage.shows(SHELL):  # drawn last: what stands before it needs no shading
            shell = _shell(room.width_m, room.depth_m, look)
            self.stage.show_model(SHELL, shell, (0, 0, 0, 0), State())

    def pixels(self, key: Hashable) -> np.ndarray:
        """Return the mask of the pixels of the last image that show an entity, (n, n) bool."""
        return self.stage.pixels(key)

    def _show_fixture(self, key: Hashable, fixture: Fixture, state: State, look: Style) -> None:
        drawn = model(fixture.model, state, self._contrast, look, fixture.width_m)
        self.stage.show_model(key, drawn, fixture.origin, state)

    def _show_thing(self, world: Household, entity: Entity) -> None:
        state = state_of(entity)
        drawn = model(entity.type, state, self._contrast)
        self.stage.show_at(entity.id, drawn, self.pose_of(world, entity), state)

    def pose_of(self, world: Household, entity: Entity) -> np.ndarray:
        """Return the pose of a thing's model in the room (4, 4), for the last camera."""
        middle = np.eye(4)
        middle[:3, 3] = -shape(entity.type).middle
        pose = _matrix(world.pose(entity)) @ middle
        if not world.in_hand(entity):
            return pose
        held = world.held
        assert held is not None
        # things are posed as if what is held stood at the origin, in the middle
        down = np.eye(4)
        down[2, 3] = shape(held.type).size_m[2] / 2
        return self._held_frame(held.type) @ down @ pose

    def _held_frame(self, kind: str) -> np.ndarray:
        """Return pose of the middle of the lower end of what is held; its -y faces the agent."""
        at = np.eye(4)
        at[:3, 3] = HELD_FORWARD_M, 0.0, held_low_m(float(shape(kind).size_m[2]))
        turn = _matrix((0.0, 0.0, 0.0, -np.pi / 2, 0.0))
        camera: np.ndarray = self.stage.camera_pose.to_transformation_matrix()
        return camera @ at @ turn


@cache
def house_scene(contrast: Contrast = "high", size_px: int = SIZE_PX) -> HouseScene:
    """Return the stage of a contrast and size, made once in each process."""
    return HouseScene(contrast, size_px)


def state_of(entity: Entity) -> State:
    """Return what shows of an entity's state."""
    return State(
        entity.dirty,
        entity.cooked,
        entity.filled or None,  # type: ignore[arg-type]
        entity.open,
        entity.on,
        entity.sprayed,
    )


def _matrix(pose: Pose) -> np.ndarray:
    """Return the matrix (4, 4) of a pose of the rules."""
    x, y, z, yaw, tilt = pose
    c, s, ct, st = cos(yaw), sin(yaw), cos(tilt), sin(tilt)
    return np.array(
        [[c * ct, -s, c * st, x], [s * ct, c, s * st, y], [-st, 0, ct, z], [0, 0, 0, 1.0]]
    )


@lru_cache(maxsize=64)
def _shell(width_m: float, depth_m: float, look: Style) -> FixtureModel:
    """Return floor, four walls and skirting boards."""
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
    """Return a right hand that holds something from below and from the right; x to the right, y
    forward, z up, from the lower end of what is held, mm.
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
