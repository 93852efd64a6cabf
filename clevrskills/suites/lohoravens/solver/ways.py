"""Next pick and place towards a goal, from any state of the world: a way for each kind of leaf."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import hypot

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate
from clevrskills.predicates import OnTop
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.field import FieldLayout
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.put_in import (
    ExactlyIn,
    InArea,
    InBowl,
    InZone,
    PutIn,
)
from clevrskills.suites.lohoravens.predicates.shapes import Forms
from clevrskills.suites.lohoravens.predicates.tower import Tower, TowerInArea
from clevrskills.suites.lohoravens.solver.arrangements import GAP_M, gap_m, lay_out, square
from clevrskills.suites.lohoravens.solver.planner import Planner, UnsolvableError, Way

HEAD_M, HIGHER_M = 0.03, 0.005
"""Distance beside a pick or place in which the gripper's head may hit bodies that are so much
higher."""


# ---- towers: from below, on a base that is cleared first ----


def stack(planner: Planner, leaf: Tower) -> Move | None:
    """Return the next block on the tower; blocks in its way go first."""
    table, chain = planner.table, leaf.chain(planner.table.world)
    built = tuple(k for k in chain.blocks[0].tolist() if k >= 0)
    if not built:
        return _lay_lowest(planner, leaf, _next_of(planner, leaf, leaf.order(0)))
    above = table.above(built[-1])
    if above:
        return planner.evict(above[0])
    stray = [k for k in table.over(int(leaf.base[0])) if k not in built]
    if stray and table.topmost(stray[0]) not in built:
        return planner.evict(stray[0])
    if len(built) == int(leaf.count[0]):
        return None
    order = leaf.order(0, built)
    if not order:
        return planner.evict(built[-1])
    return planner.onto(_next_of(planner, leaf, order), built[-1])


def _next_of(planner: Planner, leaf: Tower, order: Sequence[int]) -> int:
    """Return the first block of an order, or an equivalent one that is uncovered."""
    alike = [k for k in order if k == order[0] or leaf.alike(0, order[0], k)]
    return next((k for k in alike if not planner.table.above(k)), order[0])


def _lay_lowest(planner: Planner, leaf: Tower, slot: int) -> Move:
    """Put the lowest block in the place for the tower."""
    base = int(leaf.base[0])
    if isinstance(leaf, TowerInArea):
        return planner.to(slot, planner.room(slot, leaf.bounds_m()))
    over = planner.table.over(base)
    return planner.evict(over[0]) if over else planner.onto(slot, base)


def put_on(planner: Planner, leaf: OnTop) -> Move:
    """Return the move of a block onto another one.

    First, other blocks on that one are put aside, and that one itself if it stands on a block,
    which may be needed too.
    """
    top, bottom = int(leaf.top[0]), int(leaf.bottom[0])
    blocking = [k for k in planner.table.above(bottom) if k != top]
    if blocking:
        return planner.evict(blocking[0])
    return planner.evict(bottom) if planner.table.below(bottom) else planner.onto(top, bottom)


# ---- zones, areas and bowls ----


def put_in_zone(planner: Planner, leaf: InZone) -> Move:
    """Return a move into the zone; blocks that do not belong there go first."""
    body, zone = int(leaf.object[0]), int(leaf.zone[0])
    leaves = [leaf for leaf in planner.goal.leaves() if isinstance(leaf, InZone)]
    own = {int(each.object[0]) for each in leaves if int(each.zone[0]) == zone}
    return _into_zone(planner, body, zone, own)


def _into_zone(planner: Planner, body: int, zone: int, own: Collection[int]) -> Move:
    """Put a block into a zone: in its middle if the zone is empty, else beside the blocks ``own``
    that belong there, else on one of them.
    """
    table = planner.table
    inside = [k for k in table.over(zone) if k != body]
    strays = [k for k in inside if k not in own]
    if strays:
        return planner.evict(strays[0])
    if not inside:
        return planner.onto(body, zone)
    low, high = table.rectangle(zone)
    half = table.world.solids.size[0, body, :2].double().numpy() / 2
    try:
        place = planner.room(body, (low + half, high - half))
    except UnsolvableError:
        return planner.onto(body, next(k for k in inside if not table.above(k)))
    return planner.to(body, place, onto=zone)


def fill(planner: Planner, leaf: ExactlyIn) -> Move | None:
    """Return a move of one more block into the zone, or of one out of it."""
    table, zone = planner.table, int(leaf.zone[0])
    inside = leaf.objects[leaf.inside(table.world)].tolist()
    missing = int(leaf.count[0]) - len(inside)
    if missing <= 0:
        return planner.evict(inside[-1]) if missing else None
    left = [k for k in leaf.objects[0].tolist() if k >= 0 and k not in inside]
    if not left:
        raise UnsolvableError("too few blocks")
    middle = table.xy(zone)
    body = min(left, key=lambda k: (bool(table.above(k)), np.hypot(*(table.xy(k) - middle))))
    return _into_zone(planner, body, zone, inside)


def put_in_area(planner: Planner, leaf: InArea) -> Move:
    """Return a move to a free place of the area; if there is none, a block there is put aside."""
    table, body, (low, high) = planner.table, int(leaf.object[0]), leaf.bounds_m()
    try:
        place = planner.room(body, (low, high))
    except UnsolvableError:
        for k in table.blocks:
            if k != body and (low < table.xy(k)).all() and (table.xy(k) < high).all():
                return planner.evict(k)
        raise
    return planner.to(body, place)


def put_in_bowl(planner: Planner, leaf: InBowl) -> Move:
    """Return a move to an empty bowl; blocks and empty bowls are matched one to one."""
    table = planner.table
    leaves = [each for each in planner.open if isinstance(each, InBowl)]
    empty = [k for k in table.bowls if not table.in_bowl(k)]
    right = [[int(k) for k in each.bowls[0].tolist()] for each in leaves]
    cost = np.array([[float(bowl not in known) for bowl in empty] for known in right])
    body, own = int(leaf.object[0]), next(i for i, each in enumerate(leaves) if each is leaf)
    for row, column in zip(*linear_sum_assignment(cost), strict=True):
        if row == own and cost[row, column] == 0.0:
            return planner.onto(body, empty[column])
    taken = [k for bowl in right[own] if bowl >= 0 for k in table.in_bowl(bowl)]
    if not taken:
        raise UnsolvableError("no bowl for the block")
    return planner.evict(taken[0])


WAYS: Mapping[type[Leaf], Way] = {
    Tower: stack,
    OnTop: put_on,
    InZone: put_in_zone,
    ExactlyIn: fill,
    InArea: put_in_area,
    InBowl: put_in_bowl,
    Forms: lay_out,
}
"""The way to achieve each kind of leaf."""


# ---- goals ----


def next_move(
    goal: Predicate, world: World, state: GoalState, outcome: Outcome | None = None
) -> Move | None:
    """Return the next pick and place.

    Args:
        goal: The goal of one environment.
        world: The world, B = 1.
        state: The goal state.
        outcome: The outcome of the goal in this state, if it is known.

    Returns:
        ``None`` if the goal holds, or will hold once all bodies are at rest.

    Raises:
        UnsolvableError: No useful move is known.
    """
    return next(moves(goal, world, state, outcome), None)


def moves(
    goal: Predicate, world: World, state: GoalState, outcome: Outcome | None = None
) -> Iterator[Move]:
    """Yield possible next picks and places, the best first; see :func:`next_move`.

    Raises:
        UnsolvableError: No useful move is known.
    """
    outcome = outcome or goal.evaluate(world, state)
    if bool(outcome.holds[0]):
        return
    if world.held[0] >= 0:
        raise UnsolvableError("something is held")
    planner = Planner(goal, outcome, outcome.state, FieldLayout(world))
    for slot in planner.intruders():
        yield planner.evict(slot)
    problem, known = None, False
    for leaf in planner.open:
        try:
            # a block that is in place is about to rest
            settled = isinstance(leaf, PutIn) and bool(leaf.in_place(world)[0])
            move = None if settled else _next(planner, leaf)
        except UnsolvableError as error:
            problem = problem or error
            continue
        known = True
        if move is not None:
            yield move
    if problem and not known:
        raise problem


def clearing_moves(goal: Predicate, world: World, state: GoalState, move: Move) -> Iterator[Move]:
    """Yield moves that put aside what may obstruct the arm at a pick or a place, the nearest first:
    blocks partly in the place, and higher blocks beside pick or place, with the blocks on them.
    """
    table = FieldLayout(world)
    planner = Planner(goal, goal.evaluate(world, state), state, table)
    picked = min(table.blocks, key=lambda k: hypot(*(table.xy(k) - move.pick[:2])))
    least_m = float(world.top(torch.tensor([table.topmost(picked)]))[0])
    yaw = table.yaw_rad(picked) + move.place[2] - move.pick[2]
    goal_square = square(np.array(move.place[:2]), yaw, table.side_m(picked))
    found = []
    for slot in table.blocks:
        top_m = float(world.top(torch.tensor([slot]))[0])
        away_m = min(hypot(*(table.xy(slot) - end[:2])) for end in (move.pick, move.place))
        near_m = table.radius_m(slot) + table.radius_m(picked) + HEAD_M
        own = square(table.xy(slot), table.yaw_rad(slot), table.side_m(slot))
        higher = top_m > least_m + HIGHER_M and away_m < near_m
        inside = gap_m(own, goal_square) < GAP_M and not table.below(slot)
        if slot != picked and (higher or inside):
            found.append((away_m, slot))
    for _, slot in sorted(found):
        try:
            yield planner.evict(slot)
        except UnsolvableError:
            continue


def _next(planner: Planner, leaf: Leaf) -> Move | None:
    """Return the next move towards a leaf, see :data:`WAYS`."""
    for kind, way in WAYS.items():
        if isinstance(leaf, kind):
            return way(planner, leaf)
    raise UnsolvableError(f"no way is known to {leaf.name}")
