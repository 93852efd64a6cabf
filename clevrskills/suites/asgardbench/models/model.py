"""Models: pieces, joints and states of objects and fixtures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from clevrskills.assets.outlines import Points, circle
from clevrskills.assets.solids import Patch, Solid, lathe, loft, vessel
from clevrskills.suites.asgardbench.models.style import PLAIN, Style
from clevrskills.suites.asgardbench.models.surfaces import (
    STRENGTH,
    Appearance,
    Color,
    Contrast,
    Overlay,
    blend,
)

Liquid = Literal["water", "coffee", "wine"]
LIQUID_COLOR: Mapping[str, Color] = {
    "water": (0.16, 0.47, 0.86),
    "coffee": (0.17, 0.08, 0.03),
    "wine": (0.60, 0.04, 0.13),
}


@dataclass(frozen=True)
class State:
    """Visible state of an entity."""

    dirty: bool = False  # brown stains
    cooked: bool = False  # browned; an egg: opaque white
    filled: Liquid | None = None
    open: bool = False  # door, drawer or lid
    on: bool = False
    sprayed: bool = False  # droplets


@dataclass(frozen=True)
class ModelJoint:
    """Joint between the pieces of a fixture."""

    kind: Literal["hinge", "slide"]  # rotation about, or translation along an axis
    variable: Literal["open", "on"]  # state that moves it
    axis: tuple[float, float, float]  # unit vector in the fixture's frame
    travel: float  # degrees or millimeters when open or on
    origin_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)  # point on the axis

    def matrix(self, state: State) -> np.ndarray:
        """Return the pose of the moving pieces in the fixture's frame, (4, 4), meters."""
        value = self.travel * float(getattr(state, self.variable))
        pose = np.eye(4)
        axis = np.asarray(self.axis)
        if self.kind == "slide":
            pose[:3, 3] = axis * value / 1000
            return pose
        angle = np.radians(value)
        skew = np.cross(np.eye(3), axis)
        turn = np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew
        origin = np.asarray(self.origin_mm) / 1000
        pose[:3, :3], pose[:3, 3] = turn, origin - turn @ origin
        return pose


@dataclass(frozen=True, eq=False)
class Piece:
    """Solid (millimeters) with one surface, and the name of its joint if it moves."""

    solid: Solid
    surface: Appearance
    joint: str | None = None
    use: Literal["both", "drawn", "rules"] = "both"  # drawn, used by the rules, or both


class FixtureModel:
    """Model of an object or fixture: its frame is on its support, z up; fixtures face −y.

    Args:
        pieces: Pieces, in drawing order.
        joints: Joints by name.
    """

    def __init__(self, *pieces: Piece, **joints: ModelJoint) -> None:
        self.pieces, self.joints = pieces, joints

    @property
    def solids(self) -> tuple[Piece, ...]:
        """Pieces that the rules use."""
        return tuple(piece for piece in self.pieces if piece.use != "drawn")

    def bounds_m(self) -> np.ndarray:
        """Return the lowest and highest corner with all joints at rest, (2, 3)."""
        low, high = zip(*(piece.solid.bounds() for piece in self.solids), strict=True)
        return np.stack([np.min(low, axis=0), np.max(high, axis=0)]) / 1000


@dataclass(frozen=True)
class BuildInput:
    """Input of a builder."""

    state: State
    contrast: Contrast = "high"  # contrast of visible states
    style: Style = PLAIN  # style of the room
    width_mm: float = 0.0  # width of fixtures with a variable one; 0: default

    @property
    def strength(self) -> float:
        return STRENGTH[self.contrast]

    def dirt(self, surface: Appearance) -> Appearance:
        """Return the surface, dirty if the state is."""
        return self._over(surface, "dirt", self.state.dirty)

    def browned(self, surface: Appearance) -> Appearance:
        """Return the surface, browned if the state is cooked."""
        return self._over(surface, "browned", self.state.cooked)

    def lit(self, off: Color, on: Color, glow: float = 0.9) -> Appearance:
        """Return the surface of a lamp, ring or screen."""
        color = blend(off, on, self.strength * self.state.on)
        return Appearance(color, glow=glow if self.state.on else 0.0, strength=self.strength)

    def filled(self, below: Color) -> Color:
        """Return the color of the liquid above a color; that color if there is none."""
        if self.state.filled is None:
            return below
        return blend(below, LIQUID_COLOR[self.state.filled], self.strength)

    def liquid(self, radius_mm: float, z_mm: float, below: Color) -> tuple[Piece, ...]:
        """Return the liquid of a vessel, a disc; nothing if it is empty."""
        if self.state.filled is None:
            return ()
        disc = lathe([(radius_mm, z_mm - 1.0), (radius_mm, z_mm)], 32)
        return (Piece(disc, Appearance(self.filled(below))),)

    def _over(self, surface: Appearance, overlay: Overlay, there: bool) -> Appearance:
        return surface.with_overlay(overlay if there else None, self.strength)


Builder = Callable[[BuildInput], FixtureModel]


