"""Task ``rotate``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Predicate, Rotated
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.layout import FAR_WORKSPACE, EpisodeRng, Layout
from clevrskills.tasks.turning import TurningTask, turnable, turnable_body


@dataclass(kw_only=True, eq=False)
class Rotate(TurningTask):
    """The object is in its place, rotated by the angle in the direction to within 5 degrees (paper,
    appendix A.1, task 6); the criteria ``released`` allow 18. Only objects without rotational
    symmetry are used.
    """

    key = "rotate"
    level = "L0"
    sentence = "Rotate the object"
    predicates: ClassVar[tuple[type[Predicate], ...]] = (Rotated,)
    slots = ("object_0", "object_1", "object_2")
    parts = ("object",)
    composition = ("combinations",)
    count_argument, extra_slot = "num_distractors", "object_3"
    max_steps = 250

    num_distractors: Count = count(0, 2, most=3)  # other objects on the table

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = 1 + rng.number(self.num_distractors)
        shapes = rng.choose(turnable(rng), objects)
        textures = rng.textures_for(shapes, rng.pools.textures_1)
        table = rng.table(FAR_WORKSPACE)
        bodies = [
            turnable_body(key, name, texture, rng, table)
            for key, name, texture in zip(self.slots, shapes, textures, strict=False)
        ]
        target = rng.assign(objects)[0]
        roles = {
            "object": np.array(target),
            "pose": np.array(bodies[target].pose),
            "angle_rad": np.radians(float(self.angle_deg(rng))),
        }
        return Layout((*bodies, *(None,) * (len(self.slots) - objects)), roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        pose = roles["pose"]
        return Rotated.by(roles["object"], pose, roles["angle_rad"], pose[:, :3])
