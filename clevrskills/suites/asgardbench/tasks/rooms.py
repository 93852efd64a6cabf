"""Procedural kitchens, bathrooms and living rooms, each drawn from its label.

Modules are placed along the walls from left to right, free-standing fixtures by rejection sampling.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from zlib import crc32

import numpy as np

from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.rules.camera import DISTANCES_M, STAND_M
from clevrskills.suites.asgardbench.rules.layout import Box, Fixture, Room
from clevrskills.suites.asgardbench.rules.slots import grids

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
NORTH, EAST, WEST, SOUTH = 0.0, -math.pi / 2, math.pi / 2, math.pi
"""Yaw of fixtures at each wall, in radians."""
MODULE_M, SINK_M, DEEP_M, COUNTER_M = 0.6, 0.9, 0.62, 0.92
FRIDGE_M, FRIDGE_GAP_M = 0.7, 0.03
HIGH_M = 1.42
"""Lower edge of wall cabinets."""
STEP_M = 0.55
"""Space that the agent needs in front of a fixture."""
APPLIANCES = {"Microwave": (0.5, 0.06), "CoffeeMachine": (0.22, 0.12), "Toaster": (0.18, 0.3)}
"""Width of appliances, and distance of their origin from the wall."""


@dataclass
class Wall:
    """Wall along which fixtures are placed."""

    yaw_rad: float  # yaw of fixtures at the wall
    start: tuple[float, float]  # left end, seen from inside (x, y)
    length_m: float
    at_m: float = 0.0  # occupied length from the left end

    def point(self, along_m: float, away_m: float = 0.0) -> tuple[float, float]:
        """Return the position at a distance along and away from the wall."""
        c, s = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        return (self.start[0] + along_m * c + away_m * s, self.start[1] + along_m * s - away_m * c)

    def fixture(
        self,
        kind: str,
        along_m: float,
        away_m: float = 0.0,
        z_m: float = 0.0,
        *,
        model: str = "",
        width_m: float = 0.0,
        edge_m: float | None = None,
        taken: tuple[int, ...] = (),
    ) -> Fixture:
        """Return a fixture of a type at the wall, without an id; ``edge_m`` is the distance from
        the wall of the edge of its support, by default of its own front.
        """
        model, (x_m, y_m) = model or kind, self.point(along_m, away_m)
        front = -float(shape(model, width_m).low[1]) if edge_m is None else edge_m - away_m
        place = (round(x_m, 4), round(y_m, 4), round(z_m, 4), self.yaw_rad)
        return Fixture("", kind, *place, model, round(width_m, 3), round(front, 4), taken)


@dataclass
class _Builder:
    """Builder of a room."""

    kind: str
    label: int
    width_m: float
    depth_m: float
    rng: np.random.Generator
    fixtures: list[Fixture] = field(default_factory=list)
    scenery: list[Fixture] = field(default_factory=list)
    _count: Counter[str] = field(default_factory=Counter)

    def wall(self, yaw_rad: float) -> Wall:
        w, d = self.width_m / 2, self.depth_m / 2
        start = {NORTH: (-w, d), EAST: (w, d), SOUTH: (w, -d), WEST: (-w, -d)}[yaw_rad]
        return Wall(yaw_rad, start, self.width_m if yaw_rad in (NORTH, SOUTH) else self.depth_m)

    def add(self, fixture: Fixture) -> None:
        """Add a fixture with an id."""
        kind = fixture.type
        self._count[kind] += 1
        self.fixtures.append(replace(fixture, id=f"{kind}_{self._count[kind]}"))

    def decorate(self, fixture: Fixture) -> None:
        """Add scenery, which the rules ignore."""
        self.scenery.append(replace(fixture, id=f"{fixture.model}.{len(self.scenery)}"))

    def free(
        self,
        kind: str,
        walls: Sequence[Wall],
        *,
        z_m: float = 0.0,
        gap_m: float = 0.02,
        away_m: Sequence[float] = (0.0,),
        rule: bool = True,
    ) -> Fixture | None:
        """Add a fixture at a random free position along one of the walls, if there is one."""
        low, high = shape(kind).low, shape(kind).high
        half = float(high[0] - low[0]) / 2
        for _ in range(60):
            wall = walls[int(self.rng.integers(len(walls)))]
            if wall.length_m < 2 * half + 0.1:
                continue
            along = float(self.rng.uniform(half + 0.05, wall.length_m - half - 0.05))
            off = float(away_m[int(self.rng.integers(len(away_m)))]) + gap_m
            trial = wall.fixture(kind, along, off + float(high[1]), z_m)
            if self._fits(trial):
                (self.add if rule else self.decorate)(trial)
                return trial
        return None

    def _fits(self, trial: Fixture) -> bool:
        body, zone = box_of(trial), zone_of(trial)
        there = [*self.fixtures, *self.scenery]
        tall = [f for f in there if f.model not in ("Rug", "BackSplash")]
        return (
            self.encloses(body)
            and not any(_meet(body, box_of(f), 0.03) for f in there)
            and self.encloses(zone, 0.02)
            and not any(_meet(zone, box_of(f), -0.02) for f in tall)
            and not any(_meet(body, zone_of(f), -0.02) for f in self.fixtures)
        )

    def encloses(self, box: Box, slack_m: float = 0.005) -> bool:
        """Return whether a box is within the walls."""
        wide, deep = self.width_m / 2 + slack_m, self.depth_m / 2 + slack_m
        return -wide <= box[0] and box[3] <= wide and -deep <= box[1] and box[4] <= deep

    def room(self) -> Room:
        return Room(
            self.label, self.kind, self.width_m, self.depth_m,
            tuple(self.fixtures), tuple(self.scenery),
        )  # fmt: skip


@cache
def box_of(fixture: Fixture) -> Box:
    """Return the bounding box of a fixture in the room."""
    made = shape(fixture.model, fixture.width_m)
    return _turned_box(fixture, made.low.tolist(), made.high.tolist())


@cache
def zone_of(fixture: Fixture) -> Box:
    """Return the box in front of a fixture that its use requires to be free."""
    made = shape(fixture.model, fixture.width_m)
    away = min(DISTANCES_M.get(fixture.model, STAND_M), 0.9)
    low = [float(made.low[0]), -fixture.front_m - away - 0.1, 0.03 - fixture.z_m]
    high = [float(made.high[0]), -fixture.front_m - 0.02, 1.7 - fixture.z_m]
    return _turned_box(fixture, low, high)


def _turned_box(fixture: Fixture, low: Sequence[float], high: Sequence[float]) -> Box:
    c, s = math.cos(fixture.yaw_rad), math.sin(fixture.yaw_rad)
    corners = [
        (fixture.x_m + c * x - s * y, fixture.y_m + s * x + c * y)
        for x in (low[0], high[0])
        for y in (low[1], high[1])
    ]
    x, y = zip(*corners, strict=True)
    return min(x), min(y), fixture.z_m + low[2], max(x), max(y), fixture.z_m + high[2]


def _meet(a: Box, b: Box, gap_m: float) -> bool:
    """Return whether boxes are closer than a gap."""
    return all(a[k] < b[k + 3] + gap_m and b[k] < a[k + 3] + gap_m for k in range(3))


@cache
def room(label: int) -> Room:
    """Return the room of a label: 1-99 a kitchen, 200-299 a living room, 400-499 a bathroom."""
    for attempt in count():
        rng = np.random.default_rng((label, crc32(b"asgardbench room"), attempt))
        draw = _kitchen if label < 100 else _living_room if label < 300 else _bathroom
        if made := draw(label, rng):
            return made
    raise AssertionError


# ---- kitchens ----


def _counter(build: _Builder, wall: Wall, modules: int, on: Sequence[str]) -> None:
    """Place a counter with cupboards below and above and appliances on it; coffee machine and
    toaster share a module.
    """
    start, rng = wall.at_m, build.rng
    wide = modules * MODULE_M
    places: list[tuple[str, float]] = []
    side = modules - 1 if rng.random() < 0.5 else 0
    for k, name in enumerate(on):
        module = abs(side - k)
        for part, each in enumerate(name.split("+")):
            shift = 0.0 if "+" not in name else (-0.14, 0.15)[part]
            places.append((each, start + (module + 0.5) * MODULE_M + shift))
    middle = start + wide / 2
    columns = grids("CounterTop", wide)[0]
    left = middle + columns.left_m
    halves = [(at, APPLIANCES[name][0] / 2 + 0.02) for name, at in places]
    taken = tuple(
        column
        for column in range(columns.columns)
        if any(
            left + column * 0.15 < at + half and at - half < left + (column + 1) * 0.15
            for at, half in halves
        )
    )
    build.add(wall.fixture("CounterTop", middle, width_m=wide, taken=taken))
    build.decorate(wall.fixture("BackSplash", middle, width_m=wide))
    for name, at in places:
        build.add(wall.fixture(name, at, APPLIANCES[name][1], COUNTER_M, edge_m=DEEP_M))
    drawers = rng.random(modules) < 0.42
    for k in range(modules):
        at = start + (k + 0.5) * MODULE_M
        if drawers[k] and build._count["Drawer"] < 9:
            for level in (2, 1, 0):
                build.add(wall.fixture("Drawer", at, z_m=0.1 + 0.26 * level))
        else:
            build.add(wall.fixture("Cabinet", at))
        if rng.random() < 0.9:
            build.add(wall.fixture("Cabinet", at, z_m=HIGH_M, model="WallCabinet", edge_m=DEEP_M))
    wall.at_m += wide


def _sink(build: _Builder, wall: Wall) -> None:
    at = wall.at_m + SINK_M / 2
    build.add(wall.fixture("Sink", at))
    build.add(wall.fixture("SinkBasin", at, edge_m=DEEP_M))
    build.add(wall.fixture("Faucet", at, 0.05, COUNTER_M, edge_m=DEEP_M))
    build.add(wall.fixture("Cabinet", at, model="SinkCabinet"))
    build.decorate(wall.fixture("BackSplash", at, width_m=SINK_M))
    wall.at_m += SINK_M


def _stove(build: _Builder, wall: Wall, burners: int) -> None:
    wide = 0.6 if burners == 4 else 0.9
    at = wall.at_m + wide / 2
    build.decorate(wall.fixture("Stove", at, width_m=wide))
    build.decorate(wall.fixture("BackSplash", at, width_m=wide))
    build.decorate(wall.fixture("Hood", at, z_m=1.58, width_m=wide))
    across = (-0.14, 0.14) if burners == 4 else (-0.28, 0.0, 0.28)
    spots = [(x, y) for y in (0.17, 0.45) for x in across][:6]
    if burners == 5:
        spots.remove((0.0, 0.17))
    for k, (x, y) in enumerate(spots):
        build.add(wall.fixture("StoveBurner", at + x, y, COUNTER_M, edge_m=DEEP_M))
        knob = at + (k - (burners - 1) / 2) * 0.1
        build.add(wall.fixture("StoveKnob", knob, 0.606, 0.82, edge_m=DEEP_M))
    wall.at_m += wide


def _fridge(build: _Builder, wall: Wall) -> None:
    build.add(wall.fixture("Fridge", wall.at_m + FRIDGE_GAP_M + FRIDGE_M / 2))
    wall.at_m += FRIDGE_M + 2 * FRIDGE_GAP_M


def _corner(build: _Builder, wall: Wall) -> None:
    build.decorate(wall.fixture("Corner", wall.at_m + DEEP_M / 2))
    build.decorate(wall.fixture("BackSplash", wall.at_m + DEEP_M / 2, width_m=DEEP_M))
    wall.at_m += DEEP_M


_SECTIONS = {"fridge": _fridge, "sink": _sink, "corner": _corner}
Section = int | str
"""Number of modules of a counter, or name of a fixture."""
Run = tuple[float, Sequence[Section]]
"""Yaw of the fixtures along a wall, and its sections from left to right."""
_PLANS = ("line", "corner", "corner", "horseshoe", "galley")


def _layout(
    plan: str, n: Sequence[int], stove_m: float, rng: np.random.Generator
) -> tuple[Sequence[Run], float, float]:
    """Return the runs along the walls, and width and depth of a kitchen."""
    fridge_m = FRIDGE_M + 2 * FRIDGE_GAP_M
    line: list[Section]
    runs: list[Run]
    if plan == "line":  # everything along the north wall
        line = ["fridge", 2, "sink", 2 + n[0], "stove", 1]
        wide = fridge_m + SINK_M + stove_m + 0.6 * (5 + n[0])
        return [(NORTH, line)], wide, round(float(rng.uniform(3.3, 3.9)), 2)
    if plan == "corner":
        line = ["fridge", 1 + n[0], "sink", 1 + n[1], "stove", "corner"]
        wide = _corner_m(n, stove_m)
        depth = max(float(rng.uniform(3.4, 4.2)), DEEP_M + 0.6 * (3 + n[2]) + 0.1)
        return [(NORTH, line), (EAST, [3 + n[2]])], wide, round(depth, 2)
    if plan == "horseshoe":
        line = ["corner", 1 + n[0], "sink", 1 + n[1], "corner"]
        wide = max(2 * DEEP_M + SINK_M + 0.6 * (2 + n[0] + n[1]), 3.5)
        runs = [(WEST, ["fridge", 2, "end"]), (NORTH, line), (EAST, ["stove", 2 + n[2]])]
        depth = DEEP_M + max(fridge_m + 1.2 + 0.6, stove_m + 0.6 * (2 + n[2]) + 0.5)
        return runs, wide, max(round(depth, 2), 3.3)
    runs = [(NORTH, [1 + n[0], "sink", 2 + n[1]]), (SOUTH, ["fridge", 2, "stove", 1 + n[2]])]
    wide = max(SINK_M + 0.6 * (3 + n[0] + n[1]), fridge_m + stove_m + 0.6 * (3 + n[2])) + 0.15
    return runs, wide, round(float(rng.uniform(3.3, 3.7)), 2)


def _corner_m(n: Sequence[int], stove_m: float) -> float:
    """Return the occupied length of the north wall of a corner kitchen."""
    fridge_m = FRIDGE_M + 2 * FRIDGE_GAP_M
    return fridge_m + SINK_M + stove_m + 0.6 * (2 + n[0] + n[1]) + DEEP_M


def _machines(
    runs: Sequence[Run], machines: Sequence[str], rng: np.random.Generator
) -> dict[tuple[int, int], list[str]] | None:
    """Return the appliances on each counter, by the numbers of wall and section; ``None``: there
    is no room for them.
    """
    counters = [
        (w, k) for w, (_, line) in enumerate(runs) for k, c in enumerate(line)
        if isinstance(c, int) and c >= 2
    ]  # fmt: skip
    chosen = [counters[int(k)] for k in rng.permutation(len(counters))]
    put: dict[tuple[int, int], list[str]] = {}
    for k, machine in enumerate(machines):
        w, c = chosen[k % len(chosen)]
        if len(put.get((w, c), ())) + 1 >= runs[w][1][c]:  # type: ignore[operator]
            return None
        put.setdefault((w, c), []).append(machine)
    return put


def _kitchen(label: int, rng: np.random.Generator) -> Room | None:
    plan = _PLANS[int(rng.integers(len(_PLANS)))]
    burners = int(rng.choice((4, 4, 4, 5, 6)))
    stove_m = 0.6 if burners == 4 else 0.9
    machines = ["Microwave", "CoffeeMachine+Toaster"]
    if rng.random() < 0.5:
        machines = ["Microwave", "Toaster+CoffeeMachine"]
    mirrored = bool(rng.random() < 0.5)
    n = [int(k) for k in rng.integers(0, 2, 6)]
    runs, wide, depth = _layout(plan, n, stove_m, rng)
    wide = round(wide + float(rng.uniform(0.0, 0.3)), 2)
    table = label in WITH_TABLE or (label > 30 and rng.random() < 0.5)
    if table:
        depth = round(max(depth, 3.9) + 0.3, 2)
        if plan in ("horseshoe", "galley"):
            wide = round(wide + 1.5, 2)
    build = _Builder("kitchen", label, wide, depth, rng)
    put = _machines(runs, machines, rng)
    if put is None:
        return None
    for w, (yaw, line) in enumerate(runs):
        wall = build.wall(yaw)
        if plan == "horseshoe" and yaw == WEST:
            wall.at_m = wall.length_m - DEEP_M - FRIDGE_M - 2 * FRIDGE_GAP_M - 1.2
        if plan in ("corner", "horseshoe") and yaw == EAST:
            wall.at_m = DEEP_M
        if plan == "corner" and yaw == NORTH:
            wall.at_m = wide - _corner_m(n, stove_m)
        for k, section in enumerate(line):
            if isinstance(section, int):
                _counter(build, wall, section, put.get((w, k), ()))
            elif section == "stove":
                _stove(build, wall, burners)
            elif section in _SECTIONS:
                if section == "corner" and k and plan == "horseshoe":
                    wall.at_m = wall.length_m - DEEP_M
                _SECTIONS[section](build, wall)
    if mirrored:
        build = _mirrored(build)
    _furnish_kitchen(build, table)
    made = build.room()
    kinds = Counter(f.type for f in made.fixtures)
    if table and not kinds["DiningTable"]:
        return None
    needed = ("Drawer", "GarbageCan", "LightSwitch", "Window")
    return made if all(kinds[kind] for kind in needed) else None


def _mirrored(build: _Builder) -> _Builder:
    """Return the room mirrored."""

    def flip(fixture: Fixture) -> Fixture:
        yaw = {NORTH: NORTH, SOUTH: SOUTH, EAST: WEST, WEST: EAST}[fixture.yaw_rad]
        columns = grids(fixture.model, fixture.width_m)[0].columns if fixture.taken else 0
        taken = tuple(sorted(columns - 1 - c for c in fixture.taken))
        return replace(fixture, x_m=-fixture.x_m, yaw_rad=yaw, taken=taken)

    build.fixtures = [flip(f) for f in build.fixtures]
    build.scenery = [flip(f) for f in build.scenery]
    return build


def _furnish_kitchen(build: _Builder, table: bool) -> None:
    rng = build.rng
    walls = [build.wall(yaw) for yaw in (SOUTH, WEST, EAST, NORTH)]
    sink = next(f for f in build.fixtures if f.type == "Sink")
    above = [f for f in build.fixtures if f.yaw_rad == sink.yaw_rad]
    wall = build.wall(sink.yaw_rad)
    c, s = math.cos(wall.yaw_rad), math.sin(wall.yaw_rad)
    at = (sink.x_m - wall.start[0]) * c + (sink.y_m - wall.start[1]) * s
    window = wall.fixture("Window", at, z_m=1.25, edge_m=DEEP_M)
    beside = [f for f in (*above, *build.scenery) if f.model != "BackSplash"]
    if any(_meet(box_of(window), box_of(f), 0.0) for f in beside):
        build.free("Window", walls, z_m=1.1, gap_m=0.0)
    else:
        build.add(window)
    away = (0.02, 0.3, 0.6, 0.9, 1.2)
    if table and (there := build.free("DiningTable", walls, away_m=away)):
        _chairs(build, there)
    if rng.random() < 0.6:
        build.free("SideTable", walls)
    for _ in range(int(rng.integers(3))):
        build.free("Shelf", walls, z_m=1.35, gap_m=0.0)
    build.free("GarbageCan", walls)
    build.free("LightSwitch", walls, z_m=1.2, gap_m=0.0)
    if rng.random() < 0.5:
        build.free("Stool", walls)
    if rng.random() < 0.6:
        build.free("Picture", walls, z_m=1.4, gap_m=0.0, rule=False)


def _chairs(build: _Builder, table: Fixture) -> None:
    """Place chairs at the two ends of a table."""
    c, s = math.cos(table.yaw_rad), math.sin(table.yaw_rad)
    for side in (-1, 1):
        x_m, y_m = table.x_m + side * 0.86 * c, table.y_m + side * 0.86 * s
        yaw = table.yaw_rad + side * -math.pi / 2
        chair = Fixture("", "Chair", round(x_m, 4), round(y_m, 4), 0.0, yaw, "Chair", 0.0, 0.21)
        body, there = box_of(chair), [*build.fixtures, *build.scenery]
        if (
            build.encloses(body)
            and not any(_meet(body, box_of(f), 0.02) for f in there if f.id != "DiningTable_1")
            and not any(_meet(body, zone_of(f), -0.05) for f in there if f.type == "Fridge")
        ):
            build.add(chair)


# ---- other rooms ----


def _bathroom(label: int, rng: np.random.Generator) -> Room | None:
    width_m, depth_m = (round(float(v), 2) for v in rng.uniform((3.3, 2.8), (4.0, 3.3)))
    build = _Builder("bathroom", label, width_m, depth_m, rng)
    north = build.wall(NORTH)
    modules = [int(k) for k in rng.permutation((1, 1 + int(rng.integers(2))))]
    total = SINK_M + MODULE_M * sum(modules)
    north.at_m = float(rng.uniform(0.1, max(width_m - total - 0.75, 0.15)))
    for cupboards in (modules[0], 0, modules[1]):
        start, wide = north.at_m, MODULE_M * cupboards
        if not cupboards:
            _sink(build, north)
            build.add(north.fixture("Mirror", start + SINK_M / 2, z_m=1.2, edge_m=DEEP_M))
            continue
        build.add(north.fixture("CounterTop", start + wide / 2, width_m=wide))
        build.decorate(north.fixture("BackSplash", start + wide / 2, width_m=wide))
        for m in range(cupboards):
            build.add(north.fixture("Cabinet", start + (m + 0.5) * MODULE_M))
        north.at_m += wide
    walls = [build.wall(yaw) for yaw in (EAST, WEST, SOUTH)]
    for kind in ("Bathtub", "Toilet"):
        if build.free(kind, walls, gap_m=0.0) is None:
            return None
    build.free("TowelHolder", walls, z_m=1.2, gap_m=0.0)
    build.free("ToiletPaperHanger", walls, z_m=0.7, gap_m=0.0)
    if build.free("Shelf", walls, z_m=1.3, gap_m=0.0) is None:
        return None
    build.free("GarbageCan", walls)
    build.free("LightSwitch", walls, z_m=1.2, gap_m=0.0)
    if rng.random() < 0.6:
        build.free("Window", walls, z_m=1.2, gap_m=0.0)
    return (_mirrored(build) if rng.random() < 0.5 else build).room()


def _living_room(label: int, rng: np.random.Generator) -> Room | None:
    width_m, depth_m = (round(float(v), 2) for v in rng.uniform((4.4, 4.0), (5.4, 4.8)))
    build = _Builder("living", label, width_m, depth_m, rng)
    north = build.wall(NORTH)
    tv = width_m / 2 + float(rng.uniform(-0.5, 0.5))
    build.add(north.fixture("TVStand", tv, 0.03))
    build.add(north.fixture("Television", tv, 0.24, 0.52, edge_m=0.45))
    build.decorate(north.fixture("Rug", tv, 2.1))
    build.add(north.fixture("CoffeeTable", tv, 2.1))
    build.add(build.wall(SOUTH).fixture("Sofa", width_m - tv, 0.02))
    walls = [build.wall(yaw) for yaw in (EAST, WEST)]
    if build.free("ArmChair", walls, gap_m=0.05) is None:
        return None
    for kind in ("SideTable", "FloorLamp", "HousePlant"):
        if build.free(kind, [*walls, build.wall(NORTH), build.wall(SOUTH)]) is None:
            return None
    if build.free("Shelf", walls, z_m=1.3, gap_m=0.0) is None:
        return None
    build.free("Window", walls, z_m=1.0, gap_m=0.0)
    build.free("LightSwitch", walls, z_m=1.2, gap_m=0.0)
    for _ in range(int(rng.integers(1, 3))):
        build.free("Picture", [*walls, north], z_m=1.5, gap_m=0.0, rule=False)
    return build.room()
