"""Picking an object up."""

from __future__ import annotations

from sapien import Pose

from clevrskills.predicates import Picked, Predicate
from clevrskills.solvers.grasps import Grasp, grasps
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, down
from clevrskills.solvers.skills import solves

ATTEMPTS = 4
APPROACH_M = 0.06
SLOW_M = 0.015
"""Distance above the object from which the gripper goes slowly."""
LIFT_M = 0.06
OVERTRAVEL_M = 0.006
CANDIDATES = 12
TOP_M = 0.36


def pick(arm: Arm, body: int) -> Actions:
    """Take a body and lift it a little.

    Raises:
        SkillFailed: It can't be grasped, or slipped each time.
    """
    if arm.held >= 0 and arm.held != body:
        yield from drop(arm)
    for _ in range(ATTEMPTS):
        if arm.held != body:
            arm.step_label = f"Move above {arm.label(body)}"
            grasp = _reachable_grasp(arm, body)
            tip = grasp_pose(arm, grasp)
            yield from arm.move(Pose([0, 0, APPROACH_M]) * tip)
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
    """End-effector pose at which the cups' tips are at the grasp."""
    return Pose(grasp.position + [0, 0, arm.cup_tip_z_m], down(grasp.yaw_rad))


def _reachable_grasp(arm: Arm, body: int) -> Grasp:
    """The best grasp that the arm reaches, from above and at the object, free of collisions."""
    found = grasps(arm.world, body, arm.cup_centers, arm.cup_radius_m, arm.yaw_rad)
    if not found:
        raise SkillFailed(f"{arm.world.keys[body]} has no free patch to seal on")
    arm.look_around(ignore=(body,))
    for grasp in found[:CANDIDATES]:
        tip = grasp_pose(arm, grasp)
        if arm.reachable(tip) is not None:
            arm.look_around()
            if arm.reachable(Pose([0, 0, APPROACH_M]) * tip) is not None:
                return grasp
            arm.look_around(ignore=(body,))
    raise SkillFailed(f"no grasp of {arm.world.keys[body]} can be reached")


def _descend(arm: Arm, tip: Pose, body: int) -> Actions:
    """Go down with the vacuum on until it holds."""
    arm.vacuum = True
    yield from arm.straight(Pose([0, 0, SLOW_M]) * tip)
    for action in arm.straight(Pose([0, 0, -OVERTRAVEL_M]) * tip, per_step_m=0.007):
        if arm.held >= 0:
            return
        yield action
    for action in arm.wait(2):
        if arm.held >= 0:
            return
        yield action


def drop(arm: Arm) -> Actions:
    """Put down what is held, on free table."""
    arm.step_label = f"Put {arm.label(arm.held)} aside"
    from clevrskills.solvers.skills.place import put_aside

    yield from put_aside(arm)


@solves(Picked)
def solve_picked(arm: Arm, goal: Predicate) -> Actions:
    """Pick the object, then rise until it is clear of everything."""
    assert isinstance(goal, Picked)
    yield from pick(arm, int(goal.object[0]))
    while not bool(arm.env.outcome.holds[0]) and arm.pose.p[2] < TOP_M and arm.held >= 0:
        yield from arm.rise(0.02)

