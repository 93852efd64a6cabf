"""Rigid object geometry, ready for rendering and physics."""

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
_SYMMETRY_ORDERS = (16, 15, 8, 6, 5, 4, 3, 2)  # 15 and 16: round, that is continuous
_SYMMETRY_TOLERANCE_M = 0.0003
_MAX_PARTS, _MAX_CORNERS = 16, 64
_OUTSIDE_M = 0.004  # how far what is seen may stand out of what collides
_LEVEL_M = 0.0002  # how far corners of the support face may be apart in height
_ROOM_M = 0.003  # how far inside the support face the centre of mass is, at least


@dataclass(frozen=True)
class Box:
    """A box that stands upright in the frame of a shape."""

    size: np.ndarray  # full size (3,), metres
    center: np.ndarray  # (3,), metres
    turn_rad: float  # its turn about z


@dataclass(frozen=True, eq=False)
class Shape:
    """A rigid object in its own frame, upright, the origin at the centre of its bounding box.

    It rests on the plane z = -half_extents[2]; its front looks along +x, towards the base camera.
    """

    name: str  # noun that can stand in a sentence, e.g. "letter R"
    solid: Solid  # its surface and its parts, metres
    # convex collision pieces, each (n, 3) float64 corners; they do not overlap
    parts: tuple[np.ndarray, ...]
    density: float  # kg/m^3
    half_extents: tuple[float, float, float]  # (x, y, z) metres

    @cached_property
    def _mesh(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The visible mesh, made when it is first asked for: physics can do without."""
        vertices, normals, uvs, faces = map(_frozen, meshes.render_mesh(self.solid))
        return vertices, normals, uvs, faces

    @property
    def vertices(self) -> np.ndarray:
        """(V, 3) float32 corners of the visible mesh, metres; split at creases."""
        return self._mesh[0]

    @property
    def normals(self) -> np.ndarray:
        """(V, 3) float32 unit normals."""
        return self._mesh[1]

    @property
    def uvs(self) -> np.ndarray:
        """(V, 2) float32 texture coordinates; the texture repeats every 0.1 m."""
        return self._mesh[2]

    @property
    def faces(self) -> np.ndarray:
        """(F, 3) uint32 triangles, counter-clockwise seen from outside."""
        return self._mesh[3]

    @cached_property
    def visible_radius_m(self) -> float:
        """Distance of the furthest visible point from the origin."""
        points = np.concatenate([patch.points for patch in self.solid.patches])
        return float(np.linalg.norm(points.astype(np.float32), axis=1).max())

    @cached_property
    def symmetry(self) -> int:
        """Order of the symmetry under turns about z: 1 none, 4 square, 0 round."""
        return _symmetry(np.concatenate([patch.points for patch in self.solid.patches]))

    @cached_property
    def planes(self) -> tuple[np.ndarray, ...]:
        """Per part its half-spaces (m, 4): rows nx, ny, nz, d with n . p <= d inside."""
        return tuple(_planes(part) for part in self.parts)

    @cached_property
    def _volumes(self) -> tuple[tuple[float, np.ndarray], ...]:
        """Volume and centroid of each part."""
        return tuple(map(_volume_and_centre, self.parts))

    @cached_property
    def mass_kg(self) -> float:
        """Mass, kg."""
        return self.density * sum(volume for volume, _ in self._volumes)

    @cached_property
    def center_of_mass(self) -> np.ndarray:
        """(3,) centre of mass in the shape's frame, metres."""
        volumes, centres = zip(*self._volumes, strict=True)
        return _frozen(np.average(np.stack(centres), axis=0, weights=volumes))

    @cached_property
    def outline(self) -> np.ndarray:
        """Corners of the convex outline seen from above, counter-clockwise, (n, 2) metres."""
        points = np.concatenate(self.parts)[:, :2]
        return _frozen(points[ConvexHull(points).vertices])

    @cached_property
    def radius_m(self) -> float:
        """Radius of the circle around the origin that it covers, seen from above."""
        return float(np.linalg.norm(np.concatenate(self.parts)[:, :2], axis=1).max())

    @cached_property
    def support_room_m(self) -> float:
        """Distance of the centre of mass from the lowest face's edge from above; below 0:
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
        """The box around it, as it stands, that covers the least area."""
        return _box(np.concatenate(self.parts))

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """The same of each part."""
        return tuple(map(_box, self.parts))


def shape_names() -> tuple[str, ...]:
    """Return all object shapes, in catalogue order."""
    return tuple(catalogue())


def shape(
    name: str, size: tuple[float, float, float] | None = None, density: float | None = None
) -> Shape:
    """Return the geometry of an object; the same arguments give the same instance.

    Args:
        name: One of `shape_names()`, a fitting such as "sphere" that no split draws, or an object
            that another distribution adds.
        size: Full bounding box (x, y, z) in metres to stretch to; by default the own size.
        density: kg/m^3; by default the own density.

    Raises:
        UnknownNameError: There is no shape of that name.
        ValueError: `size` is not three positive numbers.
        ClevrSkillsError: What another distribution adds cannot be imported, or is no rigid body
            that stands.
    """
    return _build(name, size, density)


@lru_cache(maxsize=512)
def _build(name: str, size: tuple[float, float, float] | None, density: float | None) -> Shape:
    item = _item(name)
    if item is None:
        raise UnknownNameError("shape", name, (*shape_names(), *other_objects()))
    if size is not None and (len(size) != 3 or min(size) <= 0):
        raise ValueError(f"size of {name!r} must be three positive lengths in metres, got {size}")
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
    """Return the solid that an item builds, in its own unit, seen by the cameras from +x."""
    return item.build().turned("z", 90)  # builders draw for a viewer at -y


def _item(name: str) -> Item | None:
    return catalogue().get(name) or fittings().get(name) or other_object(name)


def _fault(shape: Shape) -> str:
    """Return why a shape is no rigid body that stands; empty: it is one."""
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
        return f"what is seen stands {1e3 * outside:.0f} mm out of the convex parts"
    if shape.support_room_m < _ROOM_M:
        return (
            f"it does not stand: the centre of mass is {1e3 * shape.support_room_m:.0f} mm inside "
            f"the flat face that it stands on; allowed: {1e3 * _ROOM_M:.0f} mm or more"
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
    """Return volume and centroid, from tetrahedra of the hull's triangles and a point inside."""
    hull = ConvexHull(part)
    apex = part.mean(axis=0)
    corners = part[hull.simplices]  # (f, 3, 3)
    volumes = np.abs(np.linalg.det(corners - apex)) / 6
    centres = (corners.sum(axis=1) + apex) / 4
    return float(volumes.sum()), np.average(centres, axis=0, weights=volumes)


def _symmetry(points: np.ndarray) -> int:
    """Return the highest order of turns about z that map the points onto themselves."""
    tree = cKDTree(points)
    for order in _SYMMETRY_ORDERS:
        c, s = np.cos(2 * np.pi / order), np.sin(2 * np.pi / order)
        turned = points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        if tree.query(turned)[0].max() < _SYMMETRY_TOLERANCE_M:
            return 0 if order in (15, 16) else order
    return 1