def rod(path: Sequence[Sequence[float]], radius: float | Sequence[float], n: int = 10) -> Solid:
    """Build a round bar along a path, (k, 3) mm; closed by flat ends."""
    points = np.asarray(path, dtype=np.float64)
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), len(points))
    ways = np.gradient(points, axis=0)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    side = np.cross(ways[0], (0.0, 0.0, 1.0) if abs(ways[0][2]) < 0.9 else (0.0, 1.0, 0.0))
    turns = 2 * np.pi * np.arange(n + 1) / n
    rings = []
    for point, way, r in zip(points, ways, radii, strict=True):
        side = side - way * (side @ way)
        side /= np.linalg.norm(side)
        up = np.cross(way, side)
        rings.append(point + r * (np.outer(np.cos(turns), side) + np.outer(np.sin(turns), up)))
    faces = _grid_faces(len(points), n + 1)
    k = np.arange(1, n - 1)
    fan = np.column_stack([np.zeros_like(k), k, k + 1])
    ends = (Patch(rings[0][:-1], fan[:, ::-1]), Patch(rings[-1][:-1], fan))
    return Solid((Patch(np.concatenate(rings), faces, (len(points), n + 1)), *ends), ())


def _grid_faces(rows: int, columns: int) -> np.ndarray:
    """Return the triangles (f, 3) between the points of a grid."""
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b = index[:-1, :-1].ravel(), index[:-1, 1:].ravel()
    c, d = index[1:, 1:].ravel(), index[1:, :-1].ravel()
    return np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def arc3(
    center: Sequence[float],
    radius: float | Sequence[float],
    start_deg: float,
    end_deg: float,
    plane: str,
    n: int = 9,
) -> list[tuple[float, float, float]]:
    """Return points of an arc in the ``xz``, ``yz`` or ``xy`` plane, mm; two radii: an ellipse."""
    wide, high = map(float, np.broadcast_to(radius, 2))
    i, j = ("xyz".index(plane[0]), "xyz".index(plane[1]))
    points = []
    for angle in np.radians(np.linspace(start_deg, end_deg, n)):
        point = list(map(float, center))
        point[i] += wide * float(np.cos(angle))
        point[j] += high * float(np.sin(angle))
        points.append((point[0], point[1], point[2]))
    return points


def ball(rx: float, ry: float, rz: float, n: int = 12, bump: float = 0.0, waves: int = 0) -> Solid:
    """Build an ellipsoid on z = 0; ``bump`` is the relative amplitude of waves on it."""
    rings = []
    for angle in np.linspace(-np.pi / 2, np.pi / 2, n + 1):
        r, z = float(np.cos(angle)) + 1e-4, float(np.sin(angle))
        turns = np.linspace(0, 2 * np.pi, 33)[:-1]
        scale = 1 + bump * np.cos(waves * turns + 5 * angle)
        ring: Points = [
            (float(rx * r * s * np.cos(t)), float(ry * r * s * np.sin(t)))
            for s, t in zip(scale, turns, strict=True)
        ]
        rings.append((ring, rz + rz * z))
    return loft(rings)


def round_vessel(
    outer: Sequence[tuple[float, float]], inner: Sequence[tuple[float, float]], n: int = 40
) -> Solid:
    """Build a vessel of revolution; `outer` (radius, z) bottom to rim, `inner` rim to floor, mm."""
    return vessel([(circle(r, n), z) for r, z in outer], [(circle(r, n), z) for r, z in inner])


def revolved(profile: Sequence[tuple[float, float]], n: int = 40) -> Solid:
    """Build an open surface of revolution seen from the left of its profile, (radius, z) mm."""
    turns = 2 * np.pi * np.arange(n + 1) / n
    r, z = np.asarray(profile, dtype=np.float64).T
    points = np.stack(
        np.broadcast_arrays(r[:, None] * np.cos(turns), r[:, None] * np.sin(turns), z[:, None]), -1
    ).reshape(-1, 3)
    return Solid((Patch(points, _grid_faces(len(profile), n + 1)),), ())


def hollow(
    outer: Sequence[tuple[float, float]],
    inner: Sequence[tuple[float, float]],
    outside: Appearance,
    inside: Appearance,
) -> tuple[Piece, Piece]:
    """Build a round vessel: `outer` surface (radius, z) up to the rim, `inner` down, mm."""
    shell = revolved([(0.01, outer[0][1]), *outer, inner[0]])
    shell = Solid(shell.patches, round_vessel(outer, inner, 8).parts)
    lining = revolved([*inner, (0.01, inner[-1][1])])
    return Piece(shell, outside), Piece(lining, inside)


def standing(model: FixtureModel) -> FixtureModel:
    """Move a model without joints onto its support."""
    low = min(piece.solid.bounds()[0, 2] for piece in model.pieces)
    return FixtureModel(*(replace(p, solid=p.solid.moved(z=-low)) for p in model.pieces))


def scaled(model: FixtureModel, share: float) -> FixtureModel:
    """Scale a model without joints."""
    pieces = (replace(p, solid=p.solid.transformed(share * np.eye(3))) for p in model.pieces)
    return FixtureModel(*pieces)
