"""Rooms: kitchens, bathrooms and living rooms, each drawn from its label."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from zlib import crc32

import numpy as np

from clevrskills.suites.asgardbench.rules.layout import Fixture, Room

KITCHENS = (*(1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 25, 26, 28),)
BATHROOMS, LIVING_ROOMS = (406, 408, 427), (202, 203, 212)
TRAIN = {
    "kitchen": tuple(range(31, 61)),
    "bathroom": tuple(range(431, 441)),
    "living": tuple(range(231, 241)),
}
"""Labels of the rooms of the split ``train``."""
WITH_TABLE = frozenset({4, 7, 11, 15, 19, 20})
"""Kitchens of the split ``test`` that have a dining table."""
NORTH, EAST, WEST = 0.0, -math.pi / 2, math.pi / 2
"""By how much fixtures are turned that stand at a wall."""


class _Builder:
    """Fixtures one after the other, numbered by type."""

    def __init__(self) -> None:
        self.fixtures: list[Fixture] = []
        self._count: Counter[str] = Counter()

    def add(
        self,
        kind: str,
        place_m: tuple[float, float, float],
        size_m: tuple[float, float, float],
        yaw_rad: float = NORTH,
    ) -> None:
        self._count[kind] += 1
        name = f"{kind}_{self._count[kind]}"
        self.fixtures.append(Fixture(name, kind, *place_m, yaw_rad, *size_m))


@cache
def room(label: int) -> Room:
    """The room of a label: 1-99 a kitchen, 200-299 a living room, 400-499 a bathroom."""
    rng = np.random.default_rng((label, crc32(b"asgardbench room")))
    if label < 100:
        return _kitchen(label, rng)
    return _living_room(label, rng) if label < 300 else _bathroom(label, rng)


def _kitchen(label: int, rng: np.random.Generator) -> Room:
    width_m, depth_m = 5.2, round(float(rng.uniform(3.4, 4.4)), 2)
    back = depth_m / 2 - 0.3
    build = _Builder()
    left = -width_m / 2
    build.add("Fridge", (left + 0.4, back - 0.05, 0.0), (0.7, 0.7, 1.7))
    left += 0.8
    counters = [float(rng.choice((1.2, 1.6))), 1.0]
    for number, length in enumerate(counters):
        middle = left + length / 2
        build.add("CounterTop", (middle, back, 0.0), (length, 0.6, 0.92))
        for k in range(int(length / 0.5)):
            x_m = left + 0.5 * k + 0.25
            build.add("Cabinet", (x_m, back + 0.1, 1.45), (0.5, 0.35, 0.6))
            low = ("Drawer", 0.62, 0.18) if rng.random() < 0.6 or number else ("Cabinet", 0.1, 0.6)
            build.add(low[0], (x_m, back, low[1]), (0.5, 0.56, low[2]))
        left += length
        if number == 0:
            build.add("Sink", (left + 0.3, back, 0.7), (0.6, 0.6, 0.22))
            build.add("SinkBasin", (left + 0.3, back, 0.76), (0.45, 0.35, 0.16))
            build.add("Faucet", (left + 0.3, back + 0.2, 0.92), (0.06, 0.2, 0.3))
            build.add("Cabinet", (left + 0.3, back, 0.1), (0.6, 0.56, 0.5))
            left += 0.6
    burners = int(rng.choice((4, 4, 5, 6)))
    for k in range(burners):
        x_m, y_m = left + 0.15 + 0.22 * (k // 2), back + (0.14 if k % 2 else -0.1)
        build.add("StoveBurner", (x_m, y_m, 0.9), (0.18, 0.18, 0.02))
        build.add("StoveKnob", (left + 0.1 + 0.09 * k, back - 0.3, 0.82), (0.04, 0.03, 0.04))
    along = depth_m / 2 - 1.1
    east = width_m / 2 - 0.3
    for kind, size in (
        ("Microwave", (0.5, 0.35, 0.3)),
        ("CoffeeMachine", (0.25, 0.3, 0.35)),
        ("Toaster", (0.28, 0.18, 0.2)),
    ):
        build.add(kind, (east, along - size[0] / 2, 0.92), size, EAST)
        along -= size[0] + 0.1
    table = label in WITH_TABLE or (label > 30 and rng.random() < 0.5)
    west = -width_m / 2
    if table:
        build.add("DiningTable", (west + 0.5, -depth_m / 2 + 0.8, 0.0), (1.4, 0.8, 0.75), WEST)
        build.add("Chair", (west + 1.3, -depth_m / 2 + 0.5, 0.0), (0.45, 0.45, 0.9), EAST)
    if rng.random() < 0.6:
        build.add("SideTable", (east, -depth_m / 2 + 0.4, 0.0), (0.6, 0.5, 0.7), EAST)
    for k in range(int(rng.integers(3))):
        build.add("Shelf", (west + 0.15, 0.2, 1.2 + 0.35 * k), (0.8, 0.25, 0.3), WEST)
    build.add("GarbageCan", (west + 0.3, depth_m / 2 - 1.1, 0.0), (0.35, 0.35, 0.5), WEST)
    build.add("LightSwitch", (west + 0.02, -depth_m / 2 + 0.1, 1.2), (0.08, 0.02, 0.12), WEST)
    build.add("Window", (east + 0.3, 0.4, 1.2), (1.0, 0.05, 1.0), EAST)
    if rng.random() < 0.5:
        build.add("Stool", (0.5, -depth_m / 2 + 0.5, 0.0), (0.35, 0.35, 0.6))
    return Room(label, "kitchen", width_m, depth_m, tuple(build.fixtures))


def _bathroom(label: int, rng: np.random.Generator) -> Room:
    width_m, depth_m = round(float(rng.uniform(3.0, 3.6)), 2), 3.0
    back = depth_m / 2 - 0.3
    build = _Builder()
    build.add("CounterTop", (-0.7, back, 0.0), (0.8, 0.6, 0.86))
    build.add("Sink", (0.0, back, 0.64), (0.6, 0.6, 0.22))
    build.add("SinkBasin", (0.0, back, 0.7), (0.45, 0.35, 0.16))
    build.add("Faucet", (0.0, back + 0.2, 0.86), (0.06, 0.2, 0.3))
    build.add("Mirror", (0.0, depth_m / 2 - 0.03, 1.2), (0.9, 0.04, 0.8))
    build.add("Cabinet", (-0.7, back, 0.1), (0.6, 0.56, 0.6))
    build.add("Toilet", (1.1, back, 0.0), (0.4, 0.6, 0.8))
    build.add("Bathtub", (-width_m / 2 + 0.4, -0.4, 0.0), (1.6, 0.75, 0.55), WEST)
    build.add("TowelHolder", (width_m / 2 - 0.05, 0.0, 1.2), (0.5, 0.08, 0.1), EAST)
    build.add("ToiletPaperHanger", (width_m / 2 - 0.05, 0.8, 0.7), (0.2, 0.1, 0.1), EAST)
    build.add("Shelf", (width_m / 2 - 0.15, -0.8, 1.2), (0.8, 0.25, 0.3), EAST)
    build.add("LightSwitch", (-0.9, depth_m / 2 - 0.02, 1.2), (0.08, 0.02, 0.12))
    return Room(label, "bathroom", width_m, depth_m, tuple(build.fixtures))


def _living_room(label: int, rng: np.random.Generator) -> Room:
    width_m, depth_m = 5.0, round(float(rng.uniform(3.8, 4.5)), 2)
    back = depth_m / 2
    build = _Builder()
    build.add("TVStand", (0.0, back - 0.25, 0.0), (1.4, 0.45, 0.5))
    build.add("Television", (0.0, back - 0.2, 0.5), (1.0, 0.1, 0.6))
    build.add("CoffeeTable", (0.0, -0.2, 0.0), (1.0, 0.6, 0.42))
    build.add("Sofa", (0.0, -back + 0.5, 0.0), (1.9, 0.85, 0.8), math.pi)
    build.add("ArmChair", (-width_m / 2 + 0.5, -0.2, 0.0), (0.8, 0.8, 0.8), WEST)
    build.add("SideTable", (width_m / 2 - 0.3, -0.4, 0.0), (0.5, 0.5, 0.6), EAST)
    build.add("Shelf", (width_m / 2 - 0.15, 0.8, 1.1), (0.8, 0.25, 0.3), EAST)
    build.add("FloorLamp", (-width_m / 2 + 0.3, back - 0.3, 0.0), (0.35, 0.35, 1.6))
    build.add("HousePlant", (width_m / 2 - 0.4, back - 0.4, 0.0), (0.4, 0.4, 1.0))
    build.add("LightSwitch", (-1.6, back - 0.02, 1.2), (0.08, 0.02, 0.12))
    return Room(label, "living", width_m, depth_m, tuple(build.fixtures))
