"""Ways to lay out shapes: the best free arrangement, from inside out, corners first."""

from __future__ import annotations

import numpy as np

from clevrskills.core.goal.predicate import Leaf
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.scene import INNER
from clevrskills.suites.lohoravens.solver.arrangements import arrangements_of, pieces_of, plan
from clevrskills.suites.lohoravens.solver.planner import Planner, UnsolvableError

KEPT_FREE_M = 0.02
"""Half of the square around each place of the shape in which nothing is put aside."""


def lay_out(planner: Planner, leaf: Leaf) -> Move | None:
    """The first step of the plan for the whole shape, whichever part of it is asked about."""
    del leaf
    world, table = planner.table.world, planner.table
    arrangements = arrangements_of(planner.goal, world)
    if not arrangements:
        raise UnsolvableError("no room for the shape")
    slots, pieces = pieces_of(planner.goal, world)
    steps, arrangement = plan(pieces, arrangements)
    if not steps:
        return None  # it is about to rest
    step = steps[0]
    slot = slots[step.piece]
    if step.place is not None:
        return planner.to(slot, step.place, step.yaw_rad)
    slot = table.topmost(slot)
    field = (np.array([INNER.x_m[0], INNER.y_m[0]]), np.array([INNER.x_m[1], INNER.y_m[1]]))
    kept_free = [(at - KEPT_FREE_M, at + KEPT_FREE_M) for at in arrangement.places]
    place = table.free_place(slot, field, kept_free, table.xy(slot))
    if place is None:
        raise UnsolvableError("no free place to put a block aside")
    return planner.to(slot, place)
