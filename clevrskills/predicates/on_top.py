"""An object rests on another one."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import (
    PUT_DOWN_REWARD,
    REACHED_PROGRESS,
    approach,
    carry,
    descent,
    put_down,
    reach,
)
from clevrskills.sim.placement import put
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class OnTop(PhysicalPredicate):
    """A body rests on another: carried by it (at least `support_share` of its weight), not by the
    table, both at rest and let go (the cups `release_distance_m` away).

    Reward: reach 0 to 2, carry towards the origin of the lower body 2 to 5, in place but held 5,
    let go 6.

    Args:
        top: Index of the upper body, (B,).
        bottom: Index of the lower body, (B,).
    """

    name = "on_top"
    max_reward = PUT_DOWN_REWARD
    handles = ("top",)
    top: Tensor
    bottom: Tensor

    inside = False

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        resting, held = self.resting(world), world.is_held(self.top)
        holds = world.and_where(resting & ~held, self._left_alone, self.top, self.bottom)
        if not world.rewards:
            return self.bare(world, holds)
        return self.outcome(holds, *self._shaping(world, held, resting))

    def anew(self, world: World, outcome: Outcome, spoiled: Tensor, state: GoalState) -> Outcome:
        """An outcome with a state, and rated as reach where the upper body must be taken again,
        (B,) bool.
        """
        if not any_true(spoiled):
            return replace(outcome, state=state)
        again = self.outcome(
            torch.zeros_like(spoiled),
            reach(world, self.top, spoiled),
            REACHED_PROGRESS * approach(world, self.top),
        )
        return Outcome(
            outcome.holds & ~spoiled,
            torch.where(spoiled, again.reward, outcome.reward),
            torch.where(spoiled, again.progress, outcome.progress),
            state,
        )

    def resting(self, world: World) -> Tensor:
        """Whether the lower body carries the upper one, if ``inside`` in its outline, (B,)."""
        carried = world.carries(self.bottom, self.top, self.criteria.support_share)
        return (
            world.and_where(carried, self._within, self.top, self.bottom)
            if self.inside
            else carried
        )

    def _within(self, world: World, top: Tensor, bottom: Tensor) -> Tensor:
        """Whether the upper body stays within the outline of the lower one, (B,) bool."""
        return world.within(top, bottom, self.criteria.inside_overhang_m)

    def _shaping(self, world: World, held: Tensor, resting: Tensor) -> tuple[Tensor, Tensor]:
        """Reward and progress short of success, each (B,)."""

        def carried() -> Tensor:
            unknown = world.body_pose.new_zeros(world.num_envs, 2)
            return world.evaluate_where(held, unknown, _carried, self.top, self.bottom)

        return put_down(world, self.top, held, resting, carried)

    def _left_alone(self, world: World, top: Tensor, bottom: Tensor) -> Tensor:
        """Whether both are at rest and let go, (B,) bool."""
        free = world.gripper_clear(top, self.criteria.release_distance_m)
        free = free & ~world.is_held(bottom)
        return free & world.is_static(top) & world.is_static(bottom)

    def describe(self, world: World, env: int = 0) -> str:
        top, bottom = (world.keys[int(index[env])] for index in (self.top, self.bottom))
        return f"Put {{obj:{top}}} on {{obj:{bottom}}}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        put(world, self.top, self.bottom, self.inside, where)


def _carried(world: World, top: Tensor, bottom: Tensor) -> Tensor:
    """Reward, and metres that are left, while the upper body is held, (B, 2)."""
    position = world.position(bottom)
    offset = world.position(top) - position
    height = world.bottom(top) - world.top(bottom)
    way = descent(torch.cat((offset[:, :2], height[:, None]), dim=-1))
    return torch.stack((carry(world, top, position), way), dim=-1)
