"""An object rests within the outline of an area."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.predicates.on_top import OnTop
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class Inside(OnTop):
    """A body rests on another, or on what rests on it, and, seen from above, stays within its
    outline up to ``criteria.inside_overhang_m``.

    Reward: as of :class:`OnTop`.
    """

    name = "inside"
    inside = True

    def resting(self, world: World) -> Tensor:
        resting = super().resting(world)
        if not world.piled:
            return resting
        piled = self.piled(world, self.top, resting)
        return world.evaluate_where(piled & ~resting, resting, self._within, self.top, self.bottom)

    def piled(self, world: World, body: Tensor, carried: Tensor) -> Tensor:
        """Whether the lower body carries a body, as it does ``carried`` (B,), or that rests on what
        rests on it, let go, (B,) bool.
        """
        if not world.piled:
            return carried
        perhaps = ~carried & ~world.is_held(body) & world.is_static(body)
        perhaps = perhaps & world.at(world.solids.present, body)
        perhaps = world.and_where(perhaps, lambda w, upper: ~w.on_table(upper), body)
        return world.evaluate_where(perhaps, carried, self._in_pile, body, self.bottom)

    def _in_pile(self, world: World, body: Tensor, bottom: Tensor) -> Tensor:
        """Whether a body is among what rests on another one, directly or on others, (B,) bool."""
        batch, count = len(body), len(world.keys)
        slots = torch.arange(count, device=body.device).expand(batch, count)
        every = world.repeat(count).at(world.solids.movable, slots.flatten()).view_as(slots)
        loose = every & (slots != world.held[:, None])
        upper = torch.where(loose, slots, body[:, None])
        shape = (batch, count, count)
        pairs = slots[:, None].expand(shape), upper[:, :, None].expand(shape)
        share = world.repeat(count**2).supports(*(slot.flatten() for slot in pairs)).view(shape)
        share = share.masked_fill(pairs[0] == pairs[1], 0.0)
        pile = slots == bottom[:, None]
        for _ in range(count):
            carried = (share * pile[:, None]).sum(-1) >= self.criteria.support_share
            pile = pile | (carried & loose)
        return pile.gather(1, body[:, None])[:, 0]

    def describe(self, world: World, env: int = 0) -> str:
        top, bottom = (world.keys[int(index[env])] for index in (self.top, self.bottom))
        return f"Put {{obj:{top}}} in {{obj:{bottom}}}"
