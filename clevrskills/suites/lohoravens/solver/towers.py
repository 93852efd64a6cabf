"""Ways to build towers: from below, on a base that is cleared first."""

from __future__ import annotations

from clevrskills.predicates import OnTop
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.solver.planner import Planner


def stack(planner: Planner, leaf: Tower) -> Move | None:
    """The next block on what is built; what is in its way goes first."""
    table, chain = planner.table, leaf.chain(planner.table.world)
    built = tuple(k for k in chain.blocks[0].tolist() if k >= 0)
    zone = int(leaf.base[0])
    if not built:
        over = table.over(zone)
        return planner.evict(over[0]) if over else planner.onto(leaf.order(0)[0], zone)
    above = table.above(built[-1])
    if above:
        return planner.evict(above[0])
    stray = [k for k in table.over(zone) if k not in built]
    if stray and table.topmost(stray[0]) not in built:
        return planner.evict(stray[0])
    if len(built) == int(leaf.count[0]):
        return None
    order = leaf.order(0, built)
    return planner.onto(order[0], built[-1]) if order else planner.evict(built[-1])


def put_on(planner: Planner, leaf: OnTop) -> Move:
    """A block on another one, once nothing else is there."""
    top, bottom = int(leaf.top[0]), int(leaf.bottom[0])
    blocking = [k for k in planner.table.above(bottom) if k != top]
    return planner.evict(blocking[0]) if blocking else planner.onto(top, bottom)
