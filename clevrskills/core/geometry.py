"""Geometry of rotations, poses and convex solids, on batched tensors; no simulator.

Quaternions are unit length and ordered (w, x, y, z). A solid is a union of convex parts, each an
intersection of half-spaces ``n . p <= d`` stored as rows ``(nx, ny, nz, d)``; missing parts are
padded with ``(0, 0, 0, -PAD)``. Functions ending in ``_np`` take single rotations as numpy arrays
in double precision.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

PAD = 1.0e3
"""Distance in meters that stands for "far away"."""
PAIRS_AT_ONCE = 400_000
"""Pairs of point and half-space multiplied per chunk, about 2 MB for each tensor."""
PAIRS_IN_CACHE = 100_000
"""Pairs compared per chunk, so that the tensors stay in the processor's cache."""
POINTS_AT_ONCE = 8
"""Minimum number of points per chunk; smaller products take several times as long per point."""


def length(vectors: Tensor) -> Tensor:
    """Return the Euclidean length of vectors, (..., n) -> (...)."""
    norm: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
    return norm


def quaternion_multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return the Hamilton product of two quaternions, each (..., 4)."""
    order, signs = _product_terms(b.device, b.dtype)
    # views, not unflatten, which takes twice as long as the product itself
    signed = b.index_select(-1, order).view(*b.shape[:-1], 4, 4) * signs
    w, x, y, z = (a.unsqueeze(-1) * signed).unbind(-2)
    product: Tensor = w + x + y + z
    return product


@cache
def _product_terms(device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return index (16,) and sign (4, 4) of the factor in the second quaternion, for each component
    of the first one (rows) and of the Hamilton product (columns).
    """
    order = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
    signs = torch.tensor([[1, 1, 1, 1], [-1, 1, -1, 1], [-1, 1, 1, -1], [-1, -1, 1, 1]])
    return order.flatten().to(device), signs.to(device=device, dtype=dtype)


