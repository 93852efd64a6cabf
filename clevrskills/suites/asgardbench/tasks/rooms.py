"""Rooms: kitchens, bathrooms and living rooms, each drawn from its label.

Along a wall stand modules, from its left end to its right as one sees it. What stands free is drawn
until it is in nobody's way.
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
from clevrskills.suites.asgardbench.rules.layout import Fixture, Room
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
"""By how much fixtures are turned that stand at a wall."""
MODULE_M, SINK_M, DEEP_M, COUNTER_M = 0.6, 0.9, 0.62, 0.92
FRIDGE_M, FRIDGE_GAP_M = 0.7, 0.03
HIGH_M = 1.42
"""Lower edge of wall cabinets."""
STEP_M = 0.55
"""How much room somebody needs who stands before something."""
APPLIANCES = {"Microwave": (0.5, 0.06), "CoffeeMachine": (0.22, 0.12), "Toaster": (0.18, 0.3)}
"""Width of appliances, and how far their origin is from the wall."""


@dataclass
class Wall:
    """A wall along which things stand.

    Attributes:
        yaw_rad: By how much things at it are turned.
        start: Its left end, as one sees it (x, y).
        length_m: Its length.
        at_m: How much of it is taken from its left end on.
    """

    yaw_rad: float
    start: tuple[float, float]
    length_m: float
    at_m: float = 0.0

    def point(self, along_m: float, away_m: float = 0.0) -> tuple[float, float]:
        """A place before it."""
        c, s = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        return (
            self.start[0] + along_m * c + away_m * s,
            self.start[1] + along_m * s - away_m * c,
        )


@dataclass
class _Builder:
    """Fixtures one after the other, numbered by type."""

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

    def add(
        self,
        kind: str,
        wall: Wall,
        along_m: float,
        away_m: float = 0.0,
        z_m: float = 0.0,
        model: str = "",
        width_m: float = 0.0,
        edge_m: float | None = None,
        taken: tuple[int, ...] = (),
    ) -> Fixture:
        """Add a fixture of a type at a wall; `edge_m` is how far the edge of what it stands on is
        from the wall, that of itself if ``None``.
        """
        self._count[kind] += 1
        name, model = f"{kind}_{self._count[kind]}", model or kind
        made = self._made(name, kind, wall, along_m, away_m, z_m, model, width_m, edge_m, taken)
        self.fixtures.append(made)
        return made

    def decorate(
        self, model: str, wall: Wall, along_m: float, away_m: float = 0.0, z_m: float = 0.0,
        width_m: float = 0.0,
    ) -> None:  # fmt: skip
        """Add what is no object of the rules."""
        name = f"{model}.{len(self.scenery)}"
        self.scenery.append(
            self._made(name, model, wall, along_m, away_m, z_m, model, width_m, None, ())
        )

    def _made(
        self, name: str, kind: str, wall: Wall, along_m: float, away_m: float, z_m: float,
        model: str, width_m: float, edge_m: float | None, taken: tuple[int, ...],
    ) -> Fixture:  # fmt: skip
        x_m, y_m = wall.point(along_m, away_m)
        front = -float(shape(model, width_m).low[1]) if edge_m is None else edge_m - away_m
        place = (round(x_m, 4), round(y_m, 4), round(z_m, 4), wall.yaw_rad)
        return Fixture(name, kind, *place, model, round(width_m, 3), round(front, 4), taken)

    def free(
        self,
        kind: str,
        walls: Sequence[Wall],
        *,
        model: str = "",
        z_m: float = 0.0,
        gap_m: float = 0.02,
        away_m: Sequence[float] = (0.0,),
        rule: bool = True,
    ) -> Fixture | None:
        """Add what stands free or hangs somewhere along one of the walls, if there is room."""
        model = model or kind
        low, high = shape(model).low, shape(model).high
        for _ in range(60):
            wall = walls[int(self.rng.integers(len(walls)))]
            half = float(high[0] - low[0]) / 2
            if wall.length_m < 2 * half + 0.1:
                continue
            along = float(self.rng.uniform(half + 0.05, wall.length_m - half - 0.05))
            off = float(away_m[int(self.rng.integers(len(away_m)))]) + gap_m
            back = off + float(high[1])
            trial = self._made("", kind, wall, along, back, z_m, model, 0.0, None, ())
            if self._fits(trial):
                add = self.add if rule else self.decorate
                add(kind, wall, along, back, z_m)
                return trial
        return None

    def _fits(self, trial: Fixture) -> bool:
        room = Room(self.label, self.kind, self.width_m, self.depth_m, ())
        body = box_of(trial)
        there = [*self.fixtures, *self.scenery]
        if not _inside(room, body) or any(_meet(body, box_of(f), 0.03) for f in there):
            return False
        zone = zone_of(trial)
        tall = [box_of(f) for f in there if f.model not in ("Rug", "BackSplash")]
        if trial.model != "Rug":
            if not _inside(room, zone, 0.02) or any(_meet(zone, b, -0.02) for b in tall):
                return False
            return not any(_meet(body, zone_of(f), -0.02) for f in self.fixtures)
        return True

    def room(self) -> Room:
        return Room(
            self.label, self.kind, self.width_m, self.depth_m,
            tuple(self.fixtures), tuple(self.scenery),
        )  # fmt: skip


Box = tuple[float, float, float, float, float, float]


@cache
def box_of(fixture: Fixture) -> Box:
    """The box around a fixture in the room: lowest and highest x, y, z."""
    made = shape(fixture.model, fixture.width_m)
    return _turned_box(fixture, made.low.tolist(), made.high.tolist())


@cache
def zone_of(fixture: Fixture) -> Box:
    """Where somebody stands who uses a fixture, and what opens towards him."""
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
    """Whether boxes are nearer to one another than a gap."""
    return all(a[k] < b[k + 3] + gap_m and b[k] < a[k + 3] + gap_m for k in range(3))


def _inside(room: Room, box: Box, slack_m: float = 0.005) -> bool:
    wide, deep = room.width_m / 2 + slack_m, room.depth_m / 2 + slack_m
    return -wide <= box[0] and box[3] <= wide and -deep <= box[1] and box[4] <= deep


@cache
def room(label: int) -> Room:
    """The room of a label: 1-99 a kitchen, 200-299 a living room, 400-499 a bathroom."""
    for attempt in count():
        rng = np.random.default_rng((label, crc32(b"asgardbench room"), attempt))
        draw = _kitchen if label < 100 else _living_room if label < 300 else _bathroom
        made = draw(label, rng)
        if made is not None:
            return made
    raise AssertionError


# ---- kitchens ----


def _counter(build: _Builder, wall: Wall, modules: int, on: Sequence[str], window: bool) -> None:
    """Counter with cupboards below and above, and appliances on it, each on a module of its own
    but for the coffee machine and the toaster, which share one.
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
    taken = []
    for column in range(columns.columns):
        a, b = left + column * 0.15, left + (column + 1) * 0.15
        for name, at in places:
            half = APPLIANCES[name][0] / 2 + 0.02
            if a < at + half and at - half < b:
                taken.append(column)
                break
    build.add("CounterTop", wall, middle, width_m=wide, taken=tuple(taken))
    build.decorate("BackSplash", wall, middle, width_m=wide)
    for name, at in places:
        build.add(name, wall, at, APPLIANCES[name][1], COUNTER_M, edge_m=DEEP_M)
    drawers = rng.random(modules) < 0.42
    for k in range(modules):
        at = start + (k + 0.5) * MODULE_M
        if drawers[k] and build._count["Drawer"] < 9:
            for level in (2, 1, 0):
                build.add("Drawer", wall, at, z_m=0.1 + 0.26 * level)
        else:
            build.add("Cabinet", wall, at)
        if not window and rng.random() < 0.9:
            build.add("Cabinet", wall, at, z_m=HIGH_M, model="WallCabinet", edge_m=DEEP_M)
    wall.at_m += wide


