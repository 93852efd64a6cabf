"""Camera of the agent: position, direction, posture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import atan2, cos, degrees, hypot, radians, sin, tan

import numpy as np

from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.rules.layout import Fixture, Room

EYE_M, CROUCHED_M = 1.58, 0.90
"""Height of the eye, standing and crouched."""
PITCH_DEG = (-30.0, 60.0)
"""Range of the pitch, up and down."""
FOV_RAD = radians(60)
"""Field of view, horizontal and vertical."""
HALF_VIEW = tan(FOV_RAD / 2)
"""Tangent of half the field of view."""
CROUCH_BELOW_M = 0.4
"""Height of a target (of a fixture: its top) below which the agent crouches."""
CROUCH_FOR = frozenset({"Cabinet", "SinkCabinet"})
"""Fixtures for which the agent always crouches."""
STAND_M = 0.5
"""Default distance of the agent from a fixture."""
DISTANCES_M = {
    "Fridge": 1.6,
    "Television": 1.7,
    "Cabinet": 1.0,
    "SinkCabinet": 1.0,
    "WallCabinet": 0.65,
    "Drawer": 0.85,
    "Microwave": 0.65,
    "Sink": 0.45,
    "SinkBasin": 0.4,
    "Faucet": 0.4,
    "Mirror": 1.0,
    "Window": 1.0,
    "Sofa": 0.9,
    "Bathtub": 0.9,
    "TVStand": 0.8,
    "CoffeeTable": 0.45,
}
WALL_M = 0.15
"""Minimum distance of the agent from a wall."""


@dataclass(frozen=True)
class AgentCamera:
    """Pose of the agent's eye."""

    x_m: float  # right in the room
    y_m: float  # away
    z_m: float  # above the floor
    heading_rad: float  # from +x counterclockwise
    pitch_rad: float  # downward

    @property
    def eye(self) -> tuple[float, float, float]:
        return self.x_m, self.y_m, self.z_m

    @cached_property
    def forward(self) -> tuple[float, float, float]:
        flat = cos(self.pitch_rad)
        return (flat * cos(self.heading_rad), flat * sin(self.heading_rad), -sin(self.pitch_rad))

    @cached_property
    def right(self) -> tuple[float, float, float]:
        return sin(self.heading_rad), -cos(self.heading_rad), 0.0

    @cached_property
    def up(self) -> tuple[float, float, float]:
        tall = sin(self.pitch_rad)
        return (tall * cos(self.heading_rad), tall * sin(self.heading_rad), cos(self.pitch_rad))

    @cached_property
    def matrix(self) -> np.ndarray:
        """Directions forward, right and up as columns (3, 3)."""
        return np.array([self.forward, self.right, self.up]).T

    def seen_at(self, point: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return a point in the image, right and up from the center (tangents), and its depth."""
        ray = (point[0] - self.x_m, point[1] - self.y_m, point[2] - self.z_m)
        depth = sum(a * b for a, b in zip(ray, self.forward, strict=True))
        across = sum(a * b for a, b in zip(ray, self.right, strict=True))
        above = sum(a * b for a, b in zip(ray, self.up, strict=True))
        if depth < 1e-6:
            return float("inf"), float("inf"), depth
        return across / depth, above / depth, depth


def aimed(eye: tuple[float, float, float], target: tuple[float, float, float]) -> AgentCamera:
    """Return a camera that looks at a point, within the range of the pitch."""
    ahead, aside = target[0] - eye[0], target[1] - eye[1]
    pitch = degrees(atan2(eye[2] - target[2], hypot(ahead, aside)))
    low, high = PITCH_DEG
    return AgentCamera(*eye, atan2(aside, ahead), radians(min(max(pitch, low), high)))


OTHERS = ((0.0, -0.2), (-0.3, 0.0), (0.3, 0.0), (-0.55, 0.1), (0.55, 0.1), (0.0, 0.5), (-0.9, 0.4),
          (0.9, 0.4))  # fmt: skip
"""Alternative positions of the agent relative to straight in front: right and further away,
meters."""


def before(
    room: Room, fixture: Fixture, target: tuple[float, float, float], whole: bool
) -> Iterator[AgentCamera]:
    """Yield cameras that look at a target in or on a fixture, the default one first.

    Args:
        room: The room.
        fixture: Fixture in front of which the agent stands.
        target: Position of the target.
        whole: Whether the target is the fixture itself.
    """
    c, s = cos(fixture.yaw_rad), sin(fixture.yaw_rad)
    along = (target[0] - fixture.x_m) * c + (target[1] - fixture.y_m) * s
    away = DISTANCES_M.get(fixture.model, STAND_M)
    if whole and fixture.model not in DISTANCES_M:
        wide = float(shape(fixture.model, fixture.width_m).size_m[0])
        away = min(max(0.75 * wide, away), 1.3)
    top = shape(fixture.model, fixture.width_m).high[2] + fixture.z_m if whole else target[2]
    low = top < CROUCH_BELOW_M and fixture.model != "Drawer"
    low |= fixture.model in CROUCH_FOR
    wide, deep = room.width_m / 2 - WALL_M, room.depth_m / 2 - WALL_M
    for crouched in (low, not low):
        for aside, further in ((0.0, 0.0), *OTHERS):
            across, front = along + aside, fixture.front_m + max(away + further, 0.2)
            x_m = fixture.x_m + c * across + s * front
            y_m = fixture.y_m + s * across - c * front
            eye = (
                min(max(x_m, -wide), wide),
                min(max(y_m, -deep), deep),
                CROUCHED_M if crouched else EYE_M,
            )
            yield aimed(eye, target)
