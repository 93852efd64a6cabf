"""Predicate: an object was rotated by an angle in a direction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import degrees
from typing import Self

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.at_pose import AtPose
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class Rotated(AtPose):
    """Pose as in :class:`AtPose`, reached by a rotation about the vertical axis, not in the other
    direction or with additional full turns.

    The goal state counts the rotation since the start of the episode, including full turns and
    without tilting.

    Reward: as for :class:`AtPose`, with the greater of the remaining angles to the orientation and
    of the rotation.
    """

    name = "rotated"
    goal_words = ("then",)
    # rotation to ``orientation``, anti-clockwise from above, less than half a turn, (B,)
    angle_rad: Tensor

    @classmethod
    def by(cls, object: Tensor, start: Tensor, angle_rad: Tensor, position: Tensor) -> Self:
        """Return the predicate for initial poses (B, 7), rotations (B,) and positions (B, 3)."""
        turn = geometry.yaw_quaternion(angle_rad)
        return cls(object, position, geometry.quaternion_multiply(turn, start[:, 3:]), angle_rad)

    def initial_state(self, world: World) -> GoalState:
        return {"turned_rad": self._turned(world, torch.zeros_like(self.angle_rad))}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = {"turned_rad": self._turned(world, state["turned_rad"])}
        return replace(super().evaluate(world, state), state=state)

    def angle(self, world: World, state: GoalState) -> Tensor:
        left = super().angle(world, state)
        if self.criteria.any_direction:
            return left
        return torch.maximum(left, (self.angle_rad - state["turned_rad"]).abs().clamp(max=torch.pi))

    @cached_property
    def _half_turn(self) -> Tensor:
        """Map from orientations to cosine and sine of half the rotation about z, (B, 4, 2)."""
        undo = geometry.yaw_quaternion(-self.angle_rad)
        w, x, y, z = geometry.quaternion_multiply(undo, self.orientation).unbind(-1)
        columns = torch.stack((w, x, y, z), dim=-1), torch.stack((-z, -y, x, w), dim=-1)
        return torch.stack(columns, dim=-1)

    def _turned(self, world: World, before_rad: Tensor) -> Tensor:
        """Return the rotation about z since the start that is nearest to an earlier one, (B,)."""
        cosine, sine = torch.einsum(
            "bi,bij->jb", world.orientation(self.object), self._half_turn
        ).unbind(0)
        turn = 2.0 * torch.atan2(sine, cosine)
        return turn + 2.0 * torch.pi * ((before_rad - turn) / (2.0 * torch.pi)).round()

    def phrases(self, env: int = 0) -> Mapping[str, str]:
        angle_rad = float(self.angle_rad[env])
        direction = "anti-clockwise" if angle_rad > 0 else "clockwise"
        return {"turn": f"{round(abs(degrees(angle_rad)))} degrees {direction}"}

    def describe(self, world: World, env: int = 0) -> str:
        return f"Rotate {world.mention(env, self.object)[0]} {self.phrases(env)['turn']}"
