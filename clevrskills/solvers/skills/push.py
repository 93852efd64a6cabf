"""Pushing of objects over the table."""

from collections.abc import Callable, Generator
from dataclasses import replace
from math import radians

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra

from clevrskills.predicates import AtPositionPushed, PushedTowards
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, spot
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.approach import (
    OUTER_RADIUS_M,
    advance,
    back_off,
    empty_hand,
    from_line,
    go_beside,
    others,
    outer_radius,
    place_of,
    spans,
    start_of,
)
from clevrskills.solvers.skills.put_down import rest

LEGS = 10
"""Maximum number of straight pushes."""
WAYS = 12
"""Maximum number of planned routes per push."""
ROOMY, CRAMPED = 1.0, 0.6
"""Factors of the distances from other bodies: usual, and if there is no route."""
TIP_Z_M = 0.009
CLEARANCE_M = 0.012
BEHIND_M = 0.055
"""Distance from the object to the center of the gripper behind it."""
LEAST_REACH_M = 0.22
"""Least distance from the base of a gripper pointing down."""
ARENA_M = ((-0.45, 0.10), (-0.36, 0.36))
GRID_M = 0.05
LEG_COST_M, APPROACH_COST = 0.25, 0.3
"""Cost of a leg besides its length, and per meter of the approach."""
FAST_M, SLOW_M, EASE = 0.02, 0.004, 0.35
"""Largest and least push per control step, and its share of the remaining distance."""
REACHED_M = 0.004
ASIDE_M = 0.025
"""Deviation from the line at which the object is approached again."""
MAX_STEPS, STALLED_STEPS = 70, 8
MARGIN_M, MARGIN_SHARE = 0.008, 0.05

Done = Callable[[np.ndarray], bool]
"""Function that returns whether a body at a position (2,) is at its goal."""


def push(arm: Arm, body: int, targets: np.ndarray, done: Done) -> Actions:
    """Push a body to one of the targets (T, 2), around obstacles, until it is done."""
    yield from empty_hand(arm)
    banned: list[np.ndarray] = []
    for _ in range(LEGS):
        begin, before = arm.actions, place_of(arm, body)
        if done(before):
            return
        direction = yield from _leg(arm, body, targets, banned)
        if np.linalg.norm(place_of(arm, body) - before) > REACHED_M:
            banned = []
        else:
            banned.append(direction)
            arm.mark_failed(begin)
    if not done(place_of(arm, body)):
        raise SkillFailed(f"{arm.world.keys[body]} is not there after {LEGS} pushes")


def _leg(
    arm: Arm, body: int, targets: np.ndarray, banned: list[np.ndarray]
) -> Generator[np.ndarray, None, np.ndarray]:
    """Push straight along the best reachable route; return the direction (2,)."""
    height_m = spans(arm, body)[0] + TIP_Z_M
    start = place_of(arm, body)
    banned = list(banned)
    room = ROOMY
    for _ in range(WAYS):
        end = _first_leg(arm, body, targets, banned, room)
        if end is None and room == ROOMY:
            room = CRAMPED
            end = _first_leg(arm, body, targets, banned, room)
        if end is None:
            break
        direction = (end - start) / np.linalg.norm(end - start)
        length_m = float(np.linalg.norm(end - start))
        banned.append(direction)
        top_m = spans(arm, body)[1]
        if not (yield from go_beside(arm, body, direction, length_m, height_m, top_m)):
            continue
        arm.set_label("push", f"Push {arm.label(body)} to {spot(np.append(end, height_m))}")
        yield from _push_straight(arm, body, end, direction)
        yield from back_off(arm, direction)
        yield from rest(arm, body)
        return direction
    raise SkillFailed(f"{arm.world.keys[body]} cannot be pushed from where it is")