def _sink(build: _Builder, wall: Wall) -> None:
    at = wall.at_m + SINK_M / 2
    build.add("Sink", wall, at)
    build.add("SinkBasin", wall, at, edge_m=DEEP_M)
    build.add("Faucet", wall, at, 0.05, COUNTER_M, edge_m=DEEP_M)
    build.add("Cabinet", wall, at, model="SinkCabinet")
    build.decorate("BackSplash", wall, at, width_m=SINK_M)
    wall.at_m += SINK_M


def _stove(build: _Builder, wall: Wall, burners: int) -> None:
    wide = 0.6 if burners == 4 else 0.9
    at = wall.at_m + wide / 2
    build.decorate("Stove", wall, at, width_m=wide)
    build.decorate("BackSplash", wall, at, width_m=wide)
    build.decorate("Hood", wall, at, z_m=1.58, width_m=wide)
    across = (-0.14, 0.14) if burners == 4 else (-0.28, 0.0, 0.28)
    spots = [(x, y) for y in (0.17, 0.45) for x in across][:6]
    if burners == 5:
        spots.remove((0.0, 0.17))
    for k, (x, y) in enumerate(spots):
        build.add("StoveBurner", wall, at + x, y, COUNTER_M, edge_m=DEEP_M)
        knob = at + (k - (burners - 1) / 2) * 0.1
        build.add("StoveKnob", wall, knob, 0.606, 0.82, edge_m=DEEP_M)
    wall.at_m += wide


