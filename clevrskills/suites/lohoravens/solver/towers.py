"""Ways to build towers: from below, on a base that is cleared first."""

from __future__ import annotations

from collections.abc import Sequence

from clevrskills.predicates import OnTop
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.tower import Tower, TowerInArea
from clevrskills.suites.lohoravens.solver.planner import Planner, UnsolvableError


def stack(planner: Planner, leaf: Tower) -> Move | None:
    """Return the next block on what is built; what is in its way goes first."""
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
    """Return the first block of an order, or one like it that has nothing on it."""
    alike = [k for k in order if k == order[0] or leaf.alike(0, order[0], k)]
    return next((k for k in alike if not planner.table.above(k)), order[0])


def _lay_lowest(planner: Planner, leaf: Tower, slot: int) -> Move:
    """Put the lowest block where the tower is to stand."""
    table, base = planner.table, int(leaf.base[0])
    if isinstance(leaf, TowerInArea):
        place = planner.room(slot, leaf.bounds_m())
        if place is None:
            raise UnsolvableError("no free place in the area")
        return planner.to(slot, place)
    over = table.over(base)
    return planner.evict(over[0]) if over else planner.onto(slot, base)


def put_on(planner: Planner, leaf: OnTop) -> Move:
    """Return a block on another one, once that stands on the table and nothing else is on it: what
    it stood on may be needed too.
    """
    top, bottom = int(leaf.top[0]), int(leaf.bottom[0])
    blocking = [k for k in planner.table.above(bottom) if k != top]
    if blocking:
        return planner.evict(blocking[0])
    return planner.evict(bottom) if planner.table.below(bottom) else planner.onto(top, bottom)
