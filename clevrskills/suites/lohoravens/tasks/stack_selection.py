"""Tasks that stack some of the blocks, selected by color category, size, area or side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clevrskills.predicates import Keeping
from clevrskills.sim.setting import Workspace
from clevrskills.suites.lohoravens.field import SIDE_WORDS, SIDES, SIZES
from clevrskills.suites.lohoravens.palette import CATEGORIES, all_apart, mixture
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.tower import Tower
from clevrskills.suites.lohoravens.scene import (
    BIG_M,
    INNER,
    QUADRANTS,
    SMALL_M,
    Block,
    FieldScene,
    beside,
    within,
)
from clevrskills.suites.lohoravens.tasks.stack import StackTask, tower_roles
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_BLOCKS = 8
FEWEST_OTHERS = 2
MOST_DISTINCT = 7
"""Greatest number of blocks of different colors, with the reference block of ``side``."""
BELOW = ", big ones below small ones"
CHOICES = {"category": len(CATEGORIES), "big": 2, "area": len(QUADRANTS), "side": len(SIDES)}
"""Numbers of values of what a sentence may name: roles of each layout, drawn in this order."""
Values = Mapping[str, int]


@dataclass(kw_only=True, eq=False)
class StackSelection(StackTask):
    """Stack the selected blocks on a zone, and no other block.

    Each other block differs from the description in at least one way.
    """

    predicates = (Keeping, Tower, NoneInZone)
    ways: ClassVar[tuple[str, ...]]  # any of ``category``, ``size``, ``area``, ``side``
    big_below: ClassVar[bool] = False  # whether no small block may be below a big one
    zones: ClassVar[tuple[int, int]] = (1, 1)  # least and greatest number of zones

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        draw = {name: int(rng.roles.integers(count)) for name, count in CHOICES.items()}
        meant, distinct = rng.number(self.moves), "side" in self.ways
        fewest, most = (1, MOST_DISTINCT - 1) if distinct else (FEWEST_OTHERS, MOST_BLOCKS)
        total = meant + rng.number((fewest, most - meant))
        pool, category = all_apart(rng, self.pool(rng)), [*CATEGORIES.values()][draw["category"]]
        inside, outside = ([c for c in pool if (c in category) == of] for of in (True, False))
        colors = pool[:total] if distinct else mixture(rng, pool, total)
        if "category" in self.ways:
            if not outside:
                raise LayoutError("no such color")
            colors[:meant] = mixture(rng, inside, meant)
        count = rng.number(self.zones)
        bases = [scene.zone(color, tower=True) for color in self.colors(rng, count)]
        mark: Block | None = None
        if distinct:
            if len(pool) <= total:
                raise LayoutError("too few colors that look apart")
            mark = scene.block(pool[-1], BIG_M if self.mixed and draw["big"] else SMALL_M)
        blocks = []
        for number, color in enumerate(colors):
            fits = dict.fromkeys(self.ways, True)
            if number >= meant:
                differs = int(rng.roles.integers(len(self.ways)))
                for k, way in enumerate(self.ways):
                    fits[way] = k != differs and bool(rng.roles.integers(2))
                if "category" in fits:
                    color = str(rng.textures.choice(inside if fits["category"] else outside))
            side_m = self._side_m(rng, draw, fits, number)
            blocks.append(scene.block(color, side_m, self._region(rng, draw, fits, mark)))
        roles = tower_roles(scene, blocks[:meant], bases[0], big_below=self.big_below)
        others, slot = scene.other_slots(blocks[:meant], MOST_BLOCKS + 1), mark.slot if mark else -1
        return scene.layout(**roles, others=others, mark=slot, **draw)

    def _side_m(self, rng: EpisodeRng, draw: Values, fits: Values, number: int) -> float:
        if not self.mixed:
            return SMALL_M
        if "size" in fits:
            return BIG_M if draw["big"] == fits["size"] else SMALL_M
        if self.big_below and number < 2:
            return (BIG_M, SMALL_M)[number]
        return BIG_M if rng.roles.integers(2) else SMALL_M

    def _region(self, rng: EpisodeRng, draw: Values, fits: Values, mark: Block | None) -> Workspace:
        if "area" in fits:
            other = (draw["area"] + rng.number((1, 3))) % 4
            return within(QUADRANTS[draw["area"] if fits["area"] else other])
        if mark is None:
            return INNER
        return beside(mark.place_m, tuple(SIDES)[draw["side"]], bool(fits["side"]))

    def fields(self, layout: Layout) -> Fields:
        category, big, area, side = (int(layout.roles[name]) for name in CHOICES)
        mark = layout.bodies[int(layout.roles["mark"])]
        words = {
            "size": SIZES[big],
            "category": f"{tuple(CATEGORIES)[category]}-colored",
            "": "blocks",
            "area": f"in the {QUADRANTS[area]} area",
            "side": f"{tuple(SIDE_WORDS.values())[side]} the {mark.name if mark else ''}",
        }
        what = " ".join(text for way, text in words.items() if way in ("", *self.ways))
        return {"what": what, "order": BELOW if self.big_below else ""}
