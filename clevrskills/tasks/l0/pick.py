"""Pick up one object among distractors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.body import Body
from clevrskills.predicates import Picked, Predicate
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import W2, Draw, Layout, Table


class Pick(Task):
    """The gripper holds the object, clear of everything else (paper, appendix A.1, task 3)."""

    key = "pick"
    level = "L0"
    sentence = "Pick up the object"
    slots = ("object_0", "object_1", "object_2", "object_3")
    max_steps = 120

    def layout(self, draw: Draw) -> Layout:  # noqa: D102
        count = 1 + int(draw.roles.integers(4))  # 0 to 3 distractors
        pools = draw.pools
        shapes = draw.choose(pools.top + pools.random + pools.primitive, count)
        textures = draw.choose(pools.texture_1 + pools.texture_1_dark, count, "textures")
        table = Table(draw.places, W2)
        bodies = [
            Body(key, name, texture, table.place(shape(name)))
            for key, name, texture in zip(self.slots, shapes, textures, strict=False)
        ]
        empty = (None,) * (len(self.slots) - count)
        return Layout((*bodies, *empty), {"object": np.array(0)})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:  # noqa: D102
        return Picked(roles["object"])

    def prompts(self, layout: Layout) -> Sequence[str]:  # noqa: D102
        body = layout.bodies[0]
        assert body is not None
        things = (
            f"the {body.name}",
            "the {obj:object_0}",
            "the object with {tex:object_0} texture",
        )
        return [f"{verb} {thing}" for thing in things for verb in ("Pick up", "Grab", "Lift")]
