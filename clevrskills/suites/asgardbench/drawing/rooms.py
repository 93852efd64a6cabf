"""Rooms: kitchens, bathrooms and living rooms as lists of fixtures and things with poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Literal, get_args
from zlib import crc32

import numpy as np

from clevrskills.suites.asgardbench.drawing.model import State
from clevrskills.suites.asgardbench.drawing.surfaces import Color

RoomKind = Literal["kitchen", "bathroom", "living_room"]
ROOM_KINDS: tuple[RoomKind, ...] = get_args(RoomKind)
Pose = tuple[float, float, float, float]
COUNTER_M, MODULE_M = 0.92, 0.60
PLAIN = State()
EYE_M = 1.58
"""Height of the agent's camera (AsgardBench's repository)."""


@dataclass(frozen=True)
class Placed:
    """A fixture or thing that stands in a room.

    Attributes:
        id: Unique in the room, such as ``Mug`` or ``Cabinet_3``.
        kind: Its type, of the catalogue.
        pose: x, y, z in metres and yaw in radians; fixtures face their own −y.
        state: What shows of its state.
    """

    id: str
    kind: str
    pose: Pose
    state: State = PLAIN


@dataclass(frozen=True)
class Palette:
    """Colors of a room, sRGB."""

    wall: Color
    floor: Color
    front: Color
    top: Color
    tiled: bool


@dataclass(frozen=True)
class Room:
    """A room: x to the right, y to the wall with most fixtures, the origin in the floor's middle.

    Attributes:
        kind: What it is for.
        size_m: Width along x, depth along y.
        palette: Its colors.
        placed: All that stands in it.
    """

    kind: RoomKind
    size_m: tuple[float, float]
    palette: Palette
    placed: tuple[Placed, ...]


_PALETTES: Sequence[tuple[Color, Color, Color, Color]] = (
    ((0.90, 0.88, 0.82), (0.74, 0.56, 0.37), (0.86, 0.89, 0.85), (0.56, 0.53, 0.50)),
    ((0.80, 0.87, 0.88), (0.62, 0.45, 0.30), (0.95, 0.94, 0.91), (0.36, 0.36, 0.38)),
    ((0.93, 0.87, 0.78), (0.70, 0.66, 0.60), (0.42, 0.56, 0.58), (0.82, 0.79, 0.73)),
    ((0.86, 0.89, 0.80), (0.66, 0.50, 0.34), (0.58, 0.66, 0.50), (0.74, 0.68, 0.60)),
    ((0.91, 0.90, 0.90), (0.56, 0.50, 0.46), (0.30, 0.38, 0.50), (0.88, 0.87, 0.85)),
    ((0.92, 0.84, 0.78), (0.76, 0.60, 0.42), (0.88, 0.80, 0.66), (0.48, 0.44, 0.42)),
)


def room(kind: RoomKind, seed: int) -> Room:
    """A furnished room, the same for the same seed.

    Raises:
        ValueError: The kind is unknown.
    """
    if kind not in ROOM_KINDS:
        raise ValueError(f"no room {kind!r}; there are: {', '.join(ROOM_KINDS)}")
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, crc32(kind.encode())))))
    wall, floor, front, top = _PALETTES[int(rng.integers(len(_PALETTES)))]
    palette = Palette(wall, floor, front, top, kind == "bathroom")
    draw = {"kitchen": _kitchen, "bathroom": _bathroom, "living_room": _living_room}[kind]
    size_m, placed = draw(rng)
    return Room(kind, size_m, palette, tuple(placed))


class _List(list[Placed]):
    """Entities of a room; numbers those of a type that there are several of."""

    def put(
        self,
        kind: str,
        x: float,
        y: float,
        z: float = 0.0,
        yaw: float = 0.0,
        state: State = PLAIN,
    ) -> None:
        count = sum(placed.kind == kind for placed in self)
        name = kind if count == 0 else f"{kind}_{count + 1}"
        self.append(Placed(name, kind, (x, y, z, yaw), state))


def _scatter(
    into: _List, rng: np.random.Generator, kinds: Sequence[str], spots: Sequence[tuple[float, ...]]
) -> None:
    """One thing at each spot (x, y, z) until either runs out."""
    chosen = rng.permutation(len(kinds))
    for k, (x, y, z) in zip(chosen, spots, strict=False):
        yaw = float(rng.uniform(-pi, pi))
        into.put(kinds[k], x, y, z, yaw)


def _kitchen(rng: np.random.Generator) -> tuple[tuple[float, float], _List]:
    wide, deep = 4.3 + 0.6 * float(rng.integers(2)), 3.6 + 0.3 * float(rng.integers(3))
    back, right = deep / 2, wide / 2
    out, spots = _List(), []
    x = -right + 0.37
    out.put("Fridge", x, back)
    modules = ["Cabinet", "Sink", "Drawers", "Cabinet", "Stove"]
    middle = [modules[k] for k in rng.permutation(4)]
    modules = [*middle[:2], "Stove", *middle[2:]] if rng.random() < 0.5 else [*middle, "Stove"]
    at = -right + 0.72 + MODULE_M / 2
    for name in modules:
        window = name == "Sink"
        if name == "Stove":
            out.put("Stove", at, back)
            for k, (dx, dy) in enumerate(
                ((-0.14, -0.17), (0.14, -0.17), (-0.14, -0.45), (0.14, -0.45))
            ):
                out.put("StoveBurner", at + dx, back + dy, COUNTER_M)
                out.put("StoveKnob", at - 0.18 + 0.12 * k, back - 0.606, 0.82)
        elif name == "Sink":
            out.put("Sink", at, back)
            out.put("Faucet", at, back - 0.10, COUNTER_M)
            out.put("Window", at, back, 1.25)
        else:
            if name == "Cabinet":
                out.put("Cabinet", at, back)
            else:
                for k in range(3):
                    out.put("Drawer", at, back, 0.10 + 0.26 * k)
            out.put("CounterTop", at, back)
            spots += [(at - 0.15, back - 0.42, COUNTER_M), (at + 0.15, back - 0.25, COUNTER_M)]
        if not window:
            near = any(p.kind == "Window" and abs(p.pose[0] - at) < 0.84 for p in out)
            next_is_sink = modules[min(modules.index(name) + 1, 4)] == "Sink"
            if not near and not (next_is_sink or name == "Sink"):
                out.put("WallCabinet", at, back, 1.45)
        at += MODULE_M
    # the counter along the right wall, with the machines
    along = [back - 0.62 - 0.04 - MODULE_M * (k + 0.5) for k in range(3)]
    machines = ["Microwave", "Toaster", "CoffeeMachine"]
    order = rng.permutation(3)
    for k, y in enumerate(along):
        out.put("Cabinet", right, y, 0.0, -pi / 2)
        out.put("CounterTop", right, y, 0.0, -pi / 2)
        machine = machines[int(order[k])]
        off = {"Microwave": 0.06, "Toaster": 0.24, "CoffeeMachine": 0.10}[machine]
        out.put(machine, right - off, y, COUNTER_M, -pi / 2)
        spots.append((right - 0.50, y - 0.22, COUNTER_M))
    out.put("Shelf", right, along[1], 1.55, -pi / 2)
    # table and chairs on the left
    tx, ty = -right + 1.05, back - 0.75 - 1.25
    out.put("DiningTable", tx, ty, 0.0, pi / 2)
    out.put("Chair", tx + 0.62, ty, 0.0, -pi / 2)
    out.put("Chair", tx - 0.62, ty, 0.0, pi / 2)
    out.put("GarbageCan", right - 0.25, along[2] - 0.55)
    out.put("SideTable", right - 0.35, along[2] - 1.05)
    out.put("LightSwitch", -right, back - 1.1, 1.15, pi / 2)
    spots += [(tx + dx, ty + dy, 0.75) for dx in (-0.22, 0.22) for dy in (-0.45, 0.0, 0.45)]
    spots.append((right - 0.35, along[2] - 1.05, 0.56))
    first = ["Plate", "Mug", "Bowl", "Pot", "Apple", "Bread", "Tomato", "Potato", "Lettuce", "Cup"]
    more = ["DishSponge", "SaltShaker", "SoapBottle", "Knife", "Fork", "Spoon", "Egg", "Kettle"]
    order_of_spots = [spots[k] for k in rng.permutation(len(spots))]
    _scatter(out, rng, [*first, *more], order_of_spots)
    stove = next(p for p in out if p.kind == "StoveBurner")
    out.put("Pan", stove.pose[0], stove.pose[1], COUNTER_M + 0.012, -2.2)
    return (wide, deep), out


def _bathroom(rng: np.random.Generator) -> tuple[tuple[float, float], _List]:
    wide, deep = 3.6, 3.0
    back, right = deep / 2, wide / 2
    out = _List()
    sx = float(rng.uniform(-0.5, -0.2))
    for k in (-1, 1):
        out.put("CounterTop", sx + k * MODULE_M, back)
        out.put("Cabinet", sx + k * MODULE_M, back)
    out.put("Sink", sx, back)
    out.put("Faucet", sx, back - 0.10, COUNTER_M)
    out.put("Mirror", sx, back, 1.12, 0.0, State(dirty=True))
    out.put("Toilet", sx + 1.5, back)
    out.put("ToiletPaperHanger", right, back - 0.55, 0.75, -pi / 2)
    out.put("Bathtub", -right, -0.15, 0.0, pi / 2)
    out.put("TowelHolder", right, back - 1.3, 1.2, -pi / 2)
    out.put("Shelf", right, back - 1.3, 1.5, -pi / 2)
    out.put("GarbageCan", sx + 1.05, back - 0.3)
    out.put("LightSwitch", right, back - 2.0, 1.15, -pi / 2)
    spots = [(sx + k * 0.6 + dx, back - dy, COUNTER_M)
             for k in (-1, 1) for dx, dy in ((-0.15, 0.18), (0.16, 0.2), (0.0, 0.45))]  # fmt: skip
    shelf = [(right - 0.13, back - 1.3 + d, 1.526) for d in (-0.25, 0.0, 0.25)]
    _scatter(
        out, rng, ["SprayBottle", "SoapBottle", "SoapBar", "Cloth", "Candle", "ScrubBrush"], spots
    )
    _scatter(out, rng, ["ToiletPaper", "HandTowel", "TissueBox"], shelf)
    out.put("Plunger", sx + 1.95, back - 0.25)
    return (wide, deep), out


def _living_room(rng: np.random.Generator) -> tuple[tuple[float, float], _List]:
    wide, deep = 4.8, 4.2
    back, right = deep / 2, wide / 2
    out = _List()
    tv = float(rng.uniform(-0.4, 0.4))
    out.put("TVStand", tv, back)
    out.put("Television", tv, back - 0.2, 0.52)
    out.put("CoffeeTable", tv, 0.55)
    out.put("Sofa", -right, 0.3, 0.0, pi / 2)
    out.put("ArmChair", right, 0.6, 0.0, -pi / 2)
    out.put("FloorLamp", right - 0.35, back - 0.4)
    out.put("HousePlant", -right + 0.35, back - 0.4)
    out.put("SideTable", right - 0.4, -0.4)
    out.put("Window", right, 0.9, 1.1, -pi / 2)
    out.put("Shelf", tv, back, 1.75)
    out.put("LightSwitch", -right, back - 0.9, 1.15, pi / 2)
    table = [(tv + dx, 0.55 + dy, 0.42) for dx, dy in
             ((-0.4, 0.12), (-0.12, -0.14), (0.15, 0.12), (0.4, -0.1), (-0.4, -0.16))]  # fmt: skip
    shelf = [(tv + dx, back - 0.12, 1.776) for dx in (-0.27, 0.0, 0.27)]
    _scatter(out, rng, ["RemoteControl", "Newspaper", "Book", "KeyChain", "Watch"], table)
    _scatter(out, rng, ["Vase", "Statue", "Candle"], shelf)
    out.put("Laptop", right - 0.4, -0.4, 0.56, -pi / 2, State(open=True))
    out.put("Pillow", -right + 0.55, 0.75, 0.50, 0.4)
    out.put("Boots", right - 0.3, -1.1, 0.0, -1.2)
    out.put("Box", -right + 0.4, -1.4, 0.0, 0.5)
    return (wide, deep), out
