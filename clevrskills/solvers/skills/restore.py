"""Placing of an object at a given pose on another one."""

from collections.abc import Iterator

import torch
from sapien import Pose

from clevrskills.predicates import AtPoseOnTop
from clevrskills.solvers.motion import Actions, Arm, turned_about_z, yaw_of
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.place import SLANT_RAD, bring, tilt_rad


@solves(AtPoseOnTop)
def solve_at_pose_on_top(arm: Arm, goal: AtPoseOnTop) -> Actions:
    """Put the object on the other one at its pose."""
    yield from bring(arm, int(goal.object[0]), lambda: _poses(arm, goal))


def _poses(arm: Arm, goal: AtPoseOnTop) -> Iterator[Pose]:
    body = int(goal.object[0])
    orientation = goal.orientation[0].double().numpy()
    if tilt_rad(arm, body) <= SLANT_RAD:  # as held, so that it lies flat after the release
        present = arm.body_pose(body).q
        orientation = (turned_about_z(yaw_of(orientation) - yaw_of(present)) * Pose(q=present)).q
    pose = torch.cat((goal.position, torch.as_tensor(orientation, dtype=torch.float32)[None]), -1)
    height, _ = arm.world.rest(goal.object, pose[:, None], goal.bottom)
    yield Pose([*pose[0, :2].double().tolist(), float(height)], orientation)
