"""Predicate: an object rests on another one."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import Placing
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
class OnTop(Placing):
    """A body rests on another one, which carries at least ``criteria.support_share`` of its weight.
    It does not touch the table, both are at rest, and the cups are at least
    ``criteria.release_distance_m`` away.

    Reward: reach 0 to 2, carry towards the origin of the lower body 2 to 5, in place but held 5,
    released 6.
    """

    name = "on_top"
    goal_words: ClassVar[tuple[str, ...]] = (
        *("on", "onto", "on top of", "on top", "over", "to", "below", "first", "then", "after"),
        *("top", "bottom", "highest", "lowest", "reverse", "reversed", "reverses", "backwards"),
    )
    max_reward = PUT_DOWN_REWARD
    handles = ("top",)
    top: Tensor  # index of the upper body, (B,)
    bottom: Tensor  # index of the lower body, (B,)

    inside = False

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        placed, held = self.placed(world, state), world.is_held(self.top)
        holds = world.and_where(
            placed & ~held,
            lambda w, top, bottom: (
                w.gripper_clear(top, self.criteria.release_distance_m)
                & ~w.is_held(bottom)
                & w.is_static(top)
                & w.is_static(bottom)
            ),
            *(self.top, self.bottom),
        )
        if not world.rewards:
            return Outcome.without_rewards(holds)

        def carried() -> Tensor:
            zeros = world.body_pose.new_zeros(world.num_envs, 2)
            return world.evaluate_where(held, zeros, _carried, self.top, self.bottom)

        return self.outcome(holds, *put_down(world, self.top, held, placed, carried))

    def placed(self, world: World, state: GoalState) -> Tensor:
        del state
        return world.carries(self.bottom, self.top, self.criteria.support_share)

    def spoil(self, world: World, outcome: Outcome, where: Tensor, state: GoalState) -> Outcome:
        """Return an outcome that does not hold ``where`` (B,) the upper body must be picked up
        again, with the reward of reaching it there.
        """
        if not any_true(where):
            return replace(outcome, state=state)
        again = self.outcome(
            torch.zeros_like(where),
            reach(world, self.top, where),
            REACHED_PROGRESS * approach(world, self.top),
        )
        return Outcome(
            outcome.holds & ~where,
            torch.where(where, again.reward, outcome.reward),
            torch.where(where, again.progress, outcome.progress),
            state,
        )

    def describe(self, world: World, env: int = 0) -> str:
        top, bottom = world.mention(env, self.top, self.bottom)
        return f"Put {top} on {bottom}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        put(world, self.top, self.bottom, self.inside, where)


def _carried(world: World, top: Tensor, bottom: Tensor) -> Tensor:
    """Return reward and remaining distance in meters while the upper body is held, (B, 2)."""
    position = world.position(bottom)
    offset = world.position(top) - position
    height = world.bottom(top) - world.top(bottom)
    way = descent(torch.cat((offset[:, :2], height[:, None]), dim=-1))
    return torch.stack((carry(world, top, position), way), dim=-1)
