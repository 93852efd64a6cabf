"""Padded geometry tensors of the bodies of parallel environments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.spatial import ConvexHull
from torch import Tensor

from clevrskills.assets import Shape, best_place
from clevrskills.core import geometry

POINTS_PER_SIDE = 7
"""Grid resolution of the points on the top and bottom of a body."""


@lru_cache(maxsize=1024)
def _surface_points(shape: Shape) -> np.ndarray:
    """Return the corners of a shape's parts and a grid on its top and bottom, (P, 3)."""
    corners = np.unique(np.concatenate(shape.parts).round(5), axis=0)
    low, high = corners[:, :2].min(0), corners[:, :2].max(0)
    ticks = (np.arange(POINTS_PER_SIDE) + 0.5) / POINTS_PER_SIDE
    grid = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
    xy = torch.as_tensor(low + grid * (high - low))
    planes = torch.as_tensor(_padded_planes(shape))
    upright = planes.new_tensor([0.0, 0, 0, 1, 0, 0, 0])
    flipped = planes.new_tensor([0.0, 0, 0, 0, 1, 0, 0])
    top = geometry.surface_height(planes, upright, xy)
    bottom = -geometry.surface_height(planes, flipped, xy * xy.new_tensor([1.0, -1.0]))
    sides = [torch.cat((xy, z[:, None]), -1)[top > -geometry.PAD] for z in (top, bottom)]
    return np.concatenate((corners, torch.cat(sides).numpy()))


class _Solid(NamedTuple):
    """Geometry of one body: fields of :class:`Solids` without batch, slots and padding."""

    planes: np.ndarray
    points: np.ndarray
    footprint: np.ndarray
    center: np.ndarray
    spot: np.ndarray
    mass: float
    counts: tuple[int, int, int]


_EMPTY = _Solid(
    np.zeros((0, 1, 4), np.float32),
    np.zeros((0, 3), np.float32),
    np.zeros((0, 3), np.float32),
    np.zeros(3, np.float32),
    np.zeros(3, np.float32),
    1.0,
    (1, 1, 1),
)
"""Empty slot."""


@lru_cache(maxsize=1024)
def _solid(shape: Shape, static: bool) -> _Solid:
    place = None if static else best_place(shape)
    outline = ConvexHull(np.concatenate(shape.parts)[:, :2]).equations * (1.0, 1.0, -1.0)
    planes = _padded_planes(shape)
    return _Solid(
        planes.astype(np.float32),
        _surface_points(shape).astype(np.float32),
        outline.astype(np.float32),
        shape.center_of_mass.astype(np.float32),
        np.array((0.0, 0.0, shape.half_extents[2]) if place is None else place, np.float32),
        shape.mass_kg,
        (len(planes), planes.shape[1], len(outline)),
    )


@lru_cache(maxsize=1024)
def _padded_planes(shape: Shape) -> np.ndarray:
    """Return the half-spaces of a shape's parts, (C, F, 4)."""
    out = np.empty((len(shape.planes), max(map(len, shape.planes)), 4))
    for part, planes in zip(out, shape.planes, strict=True):
        part[:] = planes[0]
        part[: len(planes)] = planes
    return out


def _stack_planes(planes: Sequence[np.ndarray]) -> np.ndarray:
    """Return half-spaces (C, F, 4) of several shapes padded to one array, (K, C, F, 4)."""
    parts, facets = (max(1, *(p.shape[axis] for p in planes)) for axis in (0, 1))
    out = np.zeros((len(planes), parts, facets, 4), np.float32)
    out[..., 3] = -geometry.PAD
    for k, p in enumerate(planes):
        out[k, : len(p)] = p[:, :1]
        out[k, : len(p), : p.shape[1]] = p
    return out


