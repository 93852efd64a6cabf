"""Cameras and where they stand (ClevrSkills paper, section 3; the released code's camera table)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import pi

import numpy as np

from clevrskills.core.registry import load, others
from clevrskills.errors import UnknownNameError


@dataclass(frozen=True)
class FixedCamera:
    """A camera that stands still.

    Attributes:
        eye_m: World position.
        target_m: World point in the middle of the image.
        fov_rad: Field of view; images are square.
        size_px: Width and height.
    """

    eye_m: tuple[float, float, float]
    target_m: tuple[float, float, float]
    fov_rad: float
    size_px: int = 256

    def sees(self, points: np.ndarray, margin: float = 0.02) -> bool:
        """Whether all world points (N, 3) lie in the image, ``margin`` (share of its half width)
        away from the edge.
        """
        eye, target = np.asarray(self.eye_m), np.asarray(self.target_m)
        forward = (target - eye) / np.linalg.norm(target - eye)
        left = np.cross([0.0, 0.0, 1.0], forward)
        left /= np.linalg.norm(left)
        up = np.cross(forward, left)
        ray = np.asarray(points) - eye
        depth = ray @ forward
        half = np.tan(self.fov_rad / 2) * (1.0 - margin) * depth
        inside = (np.abs(ray @ left) <= half) & (np.abs(ray @ up) <= half)
        return bool((inside & (depth > 0.01)).all())


BASE_CAMERA = FixedCamera((0.3, -0.1, 0.3), (-0.1, 0.0, 0.1), pi / 2)
RENDER_CAMERA = FixedCamera((1.0, 1.0, 0.8), (0.0, 0.0, 0.5), 1.0, 512)
OBJECT_CAMERA = FixedCamera((0.2, 0.2, 0.2), (0.0, 0.0, 0.0), 1.0)
NEAR_M, FAR_M = 0.01, 10.0
CAMERAS = ("base_camera", "hand_camera", "render_camera")
"""Cameras of the package: two that stand still and that of the wrist."""


def camera_names() -> tuple[str, ...]:
    """Names of all cameras, those of the package first.

    Raises:
        NameTakenError: Two have the same name.
    """
    return (*CAMERAS, *others("cameras", CAMERAS))


@cache
def fixed_camera(name: str) -> FixedCamera | None:
    """The camera of a name, ``None`` for that of the wrist.

    Raises:
        UnknownNameError: There is no such camera.
        ClevrSkillsError: What another distribution adds cannot be imported, or is no camera.
    """
    if name in CAMERAS:
        return {"base_camera": BASE_CAMERA, "render_camera": RENDER_CAMERA}.get(name)
    if name not in (added := others("cameras", CAMERAS)):
        raise UnknownNameError("camera", name, camera_names())
    found: FixedCamera = load(added[name], FixedCamera)
    return found
