"""Rehearsal of picks and places without an arm: picked blocks go straight to their place."""

from __future__ import annotations

from typing import NamedTuple

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
"""Height of the gripper on the way above a pick or a place."""
HEIGHTS_M, REACH_M = (0.20, 0.28, 0.34, 0.40), (0.86, 0.80, 0.80, 0.74)
"""Heights of the cups, and the greatest distance from the base at which a UR5e that points straight
down reaches them, measured by inverse kinematics."""
ALOFT_M = 10.0
INSIDE, EDGE = 0.8, 0.99
"""Positions of further contact points inside a footprint, relative to its corners."""


class ForeseenWorld(TensorWorld):
    """A world in which a body supports another one even if their corners just miss each other."""

    @broadcast_slots
    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return 1 if a body supports another one, else 0, (B,)."""
        corners = self.world_points(upper)
        middle = corners.mean(1, keepdim=True)
        points = middle + EDGE * (corners - middle)
        surface = geometry.surface_height(self.planes(lower), self.pose(lower), points[..., :2])
        touches = (surface - corners[..., 2]).abs() <= CONTACT_TOLERANCE_M
        return (touches.any(-1) & (upper != lower)).float()


class MoveOutcome(NamedTuple):
    """Result of a move."""

    move: Move
    slot: int  # slot of the picked block
    onto: int  # slot of the body it was put on or in, -1 for the table
    top_m: tuple[float, float]  # heights of the cups at pick and place

    @property
    def in_reach(self) -> bool:
        """``True`` if the arm reaches pick and place, and the poses above them."""
        ends = zip((self.move.pick, self.move.place), self.top_m, strict=True)
        return all(
            np.hypot(x - FIELD.base_x_m, y) <= np.interp(height_m + LIFT_M, HEIGHTS_M, REACH_M)
            for (x, y, _), height_m in ends
        )


def carry_out(world: TensorWorld, move: Move) -> MoveOutcome | None:
    """Move the highest block under the pick to the place; return ``None`` if there is no block."""
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
    """Return the moves of the solver until the goal holds, or ``None`` if that takes too many.

    Args:
        goal: The goal, B = 1.
        world: The world, which is changed.
        state: The goal state.
        limit: Greatest number of moves.
        settling: Whether it is enough that the goal will hold once all bodies are at rest.
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
    """Return the number of moves that the solver needs if all succeed.

    Args:
        goal: The goal of one environment.
        world: The world, which is not changed.
        state: The goal state.
        most: Greatest number of moves.

    Returns:
        ``most + 1`` if it needs more, or knows no move.
    """
    plan = rehearse(goal, ForeseenWorld.snapshot(world), state, most, settling=True)
    return most + 1 if plan is None else len(plan)


@torch.inference_mode()
def helps(goal: Predicate, world: World, state: GoalState, move: Move, most: int) -> bool:
    """Return whether fewer moves are left after a move, if it succeeds."""
    before = moves_left(goal, world, state, most)
    after = ForeseenWorld.snapshot(world)
    if carry_out(after, move) is None:
        return False
    return moves_left(goal, after, goal.evaluate(after, state).state, before - 1) < before
