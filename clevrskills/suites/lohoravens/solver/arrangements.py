"""Arrangements: places for the blocks of a figure, and the order in which they are filled.

Blocks are planned as squares seen from above. The solver makes the first step of a plan and plans
again; the length of the plan at the start is the number of moves of an episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot, pi
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from clevrskills.suites.lohoravens.field import yaw_rad
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.shapes import Forms
from clevrskills.suites.lohoravens.setting import FIELD
from clevrskills.suites.lohoravens.solver.planner import Planner, UnsolvableError

IN_PLACE_M = 0.005
"""Greatest distance from its place at which a block stays."""
GAP_M, BESIDE_HIGHER_M = 0.003, 0.03
"""Least gap around a place, and to higher blocks: the gripper's head is wider than a block."""
HIGHER_M = 0.004
CLOSELY = 4
"""Number of the best arrangements that are planned step by step."""
BLOCKED, AT_PLACE = 10.0, 1000.0  # costs


class Pieces(NamedTuple):
    """The blocks of a figure, seen from above."""

    places: np.ndarray  # middles, (n, 2)
    yaws_rad: np.ndarray  # angles, (n,)
    groups: np.ndarray  # groups, (n,)
    sides_m: np.ndarray  # sides, (n,)
    free: np.ndarray  # whether each lies on the table, (n,) bool


class Arrangement(NamedTuple):
    """Places for the blocks, in the order in which they are best filled."""

    places: np.ndarray  # middles, (n, 2)
    yaws_rad: np.ndarray  # angles of the blocks, (n,)
    groups: np.ndarray  # groups of the blocks, (n,)
    near_m: float  # greatest distance from its place at which a block stays


Step = tuple[int, int | None]
"""Index of a piece and of its place; ``None`` to put it aside."""


def lay_out(planner: Planner, leaf: Forms) -> Move | None:
    """Return the first move of the plan for a figure."""
    world = planner.table.world
    slots, groups = leaf.slots(0)
    poses = world.body_pose[0, slots].double().cpu().numpy()
    sides = np.round(world.solids.size[0, slots, 0].double().cpu().numpy(), 5)
    low = np.abs(poses[:, 2] - sides / 2) < IN_PLACE_M
    pieces = Pieces(poses[:, :2], yaw_rad(world.body_pose[0, slots, 3:]), groups, sides, low)
    steps, target = plan(pieces, _arrangements(planner, leaf, pieces))
    if not steps:
        return None  # all blocks are about to rest
    piece, number = steps[0]
    if number is not None:
        return planner.to(slots[piece], target.places[number], float(target.yaws_rad[number]))
    beside_m = BESIDE_HIGHER_M if np.ptp(sides) > HIGHER_M else GAP_M
    half_m = sides.max() / 2**0.5 + beside_m  # further away it obstructs no place
    kept_free = [(at - half_m, at + half_m) for at in target.places]
    return planner.evict(slots[piece], kept_free)


def _arrangements(planner: Planner, leaf: Forms, pieces: Pieces) -> list[Arrangement]:
    """Return the figures that can be laid out, and the one that more than half of the pieces are
    part of already.

    Raises:
        UnsolvableError: There is no room for any figure.
    """
    world, used = planner.table.world, torch.zeros_like(leaf.objects[0], dtype=torch.bool)
    figure, found = leaf.layouts(world, 0)
    every = [(figure, at, IN_PLACE_M) for at in found]
    used[leaf.objects[0] >= 0] = torch.from_numpy(pieces.free)
    begun = leaf.fit(world, 0, used)
    if 2 * begun.members.sum() > len(begun.members):
        near_m = IN_PLACE_M if begun.members.all() else begun.tolerance_m
        every.append((begun.figure, begun.points, near_m))
    arrangements = [
        Arrangement(np.column_stack((at.real, at.imag)), of.yaws_rad(at), of.groups, near_m)
        for of, at, near_m in every
    ]
    if reached := [each for each in arrangements if all(FIELD.contains(*at) for at in each.places)]:
        return reached
    raise UnsolvableError("no room for the figure")


