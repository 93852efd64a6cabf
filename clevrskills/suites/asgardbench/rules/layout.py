"""Layouts of rooms: where the fixtures stand; and the start of an instance: where things lie."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float, float, float]
"""Lowest and highest x, y, z in the room, metres."""


@dataclass(frozen=True)
class Fixture:
    """A fixture of a room; its model says how large it is."""

    id: str  # its name, e.g. ``Cabinet_3``
    type: str  # its type
    x_m: float  # origin of its model: to the right in the room
    y_m: float  # the same, away from the viewer of a plan
    z_m: float  # the same, above the floor
    yaw_rad: float  # by how much it is turned about the vertical; at 0 its front faces -y
    model: str  # what it is drawn as, e.g. ``WallCabinet``
    width_m: float = 0.0  # width of what is made to measure, such as a counter; 0: the usual one
    # from its origin forward to the edge before which somebody stands who uses it
    front_m: float = 0.0
    taken: tuple[int, ...] = ()  # columns of its slots on which an appliance stands

    @property
    def origin(self) -> tuple[float, float, float, float]:
        """Pose of the origin of its model: x, y, z and yaw."""
        return self.x_m, self.y_m, self.z_m, self.yaw_rad


@dataclass(frozen=True)
class Room:
    """A room."""

    label: int  # its number, e.g. 13: 1-30 kitchens, 2xx living rooms, 4xx bathrooms
    kind: str  # ``kitchen``, ``living`` or ``bathroom``
    width_m: float  # from x = -width/2 to width/2
    depth_m: float  # from y = -depth/2 to depth/2
    fixtures: tuple[Fixture, ...]  # what stands in it
    # what stands in it and is no object of the rules, such as the stove's body
    scenery: tuple[Fixture, ...] = ()


@dataclass(frozen=True)
class PlacedObject:
    """A thing at the start of an instance."""

    id: str  # its name, e.g. ``Mug``
    type: str  # its type
    parent: str  # id of the fixture or thing in or on which it is
    slot: int  # number of its slot there
    dirty: bool = False  # whether it is dirty
    filled: str = ""  # the liquid in it; empty: none
