"""Arrangements: where the blocks of a shape may go, and in which order they get there.

What is planned here is flat: squares on the field, seen from above. The solver takes the first step
of a plan and plans anew; the plan at the start tells how many moves an episode takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import hypot, pi

import numpy as np
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from clevrskills.core.goal.predicate import Predicate
from clevrskills.predicates import Set
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.shapes import (
    RECTANGLE_PITCH_M,
    Concentric,
    FitsTemplate,
    InMiddle,
    OnCircle,
    OnLine,
    OnRing,
    RectangleIn,
    Shape,
    around_m,
)
from clevrskills.suites.lohoravens.predicates.templates import rectangle_points, rectangles
from clevrskills.suites.lohoravens.setting import FIELD, FIELD_MIDDLE_M
from clevrskills.suites.lohoravens.things import yaw_rad

IN_PLACE_M = 0.005
"""How far from its place a block may be and stay."""
GAP_M, BESIDE_HIGHER_M = 0.003, 0.03
"""Least gap around a place where a block is put down, and to what is higher: the gripper's head is
wider than a block."""
HIGHER_M = 0.004
INSET_M = 0.025
"""How far middles stay inside the border of the field."""
PROMISING = 12
"""How many arrangements are looked at for which piece goes where."""
CLOSELY = 4
"""How many of the best arrangements are planned step by step."""
INNER_M, OUTER_M, AROUND_M = 0.08, 0.148, 0.12
"""Radii of the inner and outer one of two circles, and of a single one."""
BLOCKED = 10.0
AT_PLACE = 1000.0


@dataclass(frozen=True)
class Arrangement:
    """Places of a shape, in the order in which they are best filled.

    Attributes:
        places: Middles, (n, 2).
        yaws_rad: Turns of the blocks there, (n,).
        kinds: Kind of block that goes there, (n,).
    """

    places: np.ndarray
    yaws_rad: np.ndarray
    kinds: np.ndarray


@dataclass(frozen=True)
class Pieces:
    """The blocks of a shape.

    Attributes:
        places: Middles, (n, 2).
        yaws_rad: Turns, (n,).
        sides_m: Sides, (n,).
        kinds: Kinds, as of arrangements, (n,).
        free: Which of them lie on the table with nothing on them, (n,) bool.
    """

    places: np.ndarray
    yaws_rad: np.ndarray
    sides_m: np.ndarray
    kinds: np.ndarray
    free: np.ndarray


@dataclass(frozen=True)
class Step:
    """What is done with a piece.

    Attributes:
        piece: Its number.
        place: Where it goes, (2,); ``None``: out of the way.
        yaw_rad: How it is turned there.
    """

    piece: int
    place: np.ndarray | None = None
    yaw_rad: float = 0.0


def plan(pieces: Pieces, arrangements: Sequence[Arrangement]) -> tuple[list[Step], Arrangement]:
    """The steps to the arrangement that most pieces are part of already, of those the one with the
    fewest steps, then with the shortest ways; and that arrangement.
    """
    assigned = [(_assign(pieces, each), each) for each in _promising(pieces, arrangements)]
    assigned.sort(key=lambda entry: entry[0][1])
    plans = list[tuple[int, tuple[int, int, float], int, list[Step], Arrangement]]()
    for (where, cost), arrangement in assigned[:CLOSELY]:
        steps = list(_steps(pieces, arrangement, where))
        plans.append((len(steps), cost, len(plans), steps, arrangement))
    return min(plans, key=lambda entry: entry[:3])[3:]


def _promising(pieces: Pieces, arrangements: Sequence[Arrangement]) -> list[Arrangement]:
    """The arrangements that most pieces are part of already, of those some with short ways: each
    place asks for the nearest piece of its kind.
    """
    places = np.stack([each.places for each in arrangements])  # (A, n, 2)
    kinds = np.stack([each.kinds for each in arrangements])
    apart = np.linalg.norm(pieces.places[:, None] - places[:, None], axis=-1)  # (A, pieces, n)
    fits = pieces.kinds[:, None] == kinds[:, None]
    in_place = (fits & (apart < IN_PLACE_M) & pieces.free[:, None]).any(1).sum(1)
    ways_m = np.where(fits, apart, BLOCKED).min(1).sum(1).round(6)
    best = np.lexsort((np.arange(len(places)), ways_m, -in_place))
    return [arrangements[k] for k in best[:PROMISING] if in_place[k] == in_place[best[0]]]


def _assign(pieces: Pieces, arrangement: Arrangement) -> tuple[np.ndarray, tuple[int, int, float]]:
    """Which piece goes to each place, (n,), and how good that is, the least first: pieces in place,
    places that other kinds of pieces are on, length of the ways.
    """
    apart = np.linalg.norm(pieces.places[:, None] - arrangement.places, axis=-1)
    fits = pieces.kinds[:, None] == arrangement.kinds
    stays = fits & (apart < IN_PLACE_M) & pieces.free[:, None]
    cost = np.where(fits, apart, BLOCKED) - AT_PLACE * stays
    rows, columns = linear_sum_assignment(cost)
    where = np.empty(len(rows), int)
    where[columns] = rows
    kept = int(stays[rows, columns].sum())
    near = apart < pieces.sides_m[:, None]
    foreign = int((near & ~fits).any(0).sum())
    return where, (-kept, foreign, round(float(apart[rows, columns].sum()), 6))


def _steps(pieces: Pieces, arrangement: Arrangement, where: np.ndarray) -> Iterator[Step]:
    """The moves, in an order in which each place is free when its piece comes."""
    squares: dict[int, np.ndarray] = {
        k: square(place, yaw, side)
        for k, (place, yaw, side) in enumerate(
            zip(pieces.places, pieces.yaws_rad, pieces.sides_m, strict=True)
        )
    }
    left = []
    for number, piece in enumerate(where):
        away = np.linalg.norm(pieces.places[piece] - arrangement.places[number])
        if away >= IN_PLACE_M or not pieces.free[piece]:
            left.append(number)
    while left:
        blocked: int | None = None
        for number in left:
            piece = int(where[number])
            side, place = pieces.sides_m[piece], arrangement.places[number]
            goal = square(place, arrangement.yaws_rad[number], side)
            others = [
                k
                for k in squares
                if k != piece and _in_the_way(k, piece, squares, goal, pieces.sides_m)
            ]
            if not others:
                squares[piece] = goal
                left.remove(number)
                yield Step(piece, place, float(arrangement.yaws_rad[number]))
                break
            loose = [k for k in others if k in where[left]]
            if blocked is None and loose:
                blocked = loose[0]
        else:
            if blocked is None:  # only what is in place is in the way: it is put there all the same
                number = left.pop(0)
                piece = int(where[number])
                yield Step(piece, arrangement.places[number], float(arrangement.yaws_rad[number]))
                continue
            del squares[blocked]
            yield Step(blocked)


def _in_the_way(
    other: int, piece: int, squares: dict[int, np.ndarray], goal: np.ndarray, sides_m: np.ndarray
) -> bool:
    higher = sides_m[other] > sides_m[piece] + HIGHER_M
    least_m = BESIDE_HIGHER_M if higher else GAP_M
    x, y = (squares[other][0] + squares[other][2] - goal[0] - goal[2]) / 2
    if hypot(x, y) > (sides_m[other] + sides_m[piece]) / 2**0.5 + least_m:
        return False
    return gap_m(squares[other], goal) < least_m


def square(place: np.ndarray, yaw_rad: float, side_m: float) -> np.ndarray:
    """Corners of a square, (4, 2)."""
    angle = yaw_rad + pi / 4 + np.arange(4) * pi / 2
    corners: np.ndarray = place + side_m / 2**0.5 * np.column_stack((np.cos(angle), np.sin(angle)))
    return corners


def gap_m(one: np.ndarray, other: np.ndarray) -> float:
    """The greatest gap between two squares along the normal of a side, at most their distance."""
    found = -np.inf
    for square, of in ((one, other), (other, one)):
        edges = square[[1, 2]] - square[[0, 1]]
        normals = edges / np.linalg.norm(edges, axis=1, keepdims=True)
        a, b = square @ normals.T, of @ normals.T
        gaps = np.maximum(b.min(0) - a.max(0), a.min(0) - b.max(0))
        found = max(found, float(gaps.max()))
    return found


# ---- the arrangements of goals ----


def pieces_of(goal: Predicate, world: World) -> tuple[list[int], Pieces]:
    """Slots of the blocks of a shape, one environment, and what is known of them."""
    slots, kinds = list[int](), list[int]()
    for leaf in goal.leaves():
        match leaf:
            case Shape():
                own = [k for k in leaf.objects[0].tolist() if k >= 0]
                one_each = isinstance(leaf, OnLine | OnRing)
                kinds += list(range(len(own))) if one_each else [len(set(kinds))] * len(own)
            case InMiddle():
                own = [int(leaf.object[0])]
                kinds.append(-1)
            case _:
                continue
        slots += own
    poses = world.body_pose[0, slots].double().cpu().numpy()
    yaws = yaw_rad(world.body_pose[0, slots, 3:])
    sides = np.round(world.solids.size[0, slots, 0].double().cpu().numpy(), 5)
    low = np.abs(poses[:, 2] - sides / 2) < IN_PLACE_M
    return slots, Pieces(poses[:, :2], yaws, sides, np.array(kinds), low)


def arrangements_of(goal: Predicate, world: World) -> list[Arrangement]:
    """The ways in which the blocks of a goal may lie in the end, one environment."""
    leaves = list(goal.leaves()) if isinstance(goal, Set) else [goal]
    match leaves:
        case [OnCircle() as one, OnCircle() as other, Concentric()]:
            return _circles((int(one.total[0]), INNER_M), (int(other.total[0]), OUTER_M))
        case [OnCircle() as ring, InMiddle()]:
            return _with_middle(_circles((int(ring.total[0]), AROUND_M)))
        case [Shape() as leaf]:
            return _spread(leaf, world)
    raise TypeError(f"{goal.name} is no shape")


PHASES = 12
"""Turns of a circle that are looked at between one place and the next."""
STEP_M = 0.03
"""Distance of the middles that are looked at for what may be anywhere."""


def _spread(leaf: Shape, world: World) -> list[Arrangement]:
    """Those of a shape by itself."""
    known = leaf.objects[0] >= 0
    places = leaf.spread(world, 0)[known.cpu().numpy()]
    count = len(places)
    same, each = np.zeros(count, int), np.arange(count)
    match leaf:
        case OnLine():
            return [Arrangement(places, np.zeros(count), each)]
        case OnRing():
            center = leaf.center[0].double().cpu().numpy()
            steps = np.arange(count * 4) * 2 * pi / (count * 4)
            found = []
            for phase in steps:
                turned = _turned(places - center, phase)
                yaws = np.arctan2(turned[:, 1], turned[:, 0])
                found.append(Arrangement(center + turned, yaws, each))
            return [each for each in found if _in_reach(each.places)] or found
        case FitsTemplate():
            shifts = [places - FIELD_MIDDLE_M + middle for middle in _middles()]
            inside = [each for each in shifts if _in_reach(each)]
            return [Arrangement(each, np.zeros(count), same) for each in inside or [places]]
        case RectangleIn():
            middle = world.position(leaf.zone)[0, :2].double().cpu().numpy()
            found = []
            for sides in rectangles(count)[:1]:  # the squarest one has room inside
                for turn in (0.0, pi / 2):
                    points = _turned(RECTANGLE_PITCH_M * rectangle_points(*sides), turn) + middle
                    low, high = _reach_of(leaf.zone, world)
                    room = RECTANGLE_PITCH_M / 2
                    if ((points > low + room) & (points < high - room)).all():
                        found.append(Arrangement(points, np.zeros(count), same))
            return found
        case _:
            raise TypeError(f"no way is known to lay out {leaf.name}")


def _reach_of(zone: Tensor, world: World) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest x and y of a zone."""
    middle = world.position(zone)[0, :2].double().cpu().numpy()
    half = world.at(world.solids.size, zone)[0, :2].double().cpu().numpy() / 2
    return middle - half, middle + half


