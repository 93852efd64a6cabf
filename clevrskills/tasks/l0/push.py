"""Task ``push``."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Predicate, PushedTowards
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import NARROW_WORKSPACE, PRIMITIVE_SIZE_M, EpisodeRng, Layout

GAP_M = 0.13
"""Gap that can be shortened by a third, and that the gripper fits in."""


@dataclass(kw_only=True, eq=False)
class Push(Task):
    """The object is pushed towards another one, by at least 30 percent of the distance (paper,
    appendix A.1, task 5). The gripper itself must push; motion caused by other objects does not
    count.
    """

    key = "push"
    level = "L0"
    sentence = "Push one object towards another"
    predicates = (PushedTowards,)
    slots = ("object_0", "object_1", "object_2")
    parts = ("object", "towards")
    composition = ("combinations",)
    count_argument, extra_slot = "num_distractors", "object_3"
    max_steps = 200

    num_distractors: Count = count(0, 1, most=2)  # other objects on the table

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = 2 + rng.number(self.num_distractors)
        shapes = rng.choose(rng.pools.primitive, objects)
        textures = rng.textures_for(shapes, rng.pools.textures_1)
        table = rng.table(NARROW_WORKSPACE, GAP_M)
        parts = rng.assign(objects)
        roles = {"object": np.array(parts[0]), "towards": np.array(parts[1])}
        bodies = table.place_all(self.slots, shapes, textures, [PRIMITIVE_SIZE_M] * objects)
        return Layout(bodies, roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return PushedTowards(roles["object"], roles["towards"])
