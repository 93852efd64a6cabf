"""A rigid body of a scene, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clevrskills.assets import Shape, shape

Pose = tuple[float, float, float, float, float, float, float]


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
    """

    key: str
    shape: str
    texture: str | None
    pose: Pose
    size: tuple[float, float, float] | None = None
    static: bool = False
    qualifier: str = ""

    @property
    def name(self) -> str:
        """Its name in a sentence, e.g. ``red swirl bowl``."""
        return " ".join(filter(None, (self.qualifier, self.texture, self.shape)))

    @property
    def geometry(self) -> Shape:
        """The shape, generated."""
        return shape(self.shape, self.size)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "key": self.key,
            "name": self.name,
            "shape": self.shape,
            "texture": self.texture,
            "size": list(self.size) if self.size else None,
            "static": self.static,
            "qualifier": self.qualifier,
            "pose": list(self.pose),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Body:
        """Read what :meth:`to_json` wrote."""
        size = data["size"]
        return cls(
            key=data["key"],
            shape=data["shape"],
            texture=data["texture"],
            pose=tuple(data["pose"]),
            size=tuple(size) if size else None,
            static=data["static"],
            qualifier=data.get("qualifier", ""),
        )
