"""Reward and progress terms shared by several predicates, on the published scale.

Source: reward functions in the released code of ClevrSkills 1.0.0 (arXiv 2411.09052), without their
    defects.
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
"""Height above a body at which it is approached."""
HALF_WAY_M = 0.2
"""Distance in meters, or angle in radians, at which closeness is a half.

Closeness is steep near the goal and still has a gradient far away. With the published rewards,
which fall by 1 per meter, PPO reached few goals of a kinematic version of ``trace`` in 200,000
steps. With a curve that is nearly flat from 0.6 on, it reached none of ``match_pose``."""


def closeness(distance: Tensor) -> Tensor:
    """Return the progress for a distance in meters or radians, (B,): 1 at 0, 0 far away."""
    return HALF_WAY_M / (HALF_WAY_M + distance)


HELD_REWARD, PUT_DOWN_REWARD = 5.0, 6.0
"""Reward of a body in place that is still held, and that is released."""
REACHED_PROGRESS, HELD_PROGRESS, PUT_DOWN_PROGRESS, AT_REST_PROGRESS = 0.3, 0.9, 0.95, 0.99
"""Progress of a body that is reached; in place but held; released but still moving; and at rest
with the gripper still near."""


@broadcast_slots
def reach(world: World, body: Tensor, where: Tensor) -> Tensor:
    """Return the reward for reaching a body with the cups, in [0, 2], (B,), exact only ``where``
    (B,): first for moving above its origin, then for descending to its highest point.
    """
    if not world.rewards:
        return _nothing(world)
    aside = geometry.length(world.at(world.offset, body)[:, 0, :2])
    beside = torch.exp((NEAR_M - aside).clamp(max=0.0))
    return world.evaluate_where(where & (aside < NEAR_M), beside, _lower, body)


def _lower(world: World, body: Tensor) -> Tensor:
    """Return the reward for cups above a body."""
    above = (world.end_effector_pose[:, 2] - world.top(body)).clamp(min=0.0)
    return torch.where(above < 0.005, 2.0, 1.0 + torch.exp(-above))


def approach(world: World, body: Tensor) -> Tensor:
    """Return the closeness of the suction cups to the grasp point on a body, in [0, 1], (B,)."""
    if not world.rewards:
        return _nothing(world)
    return closeness(descent(-world.at(world.offset, body)[:, 1]))


def descent(offset: Tensor) -> Tensor:
    """Return the length in m of a path that descends on a point, (B,), for an offset (B, 3)."""
    aside = geometry.length(offset[:, :2])
    above = aside.clamp(max=ABOVE_M)
    return aside + (offset[:, 2] - above).abs() + above


def put_down(
    world: World, body: Tensor, held: Tensor, placed: Tensor, carried: Callable[[], Tensor]
) -> tuple[Tensor, Tensor]:
    """Return reward and progress of reaching for a body, carrying it and releasing it, each (B,).

    Args:
        world: The world.
        body: The body, (B,).
        held: Whether it is held, (B,).
        placed: Whether it is in place, held or not, (B,).
        carried: Function that returns reward and remaining distance in meters of a held body,
            (B, 2).
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
    """Return the reward for carrying the origin of a held body, the center of its bounding box, to
    a position (B, 3), in [2, 5], (B,): first above it, then down.
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
    """Return the reward for reaching and carrying the next body, in [0, 5], (B,).

    Args:
        world: The world.
        slots: Slots of the bodies, (B, n).
        left: Which of them may be next, (B, n) bool.
        onto: Slot of the body below, (B,).
    """
    nearest = torch.where(left, reach(world, slots, left), 0.0).amax(-1)
    held = world.is_held(slots) & left
    return world.evaluate_where(
        held.any(-1), nearest, lambda w, top: carry(w, w.held, w.position(top)), onto
    )


def _nothing(world: World) -> Tensor:
    return world.body_pose.new_zeros(world.num_envs)