def _pad(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays (n_i, 3) stacked to (K, max n, 3), padded with their first rows."""
    out = np.zeros((len(rows), max(1, *map(len, rows)), 3), np.float32)
    for k, r in enumerate(rows):
        if len(r):
            out[k] = r[0]
            out[k, : len(r)] = r
    return out


@dataclass(frozen=True)
class Solids:
    """Geometry of the bodies in ``B`` environments and ``K`` slots; constant during an episode."""

    planes: Tensor  # half-spaces of the convex parts in the body's frame, (B, K, C, F, 4)
    points: Tensor  # points on the surface in the body's frame, (B, K, P, 3)
    footprint: Tensor  # half-planes of the outline from above, (B, K, E, 3)
    center: Tensor  # center of mass in the body's frame, (B, K, 3)
    # position nearest to the center of mass where a cup seals from above, in the body's frame, (B,
    # K, 3); the center of the top if there is none, and of furniture
    spot: Tensor
    mass: Tensor  # kilograms, (B, K)
    movable: Tensor  # false for furniture, (B, K)
    present: Tensor  # false for empty slots, (B, K)
    counts: Tensor  # numbers of parts, facets per part and outline edges, (B, K, 3)

    @classmethod
    def from_shapes(
        cls,
        shapes: Sequence[Sequence[Shape | None]],
        static: Sequence[Sequence[bool]],
        device: torch.device | str = "cpu",
    ) -> Solids:
        """Stack the shapes of B environments (outer) in K slots (inner); ``None``: empty."""
        batch, slots = len(shapes), len(shapes[0])
        flat = [
            _solid(shape, is_fixed) if shape else _EMPTY
            for row, fixed in zip(shapes, static, strict=True)
            for shape, is_fixed in zip(row, fixed, strict=True)
        ]
        planes, points, footprint, *arrays = zip(*flat, strict=True)

        def stack(values: Any, kind: type = np.float32) -> Tensor:
            array: np.ndarray = np.asarray(values, kind)
            return torch.from_numpy(array.reshape(batch, slots, *array.shape[1:])).to(device)

        center, spot, mass = map(stack, arrays[:3])
        present = torch.tensor([[s is not None for s in row] for row in shapes], device=device)
        return cls(
            planes=stack(_stack_planes(planes)),
            points=stack(_pad(points)),
            footprint=stack(_pad(footprint)),
            center=center,
            spot=spot,
            mass=mass,
            movable=present & ~torch.tensor(static, device=device),
            present=present,
            counts=stack(arrays[3], np.int64),
        )

    @classmethod
    def stack(cls, solids: Sequence[Solids]) -> Solids:
        """Concatenate batches, padded to the same sizes."""
        if len(solids) == 1:
            return solids[0]
        stacked = {}
        for name in cls.__dataclass_fields__:
            values = [getattr(s, name) for s in solids]
            shape = [max(sizes) for sizes in zip(*(v.shape[2:] for v in values), strict=True)]
            stacked[name] = torch.cat([_grown(v, shape) for v in values])
        return cls(**stacked)

    @cached_property
    def coordinates(self) -> Tensor:
        """Transposed points, (B, K, 3, P), which are four times as fast to multiply."""
        return self.points.mT.contiguous()

    @cached_property
    def size(self) -> Tensor:
        """Edges of the bounding box in the body's frame, (B, K, 3)."""
        return self.points.amax(-2) - self.points.amin(-2)

    @cached_property
    def middle(self) -> Tensor:
        """Center of the bounding box in the body's frame, (B, K, 3)."""
        return (self.points.amax(-2) + self.points.amin(-2)) / 2

    @cached_property
    def reach(self) -> Tensor:
        """Distance of the farthest point from the center of the bounding box, (B, K)."""
        return geometry.length(self.points - self.middle[:, :, None]).amax(-1)

    @cached_property
    def radius(self) -> Tensor:
        """Distance of the farthest point from the origin, (B, K)."""
        return geometry.length(self.points).amax(-1)

    @cached_property
    def span(self) -> Tensor:
        """The radius, computed by a formula with different rounding, (B, K)."""
        return self.points.norm(dim=-1).amax(-1)


def _grown(values: Tensor, shape: Sequence[int]) -> Tensor:
    """Return values (B, K, ...) padded to ``shape`` after K with copies of the first entry."""
    for dim, size in enumerate(shape, start=2):
        missing = size - values.shape[dim]
        if missing:
            more = values.narrow(dim, 0, 1).repeat_interleave(missing, dim)
            values = torch.cat((values, more), dim)
    return values
