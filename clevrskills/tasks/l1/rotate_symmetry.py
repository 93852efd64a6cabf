"""Task ``rotate_symmetry``."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Predicate, Rotated, Set
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.layout import FAR_WORKSPACE, EpisodeRng, Layout
from clevrskills.tasks.turning import TurningTask, turnable, turnable_body


@dataclass(kw_only=True, eq=False)
class RotateSymmetry(TurningTask):
    """Rotation as in ``rotate`` of the two objects that share a texture; each other object has its
    own (paper, appendix A.2, task 11).
    """

    key = "rotate_symmetry"
    level = "L1"
    sentence = "Rotate the identically textured objects"
    predicates = (Set, Rotated)
    slots = ("object_0", "object_1", "object_2", "object_3")
    parts = ("objects",)
    composition = ("combinations",)
    count_argument, extra_slot = "num_objects", "object_4"
    max_steps = 500

    num_objects: Count = count(2, 4, most=5)  # objects on the table

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = rng.number(self.num_objects)
        shared, *others = rng.choose(rng.pools.textures_1, objects - 1, "textures")
        textures = (shared, shared, *others)
        shapes = rng.shapes_for(textures, turnable(rng))
        parts = rng.assign(objects)
        texture_of = dict(zip(parts, textures, strict=True))
        table = rng.table(FAR_WORKSPACE)
        bodies = [
            turnable_body(self.slots[k], name, texture_of[k], rng, table)
            for k, name in enumerate(shapes)
        ]
        pair = parts[:2]
        roles = {
            "objects": np.array(pair),
            "poses": np.array([bodies[k].pose for k in pair]),
            "angle_rad": np.radians(float(self.angle_deg(rng))),
        }
        return Layout((*bodies, *(None,) * (len(self.slots) - objects)), roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects, poses = roles["objects"], roles["poses"]  # (B, 2), (B, 2, 7)
        return Set(
            tuple(
                Rotated.by(objects[:, k], poses[:, k], roles["angle_rad"], poses[:, k, :3])
                for k in range(2)
            )
        )
