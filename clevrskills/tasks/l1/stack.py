"""Task ``stack``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import OnTop, Predicate
from clevrskills.predicates import Sequence as InSequence
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import FAR_WORKSPACE, EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class Stack(Task):
    """Every object rests on the one named before it, at the same time (paper, appendix A.2, task
    12).
    """

    key = "stack"
    level = "L1"
    sentence = "Stack the objects in the order given"
    predicates: ClassVar[tuple[type[Predicate], ...]] = (InSequence, OnTop)
    slots = ("object_0", "object_1", "object_2", "object_3")
    parts = ("named",)
    composition = ("combinations", "orders")
    count_argument, extra_slot = "num_objects", "object_4"
    max_steps = 500
    size_m: ClassVar[tuple[float, float, float]] = (0.10, 0.10, 0.05)
    upwards: ClassVar[bool] = True
    """True if the object named first is the lowest, otherwise the highest."""

    num_objects: Count = count(2, 4, most=5)  # objects, all of them targets

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = rng.number(self.num_objects)
        named = np.zeros(len(self.slots), dtype=np.int64)
        named[:objects] = rng.assign(objects)
        shapes = rng.choose(rng.pools.primitive, objects)
        upwards = slice(None, None, 1 if self.upwards else -1)
        textures = rng.textures_for(shapes[upwards], rng.pools.textures_1, in_turn=True)[upwards]
        table = rng.table(FAR_WORKSPACE)
        bodies = table.place_all(self.slots, shapes, textures, [self.size_m] * objects)
        roles = {"named": named, "active": np.arange(len(self.slots)) < objects}
        return Layout(bodies, roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        named, pairs = roles["named"].unbind(-1), roles["active"][:, 1:]
        if self.upwards:
            return InSequence(tuple(map(OnTop, named[1:], named)), pairs)
        return InSequence(tuple(map(OnTop, named, named[1:]))[::-1], pairs.flip(-1))
