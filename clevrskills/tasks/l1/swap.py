"""Task ``swap``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import AtPosition, Predicate, Swapped
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import NARROW_WORKSPACE, EpisodeRng, Layout
from clevrskills.tasks.turning import room_to_turn


@dataclass(kw_only=True, eq=False)
class Swap(Task):
    """Each of two objects is in the place of the other (paper, appendix A.2, task 15).

    Their places, and a third one kept free, have room for either object at any yaw.
    """

    key = "swap"
    level = "L1"
    sentence = "Swap the positions of two objects"
    predicates: ClassVar[tuple[type[Predicate], ...]] = (Swapped, AtPosition)
    slots = ("object_0", "object_1", "object_2")
    parts = ("objects",)
    composition = ("combinations",)
    count_argument, extra_slot = "num_distractors", "object_3"
    max_steps = 500

    num_distractors: Count = count(0, 1, most=2)  # other objects on the table

    def layout(self, rng: EpisodeRng) -> Layout:
        objects = 2 + rng.number(self.num_distractors)
        names = rng.choose(self.shapes(rng), objects)
        textures = rng.textures_for(names, rng.pools.textures_2)
        sizes = [rng.size_m(name) for name in names]
        shapes = [shape(name, size) for name, size in zip(names, sizes, strict=True)]
        table, room = rng.table(NARROW_WORKSPACE), room_to_turn(*shapes)
        places = [table.place(room) for _ in range(objects + 1)]
        bodies = [
            Body(key, name, texture, (*place[:2], item.half_extents[2], *place[3:]), size)
            for key, name, texture, item, size, place in zip(
                self.slots, names, textures, shapes, sizes, places, strict=False
            )
        ]
        pair = rng.assign(objects)[:2]
        roles = {
            "objects": np.array(pair),
            "poses": np.array([bodies[k].pose for k in pair]),
            "aside": np.array(places[-1][:2]),
        }
        return Layout((*bodies, *(None,) * (len(self.slots) - objects)), roles)

    def shapes(self, rng: EpisodeRng) -> Sequence[str]:
        """Return the shapes that may be swapped."""
        return rng.pools.primitive

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        first, second = roles["objects"].unbind(1)
        aside, to_first, to_second = targets(roles)
        return Swapped(
            (AtPosition(first, aside), AtPosition(second, to_first), AtPosition(first, to_second))
        )


def targets(roles: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return positions (B, 3) of the steps: first one aside, second to first, first to second."""
    (first, second), aside = roles["poses"][..., :3].unbind(1), roles["aside"]

    def at(xy: Tensor, body: Tensor) -> Tensor:
        return torch.cat((xy[:, :2], body[:, 2:]), dim=-1)

    return at(aside, first), at(first, second), at(second, first)
