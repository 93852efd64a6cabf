"""A structure was toppled: all of its bodies are on the table."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from clevrskills.predicates.base import GoalState, Outcome, PhysicalPredicate
from clevrskills.predicates.touched import SHAPING_SHARE, put_free, tilt, touch_top
from clevrskills.predicates.touched_toppled import toppling
from clevrskills.world import World

REWARD_PER_BODY = 3.0
RINGS_M, DIRECTIONS = (0.11, 0.16, 0.21), 16
"""Where the bodies are put around the lowest one to realise it."""


@dataclass(frozen=True, eq=False)
class ToppledStructure(PhysicalPredicate):
    """All bodies of a structure touch the table, at rest; since the structure was first looked at,
    the gripper has touched it, and held none of the bodies.

    As a later part of an ``Order``, that is since its turn came.

    Args:
        objects: Indices of the bodies, the lowest first, -1 for none, (B, n).
    """

    name = "toppled_structure"
    objects: Tensor

    @property
    def max_reward(self) -> Tensor | float:  # noqa: D102
        return REWARD_PER_BODY * (self.objects >= 0).sum(-1)

    def initial_state(self, world: World) -> GoalState:  # noqa: D102
        no = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        return {"seen": no, "touched": no, "grasped": no, "start": self._poses(world)}

    def _bodies(self) -> list[Tensor]:
        """The bodies one by one, each (B,); the lowest in place of missing ones."""
        return [torch.where(o < 0, self.objects[:, 0], o) for o in self.objects.unbind(-1)]

    def _poses(self, world: World) -> Tensor:
        return torch.stack([world.pose(body) for body in self._bodies()], dim=1)  # (B, n, 7)

    def evaluate(self, world: World, state: GoalState) -> Outcome:  # noqa: D102
        touched, grasped = state["touched"], state["grasped"]
        start = torch.where(state["seen"][:, None, None], state["start"], self._poses(world))
        grounded, still, rewards = [], [], []
        for i, body in enumerate(self._bodies()):
            touched = touched | world.gripper_touches(body)
            grasped = grasped | world.is_held(body)
            grounded.append(world.on_table(body))
            still.append(world.is_static(body))
            tilted = tilt(start[:, i, 3:], world.orientation(body))
            moved = (world.position(body) - start[:, i, :3]).norm(dim=-1)
            near = torch.exp(-5.0 * world.gripper_distance(body).clamp(min=0.0))
            rewards.append(toppling(near, tilted / self.criteria.topple_angle_rad, moved))
        down, best = torch.stack(grounded, dim=-1), torch.stack(rewards, dim=-1)
        used = self.objects >= 0
        holds = down.all(-1) & torch.stack(still, dim=-1).all(-1) & touched & ~grasped
        most = torch.as_tensor(self.max_reward, dtype=best.dtype, device=best.device)
        shaping = REWARD_PER_BODY * (down & used).sum(-1)
        shaping = shaping + torch.where(down, 0.0, SHAPING_SHARE * best).amax(-1)
        shaping = torch.where(grasped, 0.0, torch.minimum(shaping, SHAPING_SHARE * most))
        return Outcome(
            holds,
            torch.where(holds, most, shaping),
            torch.where(holds, 1.0, shaping / most),
            {
                "seen": torch.ones_like(holds),
                "touched": touched,
                "grasped": grasped,
                "start": start,
            },
        )

    def says(self, world: World, env: int = 0) -> str:  # noqa: D102
        names = [f"{{obj:{world.keys[i]}}}" for i in self.objects[env].tolist() if i >= 0]
        return f"Topple the stack of {', '.join(names)}"

    def realise(self, world: World, where: Tensor | None = None) -> None:  # noqa: D102
        bodies = self._bodies()
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
