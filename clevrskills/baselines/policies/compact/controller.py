"""Controller: maps the command of a subgoal, with positions, to actions of the arm.

A network predicts the motion of the arm, such as moving or pushing, and its waypoint. A servo
follows the waypoint, so that the arm does not drift; throws are chunks of predicted actions. Rules
decide when a contact ends and when a failed grasp is repeated. Images and the state of the vacuum
are no inputs: a policy that observes its own last decision repeats it (copycat problem, Wen et al.
2020, arXiv 2010.14876).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.batch import Movable
from clevrskills.baselines.policies.compact.network import rotation_of
from clevrskills.core import geometry
from clevrskills.dataset_tools.scenes.scene_set import MOVED_M
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M

SKILLS = (
    *("picked", "set_down", "pushed_towards", "rotated", "hit", "hit_toppled", "touched"),
    *("touched_pushed", "touched_toppled", "traced", "end_effector_at_pose", "avoiding"),
    *("on_top", "inside", "inside_after", "at_position", "at_pose", "at_pose_on_top"),
    *("at_position_pushed", "toppled_structure", "other"),
)
"""Predicate of a subgoal; ``avoiding`` is ``end_effector_at_pose`` past obstacles."""
EQUIVALENT_SKILLS = {"same_stack": "on_top"}
"""Predicates that are achieved by the skill of another one."""
MOTIONS = ("move", "pick", "lift", "place", "push", "throw", "swing", "turn", "touch", "topple")
"""Classes of motion: the action class of a demonstration's instruction segment."""
CHUNK_MOTIONS = ("throw", "swing")
CONTACTS = ("pick", "place", "touch", "push", "topple")
"""Motions that end with a contact or a release."""
PHASES = 8
"""Number of distinct motions of an attempt."""
PUSHES = ("pushed_towards", "touched_pushed", "touched_toppled", "at_position_pushed")
"""Skills whose target is the end of a push."""
CARRIED = ("set_down", "on_top", "inside", "inside_after")
"""Skills whose target is a body; the controller gets the goal position on it."""
TURNED = ("rotated", "at_pose")
PLACES = ("body", "target", "grasp")
ANCHORS = (*PLACES, "pose", "start", "contact", "carried")
TURNS = ("present", "pose", "start", "contact", "carried", "square")
CHUNK = 8
"""Actions of a prediction."""
SERVO = {
    **dict.fromkeys(MOTIONS, (0.5, 0.004, 0.03)),
    **{"touch": (0.2, 0.002, 0.03), "push": (0.35, 0.004, 0.02), "topple": (1.0, 0.004, 0.02)},
    "pick": (0.3, 0.004, 0.03),
}
"""Step of the servo by motion: share of the way to the waypoint, least and greatest step in m."""
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
_OFFSET_M, _TURN, _PER_M = 0.05, 0.1, 5.0


