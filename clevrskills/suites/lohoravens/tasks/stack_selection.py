"""Tasks that stack some of the blocks: those of a category, size, area or side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clevrskills.predicates import Keeping
from clevrskills.sim.setting import Workspace
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
from clevrskills.suites.lohoravens.tasks.towers import StackTask, tower_roles
from clevrskills.suites.lohoravens.things import SIDE_WORDS, SIDES, size_word
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_BLOCKS = 8
FEWEST_OTHERS = 2
MOST_DISTINCT = 7
"""Blocks of different colors, with the one that the others lie beside."""
BELOW = ", big ones below small ones"


@dataclass(frozen=True)
class Draw:
    """Choices named in the sentence of an episode, each an index."""

    category: int  # of the colors
    big: int  # of the sizes: small, big
    area: int  # of the quadrants
    side: int  # of the sides


@dataclass(kw_only=True, eq=False)
class StackSelection(StackTask):
    """The blocks that are meant become one tower on a zone; no other block is put there.

    Each of the others differs from what is meant in one way at least.
    """

    predicates = (Keeping, Tower, NoneInZone)
    # what tells the blocks that are meant: ``category``, ``size``, ``area``, ``side``
    ways: ClassVar[tuple[str, ...]]
    big_below: ClassVar[bool] = False  # whether big ones must be below small ones; there are both
    zones: ClassVar[tuple[int, int]] = (1, 1)  # number of zones, at least and at most

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        draw = Draw(*(int(rng.roles.integers(n)) for n in (4, 2, 4, 4)))
        meant = int(rng.roles.integers(self.moves[0], self.moves[1] + 1))
        distinct = "side" in self.ways
        fewest, most = (1, MOST_DISTINCT - 1) if distinct else (FEWEST_OTHERS, MOST_BLOCKS)
        others = int(rng.roles.integers(fewest, most - meant + 1))
        pool = all_apart(rng, self.pool(rng))
        category = tuple(CATEGORIES.values())[draw.category]
        inside, outside = ([c for c in pool if (c in category) == of] for of in (True, False))
        colors = [] if distinct else mixture(rng, pool, meant + others)
        if "category" in self.ways:
            if not outside:
                raise LayoutError("no such color")
            colors[:meant] = mixture(rng, inside, meant)
        zones = int(rng.roles.integers(self.zones[0], self.zones[1] + 1))
        bases = [scene.zone(color, tower=True) for color in self.colors(rng, zones)]
        mark: Block | None = None
        if distinct:
            if len(pool) <= meant + others:
                raise LayoutError("too few colors that look apart")
            mark = scene.block(pool[-1], BIG_M if self.mixed and draw.big else SMALL_M)
        selected = []
        for number in range(meant + others):
            fits = {way: True for way in self.ways}
            if number >= meant:
                differs = int(rng.roles.integers(len(self.ways)))
                for k, way in enumerate(self.ways):
                    fits[way] = k != differs and bool(rng.roles.integers(2))
            color = pool[number] if distinct else colors[number]
            if "category" in fits and number >= meant:
                color = str(rng.textures.choice(inside if fits["category"] else outside))
            block = scene.block(
                color, self._side_m(rng, draw, fits, number), self._where(rng, draw, fits, mark)
            )
            if number < meant:
                selected.append(block)
        roles = tower_roles(scene, selected, bases[0], big_below=self.big_below)
        kept = {"others": scene.others(selected, MOST_BLOCKS + 1)}
        named = {"mark": -1 if mark is None else mark.slot, **vars(draw)}
        return scene.layout(**roles, **kept, **named)

    def _side_m(self, rng: EpisodeRng, draw: Draw, fits: Mapping[str, bool], number: int) -> float:
        if not self.mixed:
            return SMALL_M
        if "size" in fits:
            return BIG_M if draw.big == fits["size"] else SMALL_M
        if self.big_below and number < 2:
            return (BIG_M, SMALL_M)[number]
        return BIG_M if rng.roles.integers(2) else SMALL_M

    def _where(
        self, rng: EpisodeRng, draw: Draw, fits: Mapping[str, bool], mark: Block | None
    ) -> Workspace:
        if "area" in fits:
            other = (draw.area + 1 + int(rng.roles.integers(3))) % 4
            return within(QUADRANTS[draw.area if fits["area"] else other])
        if "side" in fits:
            assert mark is not None
            return beside(mark.place_m, tuple(SIDES)[draw.side], fits["side"])
        return INNER

    def fields(self, layout: Layout) -> Fields:
        roles = {name: int(layout.roles[name]) for name in ("category", "big", "area", "side")}
        words = []
        if "size" in self.ways:
            words.append(size_word(BIG_M if roles["big"] else SMALL_M))
        if "category" in self.ways:
            words.append(f"{tuple(CATEGORIES)[roles['category']]}-colored")
        words.append("blocks")
        if "area" in self.ways:
            words.append(f"in the {QUADRANTS[roles['area']]} area")
        if "side" in self.ways:
            side = tuple(SIDE_WORDS.values())[roles["side"]]
            words.append(f"{side} the {layout.body('mark').name}")
        order = BELOW if self.big_below else ""
        return {**super().fields(layout), "what": " ".join(words), "order": order}