def plan(pieces: Pieces, arrangements: Sequence[Arrangement]) -> tuple[list[Step], Arrangement]:
    """Return the steps to the best arrangement, and that arrangement.

    The best one has the most pieces in place, then the fewest steps, then the shortest paths.
    """
    assigned = [(*_assign(pieces, each), each) for each in arrangements]
    assigned.sort(key=lambda entry: entry[0])
    plans = [
        (list(_steps(pieces, each, where)), cost, each)
        for cost, where, each in assigned[:CLOSELY]
        if cost[0] == assigned[0][0][0]
    ]
    steps, _, best = min(plans, key=lambda entry: (len(entry[0]), entry[1]))
    return steps, best


def _assign(pieces: Pieces, arrangement: Arrangement) -> tuple[tuple[int, int, float], np.ndarray]:
    """Return the cost of an arrangement and the piece for each place, (n,).

    The cost is minus the number of pieces in place, the number of places covered by pieces of other
    groups, and the length of the paths in meters.
    """
    apart = np.linalg.norm(pieces.places[:, None] - arrangement.places, axis=-1)
    fits = pieces.groups[:, None] == arrangement.groups
    stays = fits & (apart < arrangement.near_m) & pieces.free[:, None]
    rows, columns = linear_sum_assignment(np.where(fits, apart, BLOCKED) - AT_PLACE * stays)
    foreign = int(((apart < pieces.sides_m[:, None]) & ~fits).any(0).sum())
    way_m = round(float(apart[rows, columns].sum()), 6)
    return (-int(stays[rows, columns].sum()), foreign, way_m), rows[columns.argsort()]


def _steps(pieces: Pieces, arrangement: Arrangement, where: np.ndarray) -> Iterator[Step]:
    """Yield the steps in an order in which each place is free when it is filled; pieces near their
    places come last. Pieces in place that cover another place are laid exactly.
    """
    sides_m = pieces.sides_m
    squares = dict(enumerate(map(square, pieces.places, pieces.yaws_rad, sides_m)))
    goals = [*map(square, arrangement.places, arrangement.yaws_rad, sides_m[where])]
    own = dict(zip(where.tolist(), goals, strict=True))
    away = np.linalg.norm(pieces.places[where] - arrangement.places, axis=-1)
    left = np.flatnonzero((away >= arrangement.near_m) | ~pieces.free[where]).tolist()
    left.sort(key=lambda number: away[number] < sides_m[where[number]] / 2)
    while left:
        loose: list[int] = []
        for number in left:
            piece, goal = int(where[number]), goals[number]
            rest = [k for k in squares if k != piece]
            others = [k for k in rest if _obstructs(k, piece, squares, goal, sides_m)]
            if not others:
                break
            loose += [k for k in others if k in where[left]]
        else:
            if loose:
                del squares[loose[0]]
                yield loose[0], None
                continue
            number = left[0]  # only pieces in place are in the way
            for piece in squares:
                if gap_m(squares[piece], goals[number]) < 0.0 <= gap_m(own[piece], goals[number]):
                    squares[piece] = own[piece]
                    yield piece, where.tolist().index(piece)
        left.remove(number)
        squares[int(where[number])] = goals[number]
        yield int(where[number]), number


def _obstructs(
    other: int, piece: int, squares: dict[int, np.ndarray], goal: np.ndarray, sides_m: np.ndarray
) -> bool:
    higher = sides_m[other] > sides_m[piece] + HIGHER_M
    least_m = BESIDE_HIGHER_M if higher else GAP_M
    x, y = (squares[other][0] + squares[other][2] - goal[0] - goal[2]) / 2
    if hypot(x, y) > (sides_m[other] + sides_m[piece]) / 2**0.5 + least_m:
        return False
    return gap_m(squares[other], goal) < least_m


def square(place: np.ndarray, yaw_rad: float, side_m: float) -> np.ndarray:
    """Return the corners of a square, (4, 2)."""
    angle = yaw_rad + pi / 4 + np.arange(4) * pi / 2
    corners: np.ndarray = place + side_m / 2**0.5 * np.column_stack((np.cos(angle), np.sin(angle)))
    return corners


def gap_m(one: np.ndarray, other: np.ndarray) -> float:
    """Return the greatest gap between two squares along the normal of a side, a lower bound of
    their distance.
    """
    found = -np.inf
    for square, of in ((one, other), (other, one)):
        edges = square[[1, 2]] - square[[0, 1]]
        normals = edges / np.linalg.norm(edges, axis=1, keepdims=True)
        a, b = square @ normals.T, of @ normals.T
        gaps = np.maximum(b.min(0) - a.max(0), a.min(0) - b.max(0))
        found = max(found, float(gaps.max()))
    return found
