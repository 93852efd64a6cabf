"""Throwing of objects at others."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from sapien import Pose

from clevrskills.core import geometry
from clevrskills.core.geometry import rotation_vector_np
from clevrskills.predicates import Hit, HitToppled
from clevrskills.sim.robots.delta_action import ROTATION_RAD
from clevrskills.sim.robots.description import robot
from clevrskills.sim.suction import cup_samples
from clevrskills.solvers.ballistics import RunUp, Thrower, tilted_ahead
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, slerp
from clevrskills.solvers.skills import solves
from clevrskills.solvers.skills.approach import place_of, spans
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.put_down import rest

LEAST_HEIGHT_M = 0.30
"""Height of the end effector from which a held body is clear of the others."""
STEEP = 0.92
"""Least downward component of the gripper at the start of a run-up."""
START_TILTS_RAD = (0.0, 0.3)
"""Forward tilts of the gripper at the start, which allow longer run-ups."""
FLIGHT_MARGIN_M = 0.05
SHARE_OF_HEIGHT, TOPPLING_SHARE = 0.6, 0.75
"""Aimed height as a share of the target's, to hit and to topple it."""
BEFORE_SHARE = 0.5
"""Distance of the aim before the target's center, as a share of the thrown outline."""
FLAT_M = 0.03
"""Height up to which a target is hit from above."""
START_RADII_M, START_HEIGHTS_M = (0.47, 0.40), (0.40, 0.34)
START_TURNS_RAD = tuple(np.linspace(-1.25, 1.25, 11))
"""Starts of run-ups around the direction from the base to the target."""
SWINGS = 8
"""Swings tried from each start."""
PER_STEP_M = 0.05
NEAREST_M = 0.25
"""Least distance of the gripper from the axis of the base."""
PLACES, EDGE_M, ROOM_M, CRAMPED_COST = 13, 0.03, 0.03, 3.0
"""Places per side of a flat target, their margins to edge and other bodies, and the cost of a
violated margin relative to the distance from the center."""


@dataclass(frozen=True)
class _Throw:
    """Throw of an object at a target."""

    arm: Arm
    goal: Hit
    body: int
    target: int

    def run_up(self, start: Pose, qpos: np.ndarray) -> RunUp | None:
        """Return a run-up from rest at a pose with joint angles (n,), if any."""
        arm = self.arm
        if start.p[2] < LEAST_HEIGHT_M or start.to_transformation_matrix()[2, 2] > -STEEP:
            return None
        grip = arm.grip(self.body)
        flight_m = self.goal.criteria.fly_distance_m + FLIGHT_MARGIN_M
        thrower = Thrower.of(arm.env.robot_name, grip, flight_m)
        aim = (arm.base.inv() * Pose(self._aim((start * grip).p))).p
        begin = arm.base.inv() * start
        for swing in thrower.swings(begin, aim)[:SWINGS]:
            found = thrower.run_up(begin, qpos, aim, swing)
            if found:
                return found
        return None

    def _aim(self, origin: np.ndarray) -> np.ndarray:
        """Return the aim (3,) of the object's origin for a throw from a place (3,)."""
        low, high = spans(self.arm, self.target)
        below = float(self.arm.body_pose(self.body).p[2]) - spans(self.arm, self.body)[0]
        if high - low < FLAT_M:
            return np.array([*self._free_place(), high + below])
        toppled = isinstance(self.goal, HitToppled)
        share = TOPPLING_SHARE if toppled else SHARE_OF_HEIGHT
        place = place_of(self.arm, self.target)
        ahead = (place - origin[:2]) / np.linalg.norm(place - origin[:2])
        before = BEFORE_SHARE * _outline(self.arm, self.body, ahead)
        before += _outline(self.arm, self.target, ahead)
        return np.array([*(place - before * ahead), low + share * (high - low)])

    def _free_place(self) -> np.ndarray:
        """Return the center of a flat target, or the nearest free place, (2,)."""
        world, index = self.arm.world, torch.tensor([self.target])
        pose = world.pose(index)
        middle = geometry.to_world(pose, world.at(world.solids.center, index)[:, None])[0, 0, :2]
        corners = world.world_points(index)[0, :, :2]
        low, high = corners.amin(0), corners.amax(0)
        ticks = torch.linspace(0.0, 1.0, PLACES)
        grid = low + torch.cartesian_prod(ticks, ticks) * (high - low)
        places = torch.cat((middle[None], grid))  # (N, 2)
        rim = cup_samples(torch.zeros(1, 3), EDGE_M)[0, :, :2]
        around = (places[:, None] + rim).flatten(0, 1)
        height = geometry.surface_height(world.planes(index), pose, around[None])[0]
        off = height.unflatten(0, (len(places), -1)).amin(-1) < 0.0
        points = torch.cat((places, world.top(index).expand(len(places), 1)), dim=-1)
        gap = world.distance(points[None])[0]  # (K, N)
        radius_m = float(world.solids.points[0, self.body].norm(dim=-1).max())
        gap[[self.target, self.body]] = geometry.PAD
        cramped = (ROOM_M + radius_m - gap.amin(0)).clamp(min=0.0)
        cost = (places - middle).norm(dim=-1) + CRAMPED_COST * cramped + geometry.PAD * off
        return places[cost.argmin()].double().numpy()

    def starts(self) -> list[Pose]:
        """Return starting poses of run-ups, the nearest first."""
        arm = self.arm
        offset = place_of(arm, self.target) - arm.base.p[:2]
        angle = np.arctan2(offset[1], offset[0])
        poses = []
        for radius, height, turn, tilt in product(
            START_RADII_M, START_HEIGHTS_M, START_TURNS_RAD, START_TILTS_RAD
        ):
            way = radius * np.array([np.cos(angle + turn), np.sin(angle + turn)])
            place = arm.base.p + [*way, height]
            poses.append(Pose(place, tilted_ahead(down(arm.yaw_rad), offset - way, tilt)))
        return sorted(poses, key=self._way_to)

    def _way_to(self, pose: Pose) -> float:
        """Return the approximate number of control steps to a pose."""
        change = self.arm.pose.inv() * pose
        turn = float(np.linalg.norm(rotation_vector_np(change.q)))
        return max(float(np.linalg.norm(change.p)) / PER_STEP_M, turn / ROTATION_RAD)

    def start(self) -> Pose | None:
        """Return the nearest start of a run-up that is reachable on a straight line, if any."""
        for pose in self.starts():
            qpos = self._line(pose)
            if qpos is not None and self.run_up(pose, qpos):
                return pose
        return None

    def _line(self, end: Pose) -> np.ndarray | None:
        """Return joint angles (n,) at the end of a straight line, if it is feasible."""
        arm = self.arm
        kinematics, qpos = arm.planner.kinematics, arm.controller.target_qpos
        begin = arm.pose
        for share in np.linspace(0.0, 1.0, 1 + int(np.ceil(self._way_to(end))))[1:]:
            position = begin.p + share * (end.p - begin.p)
            if np.linalg.norm((position - arm.base.p)[:2]) < NEAREST_M:
                return None
            pose = Pose(position, slerp(begin.q, end.q, share))
            found = kinematics.inverse(arm.base.inv() * pose, qpos)
            if found is None or not kinematics.within_limits(found):
                return None
            qpos = found
        return qpos


