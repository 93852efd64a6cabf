"""Foresight: what would come of a pick and place that goes as it should, without an arm."""

from __future__ import annotations

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.core.goal.predicate import GoalState, Predicate
from clevrskills.core.threads import single_threaded
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import CONTACT_TOLERANCE_M, World
from clevrskills.suites.lohoravens.primitive import Move
from clevrskills.suites.lohoravens.solver import UnsolvableError, next_move

ALOFT_M = 10.0
INSIDE, EDGE = 0.8, 0.99
"""Where points inside a footprint are, which meet what corners may miss."""


class ForeseenWorld(TensorWorld):
    """A world in which one body carries another also where their corners just miss each other."""

    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Whether a body carries another one, (B,)."""
        corners = self.world_points(upper)
        middle = corners.mean(1, keepdim=True)
        points = middle + EDGE * (corners - middle)
        surface = geometry.surface_height(self.planes(lower), self.pose(lower), points[..., :2])
        touches = (surface - corners[..., 2]).abs() <= CONTACT_TOLERANCE_M
        return (touches.any(-1) & (upper != lower)).float()


def under(world: World, move: Move) -> int:
    """Slot of the highest block under the pick; -1: there is none."""
    place = torch.tensor([move.pick[:2]], dtype=torch.float32)
    tops = [(0.0, -1)]
    for slot in world.solids.movable[0].nonzero()[:, 0].tolist():
        planes = world.planes(torch.tensor([slot]))[0]
        height = geometry.surface_height(planes, world.body_pose[0, slot], place)
        tops.append((float(height.max()), slot))
    return max(tops)[1]


def carry_out(world: TensorWorld, move: Move) -> int:
    """Put what is under the pick down at the place; its slot, -1: nothing was there."""
    slot = under(world, move)
    if slot < 0:
        return -1
    body = torch.tensor([slot])
    turn = yaw_quaternion(torch.tensor([move.place[2] - move.pick[2]]))
    pose = world.pose(body).clone()
    pose[:, :2] = torch.tensor([move.place[:2]])
    pose[:, 3:] = quaternion_multiply(turn, pose[:, 3:])
    pose[:, 2] = ALOFT_M
    world.set_body_pose(body, pose)
    corners, surface = world.world_points(body)[0], 0.0
    middle = corners.mean(0, keepdim=True)
    points = torch.cat((corners, middle + INSIDE * (corners - middle), middle))
    for other in world.solids.present[0].nonzero()[:, 0].tolist():
        if other != slot:
            planes = world.planes(torch.tensor([other]))[0]
            heights = geometry.surface_height(planes, world.body_pose[0, other], points[:, :2])
            surface = max(surface, float(heights.max()))
    pose[:, 2] += surface - float(world.bottom(body)[0])
    world.set_body_pose(body, pose)
    return slot


@single_threaded
@torch.inference_mode()
def moves_left(goal: Predicate, world: World, state: GoalState, most: int) -> int:
    """How many moves the solver needs from here on if all go as they should.

    Args:
        goal: The goal of one environment.
        world: Where everything is; it is left as it is.
        state: What the goal remembers.
        most: Moves that are looked ahead.

    Returns:
        ``most + 1`` if it needs more, or knows none.
    """
    copy = ForeseenWorld.snapshot(world)
    for count in range(most + 1):
        try:
            move = next_move(goal, copy, state)
        except UnsolvableError:
            break
        if move is None:
            return count
        if carry_out(copy, move) < 0:
            break
        state = goal.evaluate(copy, state).state
    return most + 1


@torch.inference_mode()
def helps(goal: Predicate, world: World, state: GoalState, move: Move, most: int) -> bool:
    """Whether fewer moves are left after a move that goes as it should."""
    before = moves_left(goal, world, state, most)
    after = ForeseenWorld.snapshot(world)
    if carry_out(after, move) < 0:
        return False
    return moves_left(goal, after, goal.evaluate(after, state).state, most) < before
