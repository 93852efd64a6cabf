"""Controller: from the command of a subgoal, positions among them, to actions of the arm.

A network predicts what the arm does next, such as moving or placing, and its waypoint. Free motion
follows the waypoint by a servo, so that it does not drift; contact and throws are chunks of actions
as demonstrated. The controller sees no image and not whether the vacuum is on: a policy that sees
its own last decision repeats it instead of deciding (copycat problem, Wen et al. 2020, arXiv
2010.14876).
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
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M

SKILLS = (
    *("picked", "set_down", "pushed_towards", "rotated", "hit", "hit_toppled", "touched"),
    *("touched_pushed", "touched_toppled", "traced", "end_effector_at_pose", "avoiding"),
    *("on_top", "inside", "inside_after", "at_position", "at_pose", "at_pose_on_top"),
    *("at_position_pushed", "toppled_structure", "other"),
)
"""Predicate of a subgoal; ``avoiding`` is ``end_effector_at_pose`` past obstacles."""
MOTIONS = ("move", "pick", "lift", "place", "push", "throw", "swing", "turn", "touch", "topple")
"""Classes of motion: the action class of a demonstration's instruction segment."""
SERVO_MOTIONS = ("move", "pick", "lift", "place", "turn", "touch")
PLACES = ("body", "target", "grasp")
ANCHORS = (*PLACES, "pose", "start", "contact")
CHUNK = 8
"""Actions that are predicted at once."""
GAIN, TOUCH_GAIN = 0.5, 0.2
"""Share of the way to the waypoint that the servo makes in a control step."""
STEP_M, TOUCH_STEP_M, CLOSE_M = 0.03, 0.002, 0.004
STALLED = 0.35
"""Share of a commanded step below which contact stops the arm."""
TOOL_M, CLEAR_M, CONTACT_M = 0.12, 0.13, 0.085
"""Length of the tool that is kept clear of obstacles; distance of its axis from their middles at
which the servo turns aside, and at which it does not approach further."""
_OFFSET_M, _PER_M = 0.05, 5.0


@dataclass(frozen=True)
class Situation(Movable):
    """Inputs of the controller at n control steps.

    Attributes:
        effector: Pose of the end effector, (n, 7).
        holding: Whether something is held, 0 or 1, (n,).
        skill: Index in :data:`SKILLS`, (n,).
        places: Positions of :data:`PLACES` in meters, NaN where there is none, (n, 3, 3).
        angle_rad: How far to turn the body about the vertical, (n,).
        pose: Pose that the end effector is to have, NaN where there is none, (n, 7).
        start: Pose of the end effector as the subgoal began, (n, 7).
        contact: Its pose at the last grasp, release or touch, or else at the start, (n, 7).
    """

    effector: Tensor
    holding: Tensor
    skill: Tensor
    places: Tensor
    angle_rad: Tensor
    pose: Tensor
    start: Tensor
    contact: Tensor

    def features(self) -> Tensor:
        """Return all of it in the frame of the end effector and of the world, (n, F)."""
        position, rotation = self.effector[:, :3], geometry.rotation_matrix(self.effector[:, 3:])

        def local(points: Tensor) -> Tensor:
            return torch.einsum("nji,nj->ni", rotation, points - position) * _PER_M

        def turned(quaternions: Tensor) -> Tensor:
            return _columns(rotation.transpose(1, 2) @ geometry.rotation_matrix(quaternions))

        parts = [position * _PER_M, _columns(rotation), self.holding[:, None]]
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
        parts.append(functional.one_hot(self.skill, len(SKILLS)).to(angle.dtype))
        return torch.cat(parts, 1)

    def anchors(self) -> Tensor:
        """Return positions of :data:`ANCHORS`, NaN where there is none, (n, A, 3)."""
        poses = torch.stack([self.pose, self.start, self.contact], 1)
        return torch.cat([self.places, poses[..., :3]], 1)


def _columns(matrices: Tensor) -> Tensor:
    """Return the first two columns of matrices (n, 3, 3), (n, 6)."""
    return matrices[..., :2].transpose(1, 2).flatten(1)


def _known(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return which rows (n, k) are known, (n, 1), and the rows without NaN."""
    known = values.isfinite().all(1, keepdim=True)
    return known.to(values.dtype), torch.where(known, values, 0)


@dataclass(frozen=True)
class Prediction:
    """Outputs of the controller at n control steps.

    Attributes:
        waypoint: Position of the end effector after the present motion, (n, 3).
        turn: First two columns of its rotation as seen from the present one, (n, 6).
        vacuum: Logits of the vacuum at the next steps, (n, CHUNK).
        motion: Logits of the motion, (n, motions).
        chunk: Next actions in units of their standard deviation, (n, CHUNK, 6).
        ends: Logit of the subgoal being reached, (n,).
    """

    waypoint: Tensor
    turn: Tensor
    vacuum: Tensor
    motion: Tensor
    chunk: Tensor
    ends: Tensor


class ControllerNetwork(nn.Module):
    """Motion, waypoint and next actions; the waypoint is a mixture of offsets from anchors.

    Args:
        features: How many features a situation has.
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
        hidden = [nn.Linear(features, width), nn.GELU(), nn.LayerNorm(width)]
        hidden += [nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)]
        self.hidden = nn.Sequential(*hidden, nn.Linear(width, width), nn.GELU())
        self.gate, self.offset = nn.Linear(width, len(ANCHORS)), nn.Linear(width, 3 * len(ANCHORS))
        self.sizes = (6, CHUNK, len(MOTIONS), 6 * CHUNK, 1)
        self.heads = nn.Linear(width, sum(self.sizes))
        nn.init.zeros_(self.offset.weight)
        nn.init.zeros_(self.offset.bias)

    def forward(self, situation: Situation) -> Prediction:
        """Return what it predicts."""
        anchors = situation.anchors()
        known = anchors.isfinite().all(-1)
        x = self.hidden((situation.features() - self.mean) / self.std)
        gate = self.gate(x).masked_fill(~known, -1e9).softmax(-1)[..., None]
        offsets = _OFFSET_M * self.offset(x).unflatten(-1, (-1, 3))
        waypoint = (gate * (anchors.nan_to_num() + offsets)).sum(1)
        turn, vacuum, motion, chunk, ends = self.heads(x).split(self.sizes, -1)
        return Prediction(
            waypoint, turn, vacuum, motion, chunk.unflatten(-1, (CHUNK, 6)), ends[:, 0]
        )


