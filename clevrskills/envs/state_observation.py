"""State observations: entries of the world and its goal, for policies without images.

An observation is a vector of fixed size for a task and a robot with n joints, K body slots and L
leaves of the goal tree. :func:`layout` returns the position of each entry. The size ``-`` depends
on the task.

=================== ======== =======================================================================
robot/qpos, qvel    n        joint angles (rad) and speeds (rad/s)
robot/position      3        of the tool center point in the world, meters
robot/rotation      6        first two columns of its rotation matrix
robot/velocity      6        linear (m/s) and angular (rad/s), world axes
robot/vacuum_on     1        whether the vacuum is on
robot/holding       1        whether the gripper holds a body
bodies/<slot>       26       of each body slot, e.g. ``bodies/object_0``; 0 for an empty slot:
                             present (1), held (1),
                             position (3) in the world, meters,
                             offset (3) from the tool center point, in the end-effector frame,
                             spot (3), the same of the best position for a suction cup,
                             rotation (6), first two columns of the rotation matrix,
                             velocity (6), linear and angular, world axes,
                             size (3), edges of the bounding box in the body's frame, meters;
                             0 for ghosts, such as goals in the air
goal/holds          L        whether each leaf holds; 0 for leaves that an episode does not use
goal/progress       L        progress of each leaf, 0 to 1
goal/state          -        state of the goal, such as the stage of an order, without private
                             entries (names with ``_``)
next/leaf           L        one-hot vector of the next leaf; all 0 on success
next/<body>         26       entries of the body in each field of that leaf that names one, e.g.
                             ``next/object``
next/<bodies>       K        mask of the bodies in each field that names several
next/position       6        target position of the leaf: offset in the end-effector frame, and from
                             its body or the end effector in world axes
next/orientation    3        rotation vector from the current to the target orientation, in the
                             frame of the body
next/<other>        -        other numbers of that leaf
=================== ======== =======================================================================

Entries of fields that a leaf does not have are 0.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.tree import nodes, outcomes, used
from clevrskills.predicates import Outcome, Predicate
from clevrskills.sim.simulation import SimWorld

BODY_NUMBERS = 26
"""Number of entries of a body."""
ROBOT = "robot/"
"""Prefix of the entries of the robot."""


class StateObserver:
    """Observer of the state of environments, given their goal and world."""

    def __init__(self, goal: Predicate, world: SimWorld) -> None:
        self._goal, self._world = goal, world
        self._is_leaf = [node.leaf is not None for node in nodes(goal)]
        self._used = used(goal, world.num_envs)[:, self._is_leaf].float()
        self._leaves = torch.arange(sum(self._is_leaf), device=world.device)
        self._slots = torch.arange(len(world.keys), device=world.device)
        self._fields, self._has_position = _fields(goal)
        named = {
            name: values
            for name, values in self._fields.items()
            if values.dim() == 2 and not values.is_floating_point()
        }
        # leaves without an object refer to the end effector, body -1
        none = torch.full((world.num_envs, len(self._leaves) + 1), -1, device=world.device)
        named.setdefault("object", none)
        self._named = list(named)
        self._bodies_of = torch.stack(list(named.values()), dim=-1)  # (B, L + 1, n)
        self._present = world.filled.float()[..., None]
        self._nobody = torch.zeros(world.num_envs, 1, BODY_NUMBERS, device=world.device)

    def __call__(self, outcome: Outcome) -> dict[str, Tensor]:
        """Return observations by entry, each (B, n) float32, in the order of the table above."""
        rotation = self._world.frame_matrix[..., :2].mT.flatten(-2)
        bodies = self._bodies(rotation[:, :-1])
        return {
            **{ROBOT + name: values for name, values in self._robot(rotation[:, -1]).items()},
            **{f"bodies/{k}": b for k, b in zip(self._world.keys, bodies.unbind(1), strict=False)},
            **{f"goal/{name}": values for name, values in self._goals(outcome).items()},
            **{f"next/{name}": values for name, values in self._next(outcome, bodies).items()},
        }

    def _robot(self, rotation: Tensor) -> dict[str, Tensor]:
        world = self._world
        return {
            "qpos": world.qpos,
            "qvel": world.qvel,
            "position": world.end_effector_pose[:, :3],
            "rotation": rotation,
            "velocity": world.end_effector_velocity,
            "vacuum_on": world.vacuum_on[:, None].float(),
            "holding": (world.held >= 0)[:, None].float(),
        }

    def _bodies(self, rotation: Tensor) -> Tensor:
        """Return the features of all bodies, and zeros for none, (B, K + 1, 26)."""
        world = self._world
        values = (
            self._present,
            world.held.view(-1, 1, 1) == self._slots.view(-1, 1),
            world.body_pose[..., :3],
            (world.offset @ world.end_effector_matrix[:, None]).flatten(-2),  # and spot
            rotation,
            world.body_velocity,
            world.solids.size,
        )
        return torch.cat((torch.cat(values, dim=-1) * self._present, self._nobody), dim=1)

    def _goals(self, outcome: Outcome) -> dict[str, Tensor]:
        found = zip(outcomes(self._goal, outcome), self._is_leaf, strict=True)
        leaves = [one for one, is_leaf in found if is_leaf]
        remembered = (
            v for k, v in outcome.state.items() if not k.rpartition("/")[2].startswith("_")
        )
        state = [value.reshape(len(value), -1).float() for value in remembered]
        progress = torch.stack([leaf.progress for leaf in leaves], dim=-1) * self._used
        return {
            "holds": torch.stack([leaf.holds for leaf in leaves], dim=-1) * self._used,
            "progress": progress,
            "state": torch.cat(state, dim=-1) if state else progress[:, :0],
        }

    def _next(self, outcome: Outcome, bodies: Tensor) -> dict[str, Tensor]:
        world = self._world
        index = self._goal.next_index(outcome)  # -1 on success: the last entry, none
        named = world.at(self._bodies_of, index)  # (B, n)
        rows = dict(zip(self._named, world.at(bodies, named).unbind(1), strict=True))
        entries = {"leaf": (index[:, None] == self._leaves).float()}
        for name, values in self._fields.items():
            if name in rows:
                entries[name] = rows[name]
                continue
            value = world.at(values, index)
            if not value.is_floating_point():
                entries[name] = (value[..., None] == self._slots).any(1).float()
            elif name == "position":
                offset = value[:, None] - world.end_effector_pose[:, None, :3]  # (B, 1, 3)
                turned = (offset @ world.end_effector_matrix)[:, 0]
                way = value - self._frame_of(named)[:, :3]
                is_asked = self._has_position[index][:, None]
                entries[name] = torch.cat((turned, way), dim=-1) * is_asked
            elif name == "orientation":
                turned = geometry.quaternion_conjugate(self._frame_of(named)[:, 3:])
                turn = geometry.quaternion_multiply(turned, value)
                entries[name] = geometry.rotation_vector(turn)
            else:
                entries[name] = value.reshape(len(value), -1)
        return entries

    def _frame_of(self, named: Tensor) -> Tensor:
        """Return the frame (B, 7) of the object of leaves that name bodies (B, n)."""
        return self._world.at(self._world.frame, named[:, self._named.index("object")])


@runtime_checkable
class Observed(Protocol):
    """Environment whose state can be observed, such as ``ClevrSkillsEnv``."""

    outcome: Outcome

    @property
    def observer(self) -> StateObserver:
        """Observer of the state."""


def observe(env: Observed) -> np.ndarray:
    """Return the observation of a single environment as one vector, (D,) float32."""
    return flat(env.observer(env.outcome))[0].numpy()


def flat(entries: Mapping[str, Tensor]) -> Tensor:
    """Return an observation as one vector, (B, D)."""
    return torch.cat(tuple(entries.values()), dim=-1)


def layout(entries: Mapping[str, Tensor]) -> list[dict[str, Any]]:
    """Return name, start and stop of the entries of the vector."""
    found: list[dict[str, Any]] = []
    for name, values in entries.items():
        start = found[-1]["stop"] if found else 0
        found.append({"name": name, "start": start, "stop": start + values.shape[-1]})
    return found


def _fields(goal: Predicate) -> tuple[dict[str, Tensor], Tensor]:
    """Return the values of all leaves, and of none, by field, (B, L + 1, ...), with -1 for missing
    bodies and 0 for other missing values; and which leaves have a position, (L + 1,).
    """
    tensors = [_tensors(leaf) for leaf in goal.leaves()]
    fields = {}
    for name in dict.fromkeys(name for found in tensors for name in found):
        like = next(found[name] for found in tensors if name in found)
        missing = torch.full_like(like, 0 if like.is_floating_point() else -1)
        values = [found.get(name, missing) for found in tensors]
        fields[name] = torch.stack([*values, missing], dim=1)
    device = next(iter(fields.values())).device
    return fields, torch.tensor([*("position" in found for found in tensors), False], device=device)


def _tensors(leaf: Predicate) -> dict[str, Tensor]:
    values = {field.name: getattr(leaf, field.name) for field in dataclasses.fields(leaf)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}
