"""An object rests within the outline of an area."""

from dataclasses import dataclass

from clevrskills.predicates.on_top import OnTop
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class Inside(OnTop):
    """A body rests on another and, seen from above, stays within its outline up to
    ``criteria.inside_overhang_m``.

    Reward: as of :class:`OnTop`.
    """

    name = "inside"
    inside = True

    def describe(self, world: World, env: int = 0) -> str:
        top, bottom = (world.keys[int(index[env])] for index in (self.top, self.bottom))
        return f"Put {{obj:{top}}} in {{obj:{bottom}}}"
