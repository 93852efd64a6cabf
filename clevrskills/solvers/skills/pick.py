"""Picking of objects."""

from collections.abc import Callable, Iterator
from itertools import chain, islice

import numpy as np
from sapien import Pose

from clevrskills.predicates import Picked
from clevrskills.solvers.grasps import Grasp, tilted_grasps, vertical_grasps
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, until
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.put_down import backed_off, put_aside

__all__ = ["pick"]

ATTEMPTS = 4
APPROACH_M = 0.06
SLOW_M, SLOW_PER_STEP_M = 0.005, 0.0025
"""Distance to the object, and speed, of the final approach, which must not topple the object."""
LIFT_M = 0.06
OVERTRAVEL_M = 0.004
CANDIDATES = 8
TOP_M = 0.36
STEEP = 0.98
"""Downward component from which a gripper counts as vertical."""
RANK_RAD = 0.05
"""Cost in joint distance of the next best grasp."""
TILTED, CHOICES = 40, 6
"""Tilted grasps that are considered, and suitable grasps that are compared."""

Effort = Callable[[Pose, np.ndarray], float]
"""Joint motion in rad of the next step with a body, given its pose in the end-effector frame and
the joint angles (n,) of the grasp; infinite if impossible."""


def pick(
    arm: Arm, body: int, effort: Effort | None = None, yaw_rad: float | None = None
) -> Actions:
    """Pick a body and lift it slightly.

    Args:
        arm: The arm.
        body: Slot of the body.
        effort: Cost of the next step, minimized over grasps; by default, or if it is infinite for
            all, the gripper is as vertical as possible.
        yaw_rad: Preferred yaw of the gripper; default: the current one.

    Raises:
        SkillFailed: The body cannot be grasped, or slipped each time.
    """
    if arm.held >= 0 and arm.held != body:
        yield from put_aside(arm)
    for attempt in range(ATTEMPTS):
        start = arm.actions
        if arm.held != body:
            arm.set_label("move", f"Move above {arm.label(body)}")
            grasp = _reachable_grasp(arm, body, attempt, effort, yaw_rad)
            tip = grasp_pose(arm, grasp)
            yield from arm.move(backed_off(tip, APPROACH_M))
            arm.set_label("pick", f"Pick {arm.label(body)}")
            yield from _descend(arm, tip, body)
        if arm.held == body:
            arm.set_label("lift", f"Lift {arm.label(body)}")
            yield from arm.rise(LIFT_M)
            if arm.held == body:
                return
        arm.vacuum = False
        yield from arm.rise(APPROACH_M)
        arm.mark_failed(start)
    raise SkillFailed(f"{arm.world.keys[body]} could not be grasped in {ATTEMPTS} attempts")


def grasp_pose(arm: Arm, grasp: Grasp) -> Pose:
    """Return the end-effector pose of a grasp."""
    return Pose(grasp.position, grasp.orientation) * Pose([0, 0, -arm.cup_tip_z_m])


def _reachable_grasp(
    arm: Arm, body: int, skip: int, effort: Effort | None, yaw_rad: float | None
) -> Grasp:
    """Return the best reachable grasp after ``skip`` failed ones."""
    grasps = _reachable_grasps(arm, body, yaw_rad, tilted=effort is not None)
    if effort is None and arm.pose.to_transformation_matrix()[2, 2] < -STEEP:
        found = [grasp for grasp, _ in islice(grasps, skip + 1)]
    else:  # large rotations take time
        found = _least_effort(arm, body, list(grasps), effort, skip + 1)
    if not found:
        raise SkillFailed(f"no grasp of {arm.world.keys[body]} can be reached")
    return found[-1]


def _least_effort(
    arm: Arm, body: int, grasps: list[tuple[Grasp, np.ndarray]], effort: Effort | None, count: int
) -> list[Grasp]:
    """Return the first ``count`` grasps by effort of the motion there, rank, and next effort."""
    start, present = arm.controller.target_qpos, arm.body_pose(body)
    costs = [arm.effort_rad(start, qpos) + RANK_RAD * k for k, (_, qpos) in enumerate(grasps)]
    order = sorted(range(len(grasps)), key=lambda k: costs[k])
    if effort is not None:
        whole = (
            (k, costs[k] + effort(grasp_pose(arm, grasps[k][0]).inv() * present, grasps[k][1]))
            for k in order
        )
        some = islice(((k, cost) for k, cost in whole if cost < np.inf), count + CHOICES)
        order = [k for k, _ in sorted(some, key=lambda item: item[1])] or order
    return [grasps[k][0] for k in order[:count]]


def _reachable_grasps(
    arm: Arm, body: int, yaw_rad: float | None, tilted: bool
) -> Iterator[tuple[Grasp, np.ndarray]]:
    """Yield reachable collision-free grasps, the best first, with joint angles (n,) just before
    them; tilted ones if requested or if there are no others.
    """
    near_rad = arm.yaw_rad if yaw_rad is None else yaw_rad
    found = vertical_grasps(arm.world, body, arm.cup_centers, arm.cup_radius_m, near_rad)
    # the best ones are similar: if they cannot be reached, try others all over the object
    found = found[:CANDIDATES] + found[CANDIDATES :: max(1, len(found) // CANDIDATES)]
    if tilted or not found:
        found += _various(tilted_grasps(arm.world, body, arm.cup_centers, arm.cup_radius_m))
    if not found:
        raise SkillFailed(f"{arm.world.keys[body]} has no free patch to seal on")
    for grasp in found:
        tip = grasp_pose(arm, grasp)
        arm.update_planning_scene(ignore=(body,), hollow=True)
        if arm.reachable(tip) is None:
            continue
        arm.update_planning_scene()
        qpos = arm.reachable(backed_off(tip, APPROACH_M))
        if qpos is not None:
            yield grasp, qpos


def _various(grasps: list[Grasp]) -> list[Grasp]:
    """Return the best grasp of each orientation, thinned out."""
    best: dict[bytes, Grasp] = {}
    for grasp in grasps:
        best.setdefault(np.round(grasp.orientation, 3).tobytes(), grasp)
    some = list(best.values())
    return some[:: max(1, len(some) // TILTED)]


def _descend(arm: Arm, tip: Pose, body: int) -> Actions:
    """Move down with the vacuum on until the body is held."""
    arm.vacuum = True
    yield from arm.straight(backed_off(tip, SLOW_M))
    pressing = arm.straight(backed_off(tip, -OVERTRAVEL_M), per_step_m=SLOW_PER_STEP_M)
    yield from until(lambda: arm.held >= 0, chain(pressing, arm.wait(2)))


@solves(Picked)
def solve_picked(arm: Arm, goal: Picked) -> Actions:
    """Pick the object, then rise until it is clear of everything."""
    yield from pick(arm, int(goal.object[0]))
    yield from arm.wait(1)
    while (
        arm.held >= 0 and arm.pose.p[2] < TOP_M and not bool(goal.evaluate(arm.world, {}).holds[0])
    ):
        yield from arm.rise(0.02)
        yield from arm.wait(1)
