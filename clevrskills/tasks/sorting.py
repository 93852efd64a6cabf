"""Base of tasks that sort objects into areas of the same texture."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.assets import Shape, shape
from clevrskills.assets.splits import Pools
from clevrskills.predicates import Predicate, Set
from clevrskills.sim.body import Body, Pose
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import ROOMY, EpisodeRng, Layout, LayoutError, TableLayout

AREA_SIZE_M = (0.24, 0.24, 0.01)
AREAS, OBJECTS = 3, 4


@dataclass(kw_only=True, eq=False)
class SortingTask(Task):
    """Base of tasks in which every object is brought to the area of its texture."""

    slots = (*(f"area_{i}" for i in range(AREAS)), *(f"object_{i}" for i in range(OBJECTS)))
    composition: ClassVar[tuple[str, ...]] = ("combinations",)
    count_argument, extra_slot = "num_objects", f"object_{OBJECTS}"
    max_steps = 600
    gap_m: ClassVar[float]
    """Least distance between objects and areas."""
    size_m: ClassVar[tuple[float, float, float] | None] = None
    """Size of the objects; ``None``: their own."""

    num_areas: Count = count(1, AREAS)  # areas
    num_objects: Count = count(1, OBJECTS, most=OBJECTS + 1)  # objects, as far as there is room

    @abstractmethod
    def movable(self, pools: Pools) -> Sequence[str]:
        """Return the pool of the objects' shapes."""

    @abstractmethod
    def lay_areas(
        self, rng: EpisodeRng, table: TableLayout, tiles: Sequence[Shape]
    ) -> Sequence[Pose]:
        """Sample poses of the areas and occupy their places.

        Raises:
            LayoutError: There is no room.
        """

    @abstractmethod
    def sorted(self, body: Tensor, area: Tensor) -> Predicate:
        """Return the predicate that an object (B,) was brought to an area (B,)."""

    def layout(self, rng: EpisodeRng) -> Layout:
        areas = rng.number(self.num_areas)
        pools = rng.pools
        area_shapes = rng.choose(pools.primitive, areas)
        room = [2 if name in ROOMY else 1 for name in area_shapes]
        least, most = self.num_objects
        if sum(room) < least:
            raise LayoutError(f"no room for {least} objects")
        objects = rng.number((least, min(most, sum(room))))
        places = rng.roles.permutation(np.repeat(np.arange(areas), room))
        slots = len(self.slots) - AREAS
        area_of = np.zeros(slots, dtype=np.int64)
        area_of[:objects] = places[rng.assign(objects)]
        textures = rng.textures_for(area_shapes, pools.textures_1)
        shapes = rng.shapes_for([textures[area] for area in places[:objects]], self.movable(pools))
        variants = {(shapes[i], textures[area_of[i]]) for i in range(objects)}
        if len(variants) < objects:
            raise LayoutError("two objects look alike")
        table = rng.table(gap_m=self.gap_m)
        bodies: list[Body | None] = [None] * len(self.slots)
        poses = self.lay_areas(rng, table, [shape(name, AREA_SIZE_M) for name in area_shapes])
        for i, pose in enumerate(poses):
            look = area_shapes[i], textures[i]
            bodies[i] = Body(self.slots[i], *look, pose, AREA_SIZE_M, static=True, noun="area")
        for i in range(objects):
            pose, slot = table.place(shape(shapes[i], self.size_m)), AREAS + i
            texture = textures[area_of[i]]
            bodies[slot] = Body(self.slots[slot], shapes[i], texture, pose, self.size_m)
        return Layout(tuple(bodies), {"area": area_of, "active": np.arange(slots) < objects})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        area = roles["area"]  # (B, objects)
        slots = area * 0 + AREAS + torch.arange(area.shape[1], device=area.device)
        pairs = zip(slots.unbind(1), area.unbind(1), strict=True)
        return Set(tuple(self.sorted(*pair) for pair in pairs), roles["active"])
