"""The gripper holds an object, clear of everything else."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import approach, reach
from clevrskills.sim.suction import pose_in_gripper
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class Picked(PhysicalPredicate):
    """An object is held, at least ``criteria.pick_clearance_m`` away from everything else, by a
    gripper that is slower than ``criteria.pick_speed_m_per_s``.

    Reward: reach 0 to 2, held 2, lifted up to the clearance 2 to 3, done 4.

    Args:
        object: Index of the body, (B,).
    """

    name = "picked"
    max_reward = 4.0
    object: Tensor

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        holds = held = world.is_held(self.object)
        shaping, progress = reach(world, self.object, ~held), 0.4 * approach(world, self.object)
        if any_true(held):
            least_m, calm_m_per_s = self.criteria.pick_clearance_m, self.criteria.pick_speed_m_per_s
            clearance_m = self._clearance(world, held)
            holds = held & (clearance_m >= least_m) & (world.end_effector_speed < calm_m_per_s)
            lifted = (clearance_m / least_m).clamp(0.0, 1.0)
            shaping = torch.where(held, 2.0 + lifted, shaping)
            progress = torch.where(held, 0.7 + 0.3 * lifted, progress)
        return self.outcome(holds, shaping, progress) if world.rewards else self.bare(world, holds)

    def _clearance(self, world: World, held: Tensor) -> Tensor:
        """Distance from everything else where the object is held (B,), 0 elsewhere, (B,)."""
        zero = world.body_pose.new_zeros(world.num_envs)
        return world.evaluate_where(held, zero, lambda w, body: w.clearance(body), self.object)

    def describe(self, world: World, env: int = 0) -> str:
        return f"Pick up {{obj:{world.keys[int(self.object[env])]}}}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        world.hold(self.object, pose_in_gripper(world, self.object), where)
