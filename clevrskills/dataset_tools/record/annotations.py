"""Annotations of images: bounding boxes and visible shares of objects.

Boxes come from projected triangles: like in the renderer, a pixel is covered if its center is.
Visible shares come from surface points that face the camera, weighted by their area in the image
and looked up in the segmentation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from clevrskills.assets import Shape
from clevrskills.core.geometry import rotation_matrices_np
from clevrskills.sim.cameras import NEAR_M, TABLE_ID, Camera, CameraImage, to_buffer
from clevrskills.sim.render.raster import Corners, Faces, cut_off, extents, merged

SAMPLES, CANDIDATES = 256, 768
"""Surface points of an object, and candidates from which they are chosen."""
FACING_SHARE = 0.25
"""Half the distance of opposite normals in the choice of points, per diagonal of the object."""
NEARER_M = 0.0015
"""Margin by which an occluder must be nearer than a point."""
NOT_IN_IMAGE = -1
_R2 = (0.7548776662466927, 0.5698402909980532)
"""Steps of a low-discrepancy sequence in the unit square (Roberts 2018, "R2")."""


@dataclass(frozen=True)
class Sighting:
    """Visibility of K objects in a camera."""

    # unoccluded boxes in pixels, x_min, y_min, x_max, y_max, the maxima exclusive, clipped to the
    # image; four times -1 outside the image; (K, 4) int16
    boxes: np.ndarray
    visible: np.ndarray  # share of each silhouette, neither hidden nor outside; (K,) float32


class Annotator:
    """Annotator of camera images of objects."""

    def __init__(self, meshes: Sequence[Shape], cameras: Mapping[str, Camera]) -> None:
        self._cameras = dict(cameras)
        self._count = len(meshes)
        if not self._count:
            return
        self._meshes, *spread = zip(*(_spread(mesh) for mesh in meshes), strict=True)
        corners = _padded([mesh.vertices for mesh in self._meshes])
        points, normals, areas = map(np.array, spread)
        self._faces = Faces(self._meshes)
        # all objects in all cameras at once: row c K + k, R = C K rows
        rows = (len(cameras), 1, 1)
        self._corners = corners.shape[1]
        self._vertices = np.tile(np.concatenate((corners, points), axis=1), rows)  # (R, V + S, 3)
        self._normals, self._areas = np.tile(normals, rows), np.tile(areas, rows[:2])
        self._offsets = np.tile((points * normals).sum(-1), rows[:2])  # of the triangles' planes
        lenses = [camera.intrinsic for camera in cameras.values()]
        self._focal = np.repeat([lens[0, 0] for lens in lenses], self._count)[:, None, None]
        self._middle = np.repeat([lens[:2, 2] for lens in lenses], self._count, axis=0)[:, None]
        sizes = [(camera.width, camera.height) for camera in cameras.values()]
        self._size = np.repeat(sizes, self._count, axis=0)  # (R, 2)

    def look(self, poses: np.ndarray, views: Mapping[str, CameraImage]) -> dict[str, Sighting]:
        """Annotate the camera images of a state, given the poses (K, 7) of the objects."""
        if not self._count:
            nothing = Sighting(np.zeros((0, 4), np.int16), np.zeros(0, np.float32))
            return dict.fromkeys(self._cameras, nothing)
        extrinsics = np.stack([views[name].extrinsic for name in self._cameras])
        turned, moved = _to_camera(poses, extrinsics)
        points = self._vertices @ turned.transpose(0, 2, 1) + moved[:, None]  # (R, V + S, 3)
        ahead = points[..., 2] > NEAR_M
        points[..., 2] = depth = np.maximum(points[..., 2], NEAR_M)
        pixels = points[..., :2] * (self._focal / depth[..., None]) + self._middle
        first, rest = np.s_[:, : self._corners], np.s_[:, self._corners :]
        boxes = self._boxes(turned, moved, pixels[first], ~ahead[first].all(1))
        lens = -np.matmul(moved[:, None], turned)[:, 0]  # in the frames of the objects
        facing = np.matmul(self._normals, lens[:, :, None])[..., 0] - self._offsets
        # area in the image that each point represents, up to a factor
        away = depth[rest]
        areas = self._areas * np.maximum(facing, 0.0) * ahead[rest] / (away * away * away)
        visible = self._visible(pixels[rest], away, areas, views)
        visible[boxes[:, 0] == NOT_IN_IMAGE] = 0.0  # covers no center of a pixel
        cut = range(0, len(boxes), self._count)
        return {
            name: Sighting(boxes[k : k + self._count], visible[k : k + self._count])
            for name, k in zip(self._cameras, cut, strict=True)
        }

    def _boxes(
        self, turned: np.ndarray, moved: np.ndarray, pixels: np.ndarray, behind: np.ndarray
    ) -> np.ndarray:
        low, high = extents(pixels, self._faces)
        for row in np.flatnonzero(behind):  # the object is partly behind the camera
            mesh = self._meshes[row % self._count]
            rest = cut_off(mesh.vertices @ turned[row].T + moved[row], mesh.faces)
            low[row] = high[row] = 0
            if len(rest):
                ends = rest[:, :2] * (self._focal[row] / rest[:, 2:]) + self._middle[row]
                low[row], high[row] = np.ceil(ends.min(0) - 0.5), np.floor(ends.max(0) - 0.5) + 1
        low, high = np.clip(low, 0, self._size), np.clip(high, 0, self._size)
        boxes = np.concatenate((low, high), axis=-1)
        boxes[(low >= high).any(-1)] = NOT_IN_IMAGE
        return boxes.astype(np.int16)

    def _visible(
        self,
        pixels: np.ndarray,
        depth: np.ndarray,
        areas: np.ndarray,
        views: Mapping[str, CameraImage],
    ) -> np.ndarray:
        inside = ((pixels >= 0.0) & (pixels < self._size[:, None])).all(-1)  # (R, S)
        columns, rows = np.where(inside, np.moveaxis(pixels, -1, 0), 0.0).astype(np.intp)
        index = (rows * self._size[:, :1] + columns).reshape(len(self._cameras), self._count, -1)
        labels, buffer = [], []
        for name, where in zip(self._cameras, index, strict=True):
            view = views[name]
            labels.append(view.labels[view.numbers.reshape(-1)[where].astype(np.intp)])
            buffer.append(view.buffer.reshape(-1)[where])
        owner, own = np.concatenate(labels), np.tile(np.arange(1, 1 + self._count), len(views))
        # at an edge the center of a pixel may show the background
        nearest = to_buffer(np.maximum(depth - NEARER_M, NEAR_M))
        nearer = np.concatenate(buffer) < nearest
        hidden = nearer & (owner != own[:, None]) & (owner != 0) & (owner != TABLE_ID)
        visible = (areas * (inside & ~hidden)).sum(1)
        return (visible / np.maximum(areas.sum(1), 1e-12)).astype(np.float32)


def _to_camera(poses: np.ndarray, extrinsics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations (C K, 3, 3) and translations (C K, 3) from objects to cameras (C, 3, 4)."""
    poses = np.asarray(poses, dtype=np.float64)
    turn, shift = extrinsics[:, None, :, :3], extrinsics[:, None, :, 3]
    turned = turn @ rotation_matrices_np(poses[:, 3:])
    moved = np.matmul(turn, poses[:, :3, None])[..., 0] + shift
    return turned.reshape(-1, 3, 3), moved.reshape(-1, 3)


