"""Next pick and place towards a goal, from any state of the world: a way for each kind of leaf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import hypot

import numpy as np
import torch

from clevrskills.core.goal.predicate import GoalState, Leaf, Outcome, Predicate
from clevrskills.predicates import OnTop
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.put_in import ExactlyIn, InArea, InBowl, InZone
from clevrskills.suites.lohoravens.predicates.shapes import Forms
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.solver.arrangements import GAP_M, gap_m, lay_out, square
from clevrskills.suites.lohoravens.solver.places import fill, put_in_area, put_in_bowl, put_in_zone
from clevrskills.suites.lohoravens.solver.planner import Planner, UnsolvableError, Way
from clevrskills.suites.lohoravens.solver.towers import put_on, stack
from clevrskills.suites.lohoravens.things import FieldLayout

HEAD_M, HIGHER_M = 0.03, 0.005
"""How far beside what it touches the gripper's head may meet what is that much higher."""
WAYS: Mapping[type[Leaf], Way] = {
    Tower: stack,
    OnTop: put_on,
    InZone: put_in_zone,
    ExactlyIn: fill,
    InArea: put_in_area,
    InBowl: put_in_bowl,
    Forms: lay_out,
}
"""The way to meet each kind of leaf."""


def next_move(
    goal: Predicate, world: World, state: GoalState, outcome: Outcome | None = None
) -> Move | None:
    """Return the next pick and place.

    Args:
        goal: The goal of one environment.
        world: Where everything is, B = 1.
        state: What the goal remembers.
        outcome: What it says of the world, if that is known.

    Returns:
        ``None`` if the goal holds, or will as soon as all is at rest.

    Raises:
        UnsolvableError: None is known that helps.
    """
    return next(moves(goal, world, state, outcome), None)


def moves(
    goal: Predicate, world: World, state: GoalState, outcome: Outcome | None = None
) -> Iterator[Move]:
    """Yield picks and places that may come next, the best first; see :func:`next_move`.

    Raises:
        UnsolvableError: None is known that helps.
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
            move = _way(leaf)(planner, leaf)
        except UnsolvableError as error:
            problem = problem or error
            continue
        known = True
        if move is not None:
            yield move
    if problem and not known:
        raise problem


def clearing_moves(goal: Predicate, world: World, state: GoalState, move: Move) -> Iterator[Move]:
    """Yield moves that take away what may hinder the arm at a pick or a place, the nearest first:
    blocks that are partly in the place, higher blocks beside it, with what is on them.
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


def _way(leaf: Leaf) -> Way:
    """Return the way to meet a leaf.

    Raises:
        UnsolvableError: None is known.
    """
    for kind, way in WAYS.items():
        if isinstance(leaf, kind):
            return way
    raise UnsolvableError(f"no way is known to {leaf.name}")
