"""Turning an object by an angle, in a direction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sapien import Pose

from clevrskills.predicates import GoalState, Outcome, Predicate, Rotated
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.place import UPRIGHT_RAD, UPRIGHT_TURNS_RAD, bring, tilt_rad
from clevrskills.solvers.skills.put_down import (
    grip_of,
    on_table,
    place_at,
    put_aside,
    rest,
    turned_about_z,
)

STAGES = 6
"""How often an object is taken at most: one turn of the wrist may not be enough."""
STEP_RAD = 0.15
"""Turn between points that are looked at ahead."""
LEAST_RAD = 0.3
"""A turn that is worth to put an object down and take it anew for the rest."""
CARRY_HEIGHT_M, LIFT_M, LIFTS = 0.10, 0.05, 4
"""A held object is lifted first if the gripper is lower than this, and further, at most so often,
where there is no room to turn."""
SPARE_RAD = 0.4
"""Room left to the wrist for a grasp that is turned a little."""
LEG_RAD = 1.5
"""Longest turn in one go, so that the shorter way round is the one that is meant."""


@solves(Rotated)
def solve_rotated(arm: Arm, goal: Predicate) -> Actions:
    """Pick the object, turn it in the air by what is left to turn, and put it at its place.

    Where the wrist can't do all of it, the object is put down in between and taken anew.
    """
    assert isinstance(goal, Rotated)
    body = int(goal.object[0])
    wanted = Pose(q=goal.orientation[0].double().numpy())
    xy = goal.position[0, :2].double().numpy()
    for _ in range(STAGES):
        if tilt_rad(arm, body) > UPRIGHT_RAD:
            yield from bring(arm, body, lambda: _upright(arm, body, xy, wanted))
            continue
        if arm.held >= 0 and arm.held != body:
            yield from put_aside(arm)
        if arm.held != body:
            yield from _wind(arm, _left_rad(arm, goal))
            yield from pick(arm, body)
        left = _left_rad(arm, goal)
        part = yield from _turn(arm, body, left)
        rest_of_turn = left - part
        place = xy if abs(rest_of_turn) < STEP_RAD else arm.body_pose(body).p[:2]
        orientation = (turned_about_z(-rest_of_turn) * wanted).q
        yield from place_at(arm, body, on_table(arm, body, place, orientation))
        yield from rest(arm, body)
