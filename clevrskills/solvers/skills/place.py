"""Bringing an object to its place: on another one, in an area, at a spot of the table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from sapien import Pose

from clevrskills import geometry
from clevrskills.placement import placements
from clevrskills.predicates import AtPose, AtPosition, OnTop, Predicate
from clevrskills.solvers.motion import Actions, Arm, yaw_of
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.put_down import RETREAT_M, place, rest

CANDIDATES = 16
UPRIGHT_RAD = 0.26
"""Tilt up to which an object counts as upright."""
CARRY_HEIGHT_M, LIFT_M = 0.10, 0.05
"""A held object is lifted first if the gripper is lower than this."""
TURNS_RAD = tuple(np.deg2rad([0.0, 45.0, -45.0, 90.0, -90.0]).astype(np.float32).tolist())


@solves(OnTop)
def solve_on_top(arm: Arm, goal: Predicate) -> Actions:
    """Pick the upper body and put it on the lower one."""
    assert isinstance(goal, OnTop)
    upper, lower = int(goal.top[0]), int(goal.bottom[0])
    if arm.held != upper:
        outcome = goal.evaluate(arm.world, {})
        if (
            float(outcome.reward[0]) >= 6.0
        ):  # it lies there already and only has to come to rest or be let alone
            yield from arm.rise(RETREAT_M)
            yield from rest(arm, upper)
            return
        yield from pick(arm, upper)
    elif arm.pose.p[2] < CARRY_HEIGHT_M:
        yield from arm.rise(LIFT_M)
    yield from place(arm, _places_on(arm, goal, upper, lower))
    yield from rest(arm, upper)


def _places_on(arm: Arm, goal: OnTop, upper: int, lower: int) -> Iterator[Pose]:
    """Stable places on the lower body, the best first."""
    indices = torch.tensor([upper]), torch.tensor([lower])
    for orientation, turn in _orientations(arm, upper):
        pose, score = placements(
            arm.world, *indices, torch.tensor([turn]), goal.inside, orientation
        )
        for k in score[0].argsort(descending=True, stable=True)[:CANDIDATES].tolist():
            if float(score[0, k]) > -1.0:
                values = pose[0, k].double().numpy()
                yield Pose(values[:3], values[3:])


def _orientations(arm: Arm, body: int) -> Iterator[tuple[torch.Tensor, float]]:
    """Orientations (1, 4) with a turn about world z: as it is held, then upright if it lay on its
    side.
    """
    present = arm.world.orientation(torch.tensor([body]))
    for turn in TURNS_RAD:  # turning the wrist takes time, so first without
        yield present, turn
    tilt_rad = float(
        geometry.rotate(present, present.new_tensor([[0.0, 0, 1]]))[0, 2].clamp(-1, 1).acos()
    )
    if tilt_rad > UPRIGHT_RAD:
        upright = present.new_tensor([[1.0, 0, 0, 0]])
        for turn in np.linspace(0.0, 2 * np.pi, 12, endpoint=False).astype(np.float32).tolist():
            yield upright, turn


@solves(AtPosition)
def solve_at_position(arm: Arm, goal: Predicate) -> Actions:
    """Pick the object and put it at its place."""
    assert isinstance(goal, AtPosition)
    body = int(goal.object[0])
    if arm.held != body:
        yield from pick(arm, body)
    elif arm.pose.p[2] < CARRY_HEIGHT_M:
        yield from arm.rise(LIFT_M)
    yield from place(arm, _poses_at(arm, goal, body))
    yield from rest(arm, body)


def _poses_at(arm: Arm, goal: AtPosition, body: int) -> Iterator[Pose]:
    index = torch.tensor([body])
    position = goal.position[0].double().numpy()
    present = arm.body_pose(body)
    if isinstance(goal, AtPose):
        orientation = goal.orientation[0].double().numpy()
        turns = [yaw_of(orientation) - yaw_of(present.q)]
    else:
        turns = list(TURNS_RAD)
    offsets = arm.world.world_points(index)[0, :, 2] - arm.world.position(index)[0, 2]
    lift = float(-offsets.min())
    for turn in turns:
        spin = Pose(q=[np.cos(turn / 2), 0, 0, np.sin(turn / 2)])
        yield Pose([position[0], position[1], lift], (spin * Pose(q=present.q)).q)
