"""Tasks that stack all blocks, on zones, in an area, or anywhere if an argument says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import Keeping, Predicate, Set
from clevrskills.sim.setting import Workspace
from clevrskills.suites.lohoravens.predicates.constraints import NoneInZone
from clevrskills.suites.lohoravens.predicates.tower import Tower, TowerInArea
from clevrskills.suites.lohoravens.scene import (
    BIG_M,
    INNER,
    MIXED_GAP_M,
    QUADRANTS,
    SMALL_M,
    TOWERS,
    FieldScene,
    padded,
    within,
)
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.tasks.catalog import block_slots
from clevrskills.suites.lohoravens.tasks.towers import (
    ROLES,
    stack_towers,
    tower,
    tower_roles,
    towers,
)
from clevrskills.suites.lohoravens.things import area_bounds_m
from clevrskills.tasks.arguments import Allowed
from clevrskills.tasks.bank import Bank, Fields
from clevrskills.tasks.bank_files import read_banks
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

ZONE, ANYWHERE = "zone", "anywhere"


def where(*allowed: str) -> Any:
    """Return a field of a task: where stacks stand, the first unless an argument says another."""
    return field(default=allowed[:1], metadata={"allowed": Allowed(allowed, False)})


@dataclass(kw_only=True, eq=False)
class StackWhere(RavensTask):
    """A task whose stacks stand on zones, or anywhere.

    Args:
        where: ``zone``, or ``anywhere``, which is the wording of the workshop paper.

    Attributes:
        anywhere_moves: Least and greatest ``n_min`` without zones.
    """

    family = "stack"
    anywhere_moves: ClassVar[tuple[int, int]]

    where: tuple[str, ...] = where(ZONE, ANYWHERE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.where) != 1:
            raise ClevrSkillsError(f"{self.key}: where={self.where!r}; allowed: one of them")
        if self.anywhere:
            vars(self)["moves"] = self.anywhere_moves

    @property
    def anywhere(self) -> bool:
        """Whether stacks may stand anywhere."""
        return self.where == (ANYWHERE,)

    @property
    def bank(self) -> Bank | None:
        if self.anywhere:
            return read_banks(self.bank_folder)[f"{self.key}_anywhere"]
        return super().bank

    @property
    def around(self) -> Workspace:
        """Area of blocks at the start: a stack may grow on each that has no zone to go to."""
        return TOWERS if self.anywhere else INNER

    def base(self, scene: FieldScene, color: str) -> int:
        """Put a zone for a stack, and return its slot; -1: it may stand anywhere.

        Raises:
            LayoutError: There is no room.
        """
        return -1 if self.anywhere else scene.zone(color, tower=True)


@dataclass(kw_only=True, eq=False)
class StackAllOnZone(StackWhere):
    """Three to five small blocks become one tower, in any order."""

    anywhere_moves = (2, 4)
    predicates = (Tower,)
    slots = block_slots(5, zones=1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        count = int(rng.roles.integers(3, 6))
        zone = self.base(scene, self.colors(rng, 1)[0])
        blocks = [scene.block(color, where=self.around) for color in self.colors(rng, count)]
        return scene.layout(**tower_roles(scene, blocks, zone))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return tower(roles)

    def fields(self, layout: Layout) -> Fields:
        return {} if self.anywhere else {"zone": layout.body("base").color}


@dataclass(kw_only=True, eq=False)
class StackAlternateColors(StackWhere):
    """Three blocks of one color and two of another become a striped tower."""

    LEVELS = (0, 1, 0, 1, 0)
    """Which of the two colors is at each level."""

    anywhere_moves = (4, 4)
    predicates = (Tower,)
    slots = block_slots(5, zones=1)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        zone = self.base(scene, self.colors(rng, 1)[0])
        colors = self.colors(rng, 2)
        blocks = [scene.block(colors[kind], where=self.around) for kind in sorted(self.LEVELS)]
        return scene.layout(**tower_roles(scene, blocks, zone, sorted(self.LEVELS), self.LEVELS))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return tower(roles)

    def fields(self, layout: Layout) -> Fields:
        first, second = (layout.body("objects", k) for k in (0, -1))
        zone = {} if self.anywhere else {"zone": layout.body("base").color}
        return {**zone, "first": first.color, "second": second.color}


@dataclass(kw_only=True, eq=False)
class StackSameColor(StackWhere):
    """Two or three towers, each of one color on the zone of that color; a further zone and blocks
    of further colors may lie about, which stay out of the zones.
    """

    MOST_COLORS = 3

    anywhere_moves = (2, 6)
    predicates = (Keeping, Set, Tower, NoneInZone)
    slots = block_slots(11, zones=4)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
        count = int(rng.roles.integers(2, self.MOST_COLORS + 1))
        number = int(rng.roles.integers(2 * count, 3 * count + 1))
        strangers, spare = (int(rng.roles.integers(n)) for n in (3, 2))
        if self.anywhere:  # each color that is there is meant
            strangers = spare = 0
        colors = self.colors(rng, count + min(strangers, 1) + spare)
        named, rest = colors[:count], colors[count:]
        zones = [self.base(scene, color) for color in named]
        blocks = [scene.block(named[k % count], where=self.around) for k in range(number)]
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

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        goal = Set(towers(roles), roles["active"])
        return Keeping(goal, NoneInZone(roles["others"], roles["zones"]))


@dataclass(kw_only=True, eq=False)
class StackSameSize(StackWhere):
    """Two to four big and as many small blocks become two towers."""

    anywhere_moves = (3, 6)
    predicates = (Set, Tower)
    slots = block_slots(8, zones=2)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots, MIXED_GAP_M)
        counts = rng.roles.integers(2, 5, 2).tolist()
        if sum(counts) < self.moves[0]:
            raise LayoutError("too few blocks")
        zones = [self.base(scene, color) for color in self.colors(rng, 2)]
        pool = self.colors(rng, 4)
        parts = []
        for zone, side_m, count in zip(zones, (BIG_M, SMALL_M), counts, strict=True):
            colors = rng.textures.choice(pool, count).tolist()
            blocks = [scene.block(color, side_m, self.around) for color in colors]
            parts.append(tower_roles(scene, blocks, zone))
        return scene.layout(**stack_towers(parts))

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Set(towers(roles))

    def fields(self, layout: Layout) -> Fields:
        if self.anywhere:
            return {}
        return {name: layout.body("base", k).color for k, name in enumerate(("one", "two"))}


@dataclass(kw_only=True, eq=False)
class StackAllInArea(RavensTask):
    """Three to five small blocks outside a quadrant become one tower in it, in any order."""

    family = "stack"
    predicates = (TowerInArea,)
    slots = block_slots(5)

    def layout(self, rng: EpisodeRng) -> Layout:
        scene = FieldScene(rng, self.slots)
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