@cache
def _conjugate_signs(device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.tensor([1.0, -1.0, -1.0, -1.0], device=device, dtype=dtype)


def quaternion_conjugate(q: Tensor) -> Tensor:
    """Return the inverse rotation of a unit quaternion (..., 4)."""
    return q * _conjugate_signs(q.device, q.dtype)


def rotate(q: Tensor, v: Tensor) -> Tensor:
    """Rotate vectors (..., 3) by unit quaternions (..., 4)."""
    w, u = q[..., :1], q[..., 1:]
    t = 2.0 * torch.linalg.cross(u, v)
    rotated: Tensor = v + w * t + torch.linalg.cross(u, t)
    return rotated


@cache
def _matrix_terms(device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return coefficients (16, 9) from the products q_i q_j of a quaternion to its matrix."""
    w, x, y, z = range(4)
    terms = torch.zeros(4, 4, 3, 3)
    for axis in (x, y, z):
        terms[axis, axis] -= torch.eye(3)
        terms[axis, axis, axis - 1, axis - 1] += 2.0
    terms[w, w] = torch.eye(3)
    for i, j, k in ((x, y, z), (y, z, x), (z, x, y)):
        terms[i, j, i - 1, j - 1] = terms[i, j, j - 1, i - 1] = 2.0
        terms[w, k, i - 1, j - 1], terms[w, k, j - 1, i - 1] = -2.0, 2.0
    return terms.reshape(16, 9).to(device=device, dtype=dtype)


def rotation_matrix(q: Tensor) -> Tensor:
    """Return the rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    products = (q.unsqueeze(-1) * q.unsqueeze(-2)).flatten(-2)
    return (products @ _matrix_terms(q.device, q.dtype)).view(*q.shape[:-1], 3, 3)


def yaw_quaternion(yaw_rad: Tensor) -> Tensor:
    """Return the rotation about world z, (...) -> (..., 4)."""
    half, zero = yaw_rad / 2, torch.zeros_like(yaw_rad)
    return torch.stack((half.cos(), zero, zero, half.sin()), dim=-1)


def rotation_angle(a: Tensor, b: Tensor) -> Tensor:
    """Return the angle in radians, in [0, pi], between two orientations (..., 4)."""
    relative = quaternion_multiply(quaternion_conjugate(a), b)
    # atan2 stays accurate for small angles, where acos of the scalar part does not
    return 2.0 * torch.atan2(relative[..., 1:].norm(dim=-1), relative[..., 0].abs())


def rotation_vector(q: Tensor) -> Tensor:
    """Return the axis times angle, at most pi, of unit quaternions, (..., 4) -> (..., 3)."""
    q = torch.where(q[..., :1] < 0, -q, q)
    sine = q[..., 1:].norm(dim=-1, keepdim=True)
    angle = 2.0 * torch.atan2(sine, q[..., :1])
    return q[..., 1:] * torch.where(sine > 1e-7, angle / sine.clamp(min=1e-7), 2.0)


def rotation_quaternion(vector: Tensor) -> Tensor:
    """Return the unit quaternions (..., 4) of rotation vectors (..., 3)."""
    half = vector.norm(dim=-1, keepdim=True) / 2
    return torch.cat((half.cos(), vector * (torch.sinc(half / torch.pi) / 2)), dim=-1)


def length_np(vector: NDArray[Any]) -> np.floating[Any]:
    """Return the Euclidean length of a vector (n,), in half the time of ``np.linalg.norm``."""
    norm: np.floating[Any] = np.sqrt(vector.dot(vector))
    return norm


def rotation_vector_np(q: NDArray[Any]) -> NDArray[Any]:
    """Return the axis times angle, at most pi, of a unit quaternion, (4,) -> (3,)."""
    w, xyz = float(q[0]), np.asarray(q[1:], dtype=np.float64)
    if w < 0:
        w, xyz = -w, -xyz
    sine = float(length_np(xyz))
    return xyz / sine * (2.0 * np.arctan2(sine, w)) if sine >= 1e-12 else np.zeros(3)


def rotation_quaternion_np(vector: NDArray[Any]) -> NDArray[Any]:
    """Return the unit quaternion (4,) of a rotation vector (3,)."""
    angle = float(length_np(vector))
    axis = vector / angle if angle > 1e-12 else np.zeros(3)
    return np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * axis))


def rotation_matrices_np(q: NDArray[Any]) -> NDArray[Any]:
    """Return the rotation matrices (K, 3, 3) of unit quaternions w, x, y, z (K, 4)."""
    w, x, y, z = q.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.array(rows).transpose(2, 0, 1)


def compose(a: Tensor, b: Tensor) -> Tensor:
    """Return the composition of pose ``a`` with pose ``b`` given in its frame; each (..., 7)."""
    position = a[..., :3] + rotate(a[..., 3:], b[..., :3])
    return torch.cat((position, quaternion_multiply(a[..., 3:], b[..., 3:])), dim=-1)


def invert(pose: Tensor) -> Tensor:
    """Return the inverse of poses (..., 7)."""
    q = quaternion_conjugate(pose[..., 3:])
    return torch.cat((-rotate(q, pose[..., :3]), q), dim=-1)


def to_world(pose: Tensor, points: Tensor) -> Tensor:
    """Transform points (..., N, 3) from the frame of poses (..., 7) to the world frame."""
    matrix = rotation_matrix(pose[..., 3:])  # (..., 3, 3)
    return points @ matrix.transpose(-1, -2) + pose[..., None, :3]


def to_local(pose: Tensor, points: Tensor) -> Tensor:
    """Transform points (..., N, 3) from the world frame to the frame of poses (..., 7)."""
    return (points - pose[..., None, :3]) @ rotation_matrix(pose[..., 3:])


