"""Network of the controller: predicts motion and waypoint of the arm from known positions.

Images and the state of the vacuum are no inputs: a policy that observes its own last decision
repeats it (copycat problem, Wen et al. 2020, arXiv 2010.14876).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.batch import Movable
from clevrskills.baselines.policies.compact.skills import MOTIONS, SKILLS
from clevrskills.core import geometry

PHASES = 8
"""Number of distinct motions of an attempt."""
ANCHORS = ("body", "target", "grasp", "pose", "start", "contact", "carried")
TURNS = ("present", "pose", "start", "contact", "carried", "square")
CHUNK = 8
"""Actions of a prediction."""
FEATURES = 97
_OFFSET_M, _TURN, _PER_M = 0.05, 0.1, 5.0


@dataclass(frozen=True)
class Situation(Movable):
    """Inputs of the controller at n control steps.

    Attributes:
        effector: Pose of the end effector, (n, 7).
        holding: Whether something is held, 0 or 1, (n,).
        skill: Index in :data:`SKILLS`, (n,).
        places: Positions of body, target and grasp in meters, NaN where there is none, (n, 3, 3).
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

    @cached_property
    def poses(self) -> tuple[Tensor, Tensor]:
        """Positions (n, 4, 3) and rotations (n, 4, 3, 3): present, goal, start, contact."""
        poses = torch.stack([self.effector, self.pose, self.start, self.contact], 1)
        return poses[..., :3], geometry.rotation_matrix(poses[..., 3:])

    def features(self) -> Tensor:
        """Return the features in the frames of the end effector and of the world, (n, FEATURES)."""
        positions, rotations = self.poses
        position, rotation = positions[:, 0], rotations[:, 0]
        axes, angle = self.axes, self.angle_rad[:, None]
        behind = axes @ (position - self.places[:, 0])[..., None] * _PER_M
        known = self.places.isfinite().all(-1, keepdim=True)
        local = (self.places - position[:, None]) @ rotation
        places = torch.where(known, torch.cat([local, self.places], -1) * _PER_M, 0)
        local = (positions[:, 1:] - position[:, None]) @ rotation * _PER_M
        turns = columns(rotation.mT[:, None] @ rotations[:, 1:])
        relative = torch.cat([local, turns], -1)
        parts = [
            *(position * _PER_M, columns(rotation), self.holding[:, None], axes[:, 0]),
            *(behind[..., 0].nan_to_num(), torch.cat([places, known], -1).flatten(1)),
            *(relative[:, 0].nan_to_num(), self.pose[:, :1].isfinite(), relative[:, 1:].flatten(1)),
            *(angle.cos(), angle.sin(), angle / 3, functional.one_hot(self.skill, len(SKILLS))),
            functional.one_hot(self.phase, PHASES),
        ]
        return torch.cat(parts, 1)

    def anchors(self) -> tuple[Tensor, Tensor]:
        """Return positions of :data:`ANCHORS` (n, A, 3) and rotations of :data:`TURNS`
        (n, T, 3, 3), NaN where there is none.
        """
        positions, turns = self.poses
        body, target = self.places[:, 0], self.places[:, 1]
        turn = geometry.rotation_matrix(geometry.yaw_quaternion(self.angle_rad))
        goal = torch.where(target.isfinite(), target, body)
        carried = goal + torch.einsum("nij,nj->ni", turn, self.contact[:, :3] - body)
        carried = torch.where(self.holding[:, None] > 0, carried, torch.nan)
        anchors = torch.cat([self.places, positions[:, 1:], carried[:, None]], 1)
        further = [turn @ turns[:, 3], self._square(turns[:, 2])]
        return anchors, torch.cat([turns, torch.stack(further, 1)], 1)

    @cached_property
    def axes(self) -> Tensor:
        """Unit vectors (n, 3, 3): from the body to the target along the table, or x if one is
        unknown; to the left of it; up.
        """
        x, y, _ = (self.places[:, 1] - self.places[:, 0]).nan_to_num(0.0).unbind(1)
        yaw = torch.atan2(y, x)
        return geometry.rotation_matrix(geometry.yaw_quaternion(yaw)).mT

    def _square(self, start: Tensor) -> Tensor:
        """Return the rotation (n, 3, 3) of a gripper that points down with a side ahead: of four
        the nearest to that at the start.
        """
        x, y, zero = self.axes[:, 0].unbind(1)
        quarter, yaw = torch.pi / 2, torch.atan2(y, x)
        ahead = torch.atan2(start[:, 1, 0], start[:, 0, 0])
        yaw = yaw + quarter * ((ahead - yaw) / quarter).round()
        c, s = yaw.cos(), yaw.sin()
        rows = [c, s, zero, s, -c, zero, zero, zero, zero - 1]
        return torch.stack(rows, 1).unflatten(1, (3, 3))


def columns(matrices: Tensor) -> Tensor:
    """Return the first two columns of matrices (..., 3, 3), (..., 6)."""
    return matrices[..., :2].mT.flatten(-2)


class Prediction(NamedTuple):
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
        width: Units of each hidden layer.
    """

    mean: Tensor
    std: Tensor
    action_std: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(FEATURES))
        self.register_buffer("std", torch.ones(FEATURES))
        self.register_buffer("action_std", torch.ones(6))
        hidden = [nn.Linear(FEATURES, width), nn.GELU(), nn.LayerNorm(width)]
        hidden += [nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)]
        self.hidden = nn.Sequential(*hidden, nn.Linear(width, width), nn.GELU())
        self.gate = nn.Linear(width, len(ANCHORS) + len(TURNS))
        self.offset = nn.Linear(width, 3 * len(ANCHORS))
        self.sizes = (6, CHUNK, len(MOTIONS), 6 * CHUNK, 1)
        self.heads = nn.Linear(width, sum(self.sizes))
        nn.init.zeros_(self.offset.weight)
        nn.init.zeros_(self.offset.bias)

    def forward(self, situation: Situation) -> Prediction:
        """Return the prediction for a situation."""
        anchors, turns = situation.anchors()
        x = self.hidden((situation.features() - self.mean) / self.std)
        known = [each.flatten(2).isfinite().all(-1) for each in (anchors, turns)]
        gate = (
            self.gate(x)
            .masked_fill(~torch.cat(known, 1), -1e9)
            .split([len(ANCHORS), len(TURNS)], -1)
        )
        where, how = (each.softmax(-1) for each in gate)
        offsets = _OFFSET_M * self.offset(x).unflatten(-1, (-1, 3)) @ situation.axes
        waypoint = (where[..., None] * (anchors.nan_to_num() + offsets)).sum(1)
        turn, vacuum, motion, chunk, ends = self.heads(x).split(self.sizes, -1)
        rotation = torch.einsum("nt,ntij->nij", how, turns.nan_to_num())
        turn = columns(turns[:, 0].mT @ rotation) + _TURN * turn
        chunk = chunk.unflatten(-1, (CHUNK, 6))
        return Prediction(waypoint, turn, vacuum, motion, chunk, ends[:, 0])
