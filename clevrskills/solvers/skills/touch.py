"""Touching of objects, and pushing them away."""

import numpy as np
import torch
from sapien import Pose

from clevrskills.core import geometry
from clevrskills.predicates import Touched, TouchedPushed
from clevrskills.predicates.touched import tilt
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.approach import empty_hand, place_of, start_of
from clevrskills.solvers.skills.push import ARENA_M, push
from clevrskills.solvers.skills.put_down import rest

ABOVE_M, SLOW_M, SLOW_PER_STEP_M = 0.04, 0.006, 0.002
OVERTRAVEL_M, LEAVE_M = 0.006, 0.012
TOP_M = 0.003
SPOTS, TURNS_RAD = 6, (0.0, np.pi / 2, -np.pi / 2)
PUSH_M = 0.015
"""Additional distance of a push."""
DIRECTIONS = 16


def touch(arm: Arm, body: int) -> Actions:
    """Lower the cups onto a body until they touch it, with the vacuum off."""
    yield from empty_hand(arm)
    arm.set_label("move", f"Move above {arm.label(body)}")
    tip = _above(arm, body)
    yield from arm.move(Pose([0, 0, ABOVE_M]) * tip)
    arm.set_label("touch", f"Touch {arm.label(body)}")
    yield from arm.straight(Pose([0, 0, SLOW_M]) * tip, per_step_m=0.02)
    index = torch.tensor([body])
    for action in arm.straight(Pose([0, 0, -OVERTRAVEL_M]) * tip, SLOW_PER_STEP_M):
        yield action
        if bool(arm.world.gripper_touches(index)[0]):
            break
    yield from arm.rise(LEAVE_M, SLOW_M)
    yield from rest(arm, body)


def _above(arm: Arm, body: int) -> Pose:
    """Return the end-effector pose, cups down, at the reachable spot nearest to a body's center."""
    index = torch.tensor([body])
    points = arm.world.world_points(index)[0].double().numpy()
    center = geometry.to_world(
        arm.world.pose(index), arm.world.at(arm.world.solids.center, index)[:, None]
    )[0, 0, :2]
    high = points[points[:, 2] > points[:, 2].max() - TOP_M, :2]
    spots = np.concatenate((center.double().numpy()[None], high))
    order = np.argsort(np.linalg.norm(spots - spots[0], axis=1), kind="stable")
    arm.update_planning_scene()
    for xy in spots[order[:: max(1, len(order) // SPOTS)]]:
        for turn in TURNS_RAD:
            pose = Pose([*xy, points[:, 2].max() + arm.cup_tip_z_m], down(arm.yaw_rad + turn))
            if arm.reachable(Pose([0, 0, ABOVE_M]) * pose) is not None:
                return pose
    raise SkillFailed(f"{arm.world.keys[body]} cannot be touched from above")


@solves(Touched)
def solve_touched(arm: Arm, goal: Touched) -> Actions:
    """Touch the object, after pushing it back if it was moved away."""
    body, near_m = int(goal.object[0]), 0.6 * goal.criteria.touch_displacement_m
    home = start_of(arm, body)
    if np.linalg.norm(place_of(arm, body) - home) > goal.criteria.touch_displacement_m:
        yield from push(
            arm, body, home[None], lambda place: bool(np.linalg.norm(place - home) < near_m)
        )
    yield from touch(arm, body)


@solves(TouchedPushed)
def solve_touched_pushed(arm: Arm, goal: TouchedPushed) -> Actions:
    """Push the object away in the easiest direction."""
    body, least_m = int(goal.object[0]), goal.criteria.push_displacement_m
    if tilted(arm, body) >= goal.criteria.topple_angle_rad:
        raise SkillFailed(f"{arm.world.keys[body]} has fallen over")
    home = start_of(arm, body)

    def done(place: np.ndarray) -> bool:
        return bool(np.linalg.norm(place - home) >= least_m + PUSH_M / 3)

    if done(place_of(arm, body)):
        yield from touch(arm, body)
        return
    angle = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)
    targets = home + (least_m + PUSH_M) * np.column_stack((np.cos(angle), np.sin(angle)))
    low, high = np.array(ARENA_M).T
    yield from push(arm, body, targets[((targets > low) & (targets < high)).all(-1)], done)


def tilted(arm: Arm, body: int) -> float:
    """Return the tilt of a body in radians relative to the start of the episode."""
    index = torch.tensor([body])
    return float(tilt(arm.env.start.orientation(index), arm.world.orientation(index))[0])
