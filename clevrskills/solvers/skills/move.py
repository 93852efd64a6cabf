"""Motion of the end effector to a pose or position."""

from collections.abc import Sequence
from itertools import product
from math import pi

import numpy as np
from sapien import Pose

from clevrskills.predicates import EndEffectorAtPose, EndEffectorAtPosition, Traced
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, spot
from clevrskills.solvers.skills import solves

ASIDE_M, ASIDE_PER_STEP_M = (0.01, 0.02, 0.04, 0.08), 0.01
"""Distances and speed of steps away from an obstacle that is too near."""
SETTLE_STEPS = 4
"""Control steps for the arm to reach its commanded pose."""


@solves(EndEffectorAtPose)
def solve_end_effector_at_pose(arm: Arm, goal: EndEffectorAtPose) -> Actions:
    """Move to the pose."""
    position, orientation = goal.position[0].double().numpy(), goal.orientation[0].double().numpy()
    arm.set_label("move", f"Move to the pose at {spot(position)}")
    yield from _move(arm, position, [orientation])


@solves(EndEffectorAtPosition)
def solve_end_effector_at_position(arm: Arm, goal: EndEffectorAtPosition) -> Actions:
    """Move to the position, if possible with the current orientation."""
    position = goal.position[0].double().numpy()
    arm.set_label("move", f"Move to {spot(position)}")
    yield from _move(arm, position, _orientations(arm))


@solves(Traced)
def solve_traced(arm: Arm, goal: Traced) -> Actions:
    """Move to the goal, if possible with the current orientation."""
    body = int(goal.object[0])
    arm.set_label("move", f"Move to {arm.label(body)}")
    yield from _move(arm, arm.body_pose(body).p, _orientations(arm))


def _move(arm: Arm, position: np.ndarray, orientations: Sequence[np.ndarray]) -> Actions:
    """Move to a position in the first reachable orientation (4,)."""
    arm.update_planning_scene()
    yield from _step_aside(arm)
    for orientation in orientations:
        target = Pose(position, orientation)
        if arm.reachable(target) is not None:
            yield from arm.move(target)
            yield from arm.wait(SETTLE_STEPS)
            return
    raise SkillFailed(f"no way to reach {np.round(position, 3).tolist()}")


def _step_aside(arm: Arm) -> Actions:
    """Leave a collision by the shortest step."""
    if not arm.planner.collides(arm.controller.target_qpos):
        return
    for distance_m in ASIDE_M:
        for direction in product((0.0, 1.0, -1.0), repeat=3):
            target = Pose(distance_m * np.array(direction)) * arm.pose
            if any(direction) and arm.reachable(target) is not None:
                yield from arm.straight(target, ASIDE_PER_STEP_M)
                return
    raise SkillFailed("the arm is stuck between obstacles")


def _orientations(arm: Arm) -> list[np.ndarray]:
    """Return the current orientation, then straight down with the current yaw and quarter turns."""
    return [arm.pose.q, *(down(arm.yaw_rad + k * pi / 2) for k in range(4))]
