"""Sort objects into areas out of reach, by throwing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.body import Body
from clevrskills.predicates import Hit, Predicate, Set
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import W1, Draw, Layout, LayoutError, Table
from clevrskills.tasks.throwing import place_beyond

AREA_SIZE_M = (0.24, 0.24, 0.01)
ANGLES_DEG, SPREAD_DEG = (86.0, 107.5, 129.0), 1.0
"""Directions of the areas from the base, 90: to the left; and how far from those they may be."""
BEYOND_M = (0.0, 0.03)
AREA_CAPACITY = {"cube": 2, "cylinder": 2, "hexagon": 2}
"""How many objects an area of a shape has room for, if not one."""


@dataclass(kw_only=True, eq=False)
class ThrowSort(Task):
    """All objects are thrown to the area of their texture (paper, appendix A.2, task 6).

    An object counts once it has flown to its area, where it first comes down: what it does then is
    a matter of luck.  All areas are out of reach and in view, as a whole; the released code draws
    them partly within reach, partly behind the robot and partly out of view. For three of them to
    fit there, they are 0.24 m wide instead of 0.35 m.

    Args:
        num_areas: Areas.
        num_objects: Objects to throw, no more than the areas have room for.
    """

    key = "throw_sort"
    level = "L2"
    sentence = "Place the objects in the identically textured areas by throwing"
    slots = ("area_0", "area_1", "area_2", "object_0", "object_1", "object_2", "object_3")
    max_steps = 600

    num_areas: Count = count(1, 3)
    num_objects: Count = count(1, 4)

    def layout(self, draw: Draw) -> Layout:  # noqa: D102
        areas = draw.number(self.num_areas)
        pools = draw.pools
        area_shapes = draw.choose(pools.primitive, areas)
        room = [AREA_CAPACITY.get(name, 1) for name in area_shapes]
        least, most = self.num_objects
        if sum(room) < least:
            raise LayoutError(f"no room for {least} objects")
        objects = draw.number((least, min(most, sum(room))))
        places = draw.roles.permutation(np.repeat(np.arange(areas), room))
        area_of = np.zeros(4, dtype=np.int64)
        area_of[:objects] = places[draw.assign(objects)]
        shapes = draw.choose(pools.primitive, objects)
        textures = draw.choose(pools.texture_1 + pools.texture_1_dark, areas, "textures")
        table = Table(draw.places, W1)
        bodies: list[Body | None] = [None] * len(self.slots)
        for i, angle in enumerate(draw.places.permutation(ANGLES_DEG)[:areas]):
            around = (angle - SPREAD_DEG, angle + SPREAD_DEG)
            tile = shape(area_shapes[i], AREA_SIZE_M)
            pose = place_beyond(table, draw.places, tile, around, BEYOND_M)
            bodies[i] = Body(
                self.slots[i], area_shapes[i], textures[i], pose, AREA_SIZE_M, static=True
            )
        for i in range(objects):
            pose = table.place(shape(shapes[i]))
            bodies[3 + i] = Body(self.slots[3 + i], shapes[i], textures[area_of[i]], pose)
        return Layout(tuple(bodies), {"area": area_of, "active": np.arange(4) < objects})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:  # noqa: D102
        area = roles["area"]  # (B, 4)
        return Set(
            tuple(Hit(area[:, i] * 0 + 3 + i, area[:, i]) for i in range(4)), roles["active"]
        )

    def prompts(self, layout: Layout) -> Sequence[str]:  # noqa: D102
        pairs = [
            (body, layout.bodies[int(layout.roles["area"][i])])
            for i, body in enumerate(layout.bodies[3:])
            if body is not None
        ]
        named = [f"throw {body.name} in {area.texture} area" for body, area in pairs if area]
        shown = [f"{{obj:{body.key}}} in {{obj:{area.key}}}" for body, area in pairs if area]
        text = " ".join(named)
        return [
            "Place the objects in the identically textured areas by throwing",
            text[:1].upper() + text[1:],
            "Throw " + ", ".join(shown),
        ]
