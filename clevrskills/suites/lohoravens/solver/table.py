"""Table of one environment as the solver sees it: what stands where, and where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.resting import flat_share, loads
from clevrskills.suites.lohoravens.scene import INNER
from clevrskills.suites.lohoravens.things import yaw_rad

GAPS_M = (0.03, 0.015, 0.006)
"""Gaps to what stands around that are tried for a free place, the widest first."""
STEP_M = 0.01
MAT_TOP_M = 0.005
"""Up to this height what can't be moved is a mat, on which blocks are put."""
OVER_SHARE = 0.01
CARRIED_SHARE = 0.05
"""Share of its weight with which a block rests on another one that is to be freed."""

Rectangle = tuple[np.ndarray, np.ndarray]
"""Least and greatest x and y."""


@dataclass(frozen=True)
class Table:
    """What stands where, of one environment.

    Args:
        world: The world, B = 1.
    """

    world: World

    @cached_property
    def blocks(self) -> list[int]:
        """Slots of what can be moved."""
        return self.world.solids.movable[0].nonzero()[:, 0].tolist()

    @cached_property
    def furniture(self) -> list[int]:
        """Slots of what stands there for good: bowls and zones."""
        fixed = self.world.solids.present[0] & ~self.world.solids.movable[0]
        return fixed.nonzero()[:, 0].tolist()

    @cached_property
    def bowls(self) -> list[int]:
        """Slots of bowls."""
        tops = {k: float(self.world.top(_slot(k))[0]) for k in self.furniture}
        return [k for k, top in tops.items() if top > MAT_TOP_M]

    @cached_property
    def _on(self) -> torch.Tensor:
        return loads(self.world, CARRIED_SHARE)[0]

    def xy(self, slot: int) -> np.ndarray:
        """World x and y of a body, (2,)."""
        place: np.ndarray = self.world.body_pose[0, slot, :2].double().numpy()
        return place

    def yaw_rad(self, slot: int) -> float:
        """Turn of a body about the vertical."""
        return float(yaw_rad(self.world.body_pose[0, slot, 3:]))

    def side_m(self, slot: int) -> float:
        """Greatest side of a body, seen from above."""
        return float(self.world.solids.size[0, slot, :2].max())

    def radius_m(self, slot: int) -> float:
        """Radius of the circle that a body covers, seen from above."""
        sides = self.world.solids.size[0, slot].double().numpy()
        return float(max(sides[:2]) / 2 if slot in self.bowls else np.hypot(*sides[:2]) / 2)

    def above(self, slot: int) -> list[int]:
        """Slots of what rests right on a block."""
        return self._on[:, slot].nonzero()[:, 0].tolist()

    def below(self, slot: int) -> list[int]:
        """Slots of blocks that a block rests right on."""
        return self._on[slot].nonzero()[:, 0].tolist()

    def topmost(self, slot: int) -> int:
        """What has to be taken first to free a block: itself if nothing is on it."""
        seen = {slot}
        while above := [k for k in self.above(slot) if k not in seen]:
            slot = above[0]
            seen.add(slot)
        return slot

    def over(self, zone: int) -> list[int]:
        """Slots of blocks that are over a zone, if only with an edge; -1: of none."""
        if zone < 0:
            return []
        return [
            k
            for k in self.blocks
            if float(flat_share(self.world, _slot(k), _slot(zone))[0]) > OVER_SHARE
        ]

    def in_bowl(self, bowl: int) -> list[int]:
        """Slots of blocks in a bowl, or on its rim."""
        radius_m, middle = self.radius_m(bowl), self.xy(bowl)
        return [k for k in self.blocks if np.hypot(*(self.xy(k) - middle)) < radius_m]

    def free_place(
        self,
        slot: int,
        within: Rectangle,
        avoid: Sequence[Rectangle] = (),
        near: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """A place for a block clear of everything, (2,); ``None``: there is none.

        Args:
            slot: Slot of the block.
            within: Where its middle may be.
            avoid: Where it may not be.
            near: What it is to be near to, (2,); ``None``: the middle.
        """
        low, high = within
        near = (low + high) / 2 if near is None else near
        ticks = [np.arange(low[k] + STEP_M, high[k] - STEP_M / 2, STEP_M) for k in range(2)]
        grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        radius = self.radius_m(slot)
        for a, b in avoid:
            grid = grid[((grid < a - radius) | (grid > b + radius)).any(-1)]
        grid = grid[[INNER.contains(x, y) for x, y in grid]] if len(grid) else grid
        obstacles = [k for k in (*self.blocks, *self.bowls) if k != slot]
        for gap_m in GAPS_M:
            free = np.ones(len(grid), bool)
            for other in obstacles:
                apart = np.linalg.norm(grid - self.xy(other), axis=-1)
                free &= apart >= radius + self.radius_m(other) + gap_m
            if free.any():
                left = grid[free]
                return left[np.linalg.norm(left - near, axis=-1).argmin()]
        return None

    def rectangle(self, slot: int) -> Rectangle:
        """What a zone or bowl covers."""
        half = self.world.solids.size[0, slot, :2].double().numpy() / 2
        return self.xy(slot) - half, self.xy(slot) + half


def _slot(slot: int) -> torch.Tensor:
    return torch.tensor([slot])
