"""Cameras: poses, projections and images."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import tan
from typing import Any

import numpy as np

__all__ = ["FixedCamera"]

NEAR_M, FAR_M = 0.01, 10.0
UPRIGHT = (0.0, 0.0, 1.0)
"""Default up direction of images."""
MIN_SIZE_PX = 16
TABLE_ID, ROBOT_ID = 254, 255
"""Segmentation values of table and robot; 0 is the background, 1 + k is body k."""


@dataclass(frozen=True)
class FixedCamera:
    """Camera with a fixed pose.

    Attributes:
        eye_m: World position.
        target_m: World point at the image center.
        fov_rad: Vertical field of view.
        size_px: Image height.
        width_px: Image width; ``None``: the same as the height.
        up: World direction that points up in the image; not parallel to the view direction.
        orthographic_m: Height of the visible area of an orthographic camera in meters, for which
            ``fov_rad`` is ignored; ``None``: a perspective camera.
    """

    eye_m: tuple[float, float, float]
    target_m: tuple[float, float, float]
    fov_rad: float
    size_px: int = 256
    width_px: int | None = None
    up: tuple[float, float, float] = UPRIGHT
    orthographic_m: float | None = None

    def height_of(self, size_px: int | None) -> int:
        """Return the image height for a requested size. Orthographic cameras keep their own, as it
        determines the scale.
        """
        return self.size_px if size_px is None or self.orthographic_m is not None else size_px

    def width_of(self, height_px: int) -> int:
        """Return the image width for a height; an even number, as videos require."""
        return 2 * round(height_px * (self.width_px or self.size_px) / self.size_px / 2)

    def sees(self, points: np.ndarray, margin: float = 0.02) -> bool:
        """Return whether world points (N, 3) are in the image, with a margin given as a share of
        half its width.
        """
        normals, offsets = _edges(self, 1.0 - margin)
        return bool((np.asarray(points) @ normals >= offsets).all())

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """Return pixel coordinates (N, 2), right and down from the upper left corner, of world
        points (N, 3) in front of the camera.
        """
        left, up, forward = self.axes
        ray = np.asarray(points) - self.eye_m
        if self.orthographic_m is not None:
            half: Any = self.orthographic_m / 2
        else:
            half = tan(self.fov_rad / 2) * (ray @ forward)[..., None]
        aspect = self.width_of(self.size_px) / self.size_px
        places = np.stack((-ray @ left, -ray @ up), axis=-1) / half
        return self.size_px / 2 * ((aspect, 1.0) + places)

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left, up and forward direction, unit vectors (3,) in the world."""
        eye, target = np.asarray(self.eye_m), np.asarray(self.target_m)
        forward = (target - eye) / np.linalg.norm(target - eye)
        left = np.cross(self.up, forward)
        left /= np.linalg.norm(left)
        return left, np.cross(forward, left), forward


@lru_cache(maxsize=64)
def _edges(camera: FixedCamera, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return normals (3, 5) and offsets (5,) of half-spaces ``p @ normals >= offsets`` of world
    points in the central share of a camera's image: left, right, upper and lower edge, near plane.
    """
    left, up, forward = camera.axes
    height_m, flat = camera.orthographic_m, camera.orthographic_m is not None
    half = share * (tan(camera.fov_rad / 2) if height_m is None else height_m / 2)
    wide = half * (camera.width_of(camera.size_px) / camera.size_px)
    sides = ((wide, left), (wide, -left), (half, up), (half, -up))
    normals = [axis if flat else axis + reach * forward for reach, axis in sides]
    across = np.stack((*normals, forward), axis=-1)
    nearest = np.array([*(-reach * flat for reach, _ in sides), NEAR_M])
    return across, nearest + np.asarray(camera.eye_m) @ across


OBJECT_CAMERA = FixedCamera((0.2, 0.2, 0.2), (0.0, 0.0, 0.0), 1.0)
"""Camera for images of single objects in prompts."""


@dataclass(frozen=True)
class Camera:
    """Camera of a recording."""

    name: str
    width: int  # image width in pixels
    height: int  # image height in pixels
    fov_rad: float  # vertical field of view
    mounting: Mapping[str, Any]  # pose in the world or on a link of the robot, as JSON data
    orthographic_m: float | None = None  # as in :class:`FixedCamera`

    @property
    def intrinsic(self) -> np.ndarray:
        """Matrix (3, 3) from camera coordinates (x right, y down, z forward) to pixels; for an
        orthographic camera, set z to 1.
        """
        if self.orthographic_m is None:
            focal = self.height / 2 / tan(self.fov_rad / 2)
        else:
            focal = self.height / self.orthographic_m
        return np.array(
            [[focal, 0.0, self.width / 2], [0.0, focal, self.height / 2], [0.0, 0.0, 1.0]]
        )

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "width": self.width,
            "height": self.height,
            "fov_rad": self.fov_rad,
            "intrinsic": self.intrinsic.tolist(),
            **({"orthographic_m": self.orthographic_m} if self.orthographic_m else {}),
            **self.mounting,
        }


@dataclass(frozen=True)
class CameraImage:
    """Image of a camera with its buffers."""

    color: np.ndarray  # (H, W, 3 or 4) uint8 sRGB
    numbers: np.ndarray  # entity number of each pixel, (H, W), of any type
    labels: np.ndarray  # segmentation value of each entity number, (n,) uint8
    buffer: np.ndarray  # depth buffer of the renderer, see :func:`to_buffer`, (H, W)
    extrinsic: np.ndarray  # world to camera coordinates (x right, y down, z forward), (3, 4)

    @property
    def segmentation(self) -> np.ndarray:
        """Segmentation, (H, W) uint8: 0 background, 1 + k body k, 254 table, 255 robot."""
        return self.labels[self.numbers.astype(np.intp)]

    @property
    def depth_mm(self) -> np.ndarray:
        """Depth in millimeters along the optical axis, (H, W) uint16; 0: out of range."""
        depth = perspective_depth_m(self.buffer.astype(np.float64))
        return np.where(self.buffer < 1.0, np.rint(1e3 * depth), 0.0).astype(np.uint16)


def orthographic_depth_m(buffer: np.ndarray) -> np.ndarray:
    """Return the depth along the optical axis from an orthographic depth buffer, (H, W)."""
    depth_m: np.ndarray = NEAR_M + buffer * (FAR_M - NEAR_M)
    return depth_m


def perspective_depth_m(buffer: np.ndarray) -> np.ndarray:
    """Return the depth along the optical axis from a perspective depth buffer, (H, W)."""
    depth_m: np.ndarray = NEAR_M / (1.0 - buffer * (1.0 - NEAR_M / FAR_M))
    return depth_m


def to_buffer(depth_m: np.ndarray) -> np.ndarray:
    """Return the depth buffer value of a depth: 0 at the near plane, 1 at the far plane."""
    return (1.0 - NEAR_M / depth_m) / (1.0 - NEAR_M / FAR_M)