def _in_chunks(
    function: Callable[[Tensor], Tensor], values: Tensor, dim: int, pairs: int, limit: int
) -> Tensor:
    """Apply a function to chunks along a dimension; at most ``limit`` of the pairs per chunk."""
    size = max(POINTS_AT_ONCE, limit // max(1, pairs))
    if values.shape[dim] <= size:
        return function(values)
    chunks = values.split(size, dim=dim)  # type: ignore[no-untyped-call]
    return torch.cat([function(chunk) for chunk in chunks], dim=-1)


def signed_distance(planes: Tensor, points: Tensor) -> Tensor:
    """Return the signed distance from points to solids, both in the solid's frame.

    The greatest plane distance of a convex part equals the true distance inside the part and in
    front of a face, and is a lower bound of it near edges.

    Args:
        planes: Half-spaces of the parts, (..., C, F, 4).
        points: Points, (..., N, 3).

    Returns:
        (..., N) in meters, negative inside, at least ``PAD`` for a solid without parts.
    """
    parts = planes.shape[-3:-1]
    rows = planes.flatten(-3, -2).mT  # (..., 4, C * F)

    def distance(points: Tensor) -> Tensor:
        pairs = points @ rows
        return pairs.view(*pairs.shape[:-1], *parts).amax(-1).amin(-1)

    # n . p - d of all pairs in one product
    points = torch.cat((points, torch.full_like(points[..., :1], -1.0)), dim=-1)
    return _in_chunks(distance, points, -2, planes[..., 0].numel(), PAIRS_AT_ONCE)


class Surface:
    """Upper surface of solids, seen from above.

    Args:
        planes: Half-spaces in the bodies' frames, (B, ..., C, F, 4).
        pose: World poses of the bodies, (B, ..., 7).
    """

    def __init__(self, planes: Tensor, pose: Tensor) -> None:
        self._planes, self._shape = planes, planes.shape[:-1]
        rows = planes.flatten(-3, -2).mT  # (..., 4, C * F)
        normals = rotation_matrix(pose[..., 3:]) @ rows[..., :3, :]
        along = normals.mT @ pose[..., :3, None]
        self._offsets = planes[..., 3:] + along.view(*self._shape, 1)  # (..., C, F, 1)
        self._sides = normals[..., :2, :].mT.contiguous()
        nz = normals[..., 2, :].view(*self._shape, 1)
        flat = nz.abs() < 1e-6
        self._rise = nz.masked_fill(flat, 1.0)
        # added to exclude the half-spaces that do not bound z on that side
        nothing = torch.zeros_like(nz)
        self._no_side = nothing.masked_fill(~flat, torch.inf)
        self._no_upper = nothing.masked_fill(nz <= 1e-6, torch.inf)
        self._no_lower = nothing.masked_fill(nz >= -1e-6, -torch.inf)

    def height(self, xy: Tensor) -> Tensor:
        """Return the height of the upper surface at points of the table plane.

        Args:
            xy: World coordinates, (B, ..., N, 2).

        Returns:
            (B, ..., N) world z in meters; ``-PAD`` where the body is not above the point.
        """
        return _in_chunks(self._height, xy, -2, self._planes[..., 0].numel(), PAIRS_AT_ONCE)

    def _height(self, xy: Tensor) -> Tensor:
        # along a vertical line each half-space bounds z from above (nz > 0), below (nz < 0), or not
        along = (self._sides @ xy.mT).view(*self._shape, -1)  # (..., C, F, N)
        # split after the product, which would round differently for fewer points
        return _in_chunks(self._highest, along, -1, self._offsets.numel(), PAIRS_IN_CACHE)

    def _highest(self, along: Tensor) -> Tensor:
        """Return the heights at points given by their offsets along the sides, (..., C, F, N)."""
        rest = self._offsets - along
        bound = rest / self._rise  # (..., C, F, N)
        upper = (bound + self._no_upper).amin(-2)  # (..., C, N)
        lower = (bound + self._no_lower).amax(-2)
        beside = (rest + self._no_side).amin(-2) < 0
        outside = beside | (upper < lower) | (upper >= PAD)
        return upper.masked_fill(outside, -PAD).amax(-2)


def surface_height(planes: Tensor, pose: Tensor, xy: Tensor) -> Tensor:
    """Return :meth:`Surface.height` of solids, or of a single body."""
    # as a batch: products of single matrices round differently
    return Surface(planes[None], pose[None]).height(xy[None])[0]
