"""Geometry of rigid objects for rendering and physics."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.spatial import ConvexHull, QhullError, cKDTree

from clevrskills.assets import meshes
from clevrskills.assets.objects import Item, catalogue, fittings
from clevrskills.assets.plugins import other_object, other_objects
from clevrskills.assets.solids import Solid
from clevrskills.errors import ClevrSkillsError, UnknownNameError

_MILLIMETRE = 0.001
_SYMMETRY_ORDERS = (16, 15, 8, 6, 5, 4, 3, 2)  # 15 and 16: continuous
_SYMMETRY_TOLERANCE_M = 0.0003
_MAX_PARTS, _MAX_CORNERS = 16, 64
_OUTSIDE_M = 0.004  # largest distance of the visible mesh outside the convex parts
_LEVEL_M = 0.0002  # largest height difference of corners of the support face
_ROOM_M = 0.003  # smallest distance of the center of mass from the edge of the support face


@dataclass(frozen=True)
class Box:
    """Upright box in the frame of a shape."""

    size: np.ndarray  # full size (3,), meters
    center: np.ndarray  # (3,), meters
    turn_rad: float  # rotation about z


@dataclass(frozen=True, eq=False)
class Shape:
    """Rigid object, upright, with the origin at the center of its bounding box.

    It rests on the plane z = -half_extents[2]; its front faces +x, towards the base camera.
    """

    name: str  # noun for sentences, e.g. "letter R"
    solid: Solid  # surface and parts in meters
    parts: tuple[np.ndarray, ...]  # disjoint convex collision parts, each (n, 3) float64 corners
    density: float  # kg/m^3
    half_extents: tuple[float, float, float]  # (x, y, z) in meters

    @cached_property
    def _mesh(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Visible mesh, created on demand as physics does not need it."""
        vertices, normals, uvs, faces = map(_frozen, meshes.render_mesh(self.solid))
        return vertices, normals, uvs, faces

    @property
    def vertices(self) -> np.ndarray:
        """Corners of the visible mesh in meters, split at creases, (V, 3) float32."""
        return self._mesh[0]

    @property
    def normals(self) -> np.ndarray:
        """Unit normals, (V, 3) float32."""
        return self._mesh[1]

    @property
    def uvs(self) -> np.ndarray:
        """Texture coordinates, (V, 2) float32; the texture repeats every 0.1 m."""
        return self._mesh[2]

    @property
    def faces(self) -> np.ndarray:
        """Triangles, counter-clockwise seen from outside, (F, 3) uint32."""
        return self._mesh[3]

    @cached_property
    def visible_radius_m(self) -> float:
        """Distance of the farthest visible point from the origin."""
        points = np.concatenate([patch.points for patch in self.solid.patches])
        return float(np.linalg.norm(points.astype(np.float32), axis=1).max())

    @cached_property
    def symmetry(self) -> int:
        """Order of the rotational symmetry about z: 1 none, 4 square, 0 round."""
        return _symmetry(np.concatenate([patch.points for patch in self.solid.patches]))

    @cached_property
    def planes(self) -> tuple[np.ndarray, ...]:
        """Half-spaces (m, 4) of each part: rows nx, ny, nz, d with n . p <= d inside."""
        return tuple(_planes(part) for part in self.parts)

    @cached_property
    def _volumes(self) -> tuple[tuple[float, np.ndarray], ...]:
        """Volume and centroid of each part."""
        return tuple(map(_volume_and_centre, self.parts))

    @cached_property
    def mass_kg(self) -> float:
        """Mass in kg."""
        return self.density * sum(volume for volume, _ in self._volumes)

    @cached_property
    def center_of_mass(self) -> np.ndarray:
        """Center of mass in the frame of the shape in meters, (3,)."""
        volumes, centers = zip(*self._volumes, strict=True)
        return _frozen(np.average(np.stack(centers), axis=0, weights=volumes))

    @cached_property
    def outline(self) -> np.ndarray:
        """Corners of the convex outline from above, counter-clockwise, (n, 2) in meters."""
        points = np.concatenate(self.parts)[:, :2]
        return _frozen(points[ConvexHull(points).vertices])

    @cached_property
    def radius_m(self) -> float:
        """Radius of the bounding circle around the origin from above."""
        return float(np.linalg.norm(np.concatenate(self.parts)[:, :2], axis=1).max())

    @cached_property
    def support_room_m(self) -> float:
        """Horizontal distance of the center of mass from the edge of the support face, negative
        outside.
        """
        corners = np.concatenate(self.parts)
        foot = corners[corners[:, 2] < -self.half_extents[2] + _LEVEL_M, :2]
        try:
            sides = ConvexHull(foot).equations
        except (QhullError, ValueError):  # a point or an edge
            return -float("inf")
        return -float((sides[:, :2] @ self.center_of_mass[:2] + sides[:, 2]).max())

    @cached_property
    def box(self) -> Box:
        """Upright bounding box with the smallest base."""
        return _box(np.concatenate(self.parts))

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """Upright bounding box of each part."""
        return tuple(map(_box, self.parts))


def shape_names() -> tuple[str, ...]:
    """Return all object shapes, in catalogue order."""
    return tuple(catalogue())


