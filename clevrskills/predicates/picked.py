"""Predicate: the gripper holds an object clear of everything else."""

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
    """An object is held at least ``criteria.pick_clearance_m`` away from everything else, by a
    gripper slower than ``criteria.pick_speed_m_per_s``.

    Reward: reach 0 to 2, held 2, lifted up to the clearance 2 to 3, done 4.
    """

    name = "picked"
    goal_words = ("then",)
    max_reward = 4.0
    object: Tensor  # index of the body, (B,)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        held = world.is_held(self.object)
        zeros = world.body_pose.new_zeros(world.num_envs)
        clearance_m = world.evaluate_where(held, zeros, lambda w, b: w.clearance(b), self.object)
        holds = (
            held
            & (clearance_m >= self.criteria.pick_clearance_m)
            & (world.end_effector_speed < self.criteria.pick_speed_m_per_s)
        )
        if not world.rewards:
            return Outcome.without_rewards(holds)
        shaping, progress = reach(world, self.object, ~held), 0.4 * approach(world, self.object)
        if any_true(held):
            lifted = (clearance_m / self.criteria.pick_clearance_m).clamp(0.0, 1.0)
            shaping = torch.where(held, 2.0 + lifted, shaping)
            progress = torch.where(held, 0.7 + 0.3 * lifted, progress)
        return self.outcome(holds, shaping, progress)

    def describe(self, world: World, env: int = 0) -> str:
        return f"Pick up {world.mention(env, self.object)[0]}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        world.hold(self.object, pose_in_gripper(world, self.object), where)
