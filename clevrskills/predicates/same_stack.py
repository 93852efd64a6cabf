"""Predicate: objects form one stack, in any order."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import towards
from clevrskills.sim.placement import put
from clevrskills.sim.world import World

REWARD_PER_BODY = 6.0


@dataclass(frozen=True)
class Towers:
    """Towers formed by ``n`` objects, by the object at their foot."""

    used: Tensor  # objects that exist, (B, n) bool
    # members (second) of the tower of each foot (first), each alone on the next, (B, n, n) bool
    members: Tensor
    height: Tensor  # number of objects in the tower, 0 without one, (B, n)
    top: Tensor  # index of its highest object, 0 to n - 1, (B, n)


@dataclass(frozen=True, eq=False)
class SameStack(PhysicalPredicate):
    """Objects form one tower, at rest and released. Exactly one is on the table, and each other one
    rests on exactly one that carries no other.

    Reward: 6 for each object above the lowest one of the highest tower. The next object adds 0 to 2
    for reaching it and 2 to 5 for carrying it to the top of that tower. Done 6 for each object but
    one.
    """

    name = "same_stack"
    goal_words = ("on", "on top of")
    objects: Tensor  # indices of at least two objects, -1 for none, (B, n)

    @property
    def max_reward(self) -> Tensor:
        return REWARD_PER_BODY * ((self.objects >= 0).sum(-1) - 1)

    @cached_property
    def _slots(self) -> Tensor:
        """Indices of the objects, (B, m); the first one in place of missing ones."""
        count = int((self.objects >= 0).any(0).sum())
        return torch.where(self.objects < 0, self.objects[:, :1], self.objects)[:, :count]

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        towers = self.towers(world)
        height = towers.height.amax(-1)
        holds = world.and_where(
            height == towers.used.sum(-1),
            lambda w, slots: (
                w.gripper_clear(slots, self.criteria.release_distance_m) & w.is_static(slots)
            ).all(-1),
            self._slots,
        )
        if not world.rewards:
            return Outcome.without_rewards(holds)
        shaping = REWARD_PER_BODY * (height - 1).clamp(min=0) + self._approach(world, towers)
        return self.outcome(holds, shaping)

    def towers(self, world: World) -> Towers:
        """Return the towers that the objects form."""
        slots = self._slots
        count = slots.shape[1]
        used = self.objects[:, :count] >= 0
        standing, loose = world.on_table(slots) & used, ~world.is_held(slots) & used
        share = world.supports(slots[:, None], slots[:, :, None])  # (B, upper, lower)
        on = share >= self.criteria.support_share
        on &= ~torch.eye(count, dtype=torch.bool, device=on.device)
        on &= (loose & ~standing)[:, :, None] & loose[:, None]
        alone = on & (on.sum(2, keepdim=True) == 1) & (on.sum(1, keepdim=True) == 1)
        foot = standing & loose & ~on.any(2)
        members = torch.diag_embed(foot)
        for _ in range(count - 1):
            members = members | (members[:, :, None] & alone[:, None]).any(-1)
        covered = (members[:, :, :, None] & alone.transpose(1, 2)[:, None]).any(-1)
        top = (members & ~covered).int().argmax(-1)
        return Towers(used, members, members.sum(-1) * foot, top)

    def _approach(self, world: World, towers: Towers) -> Tensor:
        """Return the reward for putting the next object on the highest tower, in [0, 5], (B,)."""
        slots = self._slots
        foot = towers.height.argmax(-1, keepdim=True)
        rows = torch.arange(len(slots), device=slots.device)
        top = slots.gather(1, towers.top.gather(1, foot))[:, 0]
        left = towers.used & ~towers.members[rows, foot[:, 0]]
        return towards(world, slots, left, top)

    def describe(self, world: World, env: int = 0) -> str:
        names = world.mention(env, self.objects)
        return f"Stack {', '.join(names[:-1])} and {names[-1]} on top of each other"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        used = self.objects >= 0
        slots = self._slots.unbind(1)
        for k, (lower, upper) in enumerate(zip(slots, slots[1:], strict=False)):
            chosen = used[:, k + 1] if where is None else used[:, k + 1] & where
            put(world, upper, lower, False, chosen)
