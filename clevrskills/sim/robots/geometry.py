"""Building blocks of a robot description: primitives, links, joints, and their URDF and SRDF."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Box:
    """A box; `size_m` is its full size along x, y, z before the rotation `rpy_rad`."""

    size_m: Vector
    xyz_m: Vector
    rpy_rad: Vector = ZERO


@dataclass(frozen=True)
class Cylinder:
    """A cylinder whose axis is z before the rotation `rpy_rad`."""

    radius_m: float
    length_m: float
    xyz_m: Vector
    rpy_rad: Vector = ZERO


Primitive = Box | Cylinder


@dataclass(frozen=True)
class Inertia:
    """Mass, centre of mass and inertia about it (ixx, ixy, ixz, iyy, iyz, izz) of a link."""

    mass_kg: float
    center_m: Vector
    tensor_kgm2: tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Link:
    """A rigid link: its inertia and its collision primitives, in the link frame."""

    name: str
    inertia: Inertia
    collision: tuple[Primitive, ...] = ()


@dataclass(frozen=True)
class Joint:
    """A joint from `parent` to `child`, placed at `xyz_m`, `rpy_rad` in the parent; about z."""

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
    """A mesh file shown on a link; `rgba` None means that the file brings its own material."""

    file: Path
    rgba: tuple[float, float, float, float] | None = None


def urdf_text(
    name: str,
    links: Iterable[Link],
    joints: Iterable[Joint],
    visuals: Mapping[str, Sequence[Visual]] | None = None,
) -> str:
    """Writes the URDF of a robot.

    Args:
        name: Name of the robot.
        links: All links.
        joints: All joints; together they form one tree.
        visuals: Link name to the meshes shown on it; None for a robot that is not drawn.
    """
    root = ElementTree.Element("robot", name=name)
    for link in links:
        _add_link(root, link, (visuals or {}).get(link.name, ()))
    for joint in joints:
        _add_joint(root, joint)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def srdf_text(name: str, disabled_pairs: Iterable[tuple[str, str]]) -> str:
    """Writes the SRDF that lists the link pairs whose collisions are not checked."""
    root = ElementTree.Element("robot", name=name)
    for link1, link2 in disabled_pairs:
        # SAPIEN heeds only pairs whose reason is "Default"; MPlib heeds all
        ElementTree.SubElement(
            root, "disable_collisions", link1=link1, link2=link2, reason="Default"
        )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.9g}" for value in values)


def _add_origin(parent: ElementTree.Element, xyz_m: Vector, rpy_rad: Vector) -> None:
    ElementTree.SubElement(parent, "origin", xyz=_numbers(xyz_m), rpy=_numbers(rpy_rad))


def _add_link(root: ElementTree.Element, link: Link, visuals: Sequence[Visual]) -> None:
    element = ElementTree.SubElement(root, "link", name=link.name)
    inertial = ElementTree.SubElement(element, "inertial")
    _add_origin(inertial, link.inertia.center_m, ZERO)
    ElementTree.SubElement(inertial, "mass", value=_numbers([link.inertia.mass_kg]))
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    tensor = dict(zip(keys, (_numbers([v]) for v in link.inertia.tensor_kgm2), strict=True))
    ElementTree.SubElement(inertial, "inertia", tensor)
    for index, visual in enumerate(visuals):
        drawn = ElementTree.SubElement(element, "visual")
        geometry = ElementTree.SubElement(drawn, "geometry")
        ElementTree.SubElement(geometry, "mesh", filename=str(visual.file))
        if visual.rgba is not None:
            material = ElementTree.SubElement(drawn, "material", name=f"{link.name}_{index}")
            ElementTree.SubElement(material, "color", rgba=_numbers(visual.rgba))
    for primitive in link.collision:
        solid = ElementTree.SubElement(element, "collision")
        _add_origin(solid, primitive.xyz_m, primitive.rpy_rad)
        geometry = ElementTree.SubElement(solid, "geometry")
        if isinstance(primitive, Box):
            ElementTree.SubElement(geometry, "box", size=_numbers(primitive.size_m))
        else:
            ElementTree.SubElement(
                geometry,
                "cylinder",
                radius=_numbers([primitive.radius_m]),
                length=_numbers([primitive.length_m]),
            )


def _add_joint(root: ElementTree.Element, joint: Joint) -> None:
    element = ElementTree.SubElement(root, "joint", name=joint.name, type=joint.kind)
    ElementTree.SubElement(element, "parent", link=joint.parent)
    ElementTree.SubElement(element, "child", link=joint.child)
    _add_origin(element, joint.xyz_m, joint.rpy_rad)
    if joint.kind == "revolute":
        ElementTree.SubElement(element, "axis", xyz="0 0 1")
        lower, upper = joint.limits_rad
        ElementTree.SubElement(
            element,
            "limit",
            lower=_numbers([lower]),
            upper=_numbers([upper]),
            effort=_numbers([joint.effort_nm]),
            velocity=_numbers([joint.velocity_radps]),
        )