@dataclass(frozen=True)
class Situation(Movable):
    """Inputs of the controller at n control steps.

    Attributes:
        effector: Pose of the end effector, (n, 7).
        holding: Whether something is held, 0 or 1, (n,).
        skill: Index in :data:`SKILLS`, (n,).
        places: Positions of :data:`PLACES` in meters, NaN where there is none, (n, 3, 3).
        angle_rad: Angle to turn the body about the vertical, (n,).
        pose: Goal pose of the end effector, NaN where there is none, (n, 7).
        start: Pose of the end effector at the start of the subgoal, (n, 7).
        contact: Its pose at the last grasp, release or touch, or else at the start, (n, 7).
        phase: Motions that have ended since the start, (n,).
    """

    effector: Tensor
    holding: Tensor
    skill: Tensor
    places: Tensor
    angle_rad: Tensor
    pose: Tensor
    start: Tensor
    contact: Tensor
    phase: Tensor

    def features(self) -> Tensor:
        """Return the features in the frames of the end effector and of the world, (n, F)."""
        position, rotation = self.effector[:, :3], geometry.rotation_matrix(self.effector[:, 3:])

        def local(points: Tensor) -> Tensor:
            return torch.einsum("nji,nj->ni", rotation, points - position) * _PER_M

        def turned(quaternions: Tensor) -> Tensor:
            return _columns(rotation.transpose(1, 2) @ geometry.rotation_matrix(quaternions))

        axes = self.axes()
        known, body = _known(self.places[:, 0])
        behind = torch.einsum("nij,nj->ni", axes, position - body) * _PER_M * known
        parts = [position * _PER_M, _columns(rotation), self.holding[:, None], axes[:, 0], behind]
        for place in self.places.unbind(1):
            known, place = _known(place)
            parts += [local(place) * known, place * _PER_M, known]
        known, pose = _known(self.pose)
        pose = torch.where(known > 0, pose, pose.new_tensor([0, 0, 0, 1, 0, 0, 0]))
        parts += [local(pose[:, :3]) * known, turned(pose[:, 3:]) * known, known]
        for pose in (self.start, self.contact):
            parts += [local(pose[:, :3]), turned(pose[:, 3:])]
        angle = self.angle_rad[:, None]
        parts += [angle.cos(), angle.sin(), angle / 3]
        for value, count in ((self.skill, len(SKILLS)), (self.phase, PHASES)):
            parts.append(functional.one_hot(value, count).to(angle.dtype))
        return torch.cat(parts, 1)

    def anchors(self) -> tuple[Tensor, Tensor]:
        """Return positions of :data:`ANCHORS` (n, A, 3) and rotations of :data:`TURNS`
        (n, T, 3, 3), NaN where there is none.
        """
        poses = (self.effector, self.pose, self.start, self.contact)
        turns = [geometry.rotation_matrix(pose[:, 3:]) for pose in poses]
        body, target = self.places[:, 0], self.places[:, 1]
        turn = geometry.rotation_matrix(geometry.yaw_quaternion(self.angle_rad))
        goal = torch.where(target.isfinite(), target, body)
        carried = goal + torch.einsum("nij,nj->ni", turn, self.contact[:, :3] - body)
        carried = torch.where(self.holding[:, None] > 0, carried, torch.nan)
        turns += [turn @ turns[3], self._square(turns[2])]
        anchors = [*self.places.unbind(1), *(pose[:, :3] for pose in poses[1:]), carried]
        return torch.stack(anchors, 1), torch.stack(turns, 1)

    def axes(self) -> Tensor:
        """Return unit vectors (n, 3, 3): from the body to the target along the table, or x if one
        is unknown; to the left of it; up.
        """
        x, y, _ = (self.places[:, 1] - self.places[:, 0]).nan_to_num(0.0).unbind(1)
        yaw = torch.atan2(y, x)
        return geometry.rotation_matrix(geometry.yaw_quaternion(yaw)).transpose(1, 2)

    def _square(self, start: Tensor) -> Tensor:
        """Return the rotation (n, 3, 3) of a gripper that points down with a side ahead: of four
        the nearest to that at the start.
        """
        x, y, _ = self.axes()[:, 0].unbind(1)
        quarter, yaw = torch.pi / 2, torch.atan2(y, x)
        yaw = (
            yaw + quarter * ((torch.atan2(start[:, 1, 0], start[:, 0, 0]) - yaw) / quarter).round()
        )
        zero, c, s = torch.zeros_like(yaw), yaw.cos(), yaw.sin()
        rows = [
            torch.stack(row, 1) for row in ((c, s, zero), (s, -c, zero), (zero, zero, zero - 1))
        ]
        return torch.stack(rows, 1)


def _columns(matrices: Tensor) -> Tensor:
    """Return the first two columns of matrices (n, 3, 3), (n, 6)."""
    return matrices[..., :2].transpose(1, 2).flatten(1)


