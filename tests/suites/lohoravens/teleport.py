"""Executor of picks and places without an arm: what is picked goes where it would rest."""

import torch

from clevrskills.core import geometry
from clevrskills.core.geometry import quaternion_multiply, yaw_quaternion
from clevrskills.core.goal.predicate import GoalState, Predicate
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.solver import next_move


def carry_out(world: TensorWorld, move: Move) -> int:
    """Take the highest block under the pick to the place; its slot, -1: nothing was there."""
    place = torch.tensor([move.pick[:2]], dtype=torch.float32)
    tops = []
    for slot in world.solids.movable[0].nonzero()[:, 0].tolist():
        planes = world.planes(torch.tensor([slot]))[0]
        height = float(geometry.surface_height(planes, world.body_pose[0, slot], place).max())
        tops.append((height, slot))
    height, slot = max(tops)
    if height < 0.0:
        return -1
    body = torch.tensor([slot])
    turn = yaw_quaternion(torch.tensor([move.place[2] - move.pick[2]]))
    pose = world.pose(body).clone()
    pose[:, :2] = torch.tensor([move.place[:2]])
    pose[:, 3:] = quaternion_multiply(turn, pose[:, 3:])
    pose[:, 2] = 10.0
    world.set_body_pose(body, pose)
    points = world.world_points(body)[0]
    surface = 0.0
    for other in world.solids.present[0].nonzero()[:, 0].tolist():
        if other != slot:
            planes = world.planes(torch.tensor([other]))[0]
            heights = geometry.surface_height(planes, world.body_pose[0, other], points[:, :2])
            surface = max(surface, float(heights.max()))
    pose[:, 2] += surface - float(world.bottom(body)[0])
    world.set_body_pose(body, pose)
    return slot


def solve(goal: Predicate, world: TensorWorld, state: GoalState, limit: int) -> tuple[int, bool]:
    """Picks and places until the goal holds, and whether it does then."""
    for turn in range(limit + 1):
        outcome = goal.evaluate(world, state)
        state = outcome.state
        if bool(outcome.holds[0]):
            return turn, True
        move = next_move(goal, world, state)
        if move is None or turn == limit:
            break
        assert carry_out(world, move) >= 0
    return turn, False
