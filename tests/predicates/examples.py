"""One example of every kind of predicate, about the worlds of :func:`tests.worlds.tabletop`."""

from math import pi

import torch

from clevrskills.core.geometry import yaw_quaternion
from clevrskills.predicates import (
    AtPose,
    AtPoseOnTop,
    AtPosition,
    AtPositionPushed,
    Avoiding,
    Balanced,
    EndEffectorAtPose,
    EndEffectorAtPosition,
    GoalState,
    Hit,
    HitToppled,
    Inside,
    InsideAfter,
    Keeping,
    Once,
    OnTop,
    Order,
    Outcome,
    Picked,
    Predicate,
    PushedTowards,
    Rotated,
    SameStack,
    Sequence,
    Set,
    SetDown,
    Strict,
    Swapped,
    ToppledStructure,
    Touched,
    TouchedPushed,
    TouchedToppled,
    Traced,
)
from clevrskills.sim.tensor_world import TensorWorld
from tests.support.worlds import MOVABLE, SMALL, WIDE, draw_slots


def picked(world: TensorWorld) -> Picked:
    return Picked(draw_slots(world, MOVABLE, 11))


def on_top(world: TensorWorld) -> OnTop:
    return OnTop(draw_slots(world, SMALL, 12), draw_slots(world, WIDE, 13))


def set_down(world: TensorWorld) -> SetDown:
    return SetDown(draw_slots(world, SMALL, 12), draw_slots(world, WIDE, 13))


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


def at_pose_on_top(world: TensorWorld) -> AtPoseOnTop:
    body, bottom = draw_slots(world, SMALL, 61), draw_slots(world, WIDE, 62)
    yaw = torch.rand(world.num_envs, generator=torch.Generator().manual_seed(63)) * 2 * pi - pi
    return AtPoseOnTop(body, world.position(bottom), yaw_quaternion(yaw), bottom)


def inside_after(world: TensorWorld) -> InsideAfter:
    """With another body than the first, on the area."""
    top = draw_slots(world, SMALL, 64)
    return InsideAfter(top, top * 0 + 4, (top + 1) % 3)


def same_stack(world: TensorWorld) -> SameStack:
    """Two or three bodies."""
    second, third = draw_slots(world, SMALL, 65), draw_slots(world, (0, 1), 66)
    third = torch.where(third == 0, -1, (second + 1) % 3)
    return SameStack(torch.stack((second * 0 + 3, second, third), dim=-1))


def rotated(world: TensorWorld) -> Rotated:
    body = draw_slots(world, SMALL, 52)
    generator = torch.Generator().manual_seed(53)
    angle = torch.tensor([-150.0, -30.0, 60.0, 120.0]).deg2rad()
    angle = angle[torch.randint(4, (world.num_envs,), generator=generator)]
    return Rotated.by(body, world.pose(body), angle, world.position(body))


def touched(world: TensorWorld) -> Touched:
    return Touched(draw_slots(world, MOVABLE, 31))


def touched_pushed(world: TensorWorld) -> TouchedPushed:
    return TouchedPushed(draw_slots(world, SMALL, 32))


def touched_toppled(world: TensorWorld) -> TouchedToppled:
    return TouchedToppled(draw_slots(world, SMALL, 33))


def at_position_pushed(world: TensorWorld) -> AtPositionPushed:
    return AtPositionPushed(draw_slots(world, SMALL, 34), _position(world))


def pushed_towards(world: TensorWorld) -> PushedTowards:
    return PushedTowards(draw_slots(world, (0,), 35), draw_slots(world, WIDE, 36))


def hit(world: TensorWorld) -> Hit:
    return Hit(draw_slots(world, SMALL, 51), draw_slots(world, WIDE, 52))


def hit_toppled(world: TensorWorld) -> HitToppled:
    return HitToppled(draw_slots(world, SMALL, 53), draw_slots(world, (3,), 54))


