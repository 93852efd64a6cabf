"""Rehearsal of picks and places without an arm: what is picked goes to where it would rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.core.goal.context import broadcast_slots
from clevrskills.core.goal.predicate import GoalState, Predicate
from clevrskills.core.threads import single_threaded
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.sim.world import CONTACT_TOLERANCE_M, World
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.predicates.resting import highest
from clevrskills.suites.lohoravens.setting import FIELD
from clevrskills.suites.lohoravens.solver.planner import UnsolvableError
from clevrskills.suites.lohoravens.solver.ways import next_move

LIFT_M = 0.06
"""How much higher than at a pick or a place the gripper is on the way."""
HEIGHTS_M, REACH_M = (0.20, 0.28, 0.34, 0.40), (0.86, 0.80, 0.80, 0.74)
"""Heights of the cups over the table, and up to which distance from the base a UR5e that points
straight down reaches there; measured by inverse kinematics."""
ALOFT_M = 10.0
INSIDE, EDGE = 0.8, 0.99
"""Where points inside a footprint are, which meet what corners may miss."""


class ForeseenWorld(TensorWorld):
    """A world in which one body carries another also where their corners just miss each other."""

    @broadcast_slots
    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return whether a body carries another one, (B,)."""
        corners = self.world_points(upper)
        middle = corners.mean(1, keepdim=True)
        points = middle + EDGE * (corners - middle)
        surface = geometry.surface_height(self.planes(lower), self.pose(lower), points[..., :2])
        touches = (surface - corners[..., 2]).abs() <= CONTACT_TOLERANCE_M
        return (touches.any(-1) & (upper != lower)).float()


@dataclass(frozen=True)
class MoveOutcome:
    """Result of a move."""

    move: Move  # the move
    slot: int  # slot of what was picked
    onto: int  # slot of what it was put on or in; -1: on the table
    top_m: tuple[float, float]  # heights of the cups at the pick and at the place

    @property
    def in_reach(self) -> bool:
        """``True`` if the arm reaches both places, and above them."""
        return all(
            np.hypot(x - FIELD.base_x_m, y) <= np.interp(height_m + LIFT_M, HEIGHTS_M, REACH_M)
            for (x, y, _), height_m in zip(
                (self.move.pick, self.move.place), self.top_m, strict=True
            )
        )


def carry_out(world: TensorWorld, move: Move) -> MoveOutcome | None:
    """Take the highest block under the pick to the place; ``None``: nothing was there."""
    blocks = world.solids.movable[0].nonzero()[:, 0].tolist()
    height_m, found = highest(world, blocks, torch.tensor([move.pick[:2]], dtype=torch.float32))
    if not found:
        return None
    slot = max(found)
    body = torch.tensor([slot])
    turn = yaw_quaternion(torch.tensor([move.place[2] - move.pick[2]]))
    pose = world.pose(body).clone()
    pose[:, :2] = torch.tensor([move.place[:2]])
    pose[:, 3:] = quaternion_multiply(turn, pose[:, 3:])
    pose[:, 2] = ALOFT_M
    world.set_body_pose(body, pose)
    corners = world.world_points(body)[0]
    middle = corners.mean(0, keepdim=True)
    points = torch.cat((corners, middle + INSIDE * (corners - middle), middle))
    others = world.solids.present[0].clone()
    others[slot] = False
    surface_m, below = highest(world, others.nonzero()[:, 0].tolist(), points[:, :2])
    pose[:, 2] += surface_m - float(world.bottom(body)[0])
    world.set_body_pose(body, pose)
    return MoveOutcome(move, slot, max(below, default=-1), (height_m, float(world.top(body)[0])))


@torch.inference_mode()
def rehearse(
    goal: Predicate, world: TensorWorld, state: GoalState, limit: int = 40, settling: bool = False
) -> list[MoveOutcome] | None:
    """Return the moves of the solver until the goal holds; ``None``: it does not within the limit.

    Args:
        goal: The goal, B = 1.
        world: Where everything is; changed.
        state: What the goal remembers.
        limit: How many moves it may take.
        settling: Whether it is enough that the goal will hold as soon as all is at rest.
    """
    done: list[MoveOutcome] = []
    for _ in range(limit + 1):
        outcome = goal.evaluate(world, state)
        state = outcome.state
        if bool(outcome.holds[0]):
            return done
        try:
            move = next_move(goal, world, state, outcome)
        except UnsolvableError:
            return None
        if move is None and settling:
            return done
        placed = move and carry_out(world, move)
        if not placed:
            return None
        done.append(placed)
    return None


@single_threaded
def moves_left(goal: Predicate, world: World, state: GoalState, most: int) -> int:
    """Return the number of moves that the solver needs from here on if all succeed.

    Args:
        goal: The goal of one environment.
        world: Where everything is; it is left as it is.
        state: What the goal remembers.
        most: Moves that are looked ahead.

    Returns:
        ``most + 1`` if it needs more, or knows none.
    """
    plan = rehearse(goal, ForeseenWorld.snapshot(world), state, most, settling=True)
    return most + 1 if plan is None else len(plan)


@torch.inference_mode()
def helps(goal: Predicate, world: World, state: GoalState, move: Move, most: int) -> bool:
    """Return whether fewer moves are left after a move that goes as it should."""
    before = moves_left(goal, world, state, most)
    after = ForeseenWorld.snapshot(world)
    if carry_out(after, move) is None:
        return False
    return moves_left(goal, after, goal.evaluate(after, state).state, before - 1) < before
