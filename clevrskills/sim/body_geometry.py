"""Padded geometry tensors of the bodies of parallel environments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from scipy.spatial import ConvexHull
from torch import Tensor

from clevrskills.assets import Shape, best_place
from clevrskills.core import geometry

POINTS_PER_SIDE = 7
"""Resolution of the grid of points on the upper and lower side of a body."""


@lru_cache(maxsize=1024)
def _surface_points(shape: Shape) -> np.ndarray:
    """Corners of a shape's parts and a grid on its upper and lower side, (P, 3)."""
    corners = np.unique(np.concatenate(shape.parts).round(5), axis=0)
    low, high = corners[:, :2].min(0), corners[:, :2].max(0)
    ticks = (np.arange(POINTS_PER_SIDE) + 0.5) / POINTS_PER_SIDE
    grid = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
    xy = torch.as_tensor(low + grid * (high - low))
    planes = torch.as_tensor(_stack_planes([shape])[0])
    upright = planes.new_tensor([0.0, 0, 0, 1, 0, 0, 0])
    flipped = planes.new_tensor([0.0, 0, 0, 0, 1, 0, 0])
    top = geometry.surface_height(planes, upright, xy)
    bottom = -geometry.surface_height(planes, flipped, xy * xy.new_tensor([1.0, -1.0]))
    sides = [torch.cat((xy, z[:, None]), -1)[top > -geometry.PAD] for z in (top, bottom)]
    return np.concatenate((corners, torch.cat(sides).numpy()))


@lru_cache(maxsize=1024)
def _spot(shape: Shape | None, static: bool) -> np.ndarray:
    """Where a suction cup holds a shape best, (3,); see :class:`Solids`."""
    if shape is None:
        return np.zeros(3)
    place = None if static else best_place(shape)
    return np.array([0.0, 0.0, shape.half_extents[2]]) if place is None else place


@lru_cache(maxsize=1024)
def _footprint(shape: Shape) -> np.ndarray:
    """Half-planes ``(nx, ny, d)`` of the convex hull of the shape seen from above, (E, 3)."""
    return ConvexHull(np.concatenate(shape.parts)[:, :2]).equations * np.array([1.0, 1.0, -1.0])


def _stack_planes(shapes: Sequence[Shape | None]) -> np.ndarray:
    """Half-spaces of several shapes, padded to one array, (K, C, F, 4)."""
    found = {k: _padded_planes(shape) for k, shape in enumerate(shapes) if shape}
    parts, facets = np.max([planes.shape[:2] for planes in found.values()] or [(1, 1)], axis=0)
    out = np.zeros((len(shapes), parts, facets, 4))
    out[..., 3] = -geometry.PAD
    for k, planes in found.items():
        out[k, : len(planes)] = planes[:, :1]
        out[k, : len(planes), : planes.shape[1]] = planes
    return out


@lru_cache(maxsize=1024)
def _padded_planes(shape: Shape) -> np.ndarray:
    """Half-spaces of the parts of a shape, (C, F, 4)."""
    out = np.empty((len(shape.planes), max(map(len, shape.planes)), 4))
    for part, planes in zip(out, shape.planes, strict=True):
        part[:] = planes[0]
        part[: len(planes)] = planes
    return out


@lru_cache(maxsize=1024)
def _counts(shape: Shape | None) -> tuple[int, int, int]:
    if shape is None:
        return 1, 1, 1
    return len(shape.planes), max(len(p) for p in shape.planes), len(_footprint(shape))


def _pad(rows: Sequence[np.ndarray], columns: int) -> np.ndarray:
    """Arrays of (n_i, columns) stacked to (K, max n, columns), the first row repeated."""
    out = np.zeros((len(rows), max((len(r) for r in rows), default=1) or 1, columns))
    for k, r in enumerate(rows):
        if len(r):
            out[k] = r[0]
            out[k, : len(r)] = r
    return out


