"""Low-poly rounded meshes for robot visuals; lengths in meters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.assets.tables import read_toml
from clevrskills.sim.robots.geometry import Visual

Color = tuple[float, float, float]
SEGMENTS = 16


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangle mesh, counter-clockwise seen from outside."""

    vertices: np.ndarray  # (V, 3) in meters
    faces: np.ndarray  # (F, 3) indices
    crease_rad: float = 0.7  # edges with a larger angle are shaded sharp


def loft(rings: Sequence[np.ndarray]) -> Mesh:
    """Return a closed mesh through rings (n, 3), counter-clockwise seen from the last one."""
    n = len(rings[0])
    lower = np.arange(n)
    upper = np.roll(lower, -1)
    faces = []
    for k in range(len(rings) - 1):
        a, b = lower + k * n, upper + k * n
        faces += [np.column_stack([a, b, b + n]), np.column_stack([a, b + n, a + n])]
    centers = [rings[0].mean(axis=0), rings[-1].mean(axis=0)]
    first = len(rings) * n
    faces.append(np.column_stack([upper, lower, np.full(n, first)]))
    top = (len(rings) - 1) * n
    faces.append(np.column_stack([lower + top, upper + top, np.full(n, first + 1)]))
    return Mesh(np.concatenate([*rings, centers]), np.concatenate(faces))


def _fillet(radius_m: float, steps: int) -> list[tuple[float, float]]:
    """Return a quarter circle as (inset, height) pairs from flat end to side."""
    if radius_m == 0:
        return [(0.0, 0.0)]
    angles = np.linspace(0, np.pi / 2, steps + 1)
    return [(radius_m * (1 - np.sin(a)), radius_m * (1 - np.cos(a))) for a in angles]


def pillar(
    outline: Sequence[tuple[float, float, float]],
    low_m: float,
    high_m: float,
    fillets_m: tuple[float, float] = (0.002, 0.002),
    segments: int = SEGMENTS,
) -> Mesh:
    """Return the hull of upright disks with rounded lower and upper edge.

    Args:
        outline: The disks: x, y, radius.
        low_m: Height of the lower end.
        high_m: Height of the upper end.
        fillets_m: Radius of the lower and of the upper edge; at most the radius of a disk.
        segments: Corners of a ring.
    """
    steps = [max(1, min(3, round(f / 0.007))) for f in fillets_m]
    levels = [(inset, low_m + up) for inset, up in _fillet(fillets_m[0], steps[0])]
    levels += [(inset, high_m - down) for inset, down in reversed(_fillet(fillets_m[1], steps[1]))]
    rings = []
    for inset, z in levels:
        corners = _outline(outline, max(inset, 0.0), segments)
        rings.append(np.column_stack([corners, np.full(len(corners), z)]))
    return loft(rings)


def _outline(
    discs: Sequence[tuple[float, float, float]], inset_m: float, segments: int
) -> np.ndarray:
    """Return the hull of disks, (n, 2): the farthest disk in every direction."""
    table = np.asarray(discs, float)
    angles = np.linspace(0, 2 * np.pi, segments, endpoint=False)
    for a, b in combinations(table, 2):  # both ends of the tangents of two disks
        run = b[:2] - a[:2]
        middle, spread = np.arctan2(run[1], run[0]), np.arccos((a[2] - b[2]) / np.hypot(*run))
        ends = np.array([middle - spread, middle + spread])
        angles = np.concatenate([angles, ends - 1e-3, ends + 1e-3])
    angles = np.unique(angles % (2 * np.pi))
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    far = np.argmax(directions @ table[:, :2].T + table[:, 2], axis=1)
    # at least a fraction, so that no triangle degenerates
    radius = np.maximum(table[far, 2] - inset_m, 1e-4)[:, None]
    return table[far, :2] + radius * directions


def rounded_box(
    size_m: tuple[float, float], low_m: float, high_m: float, corner_m: float, fillet_m: float
) -> Mesh:
    """Return an upright box around the z axis with rounded corners and edges."""
    x, y = size_m[0] / 2 - corner_m, size_m[1] / 2 - corner_m
    discs = [(sx * x, sy * y, corner_m) for sx in (-1, 1) for sy in (-1, 1)]
    return pillar(discs, low_m, high_m, (fillet_m, fillet_m), segments=12)


