"""Rotation of an object by a signed angle."""

from collections.abc import Generator, Iterator

import numpy as np
from sapien import Pose

from clevrskills.predicates import Rotated
from clevrskills.sim.robots.delta_action import ROTATION_RAD
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, turned_about_z
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.approach import spans
from clevrskills.solvers.skills.pick import Effort, pick
from clevrskills.solvers.skills.place import UPRIGHT_RAD, UPRIGHT_TURNS_RAD, bring, tilt_rad
from clevrskills.solvers.skills.put_down import on_table, place_at, put_aside, rest

STAGES = 5
"""Maximum number of grasps: one rotation of the wrist may not be enough."""
CLEAR_M, LIFT_M, LIFTS = 0.03, 0.05, 4
"""Least height of the rotation; step and maximum number of lifts if there is no room."""
PER_STEP_M = 0.02
SPARE_RAD = 0.8
"""Margin of the wrist's range, as the yaw of the grasp may differ."""
ABOVE_M = 0.06


@solves(Rotated)
def solve_rotated(arm: Arm, goal: Rotated) -> Actions:
    """Pick the object, rotate it by the remaining angle on the way to its place, and put it down.

    If the wrist's range does not allow that, rotate it in place as far as possible, and pick it
    again with more room for the wrist.

    Raises:
        SkillFailed: The object cannot be picked, rotated or put down, or takes too many rotations.
    """
    body = int(goal.object[0])
    xy, target = goal.position[0, :2].double().numpy(), goal.orientation[0].double().numpy()
    for stage in range(STAGES):
        if tilt_rad(arm, body) > UPRIGHT_RAD:
            yield from bring(arm, body, lambda: _upright(arm, body, xy))
            continue
        if arm.held != body:
            if arm.held >= 0:
                yield from put_aside(arm)
            left = _left_rad(arm, goal)
            effort = _effort(arm, xy, left) if stage else None
            yield from pick(arm, body, effort, _yaw_with_room_rad(arm, body, xy, left))
        left = _left_rad(arm, goal)
        carried, share = yield from _turn(arm, body, xy, left)
        last = carried or (stage > 0 and share == 1.0)
        place = xy if last else arm.body_pose(body).p[:2]
        orientation = (turned_about_z((share - 1.0) * left) * Pose(q=target)).q
        yield from place_at(arm, body, on_table(arm, body, place, orientation))
        yield from rest(arm, body)
        if last:
            return
    raise SkillFailed(f"{arm.world.keys[body]} is not turned after {STAGES} turns")


def _left_rad(arm: Arm, goal: Rotated) -> float:
    """Return the remaining angle about world z."""
    return float(goal.angle_rad[0] - arm.remembered(goal)["turned_rad"][0])


def _upright(arm: Arm, body: int, xy: np.ndarray) -> Iterator[Pose]:
    """Yield upright poses at a position (2,)."""
    for turn in UPRIGHT_TURNS_RAD:
        yield on_table(arm, body, xy, turned_about_z(turn).q)


def _turn(
    arm: Arm, body: int, xy: np.ndarray, angle_rad: float
) -> Generator[np.ndarray, None, tuple[bool, float]]:
    """Carry a held body above a place (2,) while rotating it, else rotate it in place; return
    whether it was carried, and the share of the rotation.
    """
    arm.set_label("turn", f"Turn {arm.label(body)}")
    if spans(arm, body)[0] < CLEAR_M:
        yield from arm.rise(LIFT_M)
    for _ in range(LIFTS):
        poses, share, blocked = _possible(arm, body, xy, angle_rad)
        if not blocked:
            break
        yield from arm.rise(LIFT_M)
    carried = share == 1.0
    if not carried:
        poses, share, _ = _possible(arm, body, arm.body_pose(body).p[:2], angle_rad)
    for pose in poses:
        yield arm.action(pose)
    if arm.held != body:
        raise SkillFailed(f"{arm.world.keys[body]} was lost on the way")
    return carried, share


def _possible(
    arm: Arm, body: int, xy: np.ndarray, angle_rad: float
) -> tuple[list[Pose], float, bool]:
    """Return end-effector poses per control step that carry and rotate the held body as far as
    possible, the share of the way, and whether a collision limits it.
    """
    arm.update_planning_scene()
    here = arm.body_pose(body).p
    steps = _steps(here, xy, angle_rad)
    poses: list[Pose] = []
    for pose, qpos in _way(arm, arm.pose, arm.controller.target_qpos, here, xy, angle_rad):
        if not arm.planner.allows(qpos):
            break
        if arm.planner.collides(qpos):
            return poses, len(poses) / steps, True
        poses.append(pose)
    return poses, len(poses) / steps, False


def _way(
    arm: Arm, start: Pose, qpos: np.ndarray, here: np.ndarray, xy: np.ndarray, angle_rad: float
) -> Iterator[tuple[Pose, np.ndarray]]:
    """Yield end-effector poses, with joint angles (n,) regardless of limits, that move a body from
    one place (3,) above another (2,) on a line and rotate it evenly, as far as they exist.
    """
    steps = _steps(here, xy, angle_rad)
    for k in range(1, steps + 1):
        place = here + np.append(xy - here[:2], 0.0) * k / steps
        pose = Pose(place) * turned_about_z(angle_rad * k / steps) * Pose(-here) * start
        found = arm.planner.kinematics.inverse(arm.base.inv() * pose, qpos)
        if found is None:
            return
        qpos = found
        yield pose, qpos


def _effort(arm: Arm, xy: np.ndarray, angle_rad: float) -> Effort:
    """Return the effort to carry a body to a place (2,) and rotate it."""

    def effort_rad(grip: Pose, qpos: np.ndarray) -> float:
        start = arm.base * arm.planner.kinematics.forward(qpos)
        here = (start * grip).p
        way = [found for _, found in _way(arm, start, qpos, here, xy, angle_rad)]
        if len(way) < _steps(here, xy, angle_rad) or not all(arm.planner.allows(q) for q in way):
            return np.inf
        return arm.effort_rad(qpos, way[-1])

    return effort_rad


def _steps(here: np.ndarray, xy: np.ndarray, angle_rad: float) -> int:
    """Return the number of control steps, at least one."""
    distance_m = float(np.linalg.norm(xy - here[:2]))
    return int(np.ceil(max(1.0, abs(angle_rad) / ROTATION_RAD, distance_m / PER_STEP_M)))


def _yaw_with_room_rad(arm: Arm, body: int, xy: np.ndarray, angle_rad: float) -> float:
    """Return the yaw for a grasp of a body that leaves the wrist room to rotate it."""
    here, yaw = arm.body_pose(body).p, arm.yaw_rad
    start = Pose([*here[:2], spans(arm, body)[1] + arm.cup_tip_z_m + ABOVE_M], down(yaw))
    qpos = arm.planner.kinematics.inverse(arm.base.inv() * start, arm.controller.target_qpos)
    if qpos is None:
        return yaw
    way = [found[-1] - qpos[-1] for _, found in _way(arm, start, qpos, here, xy, angle_rad)]
    least = arm.planner.lower[-1] + SPARE_RAD - min([0.0, *way])
    most = arm.planner.upper[-1] - SPARE_RAD - max([0.0, *way])
    middle = (least + most) / 2
    angle = np.clip(qpos[-1], min(least, middle), max(most, middle))
    # the gripper points down, so its last joint rotates the other way
    return float(yaw - (angle - qpos[-1]))
