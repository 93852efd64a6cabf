"""A structure was toppled: all of its bodies are on the table."""

from dataclasses import dataclass
from functools import cached_property
from math import pi

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.touched import SHAPING_SHARE, put_free, tilt, touch_top
from clevrskills.predicates.touched_toppled import toppling
from clevrskills.sim.world import World

REWARD_PER_BODY = 3.0
RINGS_M, DIRECTIONS = (0.11, 0.16, 0.21), 16
"""Where the bodies are put around the lowest one to realize it."""


@dataclass(frozen=True, eq=False)
class ToppledStructure(PhysicalPredicate):
    """All bodies of a structure touch the table, at rest; since the structure was first looked at,
    the gripper has touched it, and held none of the bodies.

    As a later part of an ``Order``, that is since its turn came.

    Reward: 3 for each body that touches the table, and up to 2.97 for the nearest to it of the
    others, as of :class:`TouchedToppled`; 0 for good once one was held; done 3 for each body.

    Args:
        objects: Indices of the bodies, the lowest first, -1 for none, (B, n).
    """

    name = "toppled_structure"
    objects: Tensor

    @property
    def max_reward(self) -> Tensor | float:
        return REWARD_PER_BODY * (self.objects >= 0).sum(-1)

    def initial_state(self, world: World) -> GoalState:
        no = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"seen": no, "touched": no, "grasped": no, "start": self._poses(world)}

    @cached_property
    def _bodies(self) -> Tensor:
        """The bodies (B, n); the lowest in place of missing ones."""
        return torch.where(self.objects < 0, self.objects[:, :1], self.objects)

    def _poses(self, world: World) -> Tensor:
        return world.at(world.body_pose, self._bodies)  # (B, n, 7)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        bodies, poses = self._bodies, self._poses(world)
        several, body = world.repeat(bodies.shape[1]), bodies.flatten()
        touched = state["touched"] | several.gripper_touches(body).view_as(bodies).any(-1)
        grasped = state["grasped"] | (bodies == world.held[:, None]).any(-1)
        down = several.on_table(body).view_as(bodies)
        still = several.is_static(body).view_as(bodies)
        holds = (down & still).all(-1) & touched & ~grasped
        start = torch.where(state["seen"][:, None, None], state["start"], poses)
        seen = torch.ones_like(holds)
        new_state = {"seen": seen, "touched": touched, "grasped": grasped, "start": start}
        distance = several.gripper_distance(body).view_as(bodies).clamp(min=0.0)
        most = torch.as_tensor(self.max_reward, dtype=poses.dtype, device=poses.device)
        shaping = self._shaping(start, poses, distance, down)
        shaping = torch.where(grasped, 0.0, torch.minimum(shaping, SHAPING_SHARE * most))
        reward = torch.where(holds, most, shaping)
        return Outcome(holds, reward, torch.where(holds, 1.0, shaping / most), new_state)

    def _shaping(self, start: Tensor, poses: Tensor, distance: Tensor, down: Tensor) -> Tensor:
        """Reward for what lies, and for the nearest to that of what does not, (B,)."""
        tilted = tilt(start[..., 3:], poses[..., 3:]) / self.criteria.topple_angle_rad
        moved = geometry.length(poses[..., :3] - start[..., :3])
        best = toppling(torch.exp(-5.0 * distance), tilted, moved)
        lying = REWARD_PER_BODY * (down & (self.objects >= 0)).sum(-1)
        return lying + torch.where(down, 0.0, SHAPING_SHARE * best).amax(-1)

    def describe(self, world: World, env: int = 0) -> str:
        names = [f"{{obj:{world.keys[i]}}}" for i in self.objects[env].tolist() if i >= 0]
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
