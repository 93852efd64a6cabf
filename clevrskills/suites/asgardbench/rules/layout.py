"""Layouts of rooms: where the fixtures stand; and the start of an instance: where things lie."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float, float, float]
"""Lowest and highest x, y, z in the room, metres."""


@dataclass(frozen=True)
class Fixture:
    """A fixture of a room; its model says how large it is.

    Attributes:
        id: Its name, e.g. ``Cabinet_3``.
        type: Its type.
        x_m: Origin of its model: to the right in the room.
        y_m: The same, away from the viewer of a plan.
        z_m: The same, above the floor.
        yaw_rad: By how much it is turned about the vertical; at 0 its front faces -y.
        model: What it is drawn as, e.g. ``WallCabinet``.
        width_m: Width of what is made to measure, such as a counter; 0: the usual one.
        front_m: From its origin forward to the edge before which somebody stands who uses it.
        taken: Columns of its slots on which an appliance stands.
    """

    id: str
    type: str
    x_m: float
    y_m: float
    z_m: float
    yaw_rad: float
    model: str
    width_m: float = 0.0
    front_m: float = 0.0
    taken: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[float, float, float, float]:
        """Pose of the origin of its model: x, y, z and yaw."""
        return self.x_m, self.y_m, self.z_m, self.yaw_rad


@dataclass(frozen=True)
class Room:
    """A room.

    Attributes:
        label: Its number, e.g. 13: 1-30 kitchens, 2xx living rooms, 4xx bathrooms.
        kind: ``kitchen``, ``living`` or ``bathroom``.
        width_m: From x = -width/2 to width/2.
        depth_m: From y = -depth/2 to depth/2.
        fixtures: What stands in it.
        scenery: What stands in it and is no object of the rules, such as the stove's body.
    """

    label: int
    kind: str
    width_m: float
    depth_m: float
    fixtures: tuple[Fixture, ...]
    scenery: tuple[Fixture, ...] = ()


@dataclass(frozen=True)
class PlacedObject:
    """A thing at the start of an instance.

    Attributes:
        id: Its name, e.g. ``Mug``.
        type: Its type.
        parent: Id of the fixture or thing in or on which it is.
        slot: Number of its slot there.
        dirty: Whether it is dirty.
        filled: The liquid in it; empty: none.
    """

    id: str
    type: str
    parent: str
    slot: int
    dirty: bool = False
    filled: str = ""
