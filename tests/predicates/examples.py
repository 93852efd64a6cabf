"""One example of every kind of predicate, about the worlds of :func:`tests.worlds.tabletop`."""

from math import pi

import torch

from clevrskills.geometry import yaw_quaternion
from clevrskills.predicates import (
    AtPose,
    AtPosition,
    GoalState,
    Inside,
    Once,
    OnTop,
    Order,
    Outcome,
    Picked,
    Predicate,
    Sequence,
    Set,
)
from clevrskills.world import TensorWorld
from tests.worlds import MOVABLE, SMALL, WIDE, draw_slots


def picked(world: TensorWorld) -> Picked:
    return Picked(draw_slots(world, MOVABLE, 11))


def on_top(world: TensorWorld) -> OnTop:
    return OnTop(draw_slots(world, SMALL, 12), draw_slots(world, WIDE, 13))


def inside(world: TensorWorld) -> Inside:
    return Inside(draw_slots(world, SMALL, 14), draw_slots(world, WIDE, 15))


def _position(world: TensorWorld) -> torch.Tensor:
    """A free place of the table, (B, 3)."""
    generator = torch.Generator().manual_seed(16)
    offset = torch.rand(world.num_envs, 3, generator=generator) * torch.tensor([0.06, 0.08, 0.0])
    return offset + torch.tensor([0.0, -0.06, 0.02])


def at_position(world: TensorWorld) -> AtPosition:
    return AtPosition(draw_slots(world, SMALL, 17), _position(world))


def at_pose(world: TensorWorld) -> AtPose:
    yaw = torch.rand(world.num_envs, generator=torch.Generator().manual_seed(18)) * 2 * pi - pi
    return AtPose(draw_slots(world, SMALL, 19), _position(world), yaw_quaternion(yaw))


def _two_to_places(world: TensorWorld) -> tuple[Predicate, Predicate]:
    other = _position(world) - torch.tensor([0.0, 0.1, 0.0])
    return at_pose(world), AtPosition(3 - at_pose(world).object, other)


def set_of_two(world: TensorWorld) -> Set:
    return Set(_two_to_places(world))


def sequence(world: TensorWorld) -> Sequence:
    return Sequence(_two_to_places(world)[::-1])


def order(world: TensorWorld) -> Order:
    place = at_position(world)
    return Order((Picked(place.object), place, Picked(place.object)))


def once(world: TensorWorld) -> Once:
    return Once(picked(world))


EXAMPLES = {
    "picked": picked,
    "on_top": on_top,
    "inside": inside,
    "at_position": at_position,
    "at_pose": at_pose,
    "set": set_of_two,
    "sequence": sequence,
    "order": order,
    "once": once,
}


def achieve(goal: Predicate, world: TensorWorld) -> Outcome:
    """Realise the parts of a goal one after the other, looking at the whole after each."""
    state: GoalState = goal.initial_state(world)
    outcome = goal.evaluate(world, state)
    for step in goal.steps():
        step.realise(world)
        outcome = goal.evaluate(world, outcome.state)
    return outcome
