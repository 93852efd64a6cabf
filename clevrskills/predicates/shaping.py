"""Reward and progress terms that several predicates share, on the scale of the published numbers.

Source: released code of ClevrSkills 1.0.0 (arXiv 2411.09052), reward functions of the predicates,
    without their defects.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true, broadcast_slots
from clevrskills.sim.world import World

__all__ = ["carry", "reach"]

NEAR_M = 0.03
ABOVE_M = 0.1
"""Height over a body in which it is approached."""
HALF_WAY_M = 0.2
"""Distance, or angle in radians, at which closeness is a half.

It falls steeply near a goal, so that the way there is worth something beside the end of it, and
slowly far away, so that there is a way to be found: with the published rewards, which fall by 1 per
metre, PPO found few of the goals of a kinematic stand-in of ``trace`` in 200,000 steps, and with
what is nearly flat from 0.6 on none of ``match_pose`` in 100,000."""


def closeness(distance: Tensor) -> Tensor:
    """Return the progress by distance in metres, or radians, (B,): 1 at none, 0 far away."""
    return HALF_WAY_M / (HALF_WAY_M + distance)


HELD_REWARD, PUT_DOWN_REWARD = 5.0, 6.0
"""For what is where it should be, but still held; and let go."""
REACHED_PROGRESS, HELD_PROGRESS, PUT_DOWN_PROGRESS, AT_REST_PROGRESS = 0.3, 0.9, 0.95, 0.99
"""Progress of what the cups have reached; of what is where it should be, but held; let go, but not
yet at rest; and at rest, but not yet let alone."""


@broadcast_slots
def reach(world: World, body: Tensor, where: Tensor) -> Tensor:
    """Return how near the cups are to a body, in [0, 2], (B,), exact only ``where`` (B,): first
    beside it, to its origin, then above it, to its highest point.
    """
    if not world.rewards:
        return _nothing(world)
    aside = geometry.length(world.at(world.offset, body)[:, 0, :2])
    beside = torch.exp((NEAR_M - aside).clamp(max=0.0))
    return world.evaluate_where(where & (aside < NEAR_M), beside, _lower, body)


def _lower(world: World, body: Tensor) -> Tensor:
    """Return the same for cups that are above a body, or lower than its top."""
    above = (world.end_effector_pose[:, 2] - world.top(body)).clamp(min=0.0)
    return torch.where(above < 0.005, 2.0, 1.0 + torch.exp(-above))


def approach(world: World, body: Tensor) -> Tensor:
    """Return how close the suction cups are to where one seals on a body, in [0, 1], (B,)."""
    if not world.rewards:
        return _nothing(world)
    return closeness(descent(-world.at(world.offset, body)[:, 1]))


def descent(offset: Tensor) -> Tensor:
    """Return the metres of a way that comes down on a place, (B,), from an offset (B, 3) to it."""
    aside = geometry.length(offset[:, :2])
    above = aside.clamp(max=ABOVE_M)
    return aside + (offset[:, 2] - above).abs() + above


def put_down(
    world: World, body: Tensor, held: Tensor, placed: Tensor, carried: Callable[[], Tensor]
) -> tuple[Tensor, Tensor]:
    """Return reward and progress of putting a body down somewhere, each (B,): for reaching for it,
    then carrying it there, then letting go.

    Args:
        world: Where everything is.
        body: The body, (B,).
        held: Whether it is held, (B,).
        placed: Whether it is where it should be, held or not, (B,).
        carried: Called if any is held: the reward on the way and the metres left of it, (B, 2);
            they count only where the body is held.
    """
    if not world.rewards:
        return _nothing(world), _nothing(world)
    reward = reach(world, body, ~(held | placed))
    progress = REACHED_PROGRESS * approach(world, body)
    if any_true(held):
        carry_reward, left_m = carried().unbind(-1)
        reward = torch.where(held, torch.where(placed, HELD_REWARD, carry_reward), reward)
        progress = torch.where(held, 0.4 + 0.4 * closeness(left_m), progress)
    if any_true(placed):
        let_go = placed & ~held
        reward = reward.masked_fill(let_go, PUT_DOWN_REWARD)
        progress = progress.masked_fill(placed, HELD_PROGRESS)
        still = torch.where(world.is_static(body), AT_REST_PROGRESS, PUT_DOWN_PROGRESS)
        progress = torch.where(let_go, still, progress)
    return reward, progress


def carry(world: World, body: Tensor, target: Tensor) -> Tensor:
    """Return how near the origin of a held body, the centre of its bounding box, is to a position
    (B, 3), in [2, 5], (B,): first above it, then down.
    """
    if not world.rewards:
        return _nothing(world)
    offset = world.position(body) - target
    aside, height = geometry.length(offset[:, :2]), offset[:, 2]
    missing = torch.stack((6.0 * height, 0.9 - 6.0 * height, aside - NEAR_M))
    low, lifted, near = torch.exp(-missing.clamp(min=0.0)).unbind(0)
    over = torch.where(height < 0, 4.0, 4.0 + low)
    return torch.where(aside < NEAR_M, over, 2.0 + near + lifted)


def towards(world: World, slots: Tensor, left: Tensor, onto: Tensor) -> Tensor:
    """Return how near the next body is to where it is to be put, in [0, 5], (B,).

    Args:
        world: The world.
        slots: Slots of the bodies, (B, n).
        left: Which of them may be next, (B, n) bool.
        onto: Slot of what it is put on, (B,).
    """
    nearest = torch.where(left, reach(world, slots, left), 0.0).amax(-1)
    held = world.is_held(slots) & left
    return world.evaluate_where(
        held.any(-1), nearest, lambda w, top: carry(w, w.held, w.position(top)), onto
    )


def _nothing(world: World) -> Tensor:
    """Return zeros (B,)."""
    return world.body_pose.new_zeros(world.num_envs)