def lathe(profile: Sequence[tuple[float, float]], segments: int = SEGMENTS) -> Mesh:
    """Revolve (radius, height) pairs, from bottom to top, around the z axis."""
    angles = np.linspace(0, 2 * np.pi, segments, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return loft([np.column_stack([r * circle, np.full(segments, z)]) for r, z in profile])


def tube(
    stations: Sequence[tuple[float, float, float, float, float]],
    across: tuple[float, float, float],
    segments: int = SEGMENTS,
) -> Mesh:
    """Return a mesh with elliptic cross-sections along a planar path.

    Args:
        stations: x, y, z, half width along `across`, half width in the plane of the path.
        across: Unit normal of the plane of the path.
        segments: Corners of a ring.
    """
    table = np.asarray(stations, float)
    tangents = np.gradient(table[:, :3], axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    side = np.asarray(across, float)
    angles = np.linspace(0, 2 * np.pi, segments, endpoint=False)[:, None]
    rings = []
    for (x, y, z, wide, deep), tangent in zip(table, tangents, strict=True):
        normal = np.cross(tangent, side)
        ring = wide * np.cos(angles) * side + deep * np.sin(angles) * normal
        rings.append(ring + (x, y, z))
    return loft(rings)


def moved(mesh: Mesh, xyz_m: tuple[float, float, float], turn: str = "") -> Mesh:
    """Rotate a mesh so that its z axis becomes `turn` ("x", "-x", "y", "-y" or "") and shift it."""
    x, y, z = mesh.vertices.T
    turned = {"": (x, y, z), "x": (z, y, -x), "-x": (-z, y, x), "y": (x, z, -y), "-y": (x, -z, y)}[
        turn
    ]
    return Mesh(np.column_stack(turned) + xyz_m, mesh.faces, mesh.crease_rad)


def thinned(mesh: Mesh, cell_m: float) -> Mesh:
    """Merge the vertices in each cube of a grid and drop degenerate triangles."""
    cells = np.round(mesh.vertices / cell_m).astype(np.int64)
    _, group, count = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    vertices = np.zeros((len(count), 3))
    np.add.at(vertices, group, mesh.vertices)
    faces = group[mesh.faces]
    distinct = [faces[:, i] != faces[:, (i + 1) % 3] for i in range(3)]
    faces = faces[np.logical_and.reduce(distinct)]
    start = np.argmin(faces, axis=1)[:, None]
    faces = np.take_along_axis(faces, (start + np.arange(3)) % 3, axis=1)
    _, first = np.unique(faces, axis=0, return_index=True)
    # remaining fine fillets are shaded smooth
    return Mesh(vertices / count[:, None], faces[np.sort(first)], crease_rad=1.2)


def read_bodies(path: Path) -> dict[str, list[tuple[Mesh, Color]]]:
    """Return the meshes of each link and their linear colors from a TOML file.

    A mesh is a table with the arguments of :func:`pillar` or :func:`tube`, its color ``of`` and
    optionally the arguments ``at`` and ``turn`` of :func:`moved`.

    Raises:
        ClevrSkillsError: The file is not valid TOML.
    """
    data = read_toml(path)
    colors = {name: (red, green, blue) for name, (red, green, blue) in data["colors"].items()}
    return {
        link: [(_body(**body), colors[body["of"]]) for body in bodies]
        for link, bodies in data["links"].items()
    }


def _body(
    of: str, at: tuple[float, float, float] = (0, 0, 0), turn: str = "", **shape: Any
) -> Mesh:
    del of
    mesh = tube(**shape) if "stations" in shape else pillar(**shape)
    return moved(mesh, at, turn)


def write_visuals(
    directory: Path, bodies: Mapping[str, Sequence[tuple[Mesh, Color]]]
) -> dict[str, list[Visual]]:
    """Write one smoothly shaded file per link and color into `directory`; return the files by link.

    Args:
        directory: Target directory; the returned paths are relative to it.
        bodies: Meshes with linear colors, each 0 to 1, by link.
    """
    visuals: dict[str, list[Visual]] = {}
    for link, parts in bodies.items():
        visuals[link] = []
        for index, color in enumerate(dict.fromkeys(color for _, color in parts)):
            name = f"{link}_{index}.ply"
            meshes = [mesh for mesh, its in parts if its == color]
            (directory / name).write_text(_smooth_ply(meshes), encoding="utf-8")
            visuals[link].append(Visual(Path(name), (*color, 1.0)))
    return visuals


def _smooth_ply(meshes: Sequence[Mesh]) -> str:
    """Return the PLY text with smooth normals except at creases.

    Unlike Wavefront files, PLY files are loaded with shared vertices.
    """
    import trimesh

    vertices, faces, offset = [], [], 0
    for mesh in meshes:
        body = trimesh.Trimesh(mesh.vertices, mesh.faces, process=True)
        body.update_faces(body.area_faces > 1e-10)
        shaded = trimesh.graph.smooth_shade(body, angle=mesh.crease_rad)
        for point, normal in zip(shaded.vertices, shaded.vertex_normals, strict=True):
            vertices.append("{:.5f} {:.5f} {:.5f} {:.4f} {:.4f} {:.4f}".format(*point, *normal))
        faces += ["3 {} {} {}".format(*(face + offset)) for face in shaded.faces]
        offset += len(shaded.vertices)
    header = ["ply", "format ascii 1.0", f"element vertex {len(vertices)}"]
    header += [f"property float {name}" for name in ("x", "y", "z", "nx", "ny", "nz")]
    header += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header"]
    return "\n".join([*header, *vertices, *faces]) + "\n"
