"""Predicate: two objects have swapped places."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.logical import ORDER_WORDS, Composite
from clevrskills.core.goal.predicate import GoalState, Outcome, Predicate
from clevrskills.sim.world import World

GAP_M = 0.01
"""Clearance around an object at its target, seen from above."""
SHORT_OF_SUCCESS = 0.99
"""Greatest share of a child's reward while it does not hold."""


@dataclass(frozen=True, eq=False)
class Swapped(Composite):
    """Two bodies are in each other's place.

    While each body is in the other's way, one is first put at a third place. The positions of the
    bodies determine the next child, so that anything may happen in between.

    Reward as in the published ``SwapPredicate``: the greatest reward of finished children, plus the
    reward of the next one up to 99 % of its greatest; done the sum of the greatest rewards of all
    three. Where the goal can no longer be achieved, only bodies in place count.

    Args:
        children: First body to the free place, second body to the place of the first, first body to
            the place of the second; each a predicate with an ``object`` (B,) and a ``position``
            (B, 3), such as :class:`~clevrskills.predicates.AtPosition`.

    Raises:
        ValueError: There are not exactly three active children.
    """

    name = "swapped"
    goal_words = ORDER_WORDS
    conjunction = ", then "

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.children) != 3 or self.active is not None:
            raise ValueError("Swapped needs three children, all of them active")

    def initial_state(self, world: World) -> GoalState:
        start = torch.zeros(world.num_envs, dtype=torch.long, device=world.device)
        return {"next": start, **super().initial_state(world)}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        outcomes, holds, (reward, progress), new_state = self._batches.evaluate(world, state)
        most = self._max_rewards
        to_first, to_second = self.children[1:]
        second_can = ~holds[:, 1] & ~_in_the_way(world, to_second, to_first)
        first_can = ~holds[:, 2] & (holds[:, 1] | ~_in_the_way(world, to_first, to_second))
        apart = holds.any(-1) | second_can | first_can
        second_can |= apart & ~holds[:, 1] & ~first_can
        part = torch.where(second_can, 1, torch.where(first_can, 2, 0))
        everything = holds[:, 1] & holds[:, 2]
        done = torch.cat((apart[:, None], holds[:, 1:]), dim=-1)
        rest = torch.nn.functional.one_hot(part, 3).bool() & ~done
        for lost in self.unsolvable(new_state).values():
            done[:, 0] &= ~lost
            rest &= ~lost[:, None]
        total = (most * done + torch.minimum(reward, SHORT_OF_SUCCESS * most) * rest).sum(-1)
        share = (done + progress * rest).sum(-1) / 3
        return Outcome(
            everything,
            torch.where(everything, most.sum(-1), total),
            torch.where(everything, 1.0, share),
            {"next": part, **new_state},
            outcomes,
        )

    @property
    def needed(self) -> Iterable[int]:
        return 1, 2

    def next_index(self, outcome: Outcome) -> Tensor:
        return self._next_of(outcome.state["next"], outcome)


def _in_the_way(world: World, other: Predicate, goal: Predicate) -> Tensor:
    """Return whether the body of ``other`` is held or in the way of that of ``goal``, (B,) bool."""
    theirs, mine, place = other.object, goal.object, goal.position  # type: ignore[attr-defined]
    radius = geometry.length(world.at(world.solids.points, mine)[..., :2]).amax(-1) + GAP_M
    held = world.is_held(theirs)
    # the bounding sphere gives a lower bound of the distance
    apart = geometry.length(world.position(theirs)[:, :2] - place[:, :2])
    close = ~held & (apart - world.at(world.solids.radius, theirs) < radius)
    return held | world.and_where(close, _near, theirs, place, radius)


def _near(world: World, body: Tensor, place: Tensor, radius: Tensor) -> Tensor:
    """Return whether a body comes within a radius of a place (B, 3), seen from above, (B,) bool."""
    points = world.world_points(body)[..., :2]
    return geometry.length(points - place[:, None, :2]).amin(-1) < radius