def _fridge(build: _Builder, wall: Wall) -> None:
    at = wall.at_m + FRIDGE_GAP_M + FRIDGE_M / 2
    build.add("Fridge", wall, at, 0.0)
    wall.at_m += FRIDGE_M + 2 * FRIDGE_GAP_M


_PLANS = ("line", "corner", "corner", "horseshoe", "galley")


def _kitchen(label: int, rng: np.random.Generator) -> Room | None:
    plan = _PLANS[int(rng.integers(len(_PLANS)))]
    burners = int(rng.choice((4, 4, 4, 5, 6)))
    stove_m = 0.6 if burners == 4 else 0.9
    fridge_m = FRIDGE_M + 2 * FRIDGE_GAP_M
    machines = ["Microwave", "CoffeeMachine+Toaster"]
    if rng.random() < 0.5:
        machines = ["Microwave", "Toaster+CoffeeMachine"]
    mirrored = bool(rng.random() < 0.5)
    n = [int(k) for k in rng.integers(0, 2, 6)]
    if plan == "line":  # everything along the north wall
        sections = ["fridge", 2, "sink", 2 + n[0], "stove", 1]
        wide = fridge_m + SINK_M + stove_m + 0.6 * (5 + n[0])
        runs = [(NORTH, sections)]
        depth = round(float(rng.uniform(3.3, 3.9)), 2)
    elif plan == "corner":
        sections = ["fridge", 1 + n[0], "sink", 1 + n[1], "stove", "corner"]
        wide = fridge_m + SINK_M + stove_m + 0.6 * (2 + n[0] + n[1]) + DEEP_M
        runs = [(NORTH, sections), (EAST, [3 + n[2]])]
        depth = round(max(float(rng.uniform(3.4, 4.2)), DEEP_M + 0.6 * (3 + n[2]) + 0.1), 2)
    elif plan == "horseshoe":
        sections = ["corner", 1 + n[0], "sink", 1 + n[1], "corner"]
        wide = max(2 * DEEP_M + SINK_M + 0.6 * (2 + n[0] + n[1]), 3.5)
        runs = [(WEST, ["fridge", 2, "end"]), (NORTH, sections), (EAST, ["stove", 2 + n[2]])]
        depth = round(DEEP_M + max(fridge_m + 1.2 + 0.6, stove_m + 0.6 * (2 + n[2]) + 0.5), 2)
        depth = max(depth, 3.3)
    else:
        runs = [
            (NORTH, [1 + n[0], "sink", 2 + n[1]]),
            (SOUTH, ["fridge", 2, "stove", 1 + n[2]]),
        ]
        wide = max(SINK_M + 0.6 * (3 + n[0] + n[1]), fridge_m + stove_m + 0.6 * (3 + n[2])) + 0.15
        depth = round(float(rng.uniform(3.3, 3.7)), 2)
    wide = round(wide + float(rng.uniform(0.0, 0.3)), 2)
    table = label in WITH_TABLE or (label > 30 and rng.random() < 0.5)
    if table:
        depth = round(max(depth, 3.9) + 0.3, 2)
        if plan in ("horseshoe", "galley"):
            wide = round(wide + 1.5, 2)
    build = _Builder("kitchen", label, wide, depth, rng)
    counters = [(w, k) for w, (_, sections) in enumerate(runs) for k, c in enumerate(sections)
                if isinstance(c, int) and c >= 2]  # fmt: skip
    chosen = [counters[int(k)] for k in rng.permutation(len(counters))]
    put: dict[tuple[int, int], list[str]] = {}
    for k, machine in enumerate(machines):
        w, c = chosen[k % len(chosen)]
        if isinstance(runs[w][1][c], int) and len(put.get((w, c), ())) + 1 < runs[w][1][c]:  # type: ignore[operator]
            put.setdefault((w, c), []).append(machine)
        else:
            return None
    for w, (yaw, sections) in enumerate(runs):
        wall = build.wall(yaw)
        if plan == "horseshoe" and yaw == WEST:
            wall.at_m = wall.length_m - DEEP_M - fridge_m - 1.2
        if plan in ("corner", "horseshoe") and yaw == EAST:
            wall.at_m = DEEP_M
        if plan == "corner" and yaw == NORTH:
            total = wide - (fridge_m + SINK_M + stove_m + 0.6 * (2 + n[0] + n[1]) + DEEP_M)
            wall.at_m = total
        if plan == "horseshoe" and yaw == NORTH:
            pass
        for k, section in enumerate(sections):
            if section == "fridge":
                _fridge(build, wall)
            elif section == "sink":
                _sink(build, wall)
            elif section == "stove":
                _stove(build, wall, burners)
            elif section == "corner":
                if k and plan == "horseshoe":
                    wall.at_m = wall.length_m - DEEP_M
                build.decorate("Corner", wall, wall.at_m + DEEP_M / 2)
                build.decorate("BackSplash", wall, wall.at_m + DEEP_M / 2, width_m=DEEP_M)
                wall.at_m += DEEP_M
            elif isinstance(section, int):
                _counter(build, wall, section, put.get((w, k), ()), False)
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
    """The same with left and right exchanged."""

    def flip(fixture: Fixture) -> Fixture:
        yaw = {NORTH: NORTH, SOUTH: SOUTH, EAST: WEST, WEST: EAST}[fixture.yaw_rad]
        columns = 0
        if fixture.taken:
            columns = grids(fixture.model, fixture.width_m)[0].columns
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
    window = build._made("", "Window", wall, at, 0.0, 1.25, "Window", 0.0, DEEP_M, ())
    if not any(_meet(box_of(window), box_of(f), 0.0) for f in (*above, *build.scenery)
               if f.model not in ("BackSplash",)):  # fmt: skip
        build.add("Window", wall, at, 0.0, 1.25, edge_m=DEEP_M)
    else:
        build.free("Window", walls, z_m=1.1, gap_m=0.0)
    if table:
        there = build.free("DiningTable", walls, away_m=(0.02, 0.3, 0.6, 0.9, 1.2))
        if there is not None:
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
    """Chairs at the two ends of a table."""
    c, s = math.cos(table.yaw_rad), math.sin(table.yaw_rad)
    for side in (-1, 1):
        x_m, y_m = table.x_m + side * 0.86 * c, table.y_m + side * 0.86 * s
        yaw = table.yaw_rad + side * -math.pi / 2
        chair = Fixture("", "Chair", round(x_m, 4), round(y_m, 4), 0.0, yaw, "Chair", 0.0, 0.21)
        room = Room(build.label, build.kind, build.width_m, build.depth_m, ())
        there = [*build.fixtures, *build.scenery]
        if not _inside(room, box_of(chair)):
            continue
        if any(_meet(box_of(chair), box_of(f), 0.02) for f in there if f.id != "DiningTable_1"):
            continue
        if any(_meet(box_of(chair), zone_of(f), -0.05) for f in there if f.type == "Fridge"):
            continue
        build._count["Chair"] += 1
        build.fixtures.append(replace(chair, id=f"Chair_{build._count['Chair']}"))


