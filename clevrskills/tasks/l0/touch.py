"""Task ``touch``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Predicate, Set, Touched
from clevrskills.predicates.touched import Handled
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import NARROW_WORKSPACE, EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class Touch(Task):
    """The gripper touches every object without moving it (paper, appendix A.1, task 9).

    Objects that the gripper holds or strikes no longer count. A strike is a touch at 0.7 m/s or
    more, at any time of the contact.
    """

    key = "touch"
    level = "L0"
    sentence = "Touch the objects"
    predicates: ClassVar[tuple[type[Predicate], ...]] = (Set, Touched)
    slots = ("object_0", "object_1")
    composition = ("combinations",)
    count_argument, extra_slot = "num_objects", "object_2"
    max_steps = 200
    predicate: ClassVar[type[Handled]] = Touched
    size_m: ClassVar[tuple[float, float, float]] = (0.10, 0.10, 0.05)
    gap_m: ClassVar[float] = 0.02

    num_objects: Count = count(1, 2, most=3)  # objects, all of them targets

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = rng.number(self.num_objects)
        shapes = rng.choose(rng.pools.primitive, objects)
        textures = rng.textures_for(shapes, rng.pools.textures_1)
        table = rng.table(NARROW_WORKSPACE, self.gap_m)
        bodies = table.place_all(self.slots, shapes, textures, [self.size_m] * objects)
        return Layout(bodies, {"active": np.arange(len(self.slots)) < objects})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        active = roles["active"]
        slot = active[:, 0].long() * 0
        return Set(tuple(self.predicate(slot + k) for k in range(active.shape[1])), active)
