"""Task ``sort_stack``."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Predicate, SameStack, Set
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

SIZE_M = (0.10, 0.10, 0.05)
LEAST = 2
"""Least number of objects of a texture; a single one would be a stack from the start."""


@dataclass(kw_only=True, eq=False)
class SortStack(Task):
    """The objects of each texture form one tower on the table, all at the same time (paper,
    appendix A.3, task 2).

    Each texture has at least two objects, and each object of a tower rests directly on one other.
    The released code has single objects, and accepts two objects beside each other on a third.
    """

    key = "sort_stack"
    level = "L2"
    sentence = "Stack identically textured objects"
    predicates = (Set, SameStack)
    slots = ("object_0", "object_1", "object_2", "object_3", "object_4", "object_5")
    composition = ("combinations",)
    count_argument, extra_slot = "num_objects", "object_6"
    max_steps = 900

    num_textures: Count = count(1, 3)  # textures, each of at least two objects
    num_objects: Count = count(2, 6, most=7)  # objects

    def layout(self, rng: EpisodeRng) -> Layout:
        textures = rng.number(self.num_textures)
        least, most = self.num_objects
        if most < LEAST * textures:
            raise LayoutError(f"{most} objects are too few for {textures} textures")
        objects = rng.number((max(least, LEAST * textures), most))
        groups = np.repeat(np.arange(textures), LEAST).tolist()
        groups += rng.roles.integers(textures, size=objects - len(groups)).tolist()
        group_of = rng.roles.permutation(groups).tolist()
        chosen = rng.choose(rng.pools.textures_1, textures, "textures")
        shapes = rng.shapes_for([chosen[group] for group in group_of], rng.pools.primitive)
        names = [chosen[k] for k in rng.assign(textures)]
        table = rng.table()
        bodies: list[Body | None] = [None] * len(self.slots)
        for k, group in enumerate(group_of):
            pose = table.place(shape(shapes[k], SIZE_M))
            bodies[k] = Body(self.slots[k], shapes[k], names[group], pose, SIZE_M)
        stacks = np.full((3, len(self.slots)), -1, dtype=np.int64)
        for group in range(textures):
            members = [k for k, other in enumerate(group_of) if other == group]
            stacks[group, : len(members)] = members
        return Layout(tuple(bodies), {"stacks": stacks, "active": np.arange(3) < textures})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Set(tuple(SameStack(stack) for stack in roles["stacks"].unbind(1)), roles["active"])
