"""Layouts of rooms: where the fixtures stand; and the start of an instance: where things lie."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fixture:
    """A fixture of a room.

    Attributes:
        id: Its name, e.g. ``Cabinet_3``.
        type: Its type.
        x_m: Middle of its footprint, to the right in the room.
        y_m: Middle of its footprint, away from the viewer.
        z_m: Height of its lower side above the floor.
        yaw_rad: By how much it is turned about the vertical; at 0 its front faces -y.
        width_m: Size from left to right, seen from its front.
        depth_m: Size from front to back.
        height_m: Size upwards.
    """

    id: str
    type: str
    x_m: float
    y_m: float
    z_m: float
    yaw_rad: float
    width_m: float
    depth_m: float
    height_m: float


@dataclass(frozen=True)
class Room:
    """A room.

    Attributes:
        label: Its number, e.g. 13: 1-30 kitchens, 2xx living rooms, 4xx bathrooms.
        kind: ``kitchen``, ``living`` or ``bathroom``.
        width_m: From x = -width/2 to width/2.
        depth_m: From y = -depth/2 to depth/2.
        fixtures: What stands in it.
    """

    label: int
    kind: str
    width_m: float
    depth_m: float
    fixtures: tuple[Fixture, ...]


@dataclass(frozen=True)
class Placed:
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