def shape(
    name: str, size: tuple[float, float, float] | None = None, density: float | None = None
) -> Shape:
    """Return the geometry of an object, cached by arguments.

    Args:
        name: One of `shape_names()`, a fitting such as "sphere", or an object of another
            distribution.
        size: Bounding box (x, y, z) in meters to stretch the shape to; ``None``: default size.
        density: Density in kg/m^3; ``None``: default density.

    Raises:
        UnknownNameError: The shape is unknown.
        ValueError: `size` is not three positive numbers.
        ClevrSkillsError: The object of another distribution cannot be imported, or is not a stable
            rigid body.
    """
    return _build(name, size, density)


@lru_cache(maxsize=512)
def _build(name: str, size: tuple[float, float, float] | None, density: float | None) -> Shape:
    item = catalogue().get(name) or fittings().get(name) or other_object(name)
    if item is None:
        raise UnknownNameError("shape", name, (*shape_names(), *other_objects()))
    if size is not None and (len(size) != 3 or min(size) <= 0):
        raise ValueError(f"size of {name!r} must be three positive lengths in meters, got {size}")
    solid = _solid(item)
    low, high = solid.bounds()
    scale = _MILLIMETRE if size is None else np.asarray(size) / (high - low)
    solid = solid.moved(*-(low + high) / 2).transformed(np.diag(np.broadcast_to(scale, 3)))
    half_x, half_y, half_z = ((high - low) * scale / 2).tolist()
    built = Shape(
        name,
        solid,
        parts=tuple(_frozen(part) for part in solid.parts),
        density=density or item.density,
        half_extents=(half_x, half_y, half_z),
    )
    fault = None if name in catalogue() or name in fittings() else _fault(built)
    if fault:
        raise ClevrSkillsError(f"object {name!r}: {fault}")
    return built


@lru_cache(maxsize=256)
def _solid(item: Item) -> Solid:
    """Return the solid of an item in its own unit, facing +x."""
    return item.build().turned("z", 90)  # builders assume a viewer at -y


def _fault(shape: Shape) -> str:
    """Return why a shape is not a stable rigid body; empty if it is."""
    if not 1 <= len(shape.parts) <= _MAX_PARTS:
        return f"{len(shape.parts)} convex parts; allowed: 1 to {_MAX_PARTS}"
    for k, part in enumerate(shape.parts):
        try:
            corners = len(ConvexHull(part).vertices)
        except QhullError:
            return f"part {k} is flat"
        if corners < len(np.unique(np.round(part, 7), axis=0)):
            return f"part {k} is not convex: some of its corners are inside"
        if corners > _MAX_CORNERS:
            return f"part {k} has {corners} corners; allowed: {_MAX_CORNERS}"
    points = shape.vertices.astype(float)
    depth = [(points @ p[:, :3].T - p[:, 3]).max(axis=1) for p in shape.planes]
    outside = float(np.min(depth, axis=0).max())
    if outside > _OUTSIDE_M:
        return f"the visible mesh is {1e3 * outside:.0f} mm outside the convex parts"
    if shape.support_room_m < _ROOM_M:
        return (
            f"it is not stable: the center of mass is {1e3 * shape.support_room_m:.0f} mm inside "
            f"the edge of its support face; allowed: {1e3 * _ROOM_M:.0f} mm or more"
        )
    return ""


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _box(points: np.ndarray) -> Box:
    from trimesh.bounds import oriented_bounds_2D

    to_box, (length, width) = oriented_bounds_2D(points[:, :2])
    from_box = np.linalg.inv(to_box)
    low, high = points[:, 2].min(), points[:, 2].max()
    return Box(
        size=_frozen(np.array([length, width, high - low])),
        center=_frozen(np.array([*from_box[:2, 2], (low + high) / 2])),
        turn_rad=float(np.arctan2(from_box[1, 0], from_box[0, 0])),
    )


def _planes(part: np.ndarray) -> np.ndarray:
    equations = ConvexHull(part).equations
    rows = np.column_stack([equations[:, :3], -equations[:, 3]])
    _, first = np.unique(np.round(rows, 5), axis=0, return_index=True)
    return _frozen(rows[np.sort(first)])


def _volume_and_centre(part: np.ndarray) -> tuple[float, np.ndarray]:
    """Return volume and centroid from tetrahedra over the triangles of the hull."""
    hull = ConvexHull(part)
    apex = part.mean(axis=0)
    corners = part[hull.simplices]  # (f, 3, 3)
    volumes = np.abs(np.linalg.det(corners - apex)) / 6
    centers = (corners.sum(axis=1) + apex) / 4
    return float(volumes.sum()), np.average(centers, axis=0, weights=volumes)


def _symmetry(points: np.ndarray) -> int:
    """Return the highest order of rotations about z that map the points onto themselves."""
    tree = cKDTree(points)
    for order in _SYMMETRY_ORDERS:
        c, s = np.cos(2 * np.pi / order), np.sin(2 * np.pi / order)
        turned = points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        if tree.query(turned)[0].max() < _SYMMETRY_TOLERANCE_M:
            return 0 if order in (15, 16) else order
    return 1
