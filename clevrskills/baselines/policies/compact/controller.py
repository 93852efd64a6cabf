"""Controller: maps the command of a subgoal, with positions, to actions of the arm.

A network predicts the motion of the arm, such as moving or pushing, and its waypoint. A servo
follows the waypoint, so that the arm does not drift; throws are chunks of predicted actions. Rules
decide when a contact ends and when a failed grasp is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from torch import Tensor

from clevrskills.baselines.policies.compact.controller_network import (
    PHASES,
    ControllerNetwork,
    Prediction,
    Situation,
)
from clevrskills.baselines.policies.compact.network import rotation_of
from clevrskills.baselines.policies.compact.skills import (
    CHUNKED,
    MOTION_NAMES,
    MOTIONS,
    SKILL_NAMES,
    SKILLS,
)
from clevrskills.core import geometry
from clevrskills.dataset_tools.scenes.scene_set import MOVED_M
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M

Array = NDArray[np.float64]
STALLED, STILL = 0.35, 3
"""Share of a commanded step below which the arm counts as blocked, and control steps after which
that ends a motion; a touch ends at once."""
ARRIVAL_M, ARRIVAL_RAD, TURN_M = 0.005, (0.03, 0.1), 0.1
"""Distance and angle from the waypoint at which a motion ends, the last one and others; length that
counts as much as a radian."""
REST_STEPS = 8
"""Control steps that the arm waits after a retreat, until the released body is at rest."""
CRUISE_M, LATERAL_M, DESCENT_M = 0.12, 0.03, 0.015
"""Height of lateral motions, distance from which they count as such, greatest step down."""
RETRY_M = 0.004 * np.array(
    [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [2, 0], [-2, 0], [0, 2], [0, -2]]
)
"""Offsets of the grasp point in successive attempts."""
RELEASE = np.array([-1.0])
TRIES = 3
"""Attempts after which a subgoal counts as completed."""
DIRECTIONS = 17
PUSH_SHARE, DEVIATION_RAD, PUSH_M, GAP_M = 0.42, 0.5, 0.14, 0.03
"""Share of the way to the target that a body is pushed, greatest deviation from that direction,
length of a push without a target, and length added to others."""
CLEARANCE_M, SPREAD_M, FLAT_M = 0.09, (0.045, 0.08), 0.015
"""Clearance from other bodies in an area, radii of candidate spots around its center, and height of
the center up to which a body counts as the area itself."""
BEHIND_M, BESIDE_M, TABLE_CENTER_M = 0.12, 0.11, (-0.17, 0.0)
"""Distance of the gripper behind a pushed body, clearance of its way, and center of the table."""
PUSHED, PUSHED_M, LYING = 0.33, 0.105, 0.75
"""Share of the way and distance from which a body counts as pushed; share of its height below which
it counts as toppled."""
TOOL_M, CLEAR_M, CONTACT_M = 0.12, 0.16, 0.10
"""Length of the tool for obstacle avoidance; distances of its axis from the center of an obstacle
at which the servo turns aside, and at which it stops approaching."""


@dataclass
class Command:
    """Command for the next subgoal.

    Attributes:
        skill: Name in :data:`~clevrskills.baselines.policies.compact.skills.SKILLS`.
        places: Positions of body, target and grasp in meters, NaN where there is none, (3, 3).
        angle_rad: Angle to turn the body about the vertical.
        pose: Goal pose of the end effector, NaN where there is none, (7,).
        obstacles: Positions of obstacles, (k, 3).
    """

    skill: str
    places: Array
    angle_rad: float
    pose: Array
    obstacles: Array


class Controller:
    """Closed-loop controller of one episode.

    Args:
        network: The network.
        execution_horizon: Actions of a chunk that are executed before the next prediction.

    Attributes:
        reached: Whether the subgoal is estimated to be reached.
        lost: Whether a held body is estimated to be lost.
    """

    def __init__(self, network: ControllerNetwork, execution_horizon: int) -> None:
        self._network, self._horizon, self._tries = network, execution_horizon, 0
        self.reached = self.lost = False

    def set_command(self, command: Command, effector: Array) -> None:
        """Set the command, with the end effector at a pose (7,)."""
        self.command, self.places = command, command.places.copy()
        if SKILLS[command.skill].pushed:
            self.places[1] = _push_target(command, effector)
        elif SKILLS[command.skill].area:
            self.places[1] = _free_spot(command)

    def start_subgoal(self, effector: Array, holding: bool) -> None:
        """Start the commanded subgoal, with the end effector at a pose (7,)."""
        if self._tries == 0:
            self._first = self.command
        self.reached = self.lost = self._last = False
        self._start = self._contact = effector.copy()
        self._phase = self._grasps = self._rests = 0
        self._held = holding
        self._end_motion()

    def _end_motion(self) -> None:
        self._motion, self._arrived, self._still = "", False, 0

    def should_retry(self, present: Command, holding: bool) -> bool:
        """Return whether to repeat the subgoal, by the command that perception gives after it."""
        self._tries += 1
        if self._tries == TRIES or _is_achieved(self._first, present, holding):
            self._tries = 0
        return self._tries > 0

    def act(self, effector: Array, holding: bool) -> NDArray[np.float32]:
        """Return the next actions (k, 7)."""
        if not (self._motion and self._has_ended(effector, holding)):
            self.lost = self._held and not holding and self._motion not in CHUNKED
        elif self._last:
            self._rests += 1
            self.reached = holding or self._motion != "lift" or self._rests > REST_STEPS
        else:
            if MOTIONS[self._motion].contact:
                self._contact = effector.copy()
            self._phase = min(self._phase + 1, PHASES - 1)
            self._end_motion()
        prediction = self._network(self._situation(effector, holding))
        self._motion = self._motion or MOTION_NAMES[int(prediction.motion[0].argmax())]
        self._held, self._last = holding, bool(prediction.ends[0] > 0)
        vacuum = np.where(prediction.vacuum[0].cpu().numpy() > 0, 1.0, -1.0)
        if self._motion in CHUNKED:
            self.reached = self._last
            moves = (prediction.chunk[0] * self._network.action_std).cpu().numpy()
        elif self._arrived and self._motion == "pick" and not holding:
            moves, vacuum = self._retry_grasp(effector), RELEASE
        elif self._arrived and self._motion == "place":
            moves, vacuum = np.zeros((1, 6)), RELEASE
        else:
            moves = self._servo(prediction, effector)[None]
        actions = np.column_stack([moves, vacuum[: len(moves)]])[: self._horizon]
        return actions.clip(-1, 1).astype(np.float32)

    def _has_ended(self, effector: Array, holding: bool) -> bool:
        """Return whether the last motion has ended: by a grasp, a release, a contact or arrival, or
        because the arm is blocked.
        """
        if self._motion in CHUNKED:
            return False
        before, step = self._made
        moved = np.linalg.norm(effector[:3] - before[:3])
        moved += 2 * TURN_M * np.arccos(min(abs(float(effector[3:] @ before[3:])), 1.0))
        self._still = self._still + 1 if moved < STALLED * step else 0
        self._arrived |= self._near or self._still >= (1 if self._motion == "touch" else STILL)
        return {"pick": holding, "place": not holding}.get(self._motion, self._arrived)

    def _situation(self, effector: Array, holding: bool) -> Situation:
        skill, places = SKILL_NAMES.index(self.command.skill), self.places
        goal = (self.command.angle_rad, self.command.pose)
        values = (effector, float(holding), skill, places, *goal, self._start, self._contact)
        tensors = (to_tensor(np.asarray(value)[None]) for value in (*values, self._phase))
        return Situation(*tensors).to(self._network.mean.device)

    def _retry_grasp(self, effector: Array) -> Array:
        """Shift the grasp point, and return the motion (1, 6) of one step up."""
        now, then = RETRY_M.take([self._grasps, self._grasps + 1], 0, mode="wrap")
        self.places[2, :2] += then - now
        self._grasps, self._arrived, self._still = self._grasps + 1, False, 0
        up = rotation_matrix(effector)[2]
        return np.concatenate([MOTIONS["lift"].most_m * up / TRANSLATION_M, np.zeros(3)])[None]

    def _servo(self, prediction: Prediction, effector: Array) -> Array:
        """Return the motion (6,) of one step towards the predicted waypoint."""
        way = prediction.waypoint[0].cpu().double().numpy() - effector[:3]
        lift = CRUISE_M - effector[2]
        motion, moves = MOTIONS[self._motion], self._motion == "move"
        aside = np.linalg.norm(way[:2]) > LATERAL_M
        if moves and aside and way[2] < lift:
            way = np.array([*way[:2] * (lift < LATERAL_M), lift])
        left = float(np.linalg.norm(way))
        most = DESCENT_M if moves and not aside and lift > 0 else motion.most_m
        step = min(left, np.clip(motion.gain * left, motion.least_m, most))
        if self.command.skill == "avoiding":
            way = _avoid_obstacles(way, effector, self.command.obstacles)
        way = rotation_matrix(effector).T @ way * (step / max(left, 1e-9))
        matrix = rotation_of(prediction.turn)[0].double().cpu().numpy()
        turn = Rotation.from_matrix(matrix).as_rotvec()
        angle = float(np.linalg.norm(turn))
        turn = turn * (min(0.5 * angle, ROTATION_RAD) / max(angle, 1e-9))
        self._made = effector.copy(), step + TURN_M * float(np.linalg.norm(turn))
        self._near = left < ARRIVAL_M and angle < ARRIVAL_RAD[not self._last]
        return np.concatenate([way / TRANSLATION_M, turn / ROTATION_RAD])


def to_tensor(values: NDArray[Any]) -> Tensor:
    """Return an array as a tensor, real numbers in single precision."""
    tensor = torch.from_numpy(values)
    return tensor.float() if tensor.is_floating_point() else tensor


def rotation_matrix(pose: Array) -> Array:
    """Return the rotation matrix (3, 3) of a pose (7,)."""
    matrix: Array = geometry.rotation_matrix(torch.tensor(pose[3:])).numpy()
    return matrix


def _is_achieved(before: Command, now: Command, holding: bool) -> bool:
    """Return whether an attempt achieved its subgoal, judging by the positions before and after."""
    (start, target, _), place = before.places, now.places[0]
    moved, way = np.linalg.norm(place - start), np.linalg.norm(target - start)
    if SKILLS[before.skill].moved:
        return bool(moved > MOVED_M or way < MOVED_M)
    achieved = {
        "picked": holding,
        "touched_pushed": moved > PUSHED_M,
        "touched_toppled": place[2] < LYING * start[2],
        "pushed_towards": np.linalg.norm(target - place) < (1 - PUSHED) * way,
    }
    return bool(achieved.get(before.skill, True))


def _push_target(command: Command, effector: Array) -> Array:
    """Return the end (3,) of a push towards the target, or else towards the center of the table, in
    the direction in which body and gripper keep clear of other bodies.
    """
    body, target = command.places[:2, :2]
    towards = target - body
    aimed = bool(np.isfinite(towards).all())
    off = np.linspace(-1, 1, DIRECTIONS) * (DEVIATION_RAD if aimed else np.pi)
    length, angle = np.full(DIRECTIONS, PUSH_M), off
    if aimed:
        share = 1.0 if command.skill == "at_position_pushed" else PUSH_SHARE
        length = share * np.linalg.norm(towards) / np.cos(off) + GAP_M
        angle = off + np.arctan2(towards[1], towards[0])
    ahead = np.stack([np.cos(angle), np.sin(angle)], 1)
    way, back = length[:, None] * ahead, BEHIND_M * ahead
    cost = np.linalg.norm(body + way / 2 - TABLE_CENTER_M, axis=1)
    cost += 0.3 * np.linalg.norm(body - back - effector[:2], axis=1)
    cost = 0.3 * np.abs(off) if aimed else cost
    for other in command.obstacles[:, :2] - body:
        if np.linalg.norm(other) > BESIDE_M / 2:
            for off_line in (other + 0 * back, other + back):
                along = (off_line * ahead).sum(1).clip(0, length)[:, None]
                gap = np.linalg.norm(off_line - along * ahead, axis=1)
                cost += 10 * (BESIDE_M - gap).clip(min=0)
    return np.append(body + way[cost.argmin()], command.places[0, 2])


def _free_spot(command: Command) -> Array:
    """Return the free spot (3,) in an area that is nearest to its center."""
    body, area = command.places[:2]
    others = command.obstacles[command.obstacles[:, 2] > FLAT_M]
    others = others[np.linalg.norm(others - body, axis=1) > CLEARANCE_M / 2]
    angle = np.linspace(0, 2 * np.pi, DIRECTIONS)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    places = area + np.concatenate([0 * ring[:1], *(radius * ring for radius in SPREAD_M)])
    gap = np.linalg.norm((places[:, None] - others)[..., :2], axis=-1)
    cost = np.linalg.norm(places - area, axis=1) + 10 * (CLEARANCE_M - gap).clip(min=0).sum(1)
    best: Array = places[cost.argmin()]
    return best


def _avoid_obstacles(way: Array, effector: Array, obstacles: Array) -> Array:
    """Return a way (3,) of the same length that avoids obstacles (k, 3) near the tool."""
    length = float(np.linalg.norm(way))
    back = -rotation_matrix(effector)[:, 2]
    for obstacle in obstacles:
        ahead = obstacle - effector[:3]
        off = ahead - back * np.clip(ahead @ back, 0.0, TOOL_M)
        distance = float(np.linalg.norm(off))
        away = off / max(distance, 1e-9)
        closing = float(way @ away)
        share = np.clip((CLEAR_M - distance) / (CLEAR_M - CONTACT_M), 0.0, 1.2)
        if closing <= 0 or share == 0:
            continue
        way = way - share * closing * away
        if np.linalg.norm(way) < 0.3 * length:  # head-on: go sideways or over it
            side = np.cross(away, [0.0, 0.0, 1.0]) if abs(away[2]) < 0.7 else np.array([0, 1.0, 0])
            way = way + 0.5 * length * side / max(float(np.linalg.norm(side)), 1e-9)
    return way * (length / max(float(np.linalg.norm(way)), 1e-9))
