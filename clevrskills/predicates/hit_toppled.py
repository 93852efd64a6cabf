"""Predicate: a thrown object has toppled another one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.hit import AIMED_REWARD, FLYING_PROGRESS, HELD_REWARD, Hit
from clevrskills.predicates.touched import SHAPING_SHARE, put_free, tilt
from clevrskills.predicates.touched_toppled import MARGIN_M, lying
from clevrskills.sim.world import World

FELL_BEFORE = "an object lay before it was hit"
FALLING_PROGRESS = 0.95
"""Progress of an object that was hit and is about to fall over."""


@dataclass(frozen=True, eq=False)
class HitToppled(Hit):
    """A thrown body has hit another one as in :class:`Hit`, which is now tilted by at least
    ``criteria.topple_angle_rad`` from its initial orientation (upside down counts).

    If the other body lies before it is hit, the predicate can no longer hold.

    Reward: as for :class:`Hit` until the hit, then 8 to 11.88 for the tilt, done 12.
    """

    name = "hit_toppled"

    def initial_state(self, world: World) -> GoalState:
        no = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        stood = world.orientation(self.target).clone()
        return {**super().initial_state(world), "stood": stood, "fallen": no}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self.remember(world, state)
        tilted = tilt(state["stood"], world.orientation(self.target))
        tilted = tilted / self.criteria.topple_angle_rad
        fallen = torch.where(state["hit"], state["fallen"], tilted >= 1.0)
        state = {**state, "fallen": fallen}
        done = state["hit"] & ~fallen
        holds = done & (tilted >= 1.0)
        if not world.rewards:
            return Outcome.without_rewards(holds, state)
        struck = HELD_REWARD + AIMED_REWARD
        tilt_share = tilted.clamp(max=1.0)
        shaping, progress = self.aiming(world, state)
        toppling = struck + (SHAPING_SHARE * self.max_reward - struck) * tilt_share
        shaping = torch.where(done, toppling, shaping)
        progress = torch.where(
            done, FLYING_PROGRESS + (FALLING_PROGRESS - FLYING_PROGRESS) * tilt_share, progress
        )
        return self.outcome(holds, shaping, progress, state)

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return ("fallen",)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return {FELL_BEFORE: state["hit"] & state["fallen"]}

    def describe(self, world: World, env: int = 0) -> str:
        return f"{super().describe(world, env)} such that it falls over"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        put_free(world, self.target, lying(world, self.target, MARGIN_M), where)
        pose = world.pose(self.object).clone()
        pose[:, :2] = world.position(self.target)[:, :2]
        pose[:, 2] = world.rest(self.object, pose[:, None], self.target)[0][:, 0]
        world.set_body_pose(self.object, pose, where)
