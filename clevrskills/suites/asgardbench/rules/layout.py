"""Layouts of rooms and initial places of objects."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float, float, float]
"""Lowest and highest x, y, z in the room, meters."""


@dataclass(frozen=True)
class Fixture:
    """Fixture of a room, whose size is that of its model."""

    id: str  # e.g. ``Cabinet_3``
    type: str
    x_m: float  # origin of the model: right in the room
    y_m: float  # away
    z_m: float  # above the floor
    yaw_rad: float  # rotation about the vertical; at 0 the front faces -y
    model: str  # name of the model, e.g. ``WallCabinet``
    width_m: float = 0.0  # width of models with a variable one; 0: default
    front_m: float = 0.0  # distance from the origin to the edge in front of which the agent stands
    taken: tuple[int, ...] = ()  # columns of slots that an appliance occupies

    @property
    def origin(self) -> tuple[float, float, float, float]:
        """Pose of the model's origin: x, y, z and yaw."""
        return self.x_m, self.y_m, self.z_m, self.yaw_rad


@dataclass(frozen=True)
class Room:
    """Layout of a room."""

    label: int  # 1-99: kitchens, 2xx: living rooms, 4xx: bathrooms
    kind: str  # ``kitchen``, ``living`` or ``bathroom``
    width_m: float  # from x = -width/2 to width/2
    depth_m: float  # from y = -depth/2 to depth/2
    fixtures: tuple[Fixture, ...]
    scenery: tuple[Fixture, ...] = ()  # fixtures that the rules ignore, such as the stove's body


@dataclass(frozen=True)
class PlacedObject:
    """Object at the start of an instance."""

    id: str  # e.g. ``Mug``
    type: str
    parent: str  # id of the fixture or object in or on which it is
    slot: int  # number of its slot there
    dirty: bool = False
    filled: str = ""  # liquid; empty: none
