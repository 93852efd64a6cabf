"""Put every object into the area with its texture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.body import Body
from clevrskills.predicates import Inside, Predicate, Set
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import W1, Draw, Layout, LayoutError, Table, pose_on_table

AREA_SIZE_M = (0.24, 0.24, 0.01)
AREA_CENTERS_M = ((-0.315, -0.2), (-0.315, 0.2), (-0.055, -0.165), (-0.055, 0.165))
AREA_CAPACITY = {"cube": 2, "cylinder": 2, "hexagon": 2}
"""How many objects an area of a shape has room for, if not one."""
OBJECT_RADIUS_M = 0.06
"""Outer radius of the largest object, so that two fit into an area."""


@dataclass(kw_only=True, eq=False)
class Sort(Task):
    """All objects lie at once in the areas of their texture (paper, appendix A.2, task 14).

    The areas are smaller than in the released code (0.35 m), which left almost no table between
    them, so that objects started on areas; and they lie where the base camera sees them whole.

    Args:
        num_areas: Areas.
        num_objects: Objects to sort, no more than the areas have room for.
    """

    key = "sort"
    level = "L1"
    sentence = "Place the objects in the identically textured areas"
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
        small = [
            n for n in pools.top + pools.random + pools.primitive if _radius(n) <= OBJECT_RADIUS_M
        ]
        shapes = draw.choose(small, objects)
        textures = draw.choose(pools.texture_1 + pools.texture_1_dark, areas, "textures")
        table = Table(draw.places, W1, gap_m=0.015)
        bodies: list[Body | None] = [None] * len(self.slots)
        centers = draw.places.permutation(AREA_CENTERS_M)[:areas]
        for i, (x, y) in enumerate(centers):
            tile = shape(area_shapes[i], AREA_SIZE_M)
            if not table.take(tile, x, y, 0.0):
                raise LayoutError(f"area {i} does not fit")
            bodies[i] = Body(
                self.slots[i],
                area_shapes[i],
                textures[i],
                pose_on_table(tile, x, y, 0.0),
                AREA_SIZE_M,
                True,
            )
        for i in range(objects):
            pose = table.place(shape(shapes[i]))
            bodies[3 + i] = Body(self.slots[3 + i], shapes[i], textures[area_of[i]], pose)
        return Layout(tuple(bodies), {"area": area_of, "active": np.arange(4) < objects})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:  # noqa: D102
        area = roles["area"]  # (B, 4)
        children = [Inside(area[:, i] * 0 + 3 + i, area[:, i]) for i in range(4)]
        return Set(tuple(children), roles["active"])

    def prompts(self, layout: Layout) -> Sequence[str]:  # noqa: D102
        pairs = [
            (body, layout.bodies[int(layout.roles["area"][i])])
            for i, body in enumerate(layout.bodies[3:])
            if body is not None
        ]
        named = [f"put {body.name} in {area.texture} area" for body, area in pairs if area]
        shown = [f"{{obj:{body.key}}} in {{obj:{area.key}}}" for body, area in pairs if area]
        return [
            "Place the objects in the identically textured areas",
            _capitalised(" ".join(named)),
            "Place " + ", ".join(shown),
        ]


def _radius(name: str) -> float:
    return float(np.linalg.norm(np.concatenate(shape(name).parts)[:, :2], axis=1).max())


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