def toppled_structure(world: TensorWorld) -> ToppledStructure:
    first = draw_slots(world, SMALL, 37)
    return ToppledStructure(torch.stack((first, (first + 1) % 3, first * 0 - 1), dim=-1))


def _above_the_table(world: TensorWorld) -> torch.Tensor:
    """A place for the end effector, clear of everything, (B, 3)."""
    generator = torch.Generator().manual_seed(41)
    offset = torch.rand(world.num_envs, 3, generator=generator) * torch.tensor([0.1, 0.1, 0.05])
    return offset + torch.tensor([-0.2, 0.1, 0.15])


def end_effector_at_position(world: TensorWorld) -> EndEffectorAtPosition:
    return EndEffectorAtPosition(_above_the_table(world))


def end_effector_at_pose(world: TensorWorld) -> EndEffectorAtPose:
    generator = torch.Generator().manual_seed(42)
    half = (torch.rand(world.num_envs, generator=generator) + 0.5) * pi / 2
    turn = torch.stack((half.cos(), half.sin(), 0 * half, 0 * half), dim=-1)
    return EndEffectorAtPose(_above_the_table(world), turn)


def traced(world: TensorWorld) -> Traced:
    return Traced(draw_slots(world, MOVABLE, 43))


def avoiding(world: TensorWorld) -> Avoiding:
    first = draw_slots(world, SMALL, 44)
    return Avoiding(end_effector_at_pose(world), torch.stack((first, first * 0 + 3), dim=-1))


def balanced(world: TensorWorld) -> Balanced:
    """The slab and the area stand for the plates of a scale that is always level."""
    first = draw_slots(world, (0, 5), 38)
    beam, plates = first * 0 + 3, torch.stack((first * 0 + 3, first * 0 + 4), dim=-1)
    objects = torch.stack((first, first * 0 - 1, 5 - first), dim=-1)
    return Balanced(beam, plates, objects, world.body_pose[:, [3, 3, 4]].clone())


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


def strict(world: TensorWorld) -> Strict:
    later, due = inside(world), torch.full((world.num_envs, 1), 3)
    return Strict(order(world), (later,), due)


def keeping(world: TensorWorld) -> Keeping:
    first = draw_slots(world, (0, 2), 53)
    return Keeping(Picked(first), AtPosition(2 - first, world.position(2 - first)))


def once(world: TensorWorld) -> Once:
    return Once(picked(world))


def swapped(world: TensorWorld) -> Swapped:
    first = draw_slots(world, (0, 2), 51)
    places = world.position(first), world.position(2 - first)
    return Swapped(
        (
            AtPosition(first, _position(world)),
            AtPosition(2 - first, places[0]),
            AtPosition(first, places[1]),
        )
    )


EXAMPLES = {
    "picked": picked,
    "on_top": on_top,
    "set_down": set_down,
    "inside": inside,
    "at_position": at_position,
    "at_pose": at_pose,
    "at_pose_on_top": at_pose_on_top,
    "inside_after": inside_after,
    "same_stack": same_stack,
    "rotated": rotated,
    "touched": touched,
    "touched_pushed": touched_pushed,
    "touched_toppled": touched_toppled,
    "at_position_pushed": at_position_pushed,
    "pushed_towards": pushed_towards,
    "toppled_structure": toppled_structure,
    "hit": hit,
    "hit_toppled": hit_toppled,
    "balanced": balanced,
    "end_effector_at_position": end_effector_at_position,
    "end_effector_at_pose": end_effector_at_pose,
    "traced": traced,
    "avoiding": avoiding,
    "set": set_of_two,
    "sequence": sequence,
    "order": order,
    "strict": strict,
    "once": once,
    "keeping": keeping,
    "swapped": swapped,
}


def achieve(goal: Predicate, world: TensorWorld) -> Outcome:
    """Realize the parts of a goal one after the other, looking at the whole after each."""
    state: GoalState = goal.initial_state(world)
    outcome = goal.evaluate(world, state)
    for step in goal.steps():
        step.realize(world)
        outcome = goal.evaluate(world, outcome.state)
    return outcome
