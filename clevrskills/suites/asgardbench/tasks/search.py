"""Search for the shortest plan of an instance, by A*."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

from clevrskills.core.goal.predicate import Predicate
from clevrskills.suites.asgardbench.predicates import Contained, StateIs, Stored, met_now
from clevrskills.suites.asgardbench.rules.verbs import VERBS, allowed, apply
from clevrskills.suites.asgardbench.rules.world import Household

BUDGET = 6000
"""Maximum number of verbs that a search tries."""


def shortest(plan: Sequence[str], start: Household, goal: Predicate, budget: int = BUDGET) -> int:
    """Return the length of the shortest plan over the types of a known plan; 0: the budget was
    exhausted.

    Args:
        plan: Known plan.
        start: Initial state.
        goal: The goal.
        budget: Maximum number of verbs to try.
    """
    types = sorted({command.split()[1] for command in plan})
    counts = Counter(entity.type for entity in start.entities.values())
    several = {kind for kind, times in counts.items() if times > 1}
    order, best = count(), {_key(start, several): 0}
    queue: list[tuple[int, int, int, Household]] = [(_left(goal, start), 0, next(order), start)]
    while queue:
        _, minus, _, house = heapq.heappop(queue)
        done = -minus
        if met_now(goal, house):
            return done
        if best[_key(house, several)] < done:
            continue
        for verb, kind in ((v, k) for v in VERBS for k in types):
            if verb != "PUT" and not allowed(house, verb, kind):
                continue
            if budget == 0:
                return 0
            after = house.copy()
            budget -= 1
            if not apply(after, verb, kind).ok:
                continue
            key = _key(after, several)
            if best.get(key, len(plan) + 1) <= done + 1:
                continue
            least = done + 1 + _left(goal, after)
            if least <= len(plan):
                best[key] = done + 1
                heapq.heappush(queue, (least, -done - 1, next(order), after))
    return 0


def _key(house: Household, several: set[str]) -> tuple[Any, ...]:
    """Return the part of the state that the rest of a plan depends on."""
    meant = [(kind, house.found.get(kind), house.opened.get(kind)) for kind in sorted(several)]
    rows = [
        (e.parent, e.slot, e.dirty, e.cooked, e.filled, e.open, e.on, e.sprayed)
        for e in house.entities.values()
    ]
    looked = house.last_verb in ("FIND", "OPEN")
    return tuple(rows), len(house.events), house.camera, house.focus, looked, tuple(meant)


def _left(goal: Predicate, house: Household) -> int:
    """Return a lower bound of the remaining verbs: two for each misplaced object, one for each
    other unmet leaf.
    """
    left = 0
    for leaf in goal.leaves():
        if met_now(leaf, house):
            continue
        left += 1
        if isinstance(leaf, Contained | Stored):
            left += leaf.kind != house.held_type
        elif isinstance(leaf, StateIs) and leaf.variable == "dirty" and leaf.kind != "Mirror":
            left += 1  # the faucet is turned off again
    return left
