"""Rehearsal of picks and places without an arm: what is picked goes to where it would rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from clevrskills.core import geometry
from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.core.goal.predicate import GoalState, Predicate
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.setting import FIELD
from clevrskills.suites.lohoravens.solver.planner import UnsolvableError
from clevrskills.suites.lohoravens.solver.ways import next_move

LIFT_M = 0.06
"""How much higher than at a pick or a place the gripper is on the way."""
HEIGHTS_M, REACH_M = (0.20, 0.28, 0.34, 0.40), (0.86, 0.80, 0.80, 0.74)
"""Heights of the cups over the table, and up to which distance from the base a UR5e that points
straight down reaches there; measured by inverse kinematics."""


@dataclass(frozen=True)
class Placed:
    """What came of a move.

    Attributes:
        move: The move.
        slot: Slot of what was picked.
        onto: Slot of what it was put on or in; -1: on the table.
        top_m: Heights of the cups at the pick and at the place.
    """

    move: Move
    slot: int
    onto: int
    top_m: tuple[float, float]

    @property
    def in_reach(self) -> bool:
        """Whether the arm reaches both places, and above them."""
        return all(
            np.hypot(x - FIELD.base_x_m, y) <= np.interp(height_m + LIFT_M, HEIGHTS_M, REACH_M)
            for (x, y, _), height_m in zip(
                (self.move.pick, self.move.place), self.top_m, strict=True
            )
        )


def carry_out(world: TensorWorld, move: Move) -> Placed | None:
    """Take the highest block under the pick to the place; ``None``: nothing was there."""
    place = torch.tensor([move.pick[:2]], dtype=torch.float32)
    movable = world.solids.movable[0].nonzero()[:, 0].tolist()
    height_m, slot = max((_height(world, slot, place), slot) for slot in movable)
    if height_m < 0.0:
        return None
    body = torch.tensor([slot])
    turn = yaw_quaternion(torch.tensor([move.place[2] - move.pick[2]]))
    pose = world.pose(body).clone()
    pose[:, :2] = torch.tensor([move.place[:2]])
    pose[:, 3:] = quaternion_multiply(turn, pose[:, 3:])
    pose[:, 2] = 10.0
    world.set_body_pose(body, pose)
    points = world.world_points(body)[0]
    others = [k for k in world.solids.present[0].nonzero()[:, 0].tolist() if k != slot]
    surface_m, onto = max(((_height(world, k, points[:, :2]), k) for k in others), default=(0, -1))
    if surface_m <= 0.0:
        surface_m, onto = 0.0, -1
    pose[:, 2] += surface_m - float(world.bottom(body)[0])
    world.set_body_pose(body, pose)
    return Placed(move, slot, onto, (height_m, float(world.top(body)[0])))


def _height(world: TensorWorld, slot: int, places: torch.Tensor) -> float:
    """Greatest height of a body above places (N, 2)."""
    planes = world.planes(torch.tensor([slot]))[0]
    return float(geometry.surface_height(planes, world.body_pose[0, slot], places).max())


@torch.inference_mode()
def rehearse(
    goal: Predicate, world: TensorWorld, state: GoalState, limit: int = 40
) -> list[Placed] | None:
    """What the solver does until the goal holds; ``None``: it does not within the limit.

    Args:
        goal: The goal, B = 1.
        world: Where everything is; changed.
        state: What the goal remembers.
        limit: How many moves it may take.
    """
    done: list[Placed] = []
    for _ in range(limit + 1):
        outcome = goal.evaluate(world, state)
        state = outcome.state
        if bool(outcome.holds[0]):
            return done
        try:
            move = next_move(goal, world, state)
        except UnsolvableError:
            return None
        placed = move and carry_out(world, move)
        if not placed:
            return None
        done.append(placed)
    return None
