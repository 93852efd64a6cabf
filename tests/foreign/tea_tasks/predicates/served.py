"""Predicate: an object rests on another one, as tea is served."""

from dataclasses import dataclass

from clevrskills.predicates import OnTop
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class Served(OnTop):
    """A body rests on another one, let go."""

    name = "served"

    def describe(self, world: World, env: int = 0) -> str:
        top, bottom = (world.keys[int(index[env])] for index in (self.top, self.bottom))
        return f"Serve {{obj:{top}}} on {{obj:{bottom}}}"
