"""Tasks that move blocks from one quadrant of the field to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.field import SIZES, area_bounds_m
from clevrskills.suites.lohoravens.palette import CATEGORIES, all_apart, mixture
from clevrskills.suites.lohoravens.predicates.constraints import NoneInArea
from clevrskills.suites.lohoravens.predicates.put_in import InArea
from clevrskills.suites.lohoravens.scene import (
    BIG_M,
    QUADRANTS,
    SMALL_M,
    FieldScene,
    padded,
    within,
)
from clevrskills.suites.lohoravens.tasks.base import RavensTask, set_of
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_MOVED, MOST_OTHERS = 5, 4


@dataclass(kw_only=True, eq=False)
class MoveBetweenAreas(RavensTask):
    """Move the selected blocks from one quadrant to another, and no other block."""

    predicates = (Keeping, Set, InArea, NoneInArea)
    by_size: ClassVar[bool] = False  # whether blocks are selected by size
    by_color: ClassVar[bool] = False  # whether blocks are selected by categories of colors
    most_categories: ClassVar[int] = 1  # greatest number of categories
    distinct: ClassVar[bool] = False  # whether the selected blocks differ in color

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        source, step = int(rng.roles.integers(4)), rng.number((1, 3))
        target, big = (source + step) % 4, int(rng.roles.integers(2))
        named = rng.roles.permutation(len(CATEGORIES))
        named = named[: rng.roles.integers(self.most_categories) + 1].tolist()
        count, least = rng.number((3, MOST_MOVED)), int(self.by_size or self.by_color)
        others, pool = rng.number((least, MOST_OTHERS)), all_apart(rng, self.pool(rng))
        of = [color for k in named for color in tuple(CATEGORIES.values())[k]]
        meant, rest = ([c for c in pool if (c in of) == fits] for fits in (True, False))
        if not self.by_color:
            meant = rest = pool
        if not meant or not rest:
            raise LayoutError("no such color")
        side_m = BIG_M if self.by_size and big else SMALL_M
        if self.distinct:
            colors = rng.textures.choice(meant, count, replace=False).tolist()
        else:
            colors = mixture(rng, meant, count)
        moved = [scene.block(color, side_m, within(QUADRANTS[source])) for color in colors]
        for number in range(others):
            # blocks that differ in size or color may be anywhere, the first in the source
            differs = bool(least) and (number == 0 or bool(rng.roles.integers(2)))
            where = (source + rng.number((1, 3))) % 4
            if differs:
                where = int(rng.roles.integers(4)) if number else source
            of_color = self.by_color and differs and (not self.by_size or rng.roles.integers(2))
            of_size = self.by_size and differs and not of_color
            color = str(rng.textures.choice(rest if of_color else pool))
            other_m = BIG_M + SMALL_M - side_m if of_size else side_m
            scene.block(color, other_m, within(QUADRANTS[where]))
        low, high = area_bounds_m(QUADRANTS[target])
        roles = {
            "objects": scene.slots_of(moved, MOST_MOVED),
            "active": np.arange(MOST_MOVED) < count,
            "others": scene.other_slots(moved, MOST_OTHERS),
        }
        chosen = {"low": low, "high": high, "source": source, "target": target, "big": big}
        return scene.layout(**roles, **chosen, categories=padded(named, len(CATEGORIES)))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        low, high = roles["low"], roles["high"]
        moved = set_of(InArea, roles, "objects", low=low, high=high)
        return Keeping(moved, NoneInArea(roles["others"], low, high))

    def fields(self, layout: Layout) -> Fields:
        source, target, big = (int(layout.roles[name]) for name in ("source", "target", "big"))
        named = [tuple(CATEGORIES)[k] for k in layout.roles["categories"].tolist() if k >= 0]
        size = SIZES[big] if self.by_size else ""
        colors = f"of {' and '.join(named)} colors" if self.by_color else ""
        what = " ".join(filter(None, (size, "blocks", colors)))
        return {"what": what, "source": QUADRANTS[source], "target": QUADRANTS[target]}