def _padded(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays (n, 3) as one (K, N, 3), padded with their first rows."""
    most = max((len(array) for array in arrays), default=0)
    return np.array([np.concatenate((a, np.repeat(a[:1], most - len(a), 0))) for a in arrays])


@lru_cache(maxsize=256)
def _spread(mesh: Shape) -> tuple[Corners, np.ndarray, np.ndarray, np.ndarray]:
    """Return the mesh without duplicate corners, and surface points (S, 3) with normals (S, 3) and
    represented areas (S,).
    """
    corners = merged(mesh)
    points, normals, area_m2 = _surface_points(corners)
    # farthest point sampling in position and normal
    reach_m = float(np.linalg.norm(np.ptp(points, axis=0)))
    places = np.column_stack((points, FACING_SHARE * reach_m * normals))
    chosen, nearest = np.zeros(SAMPLES, np.intp), np.zeros(len(places), np.intp)
    distance = np.full(len(places), np.inf)
    for k in range(SAMPLES):
        chosen[k] = int(distance.argmax()) if k else 0
        offset = places - places[chosen[k]]
        away = np.einsum("ni,ni->n", offset, offset)
        nearest[away < distance] = k
        np.minimum(distance, away, out=distance)
    areas = np.bincount(nearest, minlength=SAMPLES) * area_m2
    return corners, points[chosen], normals[chosen], areas


def _surface_points(mesh: Corners) -> tuple[np.ndarray, np.ndarray, float]:
    """Return points (n, 3) on the surface, normals (n, 3), and the area of each."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    normals = np.cross(b - a, c - a)
    doubled = np.linalg.norm(normals, axis=1)
    ends = np.cumsum(doubled)
    which = np.searchsorted(ends, (np.arange(CANDIDATES) + 0.5) * ends[-1] / CANDIDATES)
    share, other = (np.arange(1, CANDIDATES + 1) * step % 1.0 for step in _R2)
    root = np.sqrt(share)
    weights = np.stack((1 - root, root * (1 - other), root * other), axis=-1)
    corners = np.stack((a, b, c), axis=1)[which]
    points = (weights[..., None] * corners).sum(1)
    return points, normals[which] / doubled[which, None], float(ends[-1]) / 2 / CANDIDATES