@dataclass
class Command:
    """Command to the arm for the next subgoal; see :class:`Situation`.

    Attributes:
        skill: Index in :data:`SKILLS`.
        places: (3, 3).
        angle_rad: How far to turn the body.
        pose: (7,).
        obstacles: Positions to keep clear of, (k, 3).
    """

    skill: int
    places: NDArray[np.float64]
    angle_rad: float
    pose: NDArray[np.float64]
    obstacles: NDArray[np.float64]


class Controller:
    """Closed loop of one episode.

    Args:
        network: The network.
        execution_horizon: How many actions of a chunk are done at once.
    """

    def __init__(self, network: ControllerNetwork, execution_horizon: int) -> None:
        self._network, self._horizon = network, execution_horizon
        self.reached = False
        """The network's prediction that the subgoal is reached."""

    def begin(self, command: Command, effector: NDArray[np.float64], holding: bool) -> None:
        """Begin a subgoal.

        Args:
            command: The subgoal.
            effector: Pose of the end effector (7,).
            holding: Whether something is held.
        """
        self.command, self.reached, self._holding = command, False, holding
        self._start = self._contact = effector.copy()
        self._pressed: tuple[NDArray[np.float64], float] | None = None

    def act(self, effector: NDArray[np.float64], holding: bool) -> NDArray[np.float32]:
        """Return the next actions (k, 7)."""
        if holding != self._holding or self._stalled(effector):
            self._contact, self._holding = effector.copy(), holding
        said = self._network(self._situation(effector, holding))
        self.reached = bool(said.ends[0] > 0)
        vacuum = np.where(said.vacuum[0].cpu().numpy() > 0, 1.0, -1.0)
        motion, self._pressed = MOTIONS[int(said.motion[0].argmax())], None
        if motion in SERVO_MOTIONS:
            action = np.append(self._servo(motion, said, effector), vacuum[0])
            return action.clip(-1, 1)[None].astype(np.float32)
        chunk = (said.chunk[0] * self._network.action_std).cpu().numpy()
        actions = np.concatenate([chunk, vacuum[:, None]], 1)[: self._horizon]
        return actions.clip(-1, 1).astype(np.float32)

    def _situation(self, effector: NDArray[np.float64], holding: bool) -> Situation:
        command, device = self.command, self._network.mean.device

        def row(values: object) -> Tensor:
            return torch.as_tensor(np.asarray(values), dtype=torch.float32, device=device)[None]

        return Situation(
            row(effector),
            row(float(holding)),
            torch.tensor([command.skill], device=device),
            row(command.places),
            row(command.angle_rad),
            row(command.pose),
            row(self._start),
            row(self._contact),
        )

    def _servo(
        self, motion: str, said: Prediction, effector: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the motion (6,) of a step towards the predicted waypoint."""
        way = said.waypoint[0].cpu().numpy() - effector[:3]
        left = float(np.linalg.norm(way))
        gain = TOUCH_GAIN if motion == "touch" else GAIN
        if motion == "touch":
            step = max(left * gain, min(left, TOUCH_STEP_M))
            self._pressed = effector[:3].copy(), min(step, STEP_M)
        else:
            step = left * gain if left > CLOSE_M else left
        if SKILLS[self.command.skill] == "avoiding":
            way = _around(way, effector, self.command.obstacles)
        now = geometry.rotation_matrix(torch.tensor(effector[3:])).numpy()
        way = now.T @ way * (min(step, STEP_M) / max(left, 1e-9))
        turn = Rotation.from_matrix(rotation_of(said.turn)[0].double().cpu().numpy()).as_rotvec()
        angle = float(np.linalg.norm(turn))
        turn = turn * (min(angle * gain, ROTATION_RAD) / max(angle, 1e-9))
        return np.concatenate([way / TRANSLATION_M, turn / ROTATION_RAD])

    def _stalled(self, effector: NDArray[np.float64]) -> bool:
        """Return whether contact stopped the last step of a touch."""
        if self._pressed is None:
            return False
        before, step = self._pressed
        return bool(np.linalg.norm(effector[:3] - before) < STALLED * step) and step > 4e-4


def _around(
    way: NDArray[np.float64], effector: NDArray[np.float64], obstacles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a way (3,) of the same length that turns aside from obstacles (k, 3) near the tool."""
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
        if np.linalg.norm(way) < 0.3 * length:  # head-on: sideways, over what is below
            side = np.cross(away, [0.0, 0.0, 1.0]) if abs(away[2]) < 0.7 else np.array([0, 1.0, 0])
            way = way + 0.5 * length * side / max(float(np.linalg.norm(side)), 1e-9)
    return way * (length / max(float(np.linalg.norm(way)), 1e-9))


def feature_count() -> int:
    """Return the number of features of a situation."""
    one = {name: torch.zeros(1, 7) for name in ("effector", "pose", "start", "contact")}
    zero = torch.zeros(1)
    situation = Situation(
        **one, holding=zero, skill=zero.long(), places=torch.zeros(1, 3, 3), angle_rad=zero
    )
    return situation.features().shape[1]
