"""Ways to put blocks into zones, areas and bowls."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.put_in import InArea, InBowl, InZone
from clevrskills.suites.lohoravens.solver.planner import Planner, UnsolvableError


def put_in_zone(planner: Planner, leaf: InZone) -> Move | None:
    """Onto the middle of the zone, once nothing else is there."""
    body, zone = int(leaf.object[0]), int(leaf.zone[0])
    others = [k for k in planner.table.over(zone) if k != body]
    return planner.evict(others[0]) if others else planner.onto(body, zone)


def put_in_area(planner: Planner, leaf: InArea) -> Move | None:
    """To a free place of the area, if there is none made by taking something away."""
    table, body, bounds = planner.table, int(leaf.object[0]), leaf.bounds_m()
    if bool(leaf.there(table.world)[0]):
        return None  # it is about to rest
    place = table.free_place(body, bounds)
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
    """To an empty bowl; open blocks and empty bowls are matched, so that none is left without."""
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
