"""Tasks that stack all blocks, on zones or in an area."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.tower import Tower, TowerInArea
from clevrskills.suites.lohoravens.scene import (
    BIG_M,
    QUADRANTS,
    SMALL_M,
    FieldScene,
    padded,
    within,
)
from clevrskills.suites.lohoravens.tasks.towers import ROLES, StackTask, stack_towers, tower_roles
from clevrskills.suites.lohoravens.things import area_bounds_m
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError


@dataclass(kw_only=True, eq=False)
class StackAllOnZone(StackTask):
    """Three to five small blocks become one tower, in any order."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = int(rng.roles.integers(3, 6))
        zone = scene.zone(self.colors(rng, 1)[0], tower=True)
        blocks = [scene.block(color) for color in self.colors(rng, count)]
        return scene.layout(**tower_roles(scene, blocks, zone))


@dataclass(kw_only=True, eq=False)
class StackAlternateColors(StackTask):
    """Three blocks of one color and two of another become a striped tower."""

    LEVELS = (0, 1, 0, 1, 0)
    """Which of the two colors is at each level."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        zone = scene.zone(self.colors(rng, 1)[0], tower=True)
        colors = self.colors(rng, 2)
        blocks = [scene.block(colors[kind]) for kind in sorted(self.LEVELS)]
        return scene.layout(**tower_roles(scene, blocks, zone, sorted(self.LEVELS), self.LEVELS))

    def fields(self, layout: Layout) -> Fields:
        first = layout.body("objects", 0).color
        return {"zone": layout.body("base").color, "first": first}


@dataclass(kw_only=True, eq=False)
class StackSameColor(StackTask):
    """Two or three towers, each of one color on the zone of that color; a further zone and blocks
    of further colors may lie about, which stay out of the zones.
    """

    MOST_COLORS = 3

    predicates = (Keeping, Set, Tower, NoneInZone)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = int(rng.roles.integers(2, self.MOST_COLORS + 1))
        number = int(rng.roles.integers(2 * count, 3 * count + 1))
        strangers, spare = (int(rng.roles.integers(n)) for n in (3, 2))
        colors = self.colors(rng, count + min(strangers, 1) + spare)
        named, rest = colors[:count], colors[count:]
        zones = [scene.zone(color, tower=True) for color in named]
        blocks = [scene.block(named[k % count]) for k in range(number)]
        if spare:
            zones.append(scene.zone(rest.pop()))
        others = [scene.block(rest[0]) for _ in range(strangers)]
        parts = [
            tower_roles(scene, [b for b in blocks if b.color == color], zone)
            for color, zone in zip(named, zones, strict=False)
        ]
        parts += [tower_roles(scene, (), zones[0])] * (self.MOST_COLORS - count)
        kept = {"active": np.arange(self.MOST_COLORS) < count, "others": scene.slots_of(others, 2)}
        if number < 4:
            raise LayoutError("too few blocks")
        return scene.layout(**stack_towers(parts), **kept, zones=padded(zones, 4))


@dataclass(kw_only=True, eq=False)
class StackSameSize(StackTask):
    """Two to four big and as many small blocks become two towers."""

    predicates = (Set, Tower)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = rng.roles.integers(2, 5, 2).tolist()
        if sum(counts) < self.moves[0]:
            raise LayoutError("too few blocks")
        zones = [scene.zone(color, tower=True) for color in self.colors(rng, 2)]
        pool = self.colors(rng, 4)
        parts = []
        for zone, side_m, count in zip(zones, (BIG_M, SMALL_M), counts, strict=True):
            colors = rng.textures.choice(pool, count).tolist()
            blocks = [scene.block(color, side_m) for color in colors]
            parts.append(tower_roles(scene, blocks, zone))
        return scene.layout(**stack_towers(parts))

    def fields(self, layout: Layout) -> Fields:
        return {name: layout.body("base", k).color for k, name in enumerate(("one", "two"))}


@dataclass(kw_only=True, eq=False)
class StackAllInArea(StackTask):
    """Three to five small blocks outside a quadrant become one tower in it, in any order."""

    predicates = (TowerInArea,)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        target = int(rng.roles.integers(len(QUADRANTS)))
        count = int(rng.roles.integers(self.moves[0], self.moves[1] + 1))
        colors = self.colors(rng, count)
        others = [area for area in QUADRANTS if area != QUADRANTS[target]]
        blocks = [
            scene.block(color, where=within(others[int(rng.roles.integers(len(others)))]))
            for color in colors
        ]
        low, high = area_bounds_m(QUADRANTS[target])
        roles = {**tower_roles(scene, blocks, -1), "low": low, "high": high}
        return scene.layout(**roles, target=target)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        parts = [roles[name] for name in (*ROLES, "low", "high")]
        return TowerInArea(*parts, weight=roles["count"])

    def fields(self, layout: Layout) -> Fields:
        return {"area": QUADRANTS[int(layout.roles["target"])]}
