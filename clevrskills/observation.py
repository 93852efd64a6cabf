"""State observations: what a learner that sees no pictures is told of the world and of its goal.

An observation is a vector of fixed size for a task and a robot with n joints, K body slots and L
leaves of the goal tree. :func:`layout` tells where each of these entries stands; ``-`` in a size is
what the task makes it.

=================== ======== =======================================================================
robot/qpos, qvel    n        joint angles (rad) and speeds (rad/s)
robot/position      3        of the tool centre point in the world, metres
robot/rotation      6        first two columns of its rotation matrix
robot/velocity      6        linear (m/s) and angular (rad/s), world axes
robot/vacuum_on     1        whether the vacuum is on
robot/holding       1        whether the gripper holds a body
bodies/<slot>       23       of each body slot, e.g. ``bodies/object_0``; all 0 for an empty one:
                             present (1), held (1),
                             position (3) in the world, metres,
                             offset (3) from the tool centre point, in the end-effector frame,
                             rotation (6), first two columns of the rotation matrix,
                             velocity (6), linear and angular, world axes,
                             size (3), edges of the bounding box in the body's frame, metres;
                             0 for what cannot be touched, such as goals in the air
goal/holds          L        which leaves hold now; 0 for those that an episode does not use
goal/progress       L        how far each leaf is, 0 to 1
goal/state          -        what the goal remembers, such as the stage of an order
next/leaf           L        the leaf that is to be achieved next; all 0 on success
next/<body>         23       of each field of that leaf that names a body, e.g. ``next/object``:
                             what is told of that body
next/<bodies>       K        of each field that names several bodies: which
next/position       6        where it wants its body or the end effector: offset in the
                             end-effector frame, and from that body or end effector in world axes
next/orientation    3        rotation vector from how that is turned to how it is to be turned, in
                             the frame of that
next/<other>        -        other numbers of that leaf
=================== ======== =======================================================================

Entries of fields that a leaf does not have are 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from clevrskills import geometry
from clevrskills.predicates import Outcome, Predicate
from clevrskills.predicates.tree import nodes, outcomes, used
from clevrskills.world import RobotWorld, World


class Observer:
    """Makes the observations of one goal's environments.

    Args:
        goal: The goal, whose tensors are (B, ...).
        world: The world that it is about.
    """

    def __init__(self, goal: Predicate, world: RobotWorld) -> None:
        self._goal, self._world = goal, world
        self._is_leaf = [node.leaf is not None for node in nodes(goal)]
        self._count = sum(self._is_leaf)
        self._fields = _fields(goal)
        self._present = world.filled.float()[..., None]
        self._slots = torch.arange(len(world.keys), device=world.device)
        self._used = used(goal, world.num_envs)[:, self._is_leaf].float()

    def __call__(self, outcome: Outcome) -> dict[str, Tensor]:
        """The observation by entry, each (B, n) float32, in the order of the module's table.

        Args:
            outcome: What the goal says of the world now.
        """
        bodies = self._bodies()
        return {
            **{f"robot/{name}": values for name, values in self._robot().items()},
            **{f"bodies/{key}": bodies[:, k] for k, key in enumerate(self._world.keys)},
            **{f"goal/{name}": values for name, values in self._told(outcome).items()},
            **{f"next/{name}": values for name, values in self._next(outcome, bodies).items()},
        }

    def _robot(self) -> dict[str, Tensor]:
        world = self._world
        pose = world.end_effector_pose
        return {
            "qpos": world.qpos,
            "qvel": world.qvel,
            "position": pose[:, :3],
            "rotation": _columns(world.end_effector_matrix),
            "velocity": world.end_effector_velocity,
            "vacuum_on": world.vacuum_on[:, None].float(),
            "holding": (world.held >= 0)[:, None].float(),
        }

    def _bodies(self) -> Tensor:
        """What is told of all bodies, (B, K, 23)."""
        world, position = self._world, self._world.body_pose[..., :3]
        values = (
            self._present,
            (world.held[:, None] == self._slots).float()[..., None],
            position,
            _offset(world, position),
            _columns(world.matrix),
            world.body_velocity,
            world.solids.size,
        )
        return torch.cat(values, dim=-1) * self._present

    def _told(self, outcome: Outcome) -> dict[str, Tensor]:
        said = zip(outcomes(self._goal, outcome), self._is_leaf, strict=True)
        leaves = [one for one, is_leaf in said if is_leaf]
        state = [value.reshape(len(value), -1).float() for value in outcome.state.values()]
        progress = torch.stack([leaf.progress for leaf in leaves], dim=-1) * self._used
        return {
            "holds": torch.stack([leaf.holds for leaf in leaves], dim=-1) * self._used,
            "progress": progress,
            "state": torch.cat(state, dim=-1) if state else progress[:, :0],
        }

    def _next(self, outcome: Outcome, bodies: Tensor) -> dict[str, Tensor]:
        world = self._world
        index = self._goal.next_index(outcome)
        leaf = index.clamp(min=0)
        chosen = {name: world.at(values, leaf) for name, values in self._fields.items()}
        frame = self._frame(chosen.get("object"))
        entries = {"leaf": torch.nn.functional.one_hot(leaf, self._count).float()}
        for name, value in chosen.items():
            if not value.is_floating_point():
                entries[name] = self._named(value, bodies)
            elif name == "position":
                offset = _offset(world, value[:, None])[:, 0]
                entries[name] = torch.cat((offset, value - frame[:, :3]), dim=-1)
            elif name == "orientation":
                turned = geometry.quaternion_conjugate(frame[:, 3:])
                entries[name] = geometry.rotation_vector(
                    geometry.quaternion_multiply(turned, value)
                )
            else:
                entries[name] = value.reshape(len(value), -1)
        is_open = (index >= 0)[:, None]
        return {name: value * is_open for name, value in entries.items()}

    def _frame(self, body: Tensor | None) -> Tensor:
        """Pose (B, 7) of the body that a leaf is about; of the end effector, if of none."""
        pose = self._world.end_effector_pose
        if body is None or body.dim() > 1:
            return pose
        return torch.where((body >= 0)[:, None], self._world.pose(body.clamp(min=0)), pose)

    def _named(self, body: Tensor, bodies: Tensor) -> Tensor:
        """What is told of a body (B,), or which bodies (B, n) are named; -1 names none."""
        if body.dim() == 1:
            return self._world.at(bodies, body.clamp(min=0)) * (body >= 0)[:, None]
        return (body[..., None] == self._slots).any(1).float()


class Observed(Protocol):
    """An environment whose state can be observed, such as ``ClevrSkillsEnv``."""

    observer: Observer
    outcome: Outcome


def observe(env: Observed) -> np.ndarray:
    """The observation of a single environment as one vector, (D,) float32."""
    return flat(env.observer(env.outcome))[0].numpy()


def flat(entries: Mapping[str, Tensor]) -> Tensor:
    """An observation as one vector, (B, D)."""
    return torch.cat(tuple(entries.values()), dim=-1)


def layout(entries: Mapping[str, Tensor]) -> list[dict[str, Any]]:
    """Where each entry stands in the vector: name, start, stop."""
    found: list[dict[str, Any]] = []
    for name, values in entries.items():
        start = found[-1]["stop"] if found else 0
        found.append({"name": name, "start": start, "stop": start + values.shape[-1]})
    return found


def _fields(goal: Predicate) -> dict[str, Tensor]:
    """The numbers of all leaves by field, (B, L, ...); where a leaf has no such field, -1 for
    bodies and 0 for other numbers.
    """
    leaves = list(goal.leaves())
    tensors = [_tensors(leaf) for leaf in leaves]
    fields = {}
    for name in dict.fromkeys(name for found in tensors for name in found):
        like = next(found[name] for found in tensors if name in found)
        missing = torch.full_like(like, 0 if like.is_floating_point() else -1)
        fields[name] = torch.stack([found.get(name, missing) for found in tensors], dim=1)
    return fields


def _tensors(leaf: Predicate) -> dict[str, Tensor]:
    values = {field.name: getattr(leaf, field.name) for field in dataclasses.fields(leaf)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def _columns(matrix: Tensor) -> Tensor:
    """The first two columns of rotation matrices, (..., 3, 3) -> (..., 6)."""
    return matrix[..., :2].mT.flatten(-2)


def _offset(world: World, points: Tensor) -> Tensor:
    """World points (B, N, 3) in the end-effector frame."""
    return (points - world.end_effector_pose[:, None, :3]) @ world.end_effector_matrix
