"""Pick up one object among distractors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Picked, Predicate
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import FAR_WORKSPACE, EpisodeRng, Layout


@dataclass(kw_only=True, eq=False)
class Pick(Task):
    """The gripper holds the object, clear of everything else (paper, appendix A.1, task 3).

    Args:
        num_distractors: Other objects on the table.
    """

    key = "pick"
    level = "L0"
    sentence = "Pick up the object"
    predicates = (Picked,)
    slots = ("object_0", "object_1", "object_2", "object_3")
    max_steps = 80

    num_distractors: Count = count(0, 3)

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = 1 + rng.number(self.num_distractors)
        pools = rng.pools
        shapes = rng.choose(pools.top + pools.random + pools.primitive, objects)
        textures = rng.choose(pools.texture_1 + pools.texture_1_dark, objects, "textures")
        table = rng.table(FAR_WORKSPACE)
        bodies = [
            Body(key, name, texture, table.place(shape(name)))
            for key, name, texture in zip(self.slots, shapes, textures, strict=False)
        ]
        empty = (None,) * (len(self.slots) - objects)
        return Layout((*bodies, *empty), {"object": np.array(rng.assign(objects)[0])})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Picked(roles["object"])

    def prompts(self, layout: Layout) -> Sequence[str]:
        body = layout.bodies[int(layout.roles["object"])]
        assert body is not None
        things = (
            f"the {body.name}",
            f"the {{obj:{body.key}}}",
            f"the object with {{tex:{body.key}}} texture",
        )
        return [f"{verb} {thing}" for thing in things for verb in ("Pick up", "Grab", "Lift")]
