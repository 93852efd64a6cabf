"""Tasks that build towers of all blocks, or of those of a color or size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, OnTop, Predicate, Set
from clevrskills.suites.lohoravens.field import area_bounds_m
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.tower import Tower, TowerInArea
from clevrskills.suites.lohoravens.scene import (
    BIG_M,
    QUADRANTS,
    SMALL_M,
    Block,
    FieldScene,
    padded,
    within,
)
from clevrskills.suites.lohoravens.tasks.base import RavensTask, set_of
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

MOST_LEVELS = 5
"""Greatest number of levels of a tower."""
ROLES = ("objects", "base", "count", "kind", "wanted", "rank")
"""Roles of a tower, in the order of the arguments of :class:`Tower`."""


def tower_roles(
    scene: FieldScene,
    blocks: Sequence[Block],
    zone: int,
    kinds: Sequence[int] = (),
    wanted: Sequence[int] = (),
    big_below: bool = False,
    count: int | None = None,
) -> dict[str, Any]:
    """Return the roles of a tower.

    Args:
        scene: The scene.
        blocks: The blocks it may consist of; empty for a tower that is not part of the goal.
        zone: Slot of the zone, -1 for none.
        kinds: Class of each block.
        wanted: Class required at each level; empty for any.
        big_below: Whether no small block may be below a big one.
        count: Number of levels; ``None`` for the number of blocks.
    """
    rank = [round(1000 * block.side_m) for block in blocks] if big_below else ()
    return {
        "objects": scene.slots_of(blocks, MOST_LEVELS),
        "base": zone,
        "count": max(1, len(blocks)) if count is None else count,
        "kind": padded(kinds, MOST_LEVELS, 0),
        "wanted": padded(wanted, MOST_LEVELS),
        "rank": padded(rank, MOST_LEVELS, 0),
    }


def several(
    scene: FieldScene, towers: Sequence[Mapping[str, Any]], most: int = 0
) -> dict[str, Any]:
    """Return the roles of several towers, of which ``active`` says which are part of the goal if
    their number varies up to ``most``.
    """
    unused = [tower_roles(scene, (), towers[0]["base"])] * (most - len(towers))
    roles: dict[str, Any] = {name: [each[name] for each in (*towers, *unused)] for name in ROLES}
    return {**roles, "active": np.arange(most) < len(towers)} if most else roles


@dataclass(kw_only=True, eq=False)
class StackTask(RavensTask):
    """Build the tower of the roles :data:`ROLES`, or each active one of several.

    The blocks of the role ``others`` stay out of ``zones``, by default the zone of the tower.
    """

    predicates: ClassVar[tuple[type[Predicate], ...]] = (Tower,)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        goal: Predicate
        if roles["base"].dim() > 1:
            parts = (roles[name].unbind(1) for name in ROLES)
            towers = tuple(Tower(*of, weight=of[2]) for of in zip(*parts, strict=True))
            goal = Set(towers, roles.get("active"))
        elif "low" in roles:
            bounds = (roles[name] for name in (*ROLES, "low", "high"))
            goal = TowerInArea(*bounds, weight=roles["count"])
        else:
            goal = Tower(*(roles[name] for name in ROLES), weight=roles["count"])
        if "others" not in roles:
            return goal
        zones = roles["zones"] if "zones" in roles else roles["base"][:, None]
        return Keeping(goal, NoneInZone(roles["others"], zones))


@dataclass(kw_only=True, eq=False)
class StackAllOnZone(StackTask):
    """Three to five small blocks on a zone, in any order."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = rng.number(self.moves)
        zone = scene.zone(self.colors(rng, 1)[0], tower=True)
        return scene.layout(**tower_roles(scene, scene.row(self.colors(rng, count)), zone))


@dataclass(kw_only=True, eq=False)
class StackAllInArea(StackTask):
    """Three to five small blocks from outside a quadrant in it, in any order."""

    predicates = (TowerInArea,)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        target, count = int(rng.roles.integers(len(QUADRANTS))), rng.number(self.moves)
        others = [area for area in QUADRANTS if area != QUADRANTS[target]]
        blocks = [
            scene.block(color, where=within(others[int(rng.roles.integers(len(others)))]))
            for color in self.colors(rng, count)
        ]
        low, high = area_bounds_m(QUADRANTS[target])
        return scene.layout(**tower_roles(scene, blocks, -1), low=low, high=high, target=target)

    def fields(self, layout: Layout) -> Fields:
        return {"area": QUADRANTS[int(layout.roles["target"])]}


