"""Predicate: an object was set down on another one, not thrown."""

from dataclasses import dataclass

import torch

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.on_top import OnTop
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class SetDown(OnTop):
    """Placement as in :class:`OnTop` by a body that was not thrown: since it was last held, it flew
    less than ``criteria.fling_distance_m`` horizontally. A thrown body counts again after it was
    held. An object that drops straight down is not thrown.

    Reward: as for :class:`OnTop`; for a thrown body reach 0 to 2.
    """

    name = "set_down"

    def initial_state(self, world: World) -> GoalState:
        held = world.is_held(self.top)
        from_m = world.position(self.top).clone()
        return {"thrown": torch.zeros_like(held), "flies": held, "from": from_m}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        state = self._remember(world, state)
        return self.spoil(world, super().evaluate(world, {}), state["thrown"], state)

    def _remember(self, world: World, state: GoalState) -> GoalState:
        """Return the next state: whether it was thrown, is in flight, and the flight's start."""
        held, position = world.is_held(self.top), world.position(self.top)
        flies = state["flies"] & ~held & ~world.touches(self.top, self.bottom)
        # earlier contacts are costly, and matter only for flying bodies
        flies = world.and_where(
            flies, lambda w, *two: ~w.touches_before(*two), self.top, self.bottom
        )
        way_m = geometry.length((position - state["from"])[:, :2])
        far = flies & (way_m >= self.criteria.fling_distance_m)
        return {
            "thrown": (state["thrown"] | far) & ~held,
            "flies": flies | held,
            "from": torch.where(held[:, None], position, state["from"]),
        }
