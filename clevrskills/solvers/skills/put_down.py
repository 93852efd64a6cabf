"""Putting down what the gripper holds."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from sapien import Pose

from clevrskills import geometry
from clevrskills.solvers.motion import Actions, Arm, SkillFailed

ABOVE_M = 0.05
RETREAT_M = 0.06
RELEASE_GAP_M = 0.0015
"""Height above its resting place at which an object is let go."""
REST_STEPS = 24
"""Control steps in which an object must come to rest."""
SAFE_HEIGHT_M = 0.15


def place(arm: Arm, poses: Iterator[Pose]) -> Actions:
    """Put the held body down at the first of some poses that the arm reaches, and back off.

    Raises:
        SkillFailed: None can be reached.
    """
    body = arm.held
    grip = _grip(arm, body)
    for target in poses:
        tip = Pose([0, 0, RELEASE_GAP_M]) * target * grip.inv()
        arm.look_around()
        if arm.reachable(Pose([0, 0, ABOVE_M]) * tip) is None:
            continue
        arm.look_around(with_held=False)  # what is held will touch what it is put on
        if arm.reachable(tip) is not None:
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
    arm.step_label = f"Put {arm.label(body)} aside"
    if arm.pose.p[2] < SAFE_HEIGHT_M:
        yield from arm.rise(SAFE_HEIGHT_M - float(arm.pose.p[2]))
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
        points = offsets + torch.tensor([x, y, lift + 0.002], dtype=torch.float32)
        distance = world.distance(points[None])[0].amin(-1)  # (K,)
        distance[body] = geometry.PAD
        if float(distance.min()) > 0.02:
            yield Pose([x, y, lift], orientation)


def rest(arm: Arm, body: int) -> Actions:
    """Wait until the body is at rest."""
    arm.step_label = f"Wait for {arm.label(body)} to rest"
    index = torch.tensor([body])
    for action in arm.wait(REST_STEPS):
        if bool(arm.world.is_static(index)[0]):
            return
        yield action
