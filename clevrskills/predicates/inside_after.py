"""Predicate: an object was put in an area after another one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.inside import Inside
from clevrskills.sim.placement import put
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class InsideAfter(Inside):
    """Placement as in :class:`Inside`, after another body was put there.

    A body that was put there too early must be taken out, clear of the outline seen from above, and
    put there again.

    Reward: as for :class:`Inside`; for a body that came too early, reach 0 to 2.
    """

    name = "inside_after"
    goal_words = (*Inside.goal_words, "next to")
    before: Tensor  # index of the body that comes first, (B,)

    def initial_state(self, world: World) -> GoalState:
        return {"early": torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        inside, first = (self._rests(world, body) for body in (self.top, self.before))
        early = world.and_where(
            state["early"] | (inside & ~first),
            lambda w, *two: ~w.beside(*two),
            *(self.top, self.bottom),
        )
        return self.spoil(world, super().evaluate(world, {}), early, {"early": early})

    def _rests(self, world: World, body: Tensor) -> Tensor:
        """Return whether a body rests on the lower one, directly or on others, (B,) bool."""
        carried = world.supports(self.bottom, body) >= self.criteria.support_share
        return self.with_pile(world, body, carried)

    def describe(self, world: World, env: int = 0) -> str:
        return f"{super().describe(world, env)} after {world.mention(env, self.before)[0]}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        chosen = torch.ones_like(self.top, dtype=torch.bool) if where is None else where
        missing = chosen & ~self._rests(world, self.before)
        put(world, self.before, self.bottom, self.inside, missing)
        super().realize(world, where)
