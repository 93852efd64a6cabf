"""Geometry of a robot description: primitives, links, joints, and their URDF and SRDF."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class BoxGeometry:
    """Box with full size `size_m` along x, y, z before the rotation `rpy_rad`."""

    size_m: Vector
    xyz_m: Vector
    rpy_rad: Vector = ZERO


@dataclass(frozen=True)
class Cylinder:
    """Cylinder along z before the rotation `rpy_rad`."""

    radius_m: float
    length_m: float
    xyz_m: Vector
    rpy_rad: Vector = ZERO


Primitive = BoxGeometry | Cylinder


@dataclass(frozen=True)
class Inertia:
    """Mass, center of mass and inertia about it (ixx, ixy, ixz, iyy, iyz, izz) of a link."""

    mass_kg: float
    center_m: Vector
    tensor_kgm2: tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Link:
    """Rigid link: inertia and collision primitives in the link frame."""

    name: str
    inertia: Inertia
    collision: tuple[Primitive, ...] = ()


@dataclass(frozen=True)
class Joint:
    """Joint from `parent` to `child` about z, at `xyz_m`, `rpy_rad` in the parent frame."""

    name: str
    parent: str
    child: str
    xyz_m: Vector
    rpy_rad: Vector = ZERO
    kind: Literal["revolute", "fixed"] = "fixed"
    limits_rad: tuple[float, float] = (0.0, 0.0)
    effort_nm: float = 0.0
    velocity_radps: float = 0.0


@dataclass(frozen=True)
class Visual:
    """Mesh file of a link; `rgba` is ``None`` if the file has its own material."""

    file: Path
    rgba: tuple[float, float, float, float] | None = None


def urdf_text(
    name: str,
    links: Iterable[Link],
    joints: Iterable[Joint],
    visuals: Mapping[str, Sequence[Visual]] | None = None,
) -> str:
    """Return the URDF of a robot.

    Args:
        name: Name of the robot.
        links: All links.
        joints: All joints, which form one tree.
        visuals: Visual meshes by link; ``None``: no visuals.
    """
    root = ElementTree.Element("robot", name=name)
    for link in links:
        _add_link(root, link, (visuals or {}).get(link.name, ()))
    for joint in joints:
        _add_joint(root, joint)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def srdf_text(name: str, disabled_pairs: Iterable[tuple[str, str]]) -> str:
    """Return the SRDF with the link pairs whose collisions are not checked."""
    root = ElementTree.Element("robot", name=name)
    for link1, link2 in disabled_pairs:
        # SAPIEN reads only pairs with the reason "Default"; MPlib reads all
        _add(root, "disable_collisions", link1=link1, link2=link2, reason="Default")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(
    parent: ElementTree.Element, tag: str, **attributes: str | float | Sequence[float]
) -> ElementTree.Element:
    """Add an element with strings, numbers and vectors as attributes."""
    return ElementTree.SubElement(parent, tag, {k: _text(v) for k, v in attributes.items()})


def _text(value: str | float | Sequence[float]) -> str:
    if isinstance(value, str):
        return value
    numbers = value if isinstance(value, Sequence) else (value,)
    return " ".join(f"{number:.9g}" for number in numbers)


def _add_link(root: ElementTree.Element, link: Link, visuals: Sequence[Visual]) -> None:
    element = _add(root, "link", name=link.name)
    inertial = _add(element, "inertial")
    _add(inertial, "origin", xyz=link.inertia.center_m, rpy=ZERO)
    _add(inertial, "mass", value=link.inertia.mass_kg)
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    _add(inertial, "inertia", **dict(zip(keys, link.inertia.tensor_kgm2, strict=True)))
    for index, visual in enumerate(visuals):
        drawn = _add(element, "visual")
        _add(_add(drawn, "geometry"), "mesh", filename=str(visual.file))
        if visual.rgba is not None:
            material = _add(drawn, "material", name=f"{link.name}_{index}")
            _add(material, "color", rgba=visual.rgba)
    for primitive in link.collision:
        solid = _add(element, "collision")
        _add(solid, "origin", xyz=primitive.xyz_m, rpy=primitive.rpy_rad)
        geometry = _add(solid, "geometry")
        if isinstance(primitive, BoxGeometry):
            _add(geometry, "box", size=primitive.size_m)
        else:
            _add(geometry, "cylinder", radius=primitive.radius_m, length=primitive.length_m)


def _add_joint(root: ElementTree.Element, joint: Joint) -> None:
    element = _add(root, "joint", name=joint.name, type=joint.kind)
    _add(element, "parent", link=joint.parent)
    _add(element, "child", link=joint.child)
    _add(element, "origin", xyz=joint.xyz_m, rpy=joint.rpy_rad)
    if joint.kind == "revolute":
        _add(element, "axis", xyz=(0, 0, 1))
        lower, upper = joint.limits_rad
        most = {"effort": joint.effort_nm, "velocity": joint.velocity_radps}
        _add(element, "limit", lower=lower, upper=upper, **most)
