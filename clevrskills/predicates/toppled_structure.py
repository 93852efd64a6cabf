"""Predicate: all bodies of a structure were toppled."""

from dataclasses import dataclass
from functools import cached_property
from math import pi

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.touched import MOVING_SHARE, SHAPING_SHARE, put_free, tilt, touch_top
from clevrskills.predicates.touched_toppled import toppling
from clevrskills.sim.world import World

REWARD_PER_BODY = 3.0
MOST_OF_IT = 0.9
"""Share of a body's weight on a single body from which it stands on that body."""
GRASPED = "an object of what is to be toppled was held"
RINGS_M, DIRECTIONS = (0.11, 0.16, 0.21), 16
"""Candidate places around the lowest body, where others are put to realize the predicate."""


@dataclass(frozen=True, eq=False)
class ToppledStructure(PhysicalPredicate):
    """All bodies of a structure are down and at rest. Since the first evaluation, the gripper has
    touched the structure and held none of the bodies.

    A body is down if it touches the table, or if it lies across others without contact to the
    robot. Across means tilted by at least ``criteria.topple_angle_rad`` since the first evaluation,
    or supported by several bodies of which none carries 0.9 of its weight. As a later step of an
    ``Order``, it is first evaluated when its turn comes.

    Reward: 3 for each body that is down, and up to 2.97 for the next one as for
    :class:`TouchedToppled`; done 3 for each body. It stays 0 once a body was held.
    """

    name = "toppled_structure"
    unsettles = ("objects",)
    objects: Tensor  # indices of the bodies, the lowest first, -1 for none, (B, n)

    @property
    def max_reward(self) -> Tensor | float:
        return REWARD_PER_BODY * (self.objects >= 0).sum(-1)

    def initial_state(self, world: World) -> GoalState:
        no = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"seen": no, "touched": no, "grasped": no, "start": self._poses(world)}

    @cached_property
    def _bodies(self) -> Tensor:
        """Indices of the bodies, (B, n); the lowest in place of missing ones."""
        return torch.where(self.objects < 0, self.objects[:, :1], self.objects)

    def _poses(self, world: World) -> Tensor:
        return world.at(world.body_pose, self._bodies)  # (B, n, 7)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        bodies, poses = self._bodies, self._poses(world)
        touched = state["touched"] | world.gripper_touches(bodies).any(-1)
        grasped = state["grasped"] | world.is_held(bodies).any(-1)
        start = torch.where(state["seen"][:, None, None], state["start"], poses)
        tilted = tilt(start[..., 3:], poses[..., 3:]) / self.criteria.topple_angle_rad
        still, down = world.is_static(bodies), world.on_table(bodies)
        undecided = (~down & still).any(-1) & touched
        down = world.evaluate_where(undecided, down, self._also_across, bodies, down, still, tilted)
        holds = (down & still).all(-1) & touched & ~grasped
        seen = torch.ones_like(holds)
        new_state = {"seen": seen, "touched": touched, "grasped": grasped, "start": start}
        if not world.rewards:
            return Outcome.without_rewards(holds, new_state)
        distance = world.gripper_distance(bodies).clamp(min=0.0)
        most = torch.as_tensor(self.max_reward, dtype=poses.dtype, device=poses.device)
        moved = geometry.length(poses[..., :3] - start[..., :3])
        best = toppling(torch.exp(-5.0 * distance), tilted, moved)
        shaping = self._shaping(best, down)
        shaping = torch.where(grasped, 0.0, torch.minimum(shaping, SHAPING_SHARE * most))
        short = (shaping / most).clamp(max=MOVING_SHARE)
        progress = torch.where(still.all(-1), shaping / most, short)
        reward = torch.where(holds, most, shaping)
        return Outcome(holds, reward, torch.where(holds, 1.0, progress), new_state)

    @property
    def failure_flags(self) -> tuple[str, ...]:
        return ("grasped",)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return {GRASPED: state["grasped"]}

    def _also_across(
        self, world: World, bodies: Tensor, down: Tensor, still: Tensor, tilted: Tensor
    ) -> Tensor:
        """Return which bodies (B, n) are ``down`` or lie across others, (B, n) bool."""
        lower, upper = bodies[:, None], bodies[:, :, None]
        share = world.supports(lower, upper).masked_fill(lower == upper, 0.0)  # (B, upper, lower)
        carried = share.sum(-1) >= self.criteria.support_share
        across = carried & ((share.amax(-1) < MOST_OF_IT) | (tilted >= 1.0))
        return down | (across & still & ~world.robot_touches(bodies))

    def _shaping(self, best: Tensor, down: Tensor) -> Tensor:
        """Return the reward for bodies that are down and for the next one, (B,)."""
        lying = REWARD_PER_BODY * (down & (self.objects >= 0)).sum(-1)
        return lying + torch.where(down, 0.0, SHAPING_SHARE * best).amax(-1)

    def describe(self, world: World, env: int = 0) -> str:
        names = world.mention(env, self.objects)
        return f"Topple the stack of {', '.join(names)}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        bodies = self._bodies.unbind(-1)
        angle = torch.arange(DIRECTIONS, device=world.device) * (2 * pi / DIRECTIONS)
        ring = torch.stack((angle.cos(), angle.sin()), dim=-1)
        around = torch.cat([radius * ring for radius in RINGS_M])  # (M, 2)
        for body in bodies[1:]:
            hangs = ~world.on_table(body)
            hangs = hangs if where is None else hangs & where
            poses = world.pose(body)[:, None].repeat(1, len(around), 1)
            poses[..., :2] = world.position(bodies[0])[:, None, :2] + around
            put_free(world, body, poses, hangs)
        touch_top(world, bodies[0], where)