def _known(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return which rows (n, k) are known, (n, 1), and the rows with 0 for NaN."""
    known = values.isfinite().all(1, keepdim=True)
    return known.to(values.dtype), torch.where(known, values, 0)


@dataclass(frozen=True)
class Prediction:
    """Outputs of the controller at n control steps.

    Attributes:
        waypoint: Position of the end effector at the end of the motion, (n, 3).
        turn: First two columns of its rotation relative to the present one, (n, 6).
        vacuum: Logits of the vacuum at the next steps, (n, CHUNK).
        motion: Logits of the motion, (n, motions).
        chunk: Next actions in units of their standard deviation, (n, CHUNK, 6).
        ends: Logit of the subgoal being reached by the motion or the chunk's first action, (n,).
    """

    waypoint: Tensor
    turn: Tensor
    vacuum: Tensor
    motion: Tensor
    chunk: Tensor
    ends: Tensor


class ControllerNetwork(nn.Module):
    """Predictor of motion, waypoint and actions. The waypoint is a mixture of anchors with offsets,
    in the frame of the way from the body to the target; its rotation is a mixture of turns.

    Args:
        features: Number of features of a situation.
        width: Units of each hidden layer.
    """

    mean: Tensor
    std: Tensor
    action_std: Tensor

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("std", torch.ones(features))
        self.register_buffer("action_std", torch.ones(6))
        choices = len(ANCHORS) + len(TURNS)
        hidden = [nn.Linear(features, width), nn.GELU(), nn.LayerNorm(width)]
        hidden += [nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)]
        self.hidden = nn.Sequential(*hidden, nn.Linear(width, width), nn.GELU())
        self.gate, self.offset = nn.Linear(width, choices), nn.Linear(width, 3 * len(ANCHORS))
        self.sizes = (6, CHUNK, len(MOTIONS), 6 * CHUNK, 1)
        self.heads = nn.Linear(width, sum(self.sizes))
        nn.init.zeros_(self.offset.weight)
        nn.init.zeros_(self.offset.bias)

    def forward(self, situation: Situation) -> Prediction:
        """Return the prediction for a situation."""
        anchors, turns = situation.anchors()
        x = self.hidden((situation.features() - self.mean) / self.std)
        known = torch.cat([anchors.isfinite().all(-1), turns.isfinite().all(-1).all(-1)], 1)
        gate = self.gate(x).masked_fill(~known, -1e9).split([len(ANCHORS), len(TURNS)], -1)
        where, how = (each.softmax(-1) for each in gate)
        offsets = _OFFSET_M * self.offset(x).unflatten(-1, (-1, 3)) @ situation.axes()
        waypoint = (where[..., None] * (anchors.nan_to_num() + offsets)).sum(1)
        turn, vacuum, motion, chunk, ends = self.heads(x).split(self.sizes, -1)
        rotation = torch.einsum("nt,ntij->nij", how, turns.nan_to_num())
        turn = _columns(turns[:, 0].transpose(1, 2) @ rotation) + _TURN * turn
        return Prediction(
            waypoint, turn, vacuum, motion, chunk.unflatten(-1, (CHUNK, 6)), ends[:, 0]
        )


@dataclass
class Command:
    """Command for the next subgoal; see :class:`Situation`.

    Attributes:
        skill: Index in :data:`SKILLS`.
        places: (3, 3).
        angle_rad: Angle to turn the body.
        pose: (7,).
        obstacles: Positions of obstacles, (k, 3).
    """

    skill: int
    places: NDArray[np.float64]
    angle_rad: float
    pose: NDArray[np.float64]
    obstacles: NDArray[np.float64]


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

    def set_command(self, command: Command, effector: NDArray[np.float64]) -> None:
        """Set the command, with the end effector at a pose (7,)."""
        self.command, self.places = command, command.places.copy()
        if SKILLS[command.skill] in PUSHES:
            self.places[1] = _push_target(command, effector)
        elif SKILLS[command.skill].startswith("inside"):
            self.places[1] = _free_spot(command)

    def start_subgoal(self, effector: NDArray[np.float64], holding: bool) -> None:
        """Start the commanded subgoal, with the end effector at a pose (7,)."""
        if self._tries == 0:
            self._first = self.command
        self.reached = self.lost = False
        self._start = self._contact = effector.copy()
        self._phase = self._grasps = self._rests = self._still = 0
        self._arrived = self._last = False
        self._held, self._motion = holding, ""

    def should_retry(self, present: Command, holding: bool) -> bool:
        """Return whether to repeat the subgoal, by the command that perception gives after it."""
        self._tries += 1
        if self._tries == TRIES or _is_achieved(self._first, present, holding):
            self._tries = 0
        return self._tries > 0

    def act(self, effector: NDArray[np.float64], holding: bool) -> NDArray[np.float32]:
        """Return the next actions (k, 7)."""
        if self._motion and self._motion_ended(effector, holding):
            if self._last:
                self._rests += 1
                self.reached = holding or self._motion != "lift" or self._rests > REST_STEPS
            else:
                if self._motion in CONTACTS:
                    self._contact = effector.copy()
                self._phase = min(self._phase + 1, PHASES - 1)
                self._motion, self._arrived, self._still = "", False, 0
        else:
            self.lost = self._held and not holding and self._motion not in CHUNK_MOTIONS
        prediction = self._network(self._situation(effector, holding))
        motion = self._motion or MOTIONS[int(prediction.motion[0].argmax())]
        self._motion, self._held, self._last = motion, holding, bool(prediction.ends[0] > 0)
        vacuum = np.where(prediction.vacuum[0].cpu().numpy() > 0, 1.0, -1.0)
        if motion in CHUNK_MOTIONS:
            chunk = (prediction.chunk[0] * self._network.action_std).cpu().numpy()
            actions = np.concatenate([chunk, vacuum[:, None]], 1)[: self._horizon]
            self.reached = self._last
            return actions.clip(-1, 1).astype(np.float32)
        if motion == "pick" and self._arrived and not holding:  # after a step up
            now, then = (RETRY_M[(self._grasps + k) % len(RETRY_M)] for k in (0, 1))
            self.places[2, :2] += then - now
            self._grasps, self._arrived, self._still = self._grasps + 1, False, 0
            up = geometry.rotation_matrix(torch.tensor(effector[3:])).numpy().T[:, 2]
            action = np.concatenate([SERVO["lift"][2] * up / TRANSLATION_M, np.zeros(3), [-1.0]])
        elif motion == "place" and self._arrived:
            action = np.array([0.0] * 6 + [-1.0])
        else:
            action = np.append(self._servo(motion, prediction, effector), vacuum[0])
        return action.clip(-1, 1)[None].astype(np.float32)

    def _motion_ended(self, effector: NDArray[np.float64], holding: bool) -> bool:
        """Return whether the last motion has ended: by a grasp, a release, a contact or arrival, or
        because the arm is blocked.
        """
        if self._motion in CHUNK_MOTIONS:
            return False
        before, step = self._made
        moved = np.linalg.norm(effector[:3] - before[:3])
        moved += 2 * TURN_M * np.arccos(min(abs(float(effector[3:] @ before[3:])), 1.0))
        self._still = self._still + 1 if moved < STALLED * step else 0
        self._arrived |= self._near or self._still >= (1 if self._motion == "touch" else STILL)
        return {"pick": holding, "place": not holding}.get(self._motion, self._arrived)

    def _situation(self, effector: NDArray[np.float64], holding: bool) -> Situation:
        command, device = self.command, self._network.mean.device

        def row(values: object) -> Tensor:
            return torch.as_tensor(np.asarray(values), dtype=torch.float32, device=device)[None]

        return Situation(
            row(effector),
            row(float(holding)),
            torch.tensor([command.skill], device=device),
            row(self.places),
            row(command.angle_rad),
            row(command.pose),
            row(self._start),
            row(self._contact),
            torch.tensor([self._phase], device=device),
        )

    def _servo(
        self, motion: str, prediction: Prediction, effector: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the motion (6,) of one step towards the predicted waypoint."""
        way = prediction.waypoint[0].cpu().double().numpy() - effector[:3]
        lift = CRUISE_M - effector[2]
        aside = np.linalg.norm(way[:2]) > LATERAL_M
        if motion == "move" and aside and way[2] < lift:
            way = np.array([*way[:2] * (lift < LATERAL_M), lift])
        left, (gain, least, most) = float(np.linalg.norm(way)), SERVO[motion]
        if motion == "move" and not aside and lift > 0:
            most = DESCENT_M
        step = min(left, np.clip(gain * left, least, most))
        if SKILLS[self.command.skill] == "avoiding":
            way = _avoid_obstacles(way, effector, self.command.obstacles)
        now = geometry.rotation_matrix(torch.tensor(effector[3:])).numpy()
        way = now.T @ way * (step / max(left, 1e-9))
        turn = Rotation.from_matrix(
            rotation_of(prediction.turn)[0].double().cpu().numpy()
        ).as_rotvec()
        angle = float(np.linalg.norm(turn))
        turn = turn * (min(0.5 * angle, ROTATION_RAD) / max(angle, 1e-9))
        self._made = effector.copy(), step + TURN_M * float(np.linalg.norm(turn))
        self._near = left < ARRIVAL_M and angle < ARRIVAL_RAD[not self._last]
        return np.concatenate([way / TRANSLATION_M, turn / ROTATION_RAD])


def _is_achieved(before: Command, now: Command, holding: bool) -> bool:
    """Return whether an attempt achieved its subgoal, judging by the positions before and after."""
    skill, (start, target, _), (place, _, _) = SKILLS[before.skill], before.places, now.places
    moved, way = np.linalg.norm(place - start), np.linalg.norm(target - start)
    if skill == "picked":
        return holding
    if skill in CARRIED or skill.startswith("at_p"):
        return bool(moved > MOVED_M or way < MOVED_M)
    if skill == "touched_pushed":
        return bool(moved > PUSHED_M)
    if skill == "touched_toppled":
        return bool(place[2] < LYING * start[2])
    if skill == "pushed_towards":
        return bool(np.linalg.norm(target - place) < (1 - PUSHED) * way)
    return True


def _push_target(command: Command, effector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the end (3,) of a push towards the target, or else towards the center of the table, in
    the direction in which body and gripper keep clear of other bodies.
    """
    (body, target, _), skill = command.places[:, :2], SKILLS[command.skill]
    towards = target - body
    aimed = bool(np.isfinite(towards).all())
    off = np.linspace(-1, 1, DIRECTIONS) * (DEVIATION_RAD if aimed else np.pi)
    length, angle = np.full(DIRECTIONS, PUSH_M), off
    if aimed:
        share = 1.0 if skill == "at_position_pushed" else PUSH_SHARE
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


def _free_spot(command: Command) -> NDArray[np.float64]:
    """Return the free spot (3,) in an area that is nearest to its center."""
    body, area = command.places[:2]
    others = command.obstacles[command.obstacles[:, 2] > FLAT_M]
    others = others[np.linalg.norm(others - body, axis=1) > CLEARANCE_M / 2]
    angle = np.linspace(0, 2 * np.pi, DIRECTIONS)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    places = area + np.concatenate([0 * ring[:1], *(radius * ring for radius in SPREAD_M)])
    gap = np.linalg.norm((places[:, None] - others)[..., :2], axis=-1)
    cost = np.linalg.norm(places - area, axis=1) + 10 * (CLEARANCE_M - gap).clip(min=0).sum(1)
    best: NDArray[np.float64] = places[cost.argmin()]
    return best


def _avoid_obstacles(
    way: NDArray[np.float64], effector: NDArray[np.float64], obstacles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a way (3,) of the same length that avoids obstacles (k, 3) near the tool."""
    length = float(np.linalg.norm(way))
    back = -geometry.rotation_matrix(torch.tensor(effector[3:])).numpy()[:, 2]
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


def feature_count() -> int:
    """Return the number of features of a situation."""
    zero, pose = torch.zeros(1), torch.zeros(1, 7)
    situation = Situation(
        *(pose, zero, zero.long(), torch.zeros(1, 3, 3), zero, pose, pose, pose, zero.long())
    )
    return situation.features().shape[1]
