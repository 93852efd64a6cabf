"""A rigid body of a scene, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from clevrskills.assets import Shape, shape, shape_words, texture_words
from clevrskills.assets.palettes import bare_name

__all__ = ["Body"]

Pose = tuple[float, float, float, float, float, float, float]
"""Position in m and quaternion w, x, y, z."""


@dataclass(frozen=True)
class Hinge:
    """Hinge of a body; it moves as physics has it, but nobody can take the body away."""

    parent: str | None = None  # key of the body that carries it; ``None``: it hangs in the world
    # A point of the axis in the body's frame
    anchor_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)  # direction of the axis in the body's frame
    # least and greatest turn away from the initial pose
    limits_rad: tuple[float, float] = (-1.5, 1.5)
    stiffness_nm: float = 0.0  # torque for each radian that turns it back to its initial pose
    damping_nms: float = 0.0  # torque for each radian per second that slows it
    # whether a linkage keeps it from turning in the world while its parent does, as it keeps the
    # plates of a kitchen scale level
    level: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hinge:
        """Read what ``dataclasses.asdict`` gave, from JSON."""
        values: dict[str, Any] = dict(data)
        for name in ("anchor_m", "axis", "limits_rad"):
            values[name] = tuple(values[name])
        return cls(**values)


@dataclass(frozen=True)
class Body:
    """A rigid body of a scene.

    Attributes:
        key: Name of its slot, the same in every episode of a task, e.g. ``object_0``.
        shape: Name of its shape.
        texture: Name of its texture; ``None``: plain.
        size: Bounding box in metres, ``None``: the shape's own.
        static: Whether it is part of the furniture.
        pose: Initial world pose: position, then quaternion w, x, y, z.
        qualifier: Word that tells it from a body that differs in size only, e.g. ``tall``.
        ghost: Whether it is only seen: nothing touches it, and worlds count its slot as empty;
            what is only seen is ``static`` as well.
        density: kg/m^3, ``None``: the shape's own.
        hinge: What it turns about; ``None``: it is free.
        noun: What it is called if not by its shape, e.g. ``area``.
    """

    key: str
    shape: str
    texture: str | None
    pose: Pose
    size: tuple[float, float, float] | None = None
    static: bool = False
    qualifier: str = ""
    ghost: bool = False
    density: float | None = None
    hinge: Hinge | None = None
    noun: str = ""

    @property
    def movable(self) -> bool:
        """``True`` if it can be taken elsewhere."""
        return not self.static and self.hinge is None

    @property
    def color(self) -> str:
        """Name of its texture without the namespace of a palette; empty: plain."""
        return bare_name(self.texture or "")

    @property
    def name(self) -> str:
        """Its name in a sentence, e.g. ``red swirl bowl``."""
        return " ".join(filter(None, (self.qualifier, self.color, self.noun or self.shape)))

    def called(self, names: int, among: Iterable[Body] = ()) -> str:
        """Return its name in a set of :mod:`clevrskills.assets.names`, unlike other bodies'."""
        bodies = list(among)
        nouns = [body.noun or body.shape for body in bodies]
        noun = shape_words(self.noun or self.shape, names, nouns)
        return " ".join(filter(None, (self.qualifier, self.texture_called(names, bodies), noun)))

    def texture_called(self, names: int, among: Iterable[Body] = ()) -> str:
        """Return the name of its texture in a set of names, unlike those of other bodies."""
        others = [body.texture for body in among if body.texture]
        return texture_words(self.texture, names, others) if self.texture else ""

    @property
    def geometry(self) -> Shape:
        """The shape, generated."""
        return shape(self.shape, self.size, self.density)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        names = ("shape", "texture", "size", "static", "qualifier", "ghost", "density")
        return {
            "key": self.key,
            "name": self.name,
            **{name: getattr(self, name) for name in names},
            "size": list(self.size) if self.size else None,
            "hinge": asdict(self.hinge) if self.hinge else None,
            "pose": list(self.pose),
            **({"noun": self.noun} if self.noun else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Body:
        """Read what :meth:`to_json` wrote."""
        values: dict[str, Any] = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        values["pose"] = tuple(data["pose"])
        values["size"] = tuple(data["size"]) if data["size"] else None
        values["hinge"] = Hinge.from_json(data["hinge"]) if data["hinge"] else None
        return cls(**values)
