"""Task ``swap_push``."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import AtPositionPushed, Predicate, Swapped
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import NARROW_WORKSPACE, PRIMITIVE_SIZE_M, EpisodeRng, Layout

GAP_M = 0.13
"""Gap between the objects and the free place, so that one can be pushed past another."""


@dataclass(kw_only=True, eq=False)
class SwapPush(Task):
    """Each object is pushed to the place of the other, and never held or struck (paper, appendix
    A.3, task 4). One object may push the other.
    """

    key = "swap_push"
    level = "L2"
    sentence = "Swap the positions of two objects by pushing"
    predicates = (Swapped, AtPositionPushed)
    slots = ("object_0", "object_1")
    parts = ("first", "second")
    composition = ("combinations",)
    max_steps = 700

    def layout(self, rng: EpisodeRng) -> Layout:
        shapes = rng.choose(rng.pools.primitive, 2)
        textures = rng.textures_for(shapes, rng.pools.textures_1)
        table = rng.table(NARROW_WORKSPACE, GAP_M)
        bodies = table.place_all(self.slots, shapes, textures, [PRIMITIVE_SIZE_M] * 2)
        free = table.place(shape(shapes[0], PRIMITIVE_SIZE_M))
        first, second = rng.assign(2)
        homes = [np.array(body.pose[:3]) for body in bodies if body]
        roles = {
            "first": np.array(first),
            "second": np.array(second),
            "home_first": homes[first],
            "home_second": homes[second],
            "free": np.array(free[:3]),
        }
        return Layout(bodies, roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        first, second = roles["first"], roles["second"]
        return Swapped(
            (
                AtPositionPushed(first, roles["free"]),
                AtPositionPushed(second, roles["home_first"]),
                AtPositionPushed(first, roles["home_second"]),
            )
        )
