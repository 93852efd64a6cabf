"""Picking an object up."""

from __future__ import annotations

from sapien import Pose

from clevrskills.predicates import Picked, Predicate
from clevrskills.solvers.grasps import Grasp, tilted_grasps, vertical_grasps
from clevrskills.solvers.motion import Actions, Arm, SkillFailed
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.put_down import put_aside

ATTEMPTS = 4
APPROACH_M = 0.06
SLOW_M, SLOW_PER_STEP_M = 0.005, 0.0025
"""Distance to the object from which the gripper goes slowly, so that it does not press the object
over."""
LIFT_M = 0.06
OVERTRAVEL_M = 0.004
CANDIDATES = 8
TOP_M = 0.36


def pick(arm: Arm, body: int) -> Actions:
    """Take a body and lift it a little.

    Raises:
        SkillFailed: It can't be grasped, or slipped each time.
    """
    if arm.held >= 0 and arm.held != body:
        yield from put_aside(arm)
    for attempt in range(ATTEMPTS):
        if arm.held != body:
            arm.step_label = f"Move above {arm.label(body)}"
            grasp = _reachable_grasp(arm, body, attempt)
            tip = grasp_pose(arm, grasp)
            yield from arm.move(_backed_off(tip, APPROACH_M))
            arm.step_label = f"Pick {arm.label(body)}"
            yield from _descend(arm, tip, body)
        if arm.held == body:
            arm.step_label = f"Lift {arm.label(body)}"
            yield from arm.rise(LIFT_M)
            if arm.held == body:
                return
        arm.vacuum = False
        yield from arm.rise(APPROACH_M)
    raise SkillFailed(f"{arm.world.keys[body]} could not be grasped in {ATTEMPTS} attempts")


def grasp_pose(arm: Arm, grasp: Grasp) -> Pose:
    """End-effector pose at which the cups are at the grasp."""
    return Pose(grasp.position, grasp.orientation) * Pose([0, 0, -arm.cup_tip_z_m])


def _backed_off(tip: Pose, distance_m: float) -> Pose:
    """The pose some way out along the axis of the gripper."""
    return tip * Pose([0, 0, -distance_m])


def _reachable_grasp(arm: Arm, body: int, skip: int) -> Grasp:
    """The best grasp that the arm reaches, from above and at the object, free of collisions; where
    the best ones failed before, the next.
    """
    found = vertical_grasps(arm.world, body, arm.cup_centers, arm.cup_radius_m, arm.yaw_rad)
    found = found or tilted_grasps(arm.world, body, arm.cup_centers, arm.cup_radius_m)
    # the best ones are much alike: where they can't be reached, try others all over the object
    found = found[:CANDIDATES] + found[CANDIDATES :: max(1, len(found) // CANDIDATES)]
    if not found:
        raise SkillFailed(f"{arm.world.keys[body]} has no free patch to seal on")
    best = None
    for grasp in found:
        tip = grasp_pose(arm, grasp)
        arm.look_around(ignore=(body,))
        if arm.reachable(tip) is None:
            continue
        arm.look_around()
        if arm.reachable(_backed_off(tip, APPROACH_M)) is not None:
            best = grasp
            if skip == 0:
                break
            skip -= 1
    if best is None:
        raise SkillFailed(f"no grasp of {arm.world.keys[body]} can be reached")
    return best


def _descend(arm: Arm, tip: Pose, body: int) -> Actions:
    """Go down with the vacuum on until it holds."""
    arm.vacuum = True
    yield from arm.straight(_backed_off(tip, SLOW_M))
    for action in arm.straight(_backed_off(tip, -OVERTRAVEL_M), per_step_m=SLOW_PER_STEP_M):
        if arm.held >= 0:
            return
        yield action
    for action in arm.wait(2):
        if arm.held >= 0:
            return
        yield action


@solves(Picked)
def solve_picked(arm: Arm, goal: Predicate) -> Actions:
    """Pick the object, then rise until it is clear of everything."""
    assert isinstance(goal, Picked)
    yield from pick(arm, int(goal.object[0]))
    while (
        arm.held >= 0 and arm.pose.p[2] < TOP_M and not bool(goal.evaluate(arm.world, {}).holds[0])
    ):
        yield from arm.rise(0.02)
