"""Task ``place``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.assets.topside import rim_radius_m
from clevrskills.predicates import OnTop, Predicate, SetDown
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import XARM, EpisodeRng, Layout, LayoutError

LANDING_MARGIN_M = 0.15
"""Greatest distance that an object may fly and still count as set down."""


@dataclass(kw_only=True, eq=False)
class Place(Task):
    """The object, in the gripper at the start, is set down on another one (paper, appendix A.1,
    task 4). Throwing it there does not count, as random actions release it at once.
    """

    key = "place"
    level = "L0"
    sentence = "Put the object in the gripper on the other object"
    predicates: ClassVar[tuple[type[Predicate], ...]] = (SetDown,)
    slots = ("base_0", "base_1", "base_2", "object_0", "object_1", "object_2")
    parts = ("top", "bottom")
    composition: ClassVar[tuple[str, ...]] = ("combinations", "roles")
    count_argument, extra_slot = "num_objects", "object_3"
    max_steps = 150
    starts_held = True

    num_bases: Count = count(1, 3)  # possible bases, including the target
    num_objects: Count = count(1, 3, most=4)  # possible objects, including the target

    def layout(self, rng: EpisodeRng) -> Layout:
        bases, objects = rng.number(self.num_bases), rng.number(self.num_objects)
        bottom, top = rng.assign(bases)[0], 3 + rng.assign(objects)[0]
        pools = rng.pools
        base_shapes = rng.choose(pools.base + pools.primitive, bases)
        # names must distinguish the objects
        tops = [n for n in pools.movable if n not in base_shapes]
        shapes = base_shapes + rng.choose(tops, objects)
        textures = rng.textures_for(shapes[:bases], pools.textures_2)
        textures += rng.textures_for(shapes[bases:], pools.textures_1)
        used = [*range(bases), *range(3, 3 + objects)]
        table = rng.table()
        sizes = [rng.size_m(name) for name in shapes]
        over, under = bases + top - 3, bottom
        if sizes[over] and shape(shapes[over], sizes[over]).radius_m > rim_radius_m(
            shape(shapes[under], sizes[under])
        ):
            raise LayoutError("the corners of the object would jam between the rims of the base")
        if self.starts_held:
            # an object below the gripper could be hit by releasing the held one
            radius_m = shape(shapes[over], sizes[over]).radius_m
            table.reserve(*XARM.start_position[:2], radius_m + LANDING_MARGIN_M)
        bodies: list[Body | None] = [None] * len(self.slots)
        for slot, name, texture, size in zip(used, shapes, textures, sizes, strict=True):
            pose = table.place(shape(name, size))
            bodies[slot] = Body(self.slots[slot], name, texture, pose, size)
        return Layout(
            tuple(bodies),
            {"top": np.array(top), "bottom": np.array(bottom)},
            in_gripper=top if self.starts_held else -1,
        )

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        rests = SetDown if self.starts_held else OnTop
        return rests(roles["top"], roles["bottom"])