def _first_leg(
    arm: Arm, body: int, targets: np.ndarray, banned: list[np.ndarray], room: float = 1.0
) -> np.ndarray | None:
    """Return the end (2,) of the first push of the cheapest route to a target (T, 2), if any."""
    ticks = (np.arange(low, high + 1e-9, GRID_M) for low, high in ARENA_M)
    grid = np.stack(np.meshgrid(*ticks), -1).reshape(-1, 2)
    place = place_of(arm, body)
    grid = grid[np.linalg.norm(grid - place, axis=1) > GRID_M / 2]
    places = np.concatenate((place[None], targets, grid))
    start, end = places[:, None], places[None]
    way = end - start
    length = np.linalg.norm(way, axis=-1)
    unit = way / np.maximum(length, 1e-9)[..., None]
    radius = outer_radius(arm, body)
    behind = start - (radius + BEHIND_M) * unit
    centers, radii = others(arm, (body,))
    base = arm.base.p[:2]
    free = length > REACHED_M
    for xy in (behind, end - radius * unit):
        reach = np.linalg.norm(xy - base, axis=-1)
        free &= (reach > LEAST_REACH_M) & (reach < arm.env.agent.description.reach_m)
    if len(centers):
        now = np.linalg.norm(start[..., None, :] - centers, axis=-1)  # (n, 1, N)
        need = room * (radius + radii + CLEARANCE_M)
        # bodies that are too near already may be left
        free &= (from_line(centers, start, end) >= np.minimum(need, now - 1e-3)).all(-1)
        last = end - (radius + BEHIND_M) * unit
        free &= (from_line(centers, behind, last) >= room * (radii + OUTER_RADIUS_M)).all(-1)
    cost = np.where(free, length + LEG_COST_M, np.inf)
    away = np.linalg.norm(behind[0] - arm.pose.p[:2], axis=-1)
    cost[0] += APPROACH_COST * away
    for direction in banned:
        cost[0, unit[0] @ direction > np.cos(radians(10.0))] = np.inf
    graph = np.where(np.isfinite(cost), cost, 0.0)
    distance, before = dijkstra(graph, indices=0, return_predecessors=True)
    best = 1 + int(distance[1 : 1 + len(targets)].argmin())
    if not np.isfinite(distance[best]):
        return None
    while before[best] != 0:
        best = int(before[best])
    return places[best]


def _push_straight(arm: Arm, body: int, end: np.ndarray, direction: np.ndarray) -> Actions:
    """Push from behind until the body is at the end (2,), slips sideways, or stalls."""
    index = torch.tensor([body])
    height_m = float(arm.pose.p[2])
    touched, still, before = False, 0, place_of(arm, body)
    for _ in range(MAX_STEPS):
        place = place_of(arm, body)
        left = end - place
        along = float(left @ direction)
        if along < REACHED_M:
            return
        touched |= bool(arm.world.gripper_touches(index)[0])
        still = still + 1 if touched and np.linalg.norm(place - before) < 5e-4 else 0
        before = place
        aside = left - along * direction
        if np.linalg.norm(aside) > ASIDE_M or still > STALLED_STEPS:
            return
        size = float(np.clip(EASE * along, SLOW_M, FAST_M))
        # it sticks to the gripper, so it can be steered slightly
        course = direction + np.clip(aside / max(along, 0.03), -0.4, 0.4) if touched else direction
        yield advance(arm, size * course / np.linalg.norm(course), height_m)


@solves(AtPositionPushed)
def solve_at_position_pushed(arm: Arm, goal: AtPositionPushed) -> Actions:
    """Push the object to its position."""
    target = goal.position[0, :2].double().numpy()
    near_m = goal.criteria.pushed_position_m - MARGIN_M
    body = int(goal.object[0])
    yield from push(
        arm, body, target[None], lambda place: bool(np.linalg.norm(place - target) < near_m)
    )
    yield from _leave(arm, body)


@solves(PushedTowards)
def solve_pushed_towards(arm: Arm, goal: PushedTowards) -> Actions:
    """Push the object some of the way towards the other."""
    body, other = int(goal.object[0]), int(goal.towards[0])
    start, end = start_of(arm, body), start_of(arm, other)
    gain = goal.criteria.push_gain + MARGIN_SHARE
    strict = goal.with_criteria(replace(goal.criteria, push_gain=gain))
    between = float(np.linalg.norm(end - start)) * (1.0 - gain * goal.criteria.push_target_share)

    def done(place: np.ndarray) -> bool:
        reached = strict.reached(*(torch.as_tensor(p) for p in (place, start, end)))
        return bool(reached) and float(np.linalg.norm(place_of(arm, other) - place)) <= between

    targets = _towards(arm, body, start, end)
    targets = targets[[done(place) for place in targets]]
    if not len(targets) and not done(place_of(arm, body)):
        raise SkillFailed(f"there is no room for {arm.world.keys[body]} on its way")
    yield from push(arm, body, targets, done)
    yield from _leave(arm, body)


def _towards(arm: Arm, body: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return free places (T, 2) around the line between two positions (2,)."""
    way = end - start
    side = np.array([-way[1], way[0]])
    shares = np.stack(np.meshgrid(np.arange(0.3, 1.01, 0.04), np.arange(-0.4, 0.41, 0.1)), -1)
    places = start + shares.reshape(-1, 2) @ np.stack((way, side))
    centers, radii = others(arm, (body,))
    gaps = np.linalg.norm(places[:, None] - centers, axis=-1) - radii
    return places[(gaps > outer_radius(arm, body) + CLEARANCE_M).all(-1)]


def _leave(arm: Arm, body: int) -> Actions:
    """Retreat from the object, and wait until it rests."""
    if bool(arm.world.gripper_touches(torch.tensor([body]))[0]):
        yield from arm.rise(0.05)
    yield from rest(arm, body)
