"""Predicate: the gripper has touched an object, which fell over."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.touched import Handled, put_free, tilt, touch_top
from clevrskills.sim.world import World

MARGIN_M = 0.01
DROP_M = 0.011
"""Distance of the cups at which rolling bodies come to rest; closer to the gripper they jitter."""


@dataclass(frozen=True, eq=False)
class TouchedToppled(Handled):
    """The gripper has touched a body, which was never held or struck and is at rest. It is tilted
    by at least ``criteria.topple_angle_rad`` (upside down counts) and at least
    ``criteria.topple_displacement_m`` from its initial position, whatever toppled it.

    Reward: exp(-5 distance of the cups in m), 0 to 1 for the tilt and 0 to 1 for a displacement of
    0.1 m, up to 2.97 in all; done 3. It stays 0 once the body was held or struck.
    """

    name = "touched_toppled"
    goal_words = ("then",)
    max_reward = 3.0

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self.remember(world, state)
        least, limit = self.criteria.topple_displacement_m, self.criteria.topple_angle_rad
        moved = geometry.length(world.position(self.object) - state["start"][:, :3])
        tilted = tilt(state["start"][:, 3:], world.orientation(self.object))
        still = world.is_static(self.object)
        holds = state["touched"] & ~state["spoiled"] & still & (tilted >= limit) & (moved >= least)
        if not world.rewards:
            return Outcome.without_rewards(holds, state)
        return self.handled(world, holds, toppling(self.near(world), tilted / limit, moved), state)

    def describe(self, world: World, env: int = 0) -> str:
        return f"Touch and topple {world.mention(env, self.object)[0]}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        least_m = self.criteria.topple_displacement_m + MARGIN_M
        put_free(world, self.object, lying(world, self.object, least_m), where)
        touch_top(world, self.object, where, DROP_M)


def toppling(near: Tensor, tilted: Tensor, moved: Tensor) -> Tensor:
    """Return the reward before a body is toppled, in [0, 3], (...).

    Args:
        near: Proximity of the cups, (...).
        tilted: Tilt relative to the required one, (...).
        moved: Displacement in meters, (...).
    """
    return near + tilted.clamp(max=1.0) + (moved / 0.10).clamp(max=1.0)


def lying(world: World, body: Tensor, least_m: float) -> Tensor:
    """Return the poses (B, M, 7) of bodies tipped over each edge of their outline."""
    edges = world.at(world.solids.footprint, body)  # (B, M, 3)
    pose = world.pose(body)
    zero = torch.zeros_like(edges[..., :1])
    outward = torch.cat((edges[..., :2], zero), dim=-1)
    outward = outward @ geometry.rotation_matrix(pose[:, 3:]).transpose(-1, -2)
    outward = torch.nn.functional.normalize(torch.cat((outward[..., :2], zero), dim=-1), dim=-1)
    axis = torch.stack((-outward[..., 1], outward[..., 0], zero[..., 0]), dim=-1)
    turn = torch.cat((torch.full_like(zero, 0.5**0.5), 0.5**0.5 * axis), dim=-1)
    low, high = world.bottom(body), world.top(body)
    way = (edges[..., 2:] + ((high - low) / 2)[:, None, None]).clamp(min=least_m)
    return torch.cat(
        (pose[:, None, :3] + outward * way, geometry.quaternion_multiply(turn, pose[:, None, 3:])),
        dim=-1,
    )
