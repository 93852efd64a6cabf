"""Slots: places for objects in or on containers, and their poses there.

Fixtures are divided into cells. An object occupies a block of cells that is at least as large as
it; its slot is the number of the first cell. In dishes each slot holds one object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import atan2, ceil, cos, pi, radians, sin
from zlib import crc32

from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.rules.layout import Fixture

CELL_M = 0.14
"""Width of the smallest cells."""
TALL_M = 0.16
"""Height above which an object is placed at the back, so that it hides nothing."""
Pose = tuple[float, float, float, float, float]
"""Center of an object's bounding box, x, y, z in meters; yaw, and tilt about its y axis before
that, radians."""
Origin = tuple[float, float, float, float]
"""Origin of a model, x, y, z in meters, and yaw, radians."""


@dataclass(frozen=True)
class Grid:
    """Grid of cells at one height."""

    left_m: float  # left edge, in the frame of the model
    front_m: float  # front edge
    z_m: float  # height of the surface
    columns: int  # cells from left to right
    rows: int  # cells from front to back
    pitch_m: tuple[float, float] = (0.15, 0.15)  # width and depth of a cell
    clear_m: float = 9.0  # clearance above
    shift_m: float = 0.0  # forward shift when the container is open

    @property
    def cells(self) -> int:
        return self.columns * self.rows


def _spot(x: float, y: float, z: float) -> Grid:
    """Return a slot for one object of any width."""
    return Grid(x - 0.5, y - 0.5, z, 1, 1, (1.0, 1.0))


_CUPBOARD = (0.14, 0.14)
GRIDS: dict[str, tuple[Grid, ...]] = {
    "DiningTable": (Grid(-0.675, -0.375, 0.75, 9, 5),),
    "SideTable": (Grid(-0.3, -0.225, 0.62, 4, 3),),
    "CoffeeTable": (Grid(-0.525, -0.29, 0.42, 7, 4, (0.15, 0.145)),),
    "TVStand": tuple(Grid(x, -0.39, 0.52, 2, 2) for x in (-0.87, 0.57)),
    "Shelf": (Grid(-0.435, -0.295, 0.026, 6, 2, (0.145, 0.14), 0.4),),
    "WallCabinet": tuple(Grid(-0.28, -0.325, z, 4, 2, _CUPBOARD, 0.32) for z in (0.018, 0.356)),
    "Cabinet": tuple(Grid(-0.28, -0.56, z, 4, 2, _CUPBOARD, 0.36) for z in (0.118, 0.5)),
    "SinkCabinet": (Grid(-0.42, -0.56, 0.118, 6, 2, _CUPBOARD, 0.5),),
    "Drawer": (Grid(-0.26, -0.45, 0.04, 4, 2, (0.13, 0.14), 0.2, 0.45),),
    "Fridge": tuple(
        Grid(-0.29, -0.61, z, 4, 2, (0.145, 0.14), 0.33) for z in (0.972, 1.352, 0.552, 0.132)
    ),
    "SinkBasin": (Grid(-0.32, -0.455, 0.766, 4, 2, (0.16, 0.15)),),
    "Microwave": (_spot(-0.06, -0.17, 0.025),),
    "CoffeeMachine": (_spot(0.0, -0.19, 0.04),),
    "Toaster": tuple(_spot(x, 0.0, 0.165) for x in (-0.034, 0.034)),
    "StoveBurner": (_spot(0.0, 0.0, 0.011),),
    "GarbageCan": (_spot(0.0, 0.0, 0.4),),
    "Sofa": (Grid(-0.78, -0.75, 0.5, 6, 1, (0.26, 0.3)),),
    "ArmChair": (Grid(-0.26, -0.75, 0.5, 2, 1, (0.26, 0.3)),),
    "Plate": (_spot(-0.03, 0, 0.006), _spot(0.045, 0.035, 0.008), _spot(0.045, -0.035, 0.01)),
    "Bowl": (_spot(0, 0, 0.012), _spot(0.015, 0.012, 0.05)),
    "Pan": (_spot(-0.02, 0.02, 0.009), _spot(0.03, -0.02, 0.018), _spot(0.02, 0.035, 0.027)),
    "Pot": (_spot(0, 0, 0.011), _spot(-0.035, 0.02, 0.045), _spot(0.03, -0.03, 0.07)),
    "Mug": (_spot(0, 0, 0.01),),
    "Cup": (_spot(0, 0, 0.011),),
    "Box": (_spot(-0.07, 0, 0.008), _spot(0.07, 0, 0.008), _spot(0, 0, 0.03)),
}
"""Grids of each model, in the order of slot numbers."""
_DISHES = {"Plate": (0.1, 0.022), "Bowl": (0.055, 0.06), "Pan": (0.078, 0.036),
           "Pot": (0.09, 0.09), "Mug": (0.028, 0.085), "Cup": (0.028, 0.11)}  # fmt: skip
"""Half the width at the bottom, and depth, of dishes over whose rim long objects lean."""
_TURNING = frozenset(
    "Plate Bowl Cup Pot Kettle Apple Tomato Egg Lettuce Candle SaltShaker Vase WineBottle".split()
)
"""Objects with an arbitrary yaw."""


@cache
def grids(model: str, width_m: float) -> tuple[Grid, ...]:
    """Return the grids of a model; none: it holds nothing."""
    if model == "CounterTop":
        columns = int((width_m - 0.02) / 0.15)
        return (Grid(-0.075 * columns, -0.61, 0.92, columns, 4),)
    return GRIDS.get(model, ())


@cache
def footprint(kind: str) -> tuple[int, int, bool]:
    """Return the columns and rows of cells that an object occupies, and whether it lies lengthwise
    along y.
    """
    wide, deep = shape(kind).size_m[:2].tolist()
    turned = deep <= CELL_M < wide
    if turned:
        wide, deep = deep, wide
    return max(1, ceil(wide / CELL_M - 1e-2)), max(1, ceil(deep / CELL_M - 1e-2)), turned


@cache
def blocks(
    model: str, width_m: float, taken: tuple[int, ...], kind: str
) -> dict[int, frozenset[int]]:
    """Return the slots of an object of a kind in order of preference, each with its cells."""
    found = {}
    first = 0
    for grid in grids(model, width_m):
        columns, rows, _ = footprint(kind)
        if grid.pitch_m[0] > 0.2:
            columns = rows = 1
        high = float(shape(kind).size_m[2])
        across = range(grid.columns - columns + 1)  # sorted from the middle below
        away = range(grid.rows - rows + 1)
        for row in reversed(away) if high > TALL_M else away:
            for column in sorted(across, key=lambda c: abs(2 * c + columns - grid.columns)):
                cells = frozenset(
                    first + r * grid.columns + c
                    for r in range(row, row + rows)
                    for c in range(column, column + columns)
                )
                free = not any(c in taken for c in range(column, column + columns))
                if free and high <= grid.clear_m:
                    found[first + row * grid.columns + column] = cells
        first += grid.cells
    return found


def cells_of(model: str, width_m: float, kind: str, slot: int) -> frozenset[int]:
    """Return the cells of the block at a slot."""
    return blocks(model, width_m, (), kind).get(slot, frozenset((slot,)))


def free_slots(
    fixture: Fixture | None, model: str, kind: str, there: Iterable[tuple[str, int]]
) -> list[int]:
    """Return the free slots of a container for an object, in order of preference.

    Args:
        fixture: The container; ``None``: it is an object.
        model: Model of the container.
        kind: Type of the object.
        there: Type and slot of each content.
    """
    width_m = fixture.width_m if fixture else 0.0
    taken = fixture.taken if fixture else ()
    full: set[int] = set()
    for other, slot in there:
        full |= cells_of(model, width_m, other, slot)
    return [slot for slot, cells in blocks(model, width_m, taken, kind).items() if not cells & full]


@cache
def rest(model: str, width_m: float, kind: str, slot: int, opened: bool) -> Pose:
    """Return the pose of an object in a slot, in the frame of its container."""
    first = 0
    for grid in grids(model, width_m):
        if slot < first + grid.cells:
            break
        first += grid.cells
    columns, rows, turned = footprint(kind)
    if grid.pitch_m[0] > 0.2:
        columns = rows = 1
    row, column = divmod(slot - first, grid.columns)
    x_m = grid.left_m + (column + columns / 2) * grid.pitch_m[0]
    y_m = grid.front_m + (row + rows / 2) * grid.pitch_m[1] - grid.shift_m * opened
    size = shape(kind).size_m.tolist()
    luck = crc32(f"{model} {kind} {slot}".encode()) / 2**32
    yaw = (pi / 2 if turned else 0.0) + radians(12) * (luck - 0.5)
    if kind in _TURNING:
        yaw = 2 * pi * luck
    if model == "Toaster":
        return x_m, y_m, grid.z_m + size[0] / 2, 0.0, pi / 2
    if model == "CoffeeMachine":
        return x_m, y_m, grid.z_m + size[2] / 2, 0.0, 0.0
    if model in _DISHES and size[0] > 0.18 and size[1] < 0.1:
        half, deep = _DISHES[model]
        return _leaning(half, deep, size, yaw)
    return x_m, y_m, grid.z_m + size[2] / 2, yaw, 0.0


def _leaning(half_m: float, deep_m: float, size: list[float], yaw: float) -> Pose:
    """Return the pose of a long object in a dish: one end on the bottom, leaning over the rim."""
    tilt = 0.0 if deep_m < 0.03 else atan2(deep_m, 2.1 * half_m)
    reach = size[0] / 2
    along = (reach * cos(tilt) - half_m) if tilt else 0.0
    z_m = (0.012 + reach * sin(tilt)) if tilt else deep_m + size[2] / 2
    return along * cos(yaw), along * sin(yaw), z_m, yaw, -tilt


@cache
def middle(model: str, width_m: float) -> tuple[float, float, float]:
    """Return the center of a model's bounding box, in its own frame."""
    x, y, z = shape(model, width_m).middle.tolist()
    return x, y, z


def under(origin: Origin, child: Pose) -> Pose:
    """Return the pose in the room of a content, from the origin of its container."""
    x, y, z, yaw, tilt = child
    c, s = cos(origin[3]), sin(origin[3])
    return (
        origin[0] + c * x - s * y,
        origin[1] + s * x + c * y,
        origin[2] + z,
        origin[3] + yaw,
        tilt,
    )


def origin_of(kind: str, pose: Pose) -> Origin:
    """Return the origin of a model, from the pose of its bounding box."""
    x, y, z = middle(kind, 0.0)
    c, s = cos(pose[3]), sin(pose[3])
    return pose[0] - c * x + s * y, pose[1] - s * x - c * y, pose[2] - z, pose[3]
