"""Ways to put blocks into zones, areas and bowls."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.optimize import linear_sum_assignment

from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.put_in import ExactlyIn, InArea, InBowl, InZone
from clevrskills.suites.lohoravens.solver.planner import Planner, UnsolvableError


def put_in_zone(planner: Planner, leaf: InZone) -> Move | None:
    """Return a move into the zone, once nothing that has no business there is in the way."""
    body, zone = int(leaf.object[0]), int(leaf.zone[0])
    if bool(leaf.there(planner.table.world)[0]):
        return None  # it is about to rest
    leaves = [leaf for leaf in planner.goal.leaves() if isinstance(leaf, InZone)]
    own = {int(each.object[0]) for each in leaves if int(each.zone[0]) == zone}
    return _into_zone(planner, body, zone, own)


def _into_zone(planner: Planner, body: int, zone: int, own: Collection[int]) -> Move:
    """Put a block into a zone where there is room: its middle is free, or it is shared with others
    that belong there; else on one of them.
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
    place = planner.room(body, (low + half, high - half))
    if place is not None:
        return planner.to(body, place, onto=zone)
    tops = [k for k in inside if not table.above(k)]
    return planner.onto(body, tops[0])


def fill(planner: Planner, leaf: ExactlyIn) -> Move | None:
    """Return a move of one more block into the zone, or one out of it."""
    table, zone = planner.table, int(leaf.zone[0])
    inside = leaf.objects[leaf.inside(table.world)].tolist()
    missing = int(leaf.count[0]) - len(inside)
    if missing == 0:
        return None
    if missing < 0:
        return planner.evict(inside[-1])
    left = [k for k in leaf.objects[0].tolist() if k >= 0 and k not in inside]
    if not left:
        raise UnsolvableError("too few blocks")
    middle = table.xy(zone)
    body = min(left, key=lambda k: (bool(table.above(k)), np.hypot(*(table.xy(k) - middle))))
    return _into_zone(planner, body, zone, inside)


def put_in_area(planner: Planner, leaf: InArea) -> Move | None:
    """Return a move to a free place of the area, if there is none made by taking something away."""
    table, body, bounds = planner.table, int(leaf.object[0]), leaf.bounds_m()
    if bool(leaf.there(table.world)[0]):
        return None  # it is about to rest
    place = planner.room(body, bounds)
    if place is not None:
        return planner.to(body, place)
    inside = [
        k
        for k in table.blocks
        if k != body and all(a < v < b for v, a, b in zip(table.xy(k), *bounds, strict=True))
    ]
    if not inside:
        raise UnsolvableError("no free place in the area")
    return planner.evict(inside[0])


def put_in_bowl(planner: Planner, leaf: InBowl) -> Move | None:
    """Return a move to an empty bowl; open blocks and empty bowls are matched one to one."""
    table = planner.table
    if bool(leaf.there(table.world)[0]):
        return None
    leaves = [each for each in planner.open if isinstance(each, InBowl)]
    empty = [k for k in table.bowls if not table.in_bowl(k)]
    right = [[int(k) for k in each.bowls[0].tolist()] for each in leaves]
    cost = np.array([[float(bowl not in known) for bowl in empty] for known in right])
    body, own = int(leaf.object[0]), next(i for i, each in enumerate(leaves) if each is leaf)
    if empty:
        rows, columns = linear_sum_assignment(cost)
        for row, column in zip(rows, columns, strict=True):
            if row == own and cost[row, column] == 0.0:
                return planner.onto(body, empty[column])
    taken = [k for bowl in right[own] if bowl >= 0 for k in table.in_bowl(bowl)]
    if not taken:
        raise UnsolvableError("no bowl for the block")
    return planner.evict(taken[0])
