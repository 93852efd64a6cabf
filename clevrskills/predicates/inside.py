"""Predicate: an object rests within the outline of an area."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState
from clevrskills.predicates.on_top import OnTop
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class Inside(OnTop):
    """A body rests on another one, directly or on others, and seen from above stays within its
    outline up to ``criteria.inside_overhang_m``.

    Reward: as for :class:`OnTop`.
    """

    name = "inside"
    goal_words: ClassVar[tuple[str, ...]] = ("in", "into", "on", "to", "at")
    inside = True

    def placed(self, world: World, state: GoalState) -> Tensor:
        return world.and_where(
            self.with_pile(world, self.top, super().placed(world, state)),
            lambda w, *two: w.within(*two, self.criteria.inside_overhang_m),
            *(self.top, self.bottom),
        )

    def with_pile(self, world: World, body: Tensor, carried: Tensor) -> Tensor:
        """Return whether a body (B,) is ``carried`` (B,) by the lower one or rests, released, on
        others that are, (B,) bool.
        """
        if not world.piled:
            return carried
        loose = ~carried & ~world.is_held(body) & world.is_static(body)
        loose = loose & world.at(world.solids.present, body)
        loose = world.and_where(loose, lambda w, upper: ~w.on_table(upper), body)
        return world.evaluate_where(loose, carried, self._in_pile, body, self.bottom)

    def _in_pile(self, world: World, body: Tensor, bottom: Tensor) -> Tensor:
        """Return whether a body rests on the lower one, directly or on others, (B,) bool."""
        count = len(world.keys)
        slots = torch.arange(count, device=body.device).expand(len(body), count)
        loose = world.at(world.solids.movable, slots) & (slots != world.held[:, None])
        lower, upper = slots[:, None], torch.where(loose, slots, body[:, None])[:, :, None]
        share = world.supports(lower, upper).masked_fill(lower == upper, 0.0)  # (B, upper, lower)
        pile = slots == bottom[:, None]
        for _ in range(count):
            carried = (share * pile[:, None]).sum(-1) >= self.criteria.support_share
            pile = pile | (carried & loose)
        return pile.gather(1, body[:, None])[:, 0]

    def describe(self, world: World, env: int = 0) -> str:
        top, bottom = world.mention(env, self.top, self.bottom)
        return f"Put {top} in {bottom}"
