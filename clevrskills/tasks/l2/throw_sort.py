"""Task ``throw_sort``."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from clevrskills.assets import Shape
from clevrskills.assets.splits import Pools
from clevrskills.predicates import Hit, Predicate, Set
from clevrskills.sim.body import Pose
from clevrskills.tasks.layout import PRIMITIVE_SIZE_M, EpisodeRng, TableLayout
from clevrskills.tasks.sorting import SortingTask
from clevrskills.tasks.throwing import place_beyond

ANGLES_DEG, SPREAD_DEG = (86.0, 107.5, 129.0), 1.0
"""Directions of the areas from the base, 90 to the left, and their spread."""
BEYOND_M = (0.0, 0.03)


@dataclass(kw_only=True, eq=False)
class ThrowSort(SortingTask):
    """All objects are thrown to the areas of their texture (paper, appendix A.2, task 6).

    An object counts once it comes down on its area, wherever it bounces or slides then. All areas
    are completely out of reach and in view, and 0.24 m wide so that three of them fit. In the
    released code they are 0.35 m wide, and partly within reach, behind the robot or out of view.
    """

    key = "throw_sort"
    level = "L2"
    sentence = "Place the objects in the identically textured areas by throwing"
    predicates = (Set, Hit)
    gap_m = 0.02
    size_m = PRIMITIVE_SIZE_M

    def movable(self, pools: Pools) -> Sequence[str]:
        return pools.primitive

    def lay_areas(
        self, rng: EpisodeRng, table: TableLayout, tiles: Sequence[Shape]
    ) -> Sequence[Pose]:
        angles = rng.places.permutation(ANGLES_DEG)[: len(tiles)]
        around = [(angle - SPREAD_DEG, angle + SPREAD_DEG) for angle in angles]
        return [
            place_beyond(table, rng.places, tile, limits, BEYOND_M)
            for tile, limits in zip(tiles, around, strict=True)
        ]

    def sorted(self, body: Tensor, area: Tensor) -> Predicate:
        return Hit(body, area)
