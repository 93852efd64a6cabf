"""Putting down of the held body."""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import torch
from sapien import Pose

from clevrskills.core import geometry
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, spot, turned_about_z, until

__all__ = ["place", "rest"]

ABOVE_M = (0.05, 0.10)
"""Heights from which an object is lowered; the second one avoids obstacles beside the place."""
RETREAT_M = 0.06
RELEASE_GAP_M = 0.0015
"""Height above the resting pose at the release."""
FREE_XY_M = (-0.40, -0.30), (0.0, 0.30)
"""Least and greatest x and y of the area where bodies are put aside."""
REST_STEPS = 24
"""Maximum number of control steps for an object to come to rest."""
SAFE_HEIGHT_M = 0.15
FREE_M = 0.02
"""Distance to other bodies from which a place counts as free."""
CHOICES = 8
"""Places that are compared by joint motion."""
LEVEL, STEEP = -0.1, 0.9
"""Least downward component of the gripper for a placement, and for one without checking the
retreat."""


def place(arm: Arm, poses: Iterator[Pose]) -> Actions:
    """Put the held body down at the first reachable pose, and retreat."""
    body = arm.held
    near = arm.controller.target_qpos
    target, _ = next(_reachable_places(arm, body, arm.grip(body), poses, near), (None, near))
    if target is None:
        raise SkillFailed(f"no place for {arm.world.keys[body]} can be reached")
    yield from place_at(arm, body, target)


def nearest_place(
    arm: Arm, body: int, grip: Pose, poses: Iterable[Pose], near: np.ndarray
) -> tuple[Pose | None, float]:
    """Return the reachable pose of least effort among the first few, and its effort in rad."""
    found = islice(_reachable_places(arm, body, grip, poses, near), CHOICES)
    return min(found, key=lambda item: item[1], default=(None, np.inf))


def _reachable_places(
    arm: Arm, body: int, grip: Pose, poses: Iterable[Pose], near: np.ndarray
) -> Iterator[tuple[Pose, float]]:
    """Yield the reachable poses with their effort in rad."""
    for target in poses:
        tip = Pose([0, 0, RELEASE_GAP_M]) * target * grip.inv()
        down = -tip.to_transformation_matrix()[2, 2]
        if down < LEVEL:
            continue
        # the held body will touch its support
        arm.update_planning_scene(ignore=(body,), with_held=False, hollow=True)
        if arm.reachable(tip, near) is None or (
            down < STEEP and arm.reachable(backed_off(tip, RETREAT_M), near) is None
        ):
            continue
        above = _above(arm, body, grip, tip, near)
        if above is not None:
            yield target, arm.effort_rad(near, above[1])


def _above(
    arm: Arm, body: int, grip: Pose, tip: Pose, near: np.ndarray
) -> tuple[Pose, np.ndarray] | None:
    """Return the reachable pose above ``tip`` with a held body, and joint angles (n,), if any."""
    arm.update_planning_scene(ignore=(body,), grip=(body, grip))
    poses = [Pose([0, 0, height_m]) * tip for height_m in ABOVE_M]
    reached = ((pose, arm.reachable(pose, near)) for pose in poses)
    return next(((pose, qpos) for pose, qpos in reached if qpos is not None), None)


def place_at(arm: Arm, body: int, target: Pose) -> Actions:
    """Put a held body down at a pose and retreat."""
    grip = arm.grip(body)
    tip = Pose([0, 0, RELEASE_GAP_M]) * target * grip.inv()
    above = _above(arm, body, grip, tip, arm.controller.target_qpos)
    if above is None:
        raise SkillFailed(f"no way to get above {np.round(target.p, 3).tolist()}")
    arm.set_label("move", f"Move {arm.label(body)} above {spot(target.p)}")
    yield from arm.move(above[0])
    if arm.held != body:
        raise SkillFailed(f"{arm.world.keys[body]} was lost on the way")
    # the grip may have shifted on the way
    tip = Pose([0, 0, RELEASE_GAP_M]) * target * arm.grip(body).inv()
    arm.set_label("place", f"Place {arm.label(body)} at {spot(target.p)}")
    yield from arm.straight(Pose([0, 0, 0.01]) * tip, per_step_m=0.025)
    yield from arm.straight(tip, per_step_m=0.005)
    yield from arm.wait(1)
    yield from let_go(arm)


def let_go(arm: Arm) -> Actions:
    """Release the body and retreat along the axis of the gripper."""
    arm.vacuum = False
    yield from arm.wait(1)
    yield from arm.straight(backed_off(arm.pose, RETREAT_M))


def backed_off(tip: Pose, distance_m: float) -> Pose:
    """Return a pose moved back along the axis of the gripper."""
    return tip * Pose([0, 0, -distance_m])


def put_aside(arm: Arm) -> Actions:
    """Put the held body on a free place of the table."""
    body = arm.held
    arm.set_label("lift", f"Lift {arm.label(body)} to put it aside")
    if arm.pose.p[2] < SAFE_HEIGHT_M:
        yield from arm.rise(SAFE_HEIGHT_M - float(arm.pose.p[2]))
    yield from place(arm, _free_places(arm, body))


def _free_places(arm: Arm, body: int, count: int = 60) -> Iterator[Pose]:
    """Yield random free places of the table, at first with the current orientation."""
    present = Pose(q=arm.body_pose(body).q)
    for k in range(2 * count):
        xy = arm.generator.uniform(*FREE_XY_M)
        turn = 0.0 if k < count else arm.generator.uniform(-np.pi, np.pi)
        target = free_place(arm, body, xy, (turned_about_z(turn) * present).q)
        if target is not None:
            yield target


def free_place(arm: Arm, body: int, xy: np.ndarray, orientation: np.ndarray) -> Pose | None:
    """Return the pose of a body with an orientation (4,) at a place (2,), if that is free."""
    pose = on_table(arm, body, xy, orientation)
    values = torch.as_tensor(np.concatenate((pose.p, pose.q)), dtype=torch.float32)
    points = geometry.to_world(values, arm.world.solids.points[0, body])
    distance = arm.world.distance(points[None])[0].amin(-1)  # (K,)
    distance[body] = geometry.PAD
    return pose if float(distance.min()) > FREE_M else None


def on_table(arm: Arm, body: int, xy: np.ndarray, orientation: np.ndarray) -> Pose:
    """Return the pose of a body with an orientation (4,) on the table at a place (2,)."""
    turned = torch.as_tensor(orientation, dtype=torch.float32)
    offsets = geometry.rotate(turned[None], arm.world.solids.points[0, body])
    return Pose([*xy, float(-offsets[:, 2].min())], orientation)


def rest(arm: Arm, body: int) -> Actions:
    """Wait until the body is at rest."""
    arm.set_label("wait", f"Wait for {arm.label(body)} to rest")
    index = torch.tensor([body])
    yield from until(lambda: bool(arm.world.is_static(index)[0]), arm.wait(REST_STEPS))
