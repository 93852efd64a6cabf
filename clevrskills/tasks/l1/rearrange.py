"""Task ``rearrange``."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import atan2, dist
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import AtPosition, Predicate, Set
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import FAR_WORKSPACE, EpisodeRng, Layout, LayoutError

GAP_M = 0.04
"""Room for the gripper between neighboring objects."""
LEAST_MOVE_M = 0.10
"""Least distance from the initial to the target position of an object: twice the tolerance."""


@dataclass(kw_only=True, eq=False)
class Rearrange(Task):
    """All objects rest at the positions shown by a key-step at the same time (paper, appendix A.2,
    task 8), in any orientation. No target position is occupied at the start.
    """

    key = "rearrange"
    level = "L1"
    sentence = "Rearrange the objects as shown"
    predicates: ClassVar[tuple[type[Predicate], ...]] = (Set, AtPosition)
    slots = ("object_0", "object_1", "object_2")
    composition = ("combinations",)
    count_argument, extra_slot = "num_objects", "object_3"
    max_steps = 500

    num_objects: Count = count(2, 3, most=4)  # objects, all of them targets

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = rng.number(self.num_objects)
        pools = rng.pools
        shapes = rng.choose(pools.movable, objects)
        textures = rng.textures_for(shapes, pools.textures_1)
        sizes = [rng.size_m(name) for name in shapes]
        items = [shape(name, size) for name, size in zip(shapes, sizes, strict=True)]
        table = rng.table(FAR_WORKSPACE, GAP_M)
        starts = [table.place(item) for item in items]
        targets = [
            table.place(item, 2 * atan2(start[6], start[3]))
            for item, start in zip(items, starts, strict=True)
        ]
        if any(dist(a[:2], b[:2]) < LEAST_MOVE_M for a, b in zip(starts, targets, strict=True)):
            raise LayoutError("an object hardly moves")
        parts = (self.slots, shapes, textures, starts, sizes)
        bodies = [Body(*part) for part in zip(*parts, strict=False)]
        empty = len(self.slots) - objects
        roles = {
            "start": np.array(starts + starts[:1] * empty),
            "target": np.array(targets + targets[:1] * empty)[:, :3],
            "active": np.arange(len(self.slots)) < objects,
        }
        return Layout((*bodies, *(None,) * empty), roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        target = roles["target"]  # (B, objects, 3)
        slot = roles["active"][:, 0].long() * 0
        parts = [AtPosition(slot + k, target[:, k]) for k in range(len(self.slots))]
        return Set(tuple(parts), roles["active"])
