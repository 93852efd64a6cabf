"""Toppling of objects and stacks."""

import numpy as np
import torch

from clevrskills.predicates import ToppledStructure, TouchedToppled
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.approach import (
    advance,
    empty_hand,
    from_line,
    go_beside,
    others,
    outer_radius,
    place_of,
    spans,
)
from clevrskills.solvers.skills.put_down import rest
from clevrskills.solvers.skills.touch import tilted, touch

DIRECTIONS = 16
BELOW_TOP_M, ABOVE_BOTTOM_M = 0.03, 0.012
"""Height of the tips of the cups: below the top to topple, above the bottom to push off."""
FALLEN_RAD = 0.6
"""Tilt from which a body falls on its own."""
PER_STEP_M, TRAVEL_M, LEAVE_M = 0.02, 0.16, 0.06
MIDDLE_M = (-0.17, 0.0)
"""Center of reach and view on the table."""
PUSHES = 6


def _directions(arm: Arm, bodies: list[int], length_m: float) -> list[np.ndarray]:
    """Return directions (2,) to fall in, the best first: free and towards the center."""
    angle = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)
    unit = np.column_stack((np.cos(angle), np.sin(angle)))
    start = place_of(arm, bodies[0])
    end = start + length_m * unit
    centers, radii = others(arm, tuple(bodies))
    gap = from_line(centers, start[None], end) - radii
    hits = (gap < outer_radius(arm, bodies[0])).any(-1)
    outside = np.linalg.norm(start + length_m / 2 * unit - MIDDLE_M, axis=1)
    approach = np.linalg.norm(start - 0.1 * unit - arm.pose.p[:2], axis=1)
    cost = hits * 10.0 + outside + 0.3 * approach
    return list(unit[np.argsort(cost, kind="stable")])


def _tip(arm: Arm, bodies: list[int], length_m: float, tip_z_m: float) -> Actions:
    """Push against the first body until it falls."""
    body = bodies[0]
    for direction in _directions(arm, bodies, length_m):
        top_m = max(spans(arm, k)[1] for k in bodies)
        if not (yield from go_beside(arm, body, direction, TRAVEL_M / 2, tip_z_m, top_m)):
            continue
        arm.set_label("topple", f"Topple {arm.label(body)}")
        low_m = spans(arm, body)[0]
        start, height_m = tilted(arm, body), float(arm.pose.p[2])
        for _ in range(int(TRAVEL_M / PER_STEP_M)):
            fallen = abs(tilted(arm, body) - start) > FALLEN_RAD
            if fallen or spans(arm, body)[0] < low_m - ABOVE_BOTTOM_M:
                break
            yield advance(arm, PER_STEP_M * direction, height_m)
        yield from arm.rise(LEAVE_M)  # bodies propped by the gripper fall
        for each in bodies:
            yield from rest(arm, each)
        return
    raise SkillFailed(f"{arm.world.keys[body]} cannot be reached from any side")


@solves(TouchedToppled)
def solve_touched_toppled(arm: Arm, goal: TouchedToppled) -> Actions:
    """Push the object over near its top; if it has fallen already, touch it."""
    body = int(goal.object[0])
    yield from empty_hand(arm)
    if tilted(arm, body) >= goal.criteria.topple_angle_rad:
        yield from touch(arm, body)
        return
    low, high = spans(arm, body)
    yield from _tip(arm, [body], high - low, max(high - BELOW_TOP_M, low + ABOVE_BOTTOM_M))


@solves(ToppledStructure)
def solve_toppled_structure(arm: Arm, goal: ToppledStructure) -> Actions:
    """Push the lowest body off its support, with all above; if all are on the table, touch."""
    bodies = [k for k in goal.objects[0].tolist() if k >= 0]
    yield from empty_hand(arm)
    for body in bodies:
        yield from rest(arm, body)
    if not _hanging(arm, bodies):
        yield from touch(arm, bodies[0])
    for _ in range(PUSHES):
        hanging = _hanging(arm, bodies)
        if not hanging:
            return
        height_m = max(spans(arm, k)[1] for k in hanging)
        tip_z_m = spans(arm, hanging[0])[0] + ABOVE_BOTTOM_M
        rows = [*hanging, *(k for k in bodies if k not in hanging)]
        yield from _tip(arm, rows, height_m, tip_z_m)


def _hanging(arm: Arm, bodies: list[int]) -> list[int]:
    """Return the bodies that are not on the table, the lowest first."""
    off = [k for k in bodies if not bool(arm.world.on_table(torch.tensor([k]))[0])]
    return sorted(off, key=lambda k: spans(arm, k)[0])
