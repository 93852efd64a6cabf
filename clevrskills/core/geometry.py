"""Geometry of rotations, poses and convex solids, on batched tensors; no simulator.

Quaternions are (w, x, y, z) and unit length. A solid is a union of convex parts, each an
intersection of half-spaces ``n . p <= d`` stored as rows ``(nx, ny, nz, d)``; absent parts are
padded with ``(0, 0, 0, -PAD)``. Single rotations in double precision, as controllers and solvers
want them, are numpy arrays, in functions that end on ``_np``.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

PAD = 1.0e3
"""Distance in metres that stands for "nowhere near"."""
PAIRS_AT_ONCE = 400_000
"""Pairs of point and half-space that are multiplied in one go, about 2 MB for each tensor."""
PAIRS_IN_CACHE = 100_000
"""Pairs that are compared in one go: what is held for them stays in the processor's cache."""
POINTS_AT_ONCE = 8
"""Points that are looked at in one go however many solids there are: products of single points with
many solids take several times as long."""


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
    """Return the terms of a Hamilton product: by which part of the second quaternion, and with
    which sign, it takes each part of the first one (rows) for each of its own (columns), (16,) and
    (4, 4).
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
    """Return coefficients (16, 9) that turn the products q_i q_j of a quaternion into its rotation
    matrix.
    """
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
    """Return the angle in radians, in [0, pi], of the rotation that takes one orientation (..., 4)
    to another.
    """
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
    """Return the Euclidean length of a vector (n,), for half of what ``np.linalg.norm`` takes."""
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


def compose(a: Tensor, b: Tensor) -> Tensor:
    """Return the pose ``a`` followed, in its frame, by pose ``b``; each (..., 7)."""
    position = a[..., :3] + rotate(a[..., 3:], b[..., :3])
    return torch.cat((position, quaternion_multiply(a[..., 3:], b[..., 3:])), dim=-1)


def invert(pose: Tensor) -> Tensor:
    """Return the inverse of poses (..., 7)."""
    q = quaternion_conjugate(pose[..., 3:])
    return torch.cat((-rotate(q, pose[..., :3]), q), dim=-1)


def to_world(pose: Tensor, points: Tensor) -> Tensor:
    """Return points (..., N, 3) given in the frame of poses (..., 7), in world coordinates."""
    matrix = rotation_matrix(pose[..., 3:])  # (..., 3, 3)
    return points @ matrix.transpose(-1, -2) + pose[..., None, :3]


def to_local(pose: Tensor, points: Tensor) -> Tensor:
    """Return the world points (..., N, 3) in the frame of poses (..., 7)."""
    return (points - pose[..., None, :3]) @ rotation_matrix(pose[..., 3:])


def _in_pieces(function: Callable[[Tensor], Tensor], planes: Tensor, points: Tensor) -> Tensor:
    """Apply a function to points (..., N, k) in pieces, so that what it holds for all pairs of
    point and half-space stays small.
    """
    pairs = planes[..., 0].numel()
    piece = max(POINTS_AT_ONCE, PAIRS_AT_ONCE // max(1, pairs))
    if points.shape[-2] <= piece:
        return function(points)
    pieces = points.split(piece, dim=-2)  # type: ignore[no-untyped-call]
    return torch.cat([function(part) for part in pieces], dim=-1)


def signed_distance(planes: Tensor, points: Tensor) -> Tensor:
    """Return the signed distance from points to solids, both in the solid's frame.

    The greatest plane distance of a convex part never exceeds the true distance and equals it
    inside the part and in front of a face, so the result is exact or, near edges, errs towards "too
    close".

    Args:
        planes: Half-spaces of the parts, (..., C, F, 4).
        points: Points, (..., N, 3).

    Returns:
        (..., N) in metres, negative inside, at least ``PAD`` for a solid without parts.
    """
    parts = planes.shape[-3:-1]
    rows = planes.flatten(-3, -2).mT  # (..., 4, C * F)

    def distance(points: Tensor) -> Tensor:
        pairs = points @ rows
        return pairs.view(*pairs.shape[:-1], *parts).amax(-1).amin(-1)

    # n . p - d of all pairs in one product
    points = torch.cat((points, torch.full_like(points[..., :1], -1.0)), dim=-1)
    return _in_pieces(distance, planes, points)


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
        # what is added to take half-spaces that do not bound z there out of sight
        nothing = torch.zeros_like(nz)
        self._no_side = nothing.masked_fill(~flat, torch.inf)
        self._no_upper = nothing.masked_fill(nz <= 1e-6, torch.inf)
        self._no_lower = nothing.masked_fill(nz >= -1e-6, -torch.inf)

    def height(self, xy: Tensor) -> Tensor:
        """Return the height of the highest surface above given places of the table plane.

        Args:
            xy: World places, (B, ..., N, 2).

        Returns:
            (B, ..., N) world z in metres; ``-PAD`` where the body is not above the place.
        """
        return _in_pieces(self._height, self._planes, xy)

    def _height(self, xy: Tensor) -> Tensor:
        # along a vertical line each half-space bounds z from above (nz > 0), below (nz < 0), or not
        along = (self._sides @ xy.mT).view(*self._shape, -1)  # (..., C, F, N)
        # split after the product, which rounds otherwise for fewer points
        piece = max(POINTS_AT_ONCE, PAIRS_IN_CACHE // max(1, self._offsets.numel()))
        if along.shape[-1] <= piece:
            return self._seen(along)
        pieces = along.split(piece, dim=-1)  # type: ignore[no-untyped-call]
        return torch.cat([self._seen(part) for part in pieces], dim=-1)

    def _seen(self, along: Tensor) -> Tensor:
        """Return the same for places by how far along the sides they are, (B, ..., C, F, N)."""
        rest = self._offsets - along
        bound = rest / self._rise  # (..., C, F, N)
        upper = (bound + self._no_upper).amin(-2)  # (..., C, N)
        lower = (bound + self._no_lower).amax(-2)
        beside = (rest + self._no_side).amin(-2) < 0
        outside = beside | (upper < lower) | (upper >= PAD)
        return upper.masked_fill(outside, -PAD).amax(-2)


def surface_height(planes: Tensor, pose: Tensor, xy: Tensor) -> Tensor:
    """Return the :class:`Surface` of solids at places that are looked at once; arguments as there,
    or of a single body.
    """
    # as a batch: products of single matrices round otherwise
    return Surface(planes[None], pose[None]).height(xy[None])[0]
