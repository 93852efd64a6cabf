"""Task ``pick``."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Picked, Predicate
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import FAR_WORKSPACE, EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class Pick(Task):
    """The gripper holds the object, clear of everything else (paper, appendix A.1, task 3)."""

    key = "pick"
    level = "L0"
    sentence = "Pick up the object"
    predicates = (Picked,)
    slots = ("object_0", "object_1", "object_2", "object_3")
    parts = ("object",)
    composition = ("combinations",)
    count_argument, extra_slot = "num_distractors", "object_4"
    max_steps = 80

    num_distractors: Count = count(0, 3, most=4)  # other objects on the table

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = 1 + rng.number(self.num_distractors)
        pools = rng.pools
        shapes = rng.choose(pools.movable, objects)
        textures = rng.textures_for(shapes, pools.textures_1)
        sizes = [rng.size_m(name) for name in shapes]
        bodies = rng.table(FAR_WORKSPACE).place_all(self.slots, shapes, textures, sizes)
        return Layout(bodies, {"object": np.array(rng.assign(objects)[0])})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Picked(roles["object"])