@dataclass(kw_only=True, eq=False)
class StackAlternateColors(StackTask):
    """Three blocks of one color and two of another in a striped tower."""

    LEVELS = (0, 1, 0, 1, 0)
    """Index of the color at each level."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        zone = scene.zone(self.colors(rng, 1)[0], tower=True)
        colors, kinds = self.colors(rng, 2), sorted(self.LEVELS)
        blocks = scene.row(colors[kind] for kind in kinds)
        return scene.layout(**tower_roles(scene, blocks, zone, kinds, self.LEVELS))


@dataclass(kw_only=True, eq=False)
class StackSameColor(StackTask):
    """Two or three towers, each of one color on the zone of that color.

    There may be a further zone, and blocks of a further color that stay out of the zones.
    """

    MOST_COLORS = 3

    predicates = (Keeping, Set, Tower, NoneInZone)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count = rng.number((2, self.MOST_COLORS))
        number = rng.number((2 * count, 3 * count))
        strangers, spare = (int(rng.roles.integers(n)) for n in (3, 2))
        colors = self.colors(rng, count + min(strangers, 1) + spare)
        named, rest = colors[:count], colors[count:]
        zones = [scene.zone(color, tower=True) for color in named]
        blocks = scene.row(named[k % count] for k in range(number))
        towers = [tower_roles(scene, blocks[k::count], zone) for k, zone in enumerate(zones)]
        if spare:
            zones.append(scene.zone(rest.pop()))
        others = scene.slots_of([scene.block(rest[0]) for _ in range(strangers)], 2)
        roles = several(scene, towers, self.MOST_COLORS)
        return scene.layout(**roles, others=others, zones=padded(zones, 4))


@dataclass(kw_only=True, eq=False)
class StackSameSize(StackTask):
    """Two to four big blocks and as many small ones, a tower of each size."""

    predicates = (Set, Tower)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = rng.roles.integers(2, 5, 2).tolist()
        if sum(counts) < self.moves[0]:
            raise LayoutError("too few blocks")
        zones = [scene.zone(color, tower=True) for color in self.colors(rng, 2)]
        pool, towers = self.colors(rng, 4), []
        for zone, side_m, count in zip(zones, (BIG_M, SMALL_M), counts, strict=True):
            blocks = scene.row(rng.textures.choice(pool, count).tolist(), side_m)
            towers.append(tower_roles(scene, blocks, zone))
        return scene.layout(**several(scene, towers))


@dataclass(kw_only=True, eq=False)
class StackMostFrequent(StackTask):
    """The blocks of the most frequent of three colors on one of two zones, and no other block."""

    COUNTS = ((4, 5), (2, 3), (1, 2))
    MOST_OTHERS = 5

    predicates = (Keeping, Tower, NoneInZone)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = [*map(rng.number, self.COUNTS)]
        base, _ = (scene.zone(color, tower=True) for color in self.colors(rng, 2))
        selected, *_ = scene.deal(self.colors(rng, len(counts)), counts)
        roles = tower_roles(scene, selected, base)
        return scene.layout(**roles, others=scene.other_slots(selected, self.MOST_OTHERS))


@dataclass(kw_only=True, eq=False)
class MostOddStacked(StackTask):
    """The largest odd number of blocks of each of two colors in its zone, big ones below."""

    COLORS, COUNTS, MOST_BIG = 2, (3, 5), 3

    predicates = (Set, Tower)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = [rng.number(self.COUNTS) for _ in range(self.COLORS)]
        bigs = [rng.number((1, min(count - 1, self.MOST_BIG))) for count in counts]
        colors = self.colors(rng, self.COLORS)
        zones, towers = [scene.zone(color, tower=True) for color in colors], []
        for color, zone, count, big in zip(colors, zones, counts, bigs, strict=True):
            sides_m = [BIG_M] * big + [SMALL_M] * (count - big)
            blocks = [scene.block(color, side_m) for side_m in sides_m]
            levels = (count - 1) // 2 * 2 + 1
            towers.append(tower_roles(scene, blocks, zone, big_below=True, count=levels))
        return scene.layout(**several(scene, towers))


@dataclass(kw_only=True, eq=False)
class StackSmallOnBigInZone(StackTask):
    """A big and a small block of each of two to four colors in its zone, the small one on top."""

    COUNTS = (2, 4)

    predicates = (Set, Tower)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        colors = self.colors(rng, rng.number(self.COUNTS))
        zones = [scene.zone(color, tower=True) for color in colors]
        pairs = [scene.pair(color) for color in colors]
        towers = [
            tower_roles(scene, pair, zone, big_below=True)
            for pair, zone in zip(pairs, zones, strict=True)
        ]
        return scene.layout(**several(scene, towers, self.COUNTS[1]))


@dataclass(kw_only=True, eq=False)
class StackSmallOnBig(RavensTask):
    """The small block of each of four or five colors on the big one of that color, wherever it is.

    There may be big blocks of further colors.
    """

    MOST_OTHERS = 2

    predicates = (Set, OnTop)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        count, others = rng.number(self.moves), int(rng.roles.integers(self.MOST_OTHERS + 1))
        colors, most = self.colors(rng, count + others), self.moves[1]
        bigger, smaller = zip(*map(scene.pair, colors[:count]), strict=True)
        scene.row(colors[count:], BIG_M)
        roles = {"objects": scene.slots_of(smaller, most), "below": scene.slots_of(bigger, most)}
        return scene.layout(**roles, active=np.arange(most) < count)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return set_of(OnTop, roles, "objects", "below")