@cache
def _circles(*rings: tuple[int, float]) -> list[Arrangement]:
    """Circles about one middle: how many blocks are on each, and its radius; from inside out."""
    found = []
    for middle in _middles():
        for phase in range(PHASES // 3):
            around = [around_m(n, r, phase / (PHASES // 3) * 2 * pi / n) for n, r in rings]
            away = np.concatenate(around)
            kinds = np.repeat(np.arange(len(rings)), [n for n, _ in rings])
            if _in_reach(middle + away):
                yaws = np.arctan2(away[:, 1], away[:, 0])
                found.append(Arrangement(middle + away, yaws, kinds))
    return found


def _with_middle(circles: list[Arrangement]) -> list[Arrangement]:
    """Circles with a further block in the middle, which comes first."""
    return [
        Arrangement(
            np.concatenate((each.places.mean(0, keepdims=True), each.places)),
            np.concatenate(([0.0], each.yaws_rad)),
            np.concatenate(([-1], each.kinds)),
        )
        for each in circles
    ]


def _middles() -> list[np.ndarray]:
    """Places about the middle of the field, the nearest first."""
    ticks = STEP_M * np.arange(-6, 7)
    grid = np.stack(np.meshgrid(ticks[4:9], ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    return list(grid[np.linalg.norm(grid, axis=1).argsort(kind="stable")] + FIELD_MIDDLE_M)


def _in_reach(places: np.ndarray) -> bool:
    """Whether all places (n, 2) are well inside the field."""
    bounds = np.array([FIELD.x_m, FIELD.y_m]).T + np.array([[INSET_M], [-INSET_M]])
    inside = (places >= bounds[0]) & (places <= bounds[1])
    return bool(inside.all()) and all(FIELD.contains(x, y) for x, y in places)


def _turned(places: np.ndarray, yaw_rad: float) -> np.ndarray:
    """Places (n, 2) turned about the origin."""
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    turned: np.ndarray = places @ np.array([[c, s], [-s, c]])
    return turned
