"""Putting an object down: on another one, in an area, at a place of the table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from sapien import Pose

from clevrskills import geometry
from clevrskills.placement import placements
from clevrskills.predicates import AtPose, AtPosition, OnTop, Predicate
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, yaw_of
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.pick import pick

ABOVE_M = 0.05
RETREAT_M = 0.06
RELEASE_GAP_M = 0.0015
"""Height above its resting place at which an object is let go."""
CANDIDATES = 16
REST_STEPS = 24
"""Control steps in which an object must come to rest."""
TURNS_RAD = tuple(np.deg2rad([0.0, 45.0, -45.0, 90.0, -90.0]).astype(np.float32).tolist())


def place(arm: Arm, poses: Iterator[Pose]) -> Actions:
    """Put the held body down at the first of some poses that the arm reaches, and back off.

    Raises:
        SkillFailed: None can be reached.
    """
    body = arm.held
    grip = _grip(arm, body)
    arm.look_around()
    for target in poses:
        tip = Pose([0, 0, RELEASE_GAP_M]) * target * grip.inv()
        if arm.reachable(Pose([0, 0, ABOVE_M]) * tip) is not None:
            break
    else:
        raise SkillFailed(f"no place for {arm.world.keys[body]} can be reached")
    arm.step_label = f"Move {arm.label(body)} above its place"
    yield from arm.move(Pose([0, 0, ABOVE_M]) * tip)
    if arm.held != body:
        raise SkillFailed(f"{arm.world.keys[body]} was lost on the way")
    # the grip may have given a little on the way
    tip = Pose([0, 0, RELEASE_GAP_M]) * target * _grip(arm, body).inv()
    arm.step_label = f"Place {arm.label(body)}"
    yield from arm.straight(Pose([0, 0, 0.01]) * tip, per_step_m=0.025)
    yield from arm.straight(tip, per_step_m=0.005)
    yield from arm.wait(1)
    yield from let_go(arm)


def let_go(arm: Arm) -> Actions:
    """Release and rise."""
    arm.vacuum = False
    yield from arm.wait(1)
    yield from arm.rise(RETREAT_M)


def _grip(arm: Arm, body: int) -> Pose:
    """Pose of the held body in the end-effector frame, as commanded."""
    tcp = arm.world.end_effector_pose[0].double().numpy()
    return Pose(tcp[:3], tcp[3:]).inv() * arm.body_pose(body)


def put_aside(arm: Arm) -> Actions:
    """Put what is held on a free place of the table."""
    body = arm.held
    if arm.pose.p[2] < 0.15:
        yield from arm.rise(0.15 - float(arm.pose.p[2]))
    yield from place(arm, _free_places(arm, body))


def _free_places(arm: Arm, body: int, count: int = 60) -> Iterator[Pose]:
    """Free places of the table in random order, the present orientation kept."""
    world = arm.world
    index = torch.tensor([body])
    offsets = world.world_points(index)[0] - world.position(index)[0]
    lift = float(-offsets[:, 2].min())
    orientation = world.orientation(index)[0].double().numpy()
    for _ in range(count):
        x, y = arm.generator.uniform((-0.40, -0.30), (0.0, 0.30))
        points = offsets + torch.tensor([x, y, lift + 0.002])
        distance = world.distance(points[None])[0].amin(-1)  # (K,)
        distance[body] = geometry.PAD
        if float(distance.min()) > 0.02:
            yield Pose([x, y, lift], orientation)


def _rest(arm: Arm, body: int) -> Actions:
    """Wait until the body is at rest."""
    arm.step_label = f"Wait for {arm.label(body)} to rest"
    index = torch.tensor([body])
    for action in arm.wait(REST_STEPS):
        if bool(arm.world.is_static(index)[0]):
            return
        yield action


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
            yield from _rest(arm, upper)
            return
        yield from pick(arm, upper)
    elif arm.pose.p[2] < 0.10:
        yield from arm.rise(0.05)
    yield from place(arm, _places_on(arm, goal, upper, lower))
    yield from _rest(arm, upper)


def _places_on(arm: Arm, goal: OnTop, upper: int, lower: int) -> Iterator[Pose]:
    """Stable places on the lower body, the best first."""
    for turn in TURNS_RAD:  # turning the wrist takes time, so first without
        pose, score = placements(
            arm.world,
            torch.tensor([upper]),
            torch.tensor([lower]),
            torch.tensor([turn]),
            goal.inside,
        )
        for k in score[0].argsort(descending=True, stable=True)[:CANDIDATES].tolist():
            if float(score[0, k]) > -1.0:
                values = pose[0, k].double().numpy()
                yield Pose(values[:3], values[3:])


@solves(AtPosition)
def solve_at_position(arm: Arm, goal: Predicate) -> Actions:
    """Pick the object and put it at its place."""
    assert isinstance(goal, AtPosition)
    body = int(goal.object[0])
    if arm.held != body:
        yield from pick(arm, body)
    elif arm.pose.p[2] < 0.10:
        yield from arm.rise(0.05)
    yield from place(arm, _poses_at(arm, goal, body))
    yield from _rest(arm, body)


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