def _outline(arm: Arm, body: int, direction: np.ndarray) -> float:
    """Return the extent of a body from its origin along a direction (2,)."""
    points = arm.world.world_points(torch.tensor([body]))[0, :, :2].double().numpy()
    return float(((points - place_of(arm, body)) @ direction).max())


@solves(Hit)
def solve_hit(arm: Arm, goal: Hit) -> Actions:
    """Pick the object if necessary, throw it, and wait until it rests."""
    body, target = int(goal.object[0]), int(goal.target[0])
    if arm.held != body:
        yield from pick(arm, body)
    throw = _Throw(arm, goal, body, target)
    run_up = throw.run_up(arm.pose, arm.controller.target_qpos)
    if run_up is None:
        arm.set_label("swing", f"Swing {arm.label(body)} back")
        yield from _swing_back(throw)
        run_up = throw.run_up(arm.pose, arm.controller.target_qpos)
    if arm.held != body:
        raise SkillFailed(f"{arm.world.keys[body]} was lost on the way")
    if run_up is None:
        raise SkillFailed(f"{arm.world.keys[body]} can't be thrown from here")
    arm.set_label("throw", f"Throw {arm.label(body)} to {arm.label(target)}")
    for pose in run_up.poses:
        yield arm.action(arm.base * pose)
    arm.vacuum = False
    for pose in run_up.brake:
        yield arm.action(arm.base * pose)
    yield from rest(arm, body)
    yield from rest(arm, target)


def _swing_back(throw: _Throw) -> Actions:
    """Move to the nearest start of a throw."""
    arm = throw.arm
    if arm.pose.p[2] < LEAST_HEIGHT_M:
        yield from arm.rise(LEAST_HEIGHT_M - float(arm.pose.p[2]))
    start = throw.start()
    if start is None:
        yield from arm.move(
            arm.base
            * arm.planner.kinematics.forward(np.array(robot(arm.env.robot_name).neutral_qpos))
        )
        start = throw.start()
    if start is None:
        raise SkillFailed(
            f"{arm.world.keys[throw.target]} can't be hit from any place within reach"
        )
    yield from arm.straight(start, PER_STEP_M)
