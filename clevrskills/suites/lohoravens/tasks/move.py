"""Tasks that move blocks from one quadrant of the field to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
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
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.things import area_bounds_m, size_word
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_MOVED, MOST_OTHERS = 5, 4


@dataclass(kw_only=True, eq=False)
class MoveBetweenAreas(RavensTask):
    """The blocks that are meant, all in one quadrant, go to another one; no other block is put
    there.
    """

    predicates = (Keeping, Set, InArea, NoneInArea)
    # whether only blocks of a size are meant; some of the other one lie about
    by_size: ClassVar[bool] = False
    # whether only blocks of a category of colors are meant; some in the quadrant are of none of
    # them
    by_color: ClassVar[bool] = False
    # of how many categories the blocks that are meant are, at most
    most_categories: ClassVar[int] = 1
    distinct: ClassVar[bool] = False  # whether the blocks that are meant differ in color

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        source, step = int(rng.roles.integers(4)), 1 + int(rng.roles.integers(3))
        target = (source + step) % 4
        big = int(rng.roles.integers(2))
        named = rng.roles.permutation(len(CATEGORIES))[
            : rng.roles.integers(self.most_categories) + 1
        ]
        count = int(rng.roles.integers(3, MOST_MOVED + 1))
        least = 1 if self.by_size or self.by_color else 0
        others = int(rng.roles.integers(least, MOST_OTHERS + 1))
        pool = all_apart(rng, self.pool(rng))
        of = [color for k in named for color in tuple(CATEGORIES.values())[k]]
        meant_colors = [c for c in pool if c in of] if self.by_color else pool
        other_colors = [c for c in pool if c not in of] if self.by_color else pool
        if not meant_colors or not other_colors:
            raise LayoutError("no such color")
        side_m = BIG_M if self.by_size and big else SMALL_M
        if self.distinct:
            moved_colors = rng.textures.choice(meant_colors, count, replace=False).tolist()
        else:
            moved_colors = mixture(rng, meant_colors, count)
        moved = [scene.block(c, side_m, within(QUADRANTS[source])) for c in moved_colors]
        for number in range(others):
            # those that differ in size or color may lie anywhere, the first in the quadrant
            differs = bool(least) and (number == 0 or bool(rng.roles.integers(2)))
            where = (source + 1 + int(rng.roles.integers(3))) % 4
            if differs:
                where = int(rng.roles.integers(4)) if number else source
            of_color = self.by_color and differs and (not self.by_size or rng.roles.integers(2))
            of_size = self.by_size and differs and not of_color
            colors = other_colors if of_color else pool
            other_m = BIG_M + SMALL_M - side_m if of_size else side_m
            scene.block(str(rng.textures.choice(colors)), other_m, within(QUADRANTS[where]))
        low, high = area_bounds_m(QUADRANTS[target])
        roles = {
            "objects": scene.slots_of(moved, MOST_MOVED),
            "active": np.arange(MOST_MOVED) < count,
            "others": scene.others(moved, MOST_OTHERS),
            "low": low,
            "high": high,
        }
        chosen = {"source": source, "target": target, "big": big}
        categories = padded(named.tolist(), len(CATEGORIES))
        return scene.layout(**roles, **chosen, categories=categories)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        objects = roles["objects"].clamp(min=0)
        low, high = roles["low"], roles["high"]
        parts = tuple(InArea(body, low, high) for body in objects.unbind(1))
        return Keeping(Set(parts, roles["active"]), NoneInArea(roles["others"], low, high))

    def fields(self, layout: Layout) -> Fields:
        source, target, big = (int(layout.roles[name]) for name in ("source", "target", "big"))
        named = [tuple(CATEGORIES)[k] for k in layout.roles["categories"].tolist() if k >= 0]
        size = size_word(BIG_M if big else SMALL_M) if self.by_size else ""
        colors = f"of {' and '.join(named)} colors" if self.by_color else ""
        what = " ".join(filter(None, (size, "blocks", colors)))
        return {"what": what, "source": QUADRANTS[source], "target": QUADRANTS[target]}
