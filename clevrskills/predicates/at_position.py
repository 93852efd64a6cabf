"""Predicate: an object stands at a position on the table."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import Placing
from clevrskills.predicates.shaping import PUT_DOWN_REWARD, carry, descent, put_down
from clevrskills.sim.world import World


@dataclass(frozen=True, eq=False)
class AtPosition(Placing):
    """A body rests on the table within ``criteria.position_m`` of a position, released, in any
    orientation.

    Reward: reach 0 to 2, carry 2 to 5, in place but held 5, released 6.
    """

    name = "at_position"
    max_reward = PUT_DOWN_REWARD
    handles = ("object",)
    object: Tensor  # index of the body, (B,)
    position: Tensor  # world position of the body's origin, (B, 3)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        placed, held = self.placed(world, state), world.is_held(self.object)
        holds = world.and_where(
            placed & ~held,
            lambda w, body: (
                w.gripper_clear(body, self.criteria.release_distance_m) & w.is_static(body)
            ),
            self.object,
        )
        if not world.rewards:
            return Outcome.without_rewards(holds)

        def carried() -> Tensor:
            return torch.stack((self.carrying(world, state), self.way(world, state)), dim=-1)

        return self.outcome(holds, *put_down(world, self.object, held, placed, carried))

    def placed(self, world: World, state: GoalState) -> Tensor:
        del state
        offset = world.position(self.object)[:, :2] - self.position[:, :2]
        return (geometry.length(offset) < self.criteria.position_m) & self.resting(world)

    def resting(self, world: World) -> Tensor:
        """Return whether the object rests on its support, (B,) bool."""
        return world.on_table(self.object)

    def way(self, world: World, state: GoalState) -> Tensor:
        """Return the remaining distance in meters while the object is held, (B,)."""
        del state
        return descent(world.position(self.object) - self.position)

    def carrying(self, world: World, state: GoalState) -> Tensor:
        """Return the reward while the object is held, (B,)."""
        del state
        return carry(world, self.object, self.position)

    def describe(self, world: World, env: int = 0) -> str:
        x, y = (round(float(v), 3) for v in self.position[env, :2])
        return f"Put {world.mention(env, self.object)[0]} at ({x}, {y})"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = world.pose(self.object).clone()
        pose[:, :2] = self.position[:, :2]
        pose[:, 2] -= world.bottom(self.object)
        world.set_body_pose(self.object, pose, where)
