"""Blocks that stay out of bowls."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.constraints import NoneIn
from clevrskills.suites.lohoravens.predicates.put_in import in_bowl


@dataclass(frozen=True, eq=False)
class NoneInBowl(NoneIn):
    """No block is in a bowl but those that were at the start."""

    name = "none_in_bowl"
    bowls: Tensor  # indices of the bowls, -1 for none, (B, m)

    def inside(self, world: World) -> Tensor:
        body = self.objects.clamp(min=0)[:, :, None]
        return in_bowl(world, body, self.bowls[:, None]).any(-1)  # of (B, n, m)

    def describe(self, world: World, env: int = 0) -> str:
        return f"Keep {self._named(world, env)} out of the bowls"
