"""Description of a rigid body in a scene."""

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
    """Hinge that attaches a body to another one or to the world."""

    parent: str | None = None  # key of the parent body; ``None``: the world
    anchor_m: tuple[float, float, float] = (0.0, 0.0, 0.0)  # point on the axis in the body's frame
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)  # direction of the axis in the body's frame
    limits_rad: tuple[float, float] = (-1.5, 1.5)  # rotation limits from the initial pose
    stiffness_nm: float = 0.0  # restoring torque per radian
    damping_nms: float = 0.0  # damping torque per radian per second
    # whether the body keeps its orientation in the world while its parent rotates, like the plates
    # of a kitchen scale
    level: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hinge:
        """Return the hinge from its JSON data."""
        values: dict[str, Any] = dict(data)
        for name in ("anchor_m", "axis", "limits_rad"):
            values[name] = tuple(values[name])
        return cls(**values)


@dataclass(frozen=True)
class Body:
    """A rigid body of a scene.

    Attributes:
        key: Name of the slot, the same in every episode of a task, e.g. ``object_0``.
        shape: Name of the shape.
        texture: Name of the texture; ``None``: plain.
        size: Bounding box in meters; ``None``: the default of the shape.
        static: Whether the body is furniture.
        pose: Initial world pose: position, then quaternion w, x, y, z.
        qualifier: Word that distinguishes bodies that differ only in size, e.g. ``tall``.
        ghost: Whether the body is visual only. Worlds treat its slot as empty. Ghosts are also
            ``static``.
        density: Density in kg/m^3; ``None``: the default of the shape.
        hinge: Hinge of the body; ``None``: free.
        noun: Noun used instead of the shape name, e.g. ``area``.
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
        """``True`` if the robot can move the body."""
        return not self.static and self.hinge is None

    @property
    def color(self) -> str:
        """Name of the texture without the palette namespace; empty: plain."""
        return bare_name(self.texture or "")

    @property
    def name(self) -> str:
        """Name in a sentence, e.g. ``red swirl bowl``."""
        return " ".join(filter(None, (self.qualifier, self.color, self.noun or self.shape)))

    def called(self, names: int, among: Iterable[Body] = ()) -> str:
        """Return an unambiguous name from a set of :mod:`clevrskills.assets.names`."""
        bodies = list(among)
        nouns = [body.noun or body.shape for body in bodies]
        noun = shape_words(self.noun or self.shape, names, nouns)
        return " ".join(filter(None, (self.qualifier, self.texture_called(names, bodies), noun)))

    def texture_called(self, names: int, among: Iterable[Body] = ()) -> str:
        """Return an unambiguous name of the texture from a set of names."""
        others = [body.texture for body in among if body.texture]
        return texture_words(self.texture, names, others) if self.texture else ""

    @property
    def geometry(self) -> Shape:
        """Geometry of the body."""
        return shape(self.shape, self.size, self.density)

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
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
        """Return the body from the data of :meth:`to_json`."""
        values: dict[str, Any] = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        values["pose"] = tuple(data["pose"])
        values["size"] = tuple(data["size"]) if data["size"] else None
        values["hinge"] = Hinge.from_json(data["hinge"]) if data["hinge"] else None
        return cls(**values)
