"""Cameras: where they stand, what they see and how that is kept, in plain numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import tan
from typing import Any

import numpy as np

__all__ = ["FixedCamera"]

NEAR_M, FAR_M = 0.01, 10.0
UPRIGHT = (0.0, 0.0, 1.0)
"""Direction that is up in the images of most cameras."""
MIN_SIZE_PX = 16
TABLE_ID, ROBOT_ID = 254, 255
"""Values of table and robot in a segmentation; 0 is the background, 1 + k is body k."""


@dataclass(frozen=True)
class FixedCamera:
    """A camera that stands still.

    Attributes:
        eye_m: World position.
        target_m: World point in the middle of the image.
        fov_rad: Vertical field of view.
        size_px: Height of its images, and their width if that is not given.
        width_px: Their width; ``None``: they are square.
        up: World direction that is up in its images, not along the view.
        orthographic_m: If it is an orthographic camera, what its images show from top to bottom, in
            metres, however far away; ``fov_rad`` does not matter then.
    """

    eye_m: tuple[float, float, float]
    target_m: tuple[float, float, float]
    fov_rad: float
    size_px: int = 256
    width_px: int | None = None
    up: tuple[float, float, float] = UPRIGHT
    orthographic_m: float | None = None

    def height_of(self, size_px: int | None) -> int:
        """Return the height of its images where a size of images is asked for: that, or its own if
        none is, or if it is orthographic, as its scale matters.
        """
        return self.size_px if size_px is None or self.orthographic_m is not None else size_px

    def width_of(self, height_px: int) -> int:
        """Return the width of its images if they are so high: an even number, as videos want it."""
        return 2 * round(height_px * (self.width_px or self.size_px) / self.size_px / 2)

    def sees(self, points: np.ndarray, margin: float = 0.02) -> bool:
        """Return whether world points (N, 3) are in the image, a margin (share of half its width)
        off its edge.
        """
        normals, offsets = _edges(self, 1.0 - margin)
        return bool((np.asarray(points) @ normals >= offsets).all())

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """Return the pixels of world points (N, 3) ahead of it: right and down from its upper left
        corner, (N, 2).
        """
        across, down, depth = self._in_its_frame(points)
        half = self._half_height(depth)
        aspect = self.width_of(self.size_px) / self.size_px
        places = np.stack((across, down), axis=-1) / half[..., None]
        return self.size_px / 2 * ((aspect, 1.0) + places)

    def _half_height(self, depth: np.ndarray) -> np.ndarray:
        """Return half of what it sees from top to bottom so far ahead (N,), metres."""
        if self.orthographic_m is not None:
            return np.full_like(depth, self.orthographic_m / 2)
        return tan(self.fov_rad / 2) * depth

    def _in_its_frame(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the world points (N, 3) in its frame: right, down and ahead, metres, each (N,)."""
        left, up, forward = self.axes
        ray = np.asarray(points) - self.eye_m
        return -ray @ left, -ray @ up, ray @ forward

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """To its left, up and ahead, unit vectors (3,) in the world."""
        eye, target = np.asarray(self.eye_m), np.asarray(self.target_m)
        forward = (target - eye) / np.linalg.norm(target - eye)
        left = np.cross(self.up, forward)
        left /= np.linalg.norm(left)
        return left, np.cross(forward, left), forward


@lru_cache(maxsize=64)
def _edges(camera: FixedCamera, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return half-spaces ``p @ normals >= offsets`` of world points in a share of the middle of a
    camera's image: its left, right, upper and lower edge, and what is too near, (3, 5) and (5,).
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
"""Camera of the images of single objects in prompts."""


@dataclass(frozen=True)
class Camera:
    """A camera that films."""

    name: str  # its name
    width: int  # width of its images in pixels
    height: int  # height of its images in pixels
    fov_rad: float  # vertical field of view
    mounting: Mapping[str, Any]  # where it is, in the world or on a link of the robot, as JSON data
    # of an orthographic camera, what it sees from top to bottom in metres
    orthographic_m: float | None = None

    @property
    def intrinsic(self) -> np.ndarray:
        """The matrix (3, 3) from camera coordinates (x right, y down, z ahead) to pixels; of an
        orthographic camera z is to be 1 whatever the distance.
        """
        if self.orthographic_m is None:
            focal = self.height / 2 / tan(self.fov_rad / 2)
        else:
            focal = self.height / self.orthographic_m
        return np.array(
            [[focal, 0.0, self.width / 2], [0.0, focal, self.height / 2], [0.0, 0.0, 1.0]]
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
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
    numbers: np.ndarray  # number of the entity that each pixel shows, (H, W), of any type
    labels: np.ndarray  # what these numbers are in a segmentation, (n,) uint8
    buffer: np.ndarray  # depth as renderers keep it, see :func:`to_buffer`, (H, W)
    extrinsic: np.ndarray  # world to camera coordinates (x right, y down, z ahead), (3, 4)

    @property
    def segmentation(self) -> np.ndarray:
        """Segmentation, (H, W) uint8: 0 background, 1 + k body k, 254 table, 255 robot."""
        return self.labels[self.numbers.astype(np.intp)]

    @property
    def depth_mm(self) -> np.ndarray:
        """Millimetres along the optical axis, (H, W) uint16; 0: nothing within range."""
        depth = perspective_depth_m(self.buffer.astype(np.float64))
        return np.where(self.buffer < 1.0, np.rint(1e3 * depth), 0.0).astype(np.uint16)


def orthographic_depth_m(buffer: np.ndarray) -> np.ndarray:
    """Return the depth along the optical axis from an orthographic camera's buffer, (H, W)."""
    depth_m: np.ndarray = NEAR_M + buffer * (FAR_M - NEAR_M)
    return depth_m


def perspective_depth_m(buffer: np.ndarray) -> np.ndarray:
    """Return the depth along the optical axis of what another camera's renderer keeps, (H, W)."""
    depth_m: np.ndarray = NEAR_M / (1.0 - buffer * (1.0 - NEAR_M / FAR_M))
    return depth_m


def to_buffer(depth_m: np.ndarray) -> np.ndarray:
    """Return a renderer's buffer value of a depth: 0 at the near plane, 1 at the far one."""
    return (1.0 - NEAR_M / depth_m) / (1.0 - NEAR_M / FAR_M)
