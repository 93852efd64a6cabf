"""Placing of objects: on another one, in an area, at a position."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from sapien import Pose

from clevrskills.predicates import AtPose, AtPosition, OnTop, SetDown
from clevrskills.sim.placement import placements
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, turned_about_z, yaw_of
from clevrskills.solvers.settling import towards_upright
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.put_down import (
    FREE_XY_M,
    RETREAT_M,
    free_place,
    nearest_place,
    on_table,
    place,
    place_at,
    put_aside,
    rest,
)
from clevrskills.solvers.skills.uncover import uncover

__all__ = ["solve_on_top"]

CANDIDATES, UPRIGHT_CANDIDATES = 16, 4
"""Places considered for each yaw of an object as it is, and upright."""
STAGES = 4
"""Maximum number of picks of an object, which may be turned over in between."""
SPREADS = ((0.0, 0.0), (0.03, 0.5), (0.06, 1.0), (0.1, 2.0), (0.2, 3.0))
"""Spreads in m and rad of places to turn an object over."""
DRAWS = 4
"""Samples for each spread."""
DETOUR_RAD = 4.0
"""Cost of turning an object over and picking it again."""
TOUCH_M = 0.003
"""Distance up to which bodies may prop each other."""
UPRIGHT_RAD = 0.26
"""Tilt up to which an object can be placed upright without turning it over."""
SLANT_RAD = 0.03
"""Tilt up to which it counts as upright."""
CARRY_HEIGHT_M, LIFT_M = 0.10, 0.05
"""Height of the gripper below which a held object is lifted first, and by how much."""
TURNS_RAD = tuple(np.deg2rad([0.0, 45.0, -45.0, 90.0, -90.0]).astype(np.float32).tolist())
UPRIGHT_TURNS_RAD = tuple(np.deg2rad(np.arange(0.0, 360.0, 30.0)).astype(np.float32).tolist())


def bring(arm: Arm, body: int, places: Callable[[], Iterator[Pose]]) -> Actions:
    """Put a body down at the first reachable pose, and wait until it rests there.

    A toppled body is grasped such that it can reach such a pose, or first put down such that it
    rolls upright or at least to a less tilted side.

    Args:
        arm: The arm.
        body: Slot of the body, held or not.
        places: Yields resting poses for its current orientation, the best first.

    Raises:
        SkillFailed: The body cannot be grasped, or no pose is reachable.
    """
    for _ in range(STAGES):
        if tilt_rad(arm, body) <= UPRIGHT_RAD:
            if arm.held != body:
                yield from pick(arm, body)
            elif arm.pose.p[2] < CARRY_HEIGHT_M:
                yield from arm.rise(LIFT_M)
            yield from place(arm, places())
            yield from rest(arm, body)
            return
        final, turning = list(places()), list(_turning(arm, body))
        if arm.held != body:
            yield from _pick_to_turn(arm, body, final, turning)
        if arm.held != body:  # an obstacle was removed first
            continue
        yield from arm.rise(LIFT_M)  # room to turn
        grip, qpos = arm.grip(body), arm.controller.target_qpos
        target, _ = nearest_place(arm, body, grip, final, qpos)
        if target is not None:
            yield from place_at(arm, body, target)
            yield from rest(arm, body)
            return
        target, _ = nearest_place(arm, body, grip, turning, qpos)
        if target is not None:
            yield from place_at(arm, body, target)
        else:
            yield from put_aside(arm)
        yield from rest(arm, body)
    raise SkillFailed(f"no place for {arm.world.keys[body]} can be reached")


def _pick_to_turn(arm: Arm, body: int, final: list[Pose], turning: list[Pose]) -> Actions:
    """Pick a toppled body to turn it, preferably to a final pose; or remove what props it."""

    def effort_rad(grip: Pose, qpos: np.ndarray) -> float:
        _, to_place = nearest_place(arm, body, grip, final, qpos)
        if to_place < DETOUR_RAD:
            return to_place
        return min(to_place, DETOUR_RAD + nearest_place(arm, body, grip, turning, qpos)[1])

    begin = arm.actions
    try:
        yield from pick(arm, body, effort_rad)
    except SkillFailed:
        arm.mark_failed(begin)
        other = _prop(arm, body)
        if other is None:
            raise
        yield from pick(arm, other)
        yield from put_aside(arm)
        yield from rest(arm, body)


def _prop(arm: Arm, body: int) -> int | None:
    """Return the nearest movable body that touches ``body``, if any."""
    world = arm.world
    distance = world.distance(world.world_points(torch.tensor([body])))[0].amin(-1)  # (K,)
    distance[body] = TOUCH_M
    distance[~world.solids.movable[0]] = TOUCH_M
    nearest = int(distance.argmin())
    return nearest if float(distance[nearest]) < TOUCH_M else None


def tilt_rad(arm: Arm, body: int) -> float:
    """Return the angle between the upward axis of a body and world z."""
    up = arm.body_pose(body).to_transformation_matrix()[2, 2]
    return float(np.arccos(np.clip(up, -1.0, 1.0)))


def _turning(arm: Arm, body: int) -> Iterator[Pose]:
    """Yield poses on free places of the table from which a toppled body rolls upright."""
    # first at its place, without unnecessary rotation
    present = np.clip(arm.body_pose(body).p[:2], *FREE_XY_M)
    sides = towards_upright(arm.world, body)
    for spread_m, spread_rad in SPREADS:
        for orientation in sides:
            for _ in range(DRAWS):
                turn = turned_about_z(arm.generator.normal() * spread_rad)
                xy = np.clip(present + arm.generator.normal(size=2) * spread_m, *FREE_XY_M)
                target = free_place(arm, body, xy, (turn * Pose(q=orientation)).q)
                if target is not None:
                    yield target
                    break


@solves(OnTop)
def solve_on_top(arm: Arm, goal: OnTop) -> Actions:
    """Put the upper body on the lower one."""
    upper, lower = int(goal.top[0]), int(goal.bottom[0])
    if arm.held != upper:
        yield from rest(arm, upper)  # a stack trembles after a placement
        outcome = goal.evaluate(arm.world, {})
        if float(outcome.reward[0]) >= goal.max_reward:
            # it is there already and only has to come to rest
            yield from arm.rise(RETREAT_M)
            yield from rest(arm, upper)
            return
        yield from uncover(arm, upper)
    if not goal.inside:
        yield from uncover(arm, lower)
    yield from bring(arm, upper, lambda: places_on(arm, goal, upper, lower))


@solves(SetDown)
def solve_set_down(arm: Arm, goal: SetDown) -> Actions:
    """Solve it like :class:`OnTop`; a body that was thrown there is picked first."""
    plain = OnTop(goal.top, goal.bottom, criteria=goal.criteria)
    if bool(plain.evaluate(arm.world, {}).holds[0]):
        upper, lower = int(goal.top[0]), int(goal.bottom[0])
        yield from uncover(arm, upper)
        yield from bring(arm, upper, lambda: places_on(arm, plain, upper, lower))
    else:
        yield from solve_on_top(arm, plain)


def places_on(arm: Arm, goal: OnTop, upper: int, lower: int) -> Iterator[Pose]:
    """Yield stable places on the lower body, the best first."""
    indices = torch.tensor([upper]), torch.tensor([lower])
    for orientation, turn, count in _orientations(arm, upper):
        pose, score = placements(
            arm.world, *indices, torch.tensor([turn]), goal.inside, orientation
        )
        for k in score[0].argsort(descending=True, stable=True)[:count].tolist():
            if float(score[0, k]) > -1.0:
                values = pose[0, k].double().numpy()
                yield Pose(values[:3], values[3:])


def _orientations(arm: Arm, body: int) -> Iterator[tuple[torch.Tensor, float, int]]:
    """Yield orientations (1, 4), yaws and numbers of places: as held, upright, upside down."""
    present = arm.world.orientation(torch.tensor([body]))
    for turn in TURNS_RAD:  # rotations take time, so first without
        yield present, turn, CANDIDATES
    upright, upside_down = present.new_tensor([[[1.0, 0, 0, 0]], [[0.0, 1, 0, 0]]])
    for turn in _upright_turns(arm, body):
        yield upright, turn, UPRIGHT_CANDIDATES
    if tilt_rad(arm, body) > UPRIGHT_RAD:
        for turn in UPRIGHT_TURNS_RAD:
            yield upside_down, turn, UPRIGHT_CANDIDATES


def _upright_turns(arm: Arm, body: int) -> list[float]:
    """Return yaws with which to place a tilted body upright; none if it is upright."""
    tilt = tilt_rad(arm, body)
    if tilt > UPRIGHT_RAD:
        return list(UPRIGHT_TURNS_RAD)
    yaw = yaw_of(arm.body_pose(body).q)
    return [yaw + turn for turn in TURNS_RAD] if tilt > SLANT_RAD else []


@solves(AtPosition)
def solve_at_position(arm: Arm, goal: AtPosition) -> Actions:
    """Put the object at its position."""
    body = int(goal.object[0])
    yield from bring(arm, body, lambda: _poses_at(arm, goal, body))


def _poses_at(arm: Arm, goal: AtPosition, body: int) -> Iterator[Pose]:
    xy = goal.position[0, :2].double().numpy()
    present = arm.body_pose(body)
    if not isinstance(goal, AtPose):
        orientations = [turned_about_z(turn) * Pose(q=present.q) for turn in TURNS_RAD]
        orientations += [turned_about_z(turn) for turn in _upright_turns(arm, body)]
    else:
        target = goal.orientation[0].double().numpy()
        turn = yaw_of(target) - yaw_of(present.q)
        level = tilt_rad(arm, body) <= SLANT_RAD
        orientations = [turned_about_z(turn) * Pose(q=present.q) if level else Pose(q=target)]
    for orientation in orientations:
        yield on_table(arm, body, xy, orientation.q)
