"""Predicate: a goal holds, and the robot has never touched some bodies."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.logical import Wrapper
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.sim.world import World

TOUCHED = "an object that is not to be touched was"


@dataclass(frozen=True, eq=False)
class Avoiding(Wrapper):
    """The child holds, and the robot has never touched any of some bodies.

    After a touch, it can no longer hold, and reward and progress are 0.
    """

    name = "avoiding"
    objects: Tensor  # indices of the bodies, (B, n); empty slots are never touched

    def initial_state(self, world: World) -> GoalState:
        touched = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"touched": touched, **super().initial_state(world)}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        part, new_state = self._evaluate_child(world, state)
        touched = state["touched"] | world.robot_touches(self.objects).any(-1)
        return Outcome(
            part.holds & ~touched,
            part.reward * ~touched,
            part.progress * ~touched,
            {"touched": touched, **new_state},
            (part,),
        )

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return ("touched", *super().failure_flags)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return {**super().unsolvable(state), TOUCHED: state["touched"]}

    def next_index(self, outcome: Outcome) -> Tensor:
        # after a touch the child may be done although the predicate does not hold
        left = self.child.next_index(outcome.children[0]).clamp(min=0)
        return torch.where(outcome.holds, -1, left)

    def describe(self, world: World, env: int = 0) -> str:
        slots = [k for k in self.objects[env].tolist() if bool(world.solids.present[env, k])]
        names = ", ".join(f"{{obj:{world.keys[k]}}}" for k in slots)
        return f"{super().describe(world, env)} without touching {names}"
