"""Mesh files: objects from GLB and URDF files, as solids in millimeters.

In a GLB file (meters, y up, front along +z), nodes whose names begin with ``collision`` are
invisible convex parts; without any, each connected piece of the visible mesh is one. In a URDF file
(meters, z up, front along +x), all links and fixed joints form one body with ``<visual>`` meshes
and ``<collision>`` parts. Colors and images are ignored, as textures come from the layout.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.assets.objects.registry import Item
from clevrskills.assets.solids import Patch, Solid
from clevrskills.errors import ClevrSkillsError, errors_in

MILLIMETRES = 1000.0
COLLISION = "collision"
_ROUND = 16
"""Corners of a cylinder."""
_CONVEX_SHARE = 0.98
"""Smallest share of its convex hull that a convex part fills."""
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Rotation to z up with the front along -y, as in builders."""
_X_FRONT = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def item(path: Path, density: float, pools: tuple[str, ...] = ()) -> Item:
    """Return an object from a GLB or URDF file, with its density in kg/m^3 and pools."""
    return Item(partial(read, path), density, pools)


@cache
def read(path: Path) -> Solid:
    """Return the solid of a file in millimeters.

    Raises:
        ClevrSkillsError: The file cannot be read, has no mesh, or has a part that is not convex.
    """
    readers = {".glb": _glb, ".gltf": _glb, ".urdf": _urdf}
    if path.suffix.lower() not in readers:
        raise ClevrSkillsError(f"{path}: unknown file type; allowed: {', '.join(readers)}")
    with errors_in(f"{path} cannot be read"):
        visible, parts, axes = readers[path.suffix.lower()](path)
    if not (visible and parts):
        raise ClevrSkillsError(f"{path} has no {'convex parts' if visible else 'visible mesh'}")
    matrix = MILLIMETRES * axes
    patches = tuple(Patch(mesh.vertices @ matrix.T, np.asarray(mesh.faces)) for mesh in visible)
    corners = (_corners(mesh, path, k) for k, mesh in enumerate(parts))
    return Solid(patches, tuple(points @ matrix.T for points in corners))


def _glb(path: Path) -> tuple[list[Any], list[Any], np.ndarray]:
    """Return visible meshes, convex parts and axes of the file."""
    import trimesh

    scene = trimesh.load_scene(path)
    visible: list[Any] = []
    parts: list[Any] = []
    for node in scene.graph.nodes_geometry:
        matrix, geometry = scene.graph[node]
        mesh = scene.geometry[geometry].copy().apply_transform(matrix)
        is_part = any(name.lower().startswith(COLLISION) for name in (node, geometry))
        (parts if is_part else visible).append(mesh)
    return visible, parts or _pieces(visible), _Y_UP


def _pieces(meshes: Sequence[Any]) -> list[Any]:
    """Return connected pieces after merging corners that differ in texture or normal."""
    pieces = []
    for mesh in meshes:
        bare = mesh.copy()
        bare.merge_vertices(merge_tex=True, merge_norm=True)
        pieces += bare.split(only_watertight=False)
    return pieces


def _urdf(path: Path) -> tuple[list[Any], list[Any], np.ndarray]:
    root = ET.parse(path).getroot()
    placed = {link.get("name"): np.eye(4) for link in root.iter("link")}
    joints = {joint.find("child").get("link"): joint for joint in root.iter("joint")}  # type: ignore[union-attr]
    for name in placed:
        link: str | None = name
        while link in joints:
            joint = joints[link]
            if joint.get("type") != "fixed":
                raise ClevrSkillsError(
                    f"{path}: joint {joint.get('name')!r} is {joint.get('type')}; joints of an "
                    "object must be fixed"
                )
            placed[name] = _origin(joint) @ placed[name]
            link = joint.find("parent").get("link")  # type: ignore[union-attr]
    visible: list[Any] = []
    parts: list[Any] = []
    for body in root.iter("link"):
        for kind, meshes in (("visual", visible), ("collision", parts)):
            for element in body.findall(kind):
                matrix = placed[body.get("name")] @ _origin(element)
                meshes += [m.apply_transform(matrix) for m in _geometry(element, path)]
    return visible, _pieces(parts), _X_FRONT


def _origin(element: ET.Element) -> np.ndarray:
    """Return the transformation (4, 4) of the ``<origin>`` of an element."""
    from trimesh import transformations

    origin = element.find("origin")
    numbers = {"xyz": "0 0 0", "rpy": "0 0 0", **(origin.attrib if origin is not None else {})}
    matrix = transformations.euler_matrix(*map(float, numbers["rpy"].split()))
    matrix[:3, 3] = [float(x) for x in numbers["xyz"].split()]
    return matrix


def _geometry(element: ET.Element, path: Path) -> Iterator[Any]:
    """Yield the meshes (meters) of a ``<visual>`` or ``<collision>``."""
    import trimesh

    shape = next(iter(element.find("geometry")))  # type: ignore[arg-type]
    values = {
        name: [float(x) for x in text.split()] for name, text in shape.items() if name != "filename"
    }
    match shape.tag:
        case "box":
            yield trimesh.creation.box(values["size"])
        case "cylinder":
            radius, length = values["radius"][0], values["length"][0]
            yield trimesh.creation.cylinder(radius, length, sections=_ROUND)
        case "sphere":
            yield trimesh.creation.icosphere(subdivisions=1, radius=values["radius"][0])
        case "mesh":
            file = path.parent / shape.attrib["filename"].removeprefix("file://")
            for mesh in trimesh.load_scene(file).dump():
                yield mesh.apply_scale(values.get("scale", [1.0, 1.0, 1.0]))
        case other:
            raise ClevrSkillsError(
                f"{path}: geometry <{other}>; allowed: box, cylinder, sphere, mesh"
            )


def _corners(mesh: Any, path: Path, k: int) -> np.ndarray:
    """Return corners (n, 3) of a convex part."""
    hull = mesh.convex_hull
    share = abs(mesh.volume) / hull.volume if hull.volume else 0.0
    if not mesh.is_watertight or share < _CONVEX_SHARE:
        raise ClevrSkillsError(
            f"{path}: part {k} is not convex: it fills {share:.0%} of its convex hull; add convex "
            f"parts, in GLB files nodes named {COLLISION}_0, {COLLISION}_1, ..., in URDF files "
            "several <collision>"
        )
    return np.asarray(hull.vertices)
