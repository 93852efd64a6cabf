"""Approach to the side of an object with the cups down, to push it."""

import itertools
from collections.abc import Generator

import numpy as np
import torch
from sapien import Pose

from clevrskills.core import geometry
from clevrskills.solvers.grasps import HEAD_HALF_SIZE_M, down
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.skills.put_down import put_aside

STANDOFFS_M = (0.018, 0.035)
"""Initial distances from the object, above the planner's margin."""
BACK_OFF_M, BACK_OFF_PER_STEP_M = 0.04, 0.02
OVER_M, DOWN_PER_STEP_M = 0.02, 0.03
OUTER_RADIUS_M = 0.055
"""Radius of the gripper."""


def empty_hand(arm: Arm) -> Actions:
    """Put aside the held body and switch the vacuum off."""
    if arm.held >= 0:
        yield from put_aside(arm)
    arm.vacuum = False


def place_of(arm: Arm, body: int) -> np.ndarray:
    """Return the position of a body on the table, (2,)."""
    return arm.world.body_pose[0, body, :2].double().numpy()


def start_of(arm: Arm, body: int) -> np.ndarray:
    """Return the position of a body at the start of the episode, (2,)."""
    return arm.env.start.body_pose[0, body, :2].double().numpy()


def spans(arm: Arm, body: int) -> tuple[float, float]:
    """Return the world z of the lowest and the highest point of a body."""
    index = torch.tensor([body])
    return float(arm.world.bottom(index)[0]), float(arm.world.top(index)[0])


def outer_radius(arm: Arm, body: int) -> float:
    """Return the radius of the disc around a body seen from above."""
    points = arm.world.world_points(torch.tensor([body]))[0, :, :2].double().numpy()
    return float(np.linalg.norm(points - place_of(arm, body), axis=1).max())


def others(arm: Arm, bodies: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return centers (N, 2) and radii (N,) of the discs around other bodies."""
    present = arm.world.solids.present[0].nonzero()[:, 0].tolist()
    found = [k for k in present if k not in bodies]
    centers = np.array([place_of(arm, k) for k in found]).reshape(-1, 2)
    return centers, np.array([outer_radius(arm, k) for k in found])


def from_line(points: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return distances (..., N) of points (N, 2) from line segments with ends (..., 2)."""
    way = (end - start)[..., None, :]
    offset = points - start[..., None, :]
    length2 = np.maximum((way**2).sum(-1), 1e-12)
    part = np.clip((offset * way).sum(-1) / length2, 0.0, 1.0)
    return np.linalg.norm(offset - part[..., None] * way, axis=-1)


def approaches(arm: Arm, body: int, direction: np.ndarray, tip_z_m: float) -> list[Pose]:
    """Return end-effector poses behind a body to push it along (2,), least rotation first."""
    points = arm.world.solids.points[0, body]
    box = torch.tensor(list(itertools.product(*zip(points.amin(0), points.amax(0), strict=True))))
    corners = geometry.to_world(arm.world.body_pose[0, body], box)[:, :2].double().numpy()
    behind = float((corners @ direction).min())
    middle = place_of(arm, body)
    along = np.arctan2(direction[1], direction[0])
    found = []
    for quarter in range(4):
        yaw = along + quarter * np.pi / 2
        yaw = arm.yaw_rad + (yaw - arm.yaw_rad + np.pi) % (2 * np.pi) - np.pi
        for standoff_m in STANDOFFS_M:
            out = behind - HEAD_HALF_SIZE_M[quarter % 2] - standoff_m
            xy = middle + direction * (out - float(middle @ direction))
            pose = Pose([*xy, tip_z_m + arm.cup_tip_z_m], down(yaw))
            found.append((abs(yaw - arm.yaw_rad) + standoff_m, pose))
    return [pose for _, pose in sorted(found, key=lambda item: item[0])]


def _reachable_approach(
    arm: Arm, body: int, direction: np.ndarray, length_m: float, tip_z_m: float
) -> Pose | None:
    """Return the first reachable approach that allows a push by a length, if any."""
    arm.update_planning_scene()
    kinematics = arm.planner.kinematics
    for pose in approaches(arm, body, direction, tip_z_m):
        qpos = arm.reachable(pose)
        if qpos is None:
            continue
        end = Pose([*(direction * length_m), 0.0]) * pose
        last = kinematics.inverse(arm.base.inv() * end, qpos)
        if last is not None and kinematics.within_limits(last):
            return pose
    return None


def go_beside(
    arm: Arm, body: int, direction: np.ndarray, length_m: float, tip_z_m: float, top_m: float
) -> Generator[np.ndarray, None, bool]:
    """Move beside a body, from above if possible, to push it along a unit vector (2,) with the cups
    at a height; return whether the arm is there.
    """
    pose = _reachable_approach(arm, body, direction, length_m, tip_z_m)
    if pose is None:
        return False
    arm.set_label("move", f"Move beside {arm.label(body)}")
    begin = arm.actions
    above = Pose([0, 0, max(0.0, top_m + OVER_M - float(pose.p[2]))]) * pose
    arm.update_planning_scene()
    try:
        if arm.reachable(above) is None:
            yield from arm.move(pose)
        else:
            yield from arm.move(above)
            yield from arm.straight(pose, DOWN_PER_STEP_M)
    except SkillFailed:
        arm.mark_failed(begin)
        return False
    return True


def advance(arm: Arm, step: np.ndarray, height_m: float) -> np.ndarray:
    """Return the action that moves the gripper by a step (2,) at a height."""
    x, y = arm.pose.p[:2] + step
    return arm.action(Pose([x, y, height_m], arm.pose.q))


def back_off(arm: Arm, direction: np.ndarray) -> Actions:
    """Move back after a push along a direction (2,)."""
    away = Pose([*(-BACK_OFF_M * direction), 0.0])
    yield from arm.straight(away * arm.pose, BACK_OFF_PER_STEP_M)
