"""Task ``sort``."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from clevrskills.assets import Shape, shape
from clevrskills.assets.splits import Pools
from clevrskills.predicates import Inside, Predicate, Set
from clevrskills.sim.body import Pose
from clevrskills.tasks.layout import EpisodeRng, LayoutError, TableLayout, pose_on_table
from clevrskills.tasks.sorting import SortingTask

AREA_CENTERS_M = ((-0.315, -0.2), (-0.315, 0.2), (-0.055, -0.165), (-0.055, 0.165))
OBJECT_RADIUS_M = 0.06
"""Greatest radius of an object, so that two fit into an area."""


@dataclass(kw_only=True, eq=False)
class Sort(SortingTask):
    """All objects are in the areas of their texture at the same time, also on top of each other
    (paper, appendix A.2, task 14).

    The areas are smaller than in the released code (0.35 m), where objects may start on areas, and
    completely visible to the base camera.
    """

    key = "sort"
    level = "L1"
    sentence = "Place the objects in the identically textured areas"
    predicates = (Set, Inside)
    gap_m = 0.015

    def movable(self, pools: Pools) -> Sequence[str]:
        return [name for name in pools.movable if shape(name).radius_m <= OBJECT_RADIUS_M]

    def lay_areas(
        self, rng: EpisodeRng, table: TableLayout, tiles: Sequence[Shape]
    ) -> Sequence[Pose]:
        centers = rng.places.permutation(AREA_CENTERS_M)[: len(tiles)].tolist()
        for i, (tile, (x, y)) in enumerate(zip(tiles, centers, strict=True)):
            if not table.take(tile, x, y, 0.0):
                raise LayoutError(f"area {i} does not fit")
        return [pose_on_table(tile, x, y, 0.0) for tile, (x, y) in zip(tiles, centers, strict=True)]

    def sorted(self, body: Tensor, area: Tensor) -> Predicate:
        return Inside(body, area)
