"""Something is achieved, and the robot has never touched some bodies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from clevrskills.predicates.base import GoalState, Outcome, Predicate
from clevrskills.predicates.criteria import Criteria
from clevrskills.world import World


@dataclass(frozen=True, eq=False)
class Avoiding(Predicate):
    """The child holds, and no part of the robot has touched any of some bodies since the start.

    A touch can't be undone: from then on it never holds, and reward and progress are 0.

    Args:
        child: What is to be achieved.
        objects: Indices of the bodies, (B, n); those of empty slots are never touched.
    """

    name = "avoiding"
    child: Predicate
    objects: Tensor

    @property
    def max_reward(self) -> Tensor | float:  # noqa: D102
        return self.child.max_reward

    def initial_state(self, world: World) -> GoalState:  # noqa: D102
        touched = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        own = self.child.initial_state(world)
        return {"touched": touched, **{f"0/{key}": value for key, value in own.items()}}

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        own = {key[2:]: value for key, value in state.items() if key.startswith("0/")}
        part = self.child.evaluate(world, own)
        touched = state["touched"]
        for body in self.objects.unbind(-1):
            touched = touched | world.robot_touches(body)
        return Outcome(
            part.holds & ~touched,
            part.reward * ~touched,
            part.progress * ~touched,
            {"touched": touched, **{f"0/{key}": value for key, value in part.state.items()}},
            (part,),
        )

    def leaves(self) -> Iterator[Predicate]:  # noqa: D102
        yield from self.child.leaves()

    def steps(self, env: int = 0) -> Iterator[Predicate]:  # noqa: D102
        yield from self.child.steps(env)

    def next_leaf(self, outcome: Outcome, env: int = 0) -> Predicate | None:  # noqa: D102
        if bool(outcome.holds[env]):
            return None
        # after a touch nothing is left to do, but it does not hold either
        return self.child.next_leaf(outcome.children[0], env) or next(self.leaves())

    def using(self, table: Criteria) -> Self:  # noqa: D102
        return dataclasses.replace(self, child=self.child.using(table))

    def says(self, world: World, env: int = 0) -> str:  # noqa: D102
        slots = [k for k in self.objects[env].tolist() if bool(world.solids.present[env, k])]
        names = ", ".join(f"{{obj:{world.keys[k]}}}" for k in slots)
        return f"{self.child.says(world, env)} without touching {names}"

    def realise(self, world: World, where: Tensor | None = None) -> None:  # noqa: D102
        self.child.realise(world, where)