@dataclass(frozen=True)
class Solids:
    """What does not change during an episode: the bodies of ``B`` environments in ``K`` slots.

    Attributes:
        planes: Half-spaces of the convex parts in the body's frame, (B, K, C, F, 4).
        points: Points on the surface in the body's frame, (B, K, P, 3).
        footprint: Half-planes of the outline seen from above, (B, K, E, 3).
        center: Centre of mass in the body's frame, (B, K, 3).
        spot: Where a suction cup seals from above, nearest to the centre of mass, in the body's
            frame, (B, K, 3); the middle of the top where none does, and of furniture.
        mass: Kilograms, (B, K).
        movable: False for bodies that are part of the furniture, (B, K).
        present: False for slots that an environment does not use, (B, K).
        counts: How many parts, how many facets a part and how many edges of its outline a body
            really has, (B, K, 3).
    """

    planes: Tensor
    points: Tensor
    footprint: Tensor
    center: Tensor
    spot: Tensor
    mass: Tensor
    movable: Tensor
    present: Tensor
    counts: Tensor

    @classmethod
    def from_shapes(
        cls,
        shapes: Sequence[Sequence[Shape | None]],
        static: Sequence[Sequence[bool]],
        device: torch.device | str = "cpu",
    ) -> Solids:
        """Stack the shapes of B environments (outer) in K slots (inner); ``None``: empty."""
        batch, slots = len(shapes), len(shapes[0])
        flat = [s for row in shapes for s in row]
        fixed = [is_fixed for row in static for is_fixed in row]
        none3 = np.zeros((0, 3))

        def stack(array: np.ndarray) -> Tensor:
            by_slot = array.reshape(batch, slots, *array.shape[1:])
            return torch.as_tensor(by_slot, dtype=torch.float32, device=device)

        present = torch.tensor([[s is not None for s in row] for row in shapes], device=device)
        return cls(
            planes=stack(_stack_planes(flat)),
            points=stack(_pad([_surface_points(s) if s else none3 for s in flat], 3)),
            footprint=stack(_pad([_footprint(s) if s else none3 for s in flat], 3)),
            center=stack(np.array([s.center_of_mass if s else np.zeros(3) for s in flat])),
            spot=stack(np.array([_spot(s, f) for s, f in zip(flat, fixed, strict=True)])),
            mass=stack(np.array([s.mass_kg if s else 1.0 for s in flat])),
            movable=present & ~torch.tensor(static, device=device),
            present=present,
            counts=stack(np.array([_counts(s) for s in flat])).long(),
        )

    @classmethod
    def stack(cls, solids: Sequence[Solids]) -> Solids:
        """Join batches; those with fewer parts, facets, points or edges are padded."""
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
        """The points by coordinate, (B, K, 3, P): to multiply them takes a quarter of the time."""
        return self.points.mT.contiguous()

    @cached_property
    def size(self) -> Tensor:
        """Edges of the bounding box in the body's frame, (B, K, 3)."""
        return self.points.amax(-2) - self.points.amin(-2)

    @cached_property
    def middle(self) -> Tensor:
        """Centre of the bounding box in the body's frame, (B, K, 3)."""
        return (self.points.amax(-2) + self.points.amin(-2)) / 2

    @cached_property
    def reach(self) -> Tensor:
        """Distance of a body's furthest point from the centre of its bounding box, (B, K)."""
        return geometry.length(self.points - self.middle[:, :, None]).amax(-1)

    @cached_property
    def radius(self) -> Tensor:
        """Distance of a body's furthest point from its origin, (B, K)."""
        return geometry.length(self.points).amax(-1)

    @cached_property
    def span(self) -> Tensor:
        """The radius by a formula that rounds otherwise, (B, K)."""
        return self.points.norm(dim=-1).amax(-1)


def _grown(values: Tensor, shape: Sequence[int]) -> Tensor:
    """Values (B, K, ..., n) with sizes ``shape`` after K: rows repeated, as parts may overlap."""
    for dim, size in enumerate(shape, start=2):
        missing = size - values.shape[dim]
        if missing:
            more = values.narrow(dim, 0, 1).repeat_interleave(missing, dim)
            values = torch.cat((values, more), dim)
    return values