# ---- other rooms ----


def _bathroom(label: int, rng: np.random.Generator) -> Room | None:
    width_m, depth_m = (round(float(v), 2) for v in rng.uniform((3.3, 2.8), (4.0, 3.3)))
    build = _Builder("bathroom", label, width_m, depth_m, rng)
    north = build.wall(NORTH)
    modules = [int(k) for k in rng.permutation((1, 1 + int(rng.integers(2))))]
    total = SINK_M + MODULE_M * sum(modules)
    north.at_m = float(rng.uniform(0.1, max(width_m - total - 0.75, 0.15)))
    for k, part in enumerate((modules[0], "sink", modules[1])):
        if part == "sink":
            middle = north.at_m + SINK_M / 2
            _sink(build, north)
            build.add("Mirror", north, middle, 0.0, 1.2, edge_m=DEEP_M)
        elif k == 0 or modules[1]:
            start, wide = north.at_m, MODULE_M * int(str(part))
            build.add("CounterTop", north, start + wide / 2, width_m=wide)
            build.decorate("BackSplash", north, start + wide / 2, width_m=wide)
            for m in range(int(str(part))):
                build.add("Cabinet", north, start + (m + 0.5) * MODULE_M)
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
    if _mirrors(rng):
        build = _mirrored(build)
    return build.room()


def _mirrors(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.5)


def _living_room(label: int, rng: np.random.Generator) -> Room | None:
    width_m, depth_m = (round(float(v), 2) for v in rng.uniform((4.4, 4.0), (5.4, 4.8)))
    build = _Builder("living", label, width_m, depth_m, rng)
    north = build.wall(NORTH)
    tv = width_m / 2 + float(rng.uniform(-0.5, 0.5))
    build.add("TVStand", north, tv, 0.03)
    build.add("Television", north, tv, 0.24, 0.52, edge_m=0.45)
    build.decorate("Rug", north, tv, 2.1)
    build.add("CoffeeTable", north, tv, 2.1)
    build.add("Sofa", build.wall(SOUTH), width_m - tv, 0.02)
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
