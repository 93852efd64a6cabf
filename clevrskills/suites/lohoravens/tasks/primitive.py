"""Primitive tasks: pick up one block and place it, and leave the others where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, OnTop, Predicate, Set
from clevrskills.suites.lohoravens.field import (
    AREAS,
    AROUND_M,
    BESIDE_M,
    SIDE_WORDS,
    SIDES,
    area_bounds_m,
    size_word,
)
from clevrskills.suites.lohoravens.predicates.constraints import Untouched
from clevrskills.suites.lohoravens.predicates.put_in import InArea, InBowl, InZone
from clevrskills.suites.lohoravens.scene import INNER, QUADRANTS, Block, FieldScene, within
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

CENTER = "center"
FEW = (2, 3)
"""Least and greatest number of bodies of a kind."""


@dataclass(kw_only=True, eq=False)
class PickPlace(RavensTask):
    """Place the block of the role ``object`` and leave ``others`` where they are."""

    predicates: ClassVar[tuple[type[Predicate], ...]] = (Keeping, InArea, Untouched)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Keeping(self.placed(roles), Untouched(roles["others"]))

    def placed(self, roles: Mapping[str, Tensor]) -> Predicate:
        """Return the goal for the block itself."""
        return InArea(roles["object"], roles["low"], roles["high"])

    def pick(self, scene: FieldScene, block: Block, others: int = 2, **roles: object) -> Layout:
        """Return the layout for a block to pick, at most so many others, and further roles."""
        return scene.layout(object=block.slot, **roles, others=scene.other_slots([block], others))


@dataclass(kw_only=True, eq=False)
class PickPlaceArea(PickPlace):
    """Place a block in another quadrant of the field or in its center."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        source = int(rng.roles.integers(len(QUADRANTS)))
        target = (source + rng.number((1, len(AREAS) - 1))) % len(AREAS)
        low, high = area_bounds_m(AREAS[target])
        if AREAS[target] == CENTER:
            scene.keep_free((low + high) / 2, (high - low).min() / 2)
        for color in self.colors(rng, rng.number(FEW)):
            scene.bowl(color)
        color, *others = self.colors(rng, rng.number(FEW))
        picked = scene.block(color, where=within(QUADRANTS[source]))
        scene.row(others)
        kept = scene.other_slots([picked], 2)
        area = {"low": low, "high": high, "others": kept, "source": source, "target": target}
        return scene.layout(object=picked.slot, **area)

    def fields(self, layout: Layout) -> Fields:
        source, target = (AREAS[int(layout.roles[name])] for name in ("source", "target"))
        return {"object": layout.body("object").name, "source": source, "target": target}


@dataclass(kw_only=True, eq=False)
class PickPlaceColor(PickPlace):
    """Place a block on another block, in a bowl or on a zone."""

    predicates = (Keeping, Set, OnTop, InBowl, InZone, Untouched)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        zones, bowls, blocks = rng.number((1, 2)), rng.number(FEW), rng.number(FEW)
        target = int(rng.roles.integers(3))
        *_, zone = [scene.zone(color) for color in self.colors(rng, zones)]
        *_, bowl = [scene.bowl(color) for color in self.colors(rng, bowls)]
        picked, *_, onto = scene.row(self.colors(rng, blocks))
        active = np.arange(3) == target
        return self.pick(scene, picked, onto=[onto.slot, bowl, zone], active=active)

    def placed(self, roles: Mapping[str, Tensor]) -> Predicate:
        body, (block, bowl, zone) = roles["object"], roles["onto"].unbind(1)
        parts = (OnTop(body, block), InBowl(body, bowl[:, None]), InZone(body, zone))
        return Set(parts, roles["active"])

    def fields(self, layout: Layout) -> Fields:
        target = layout.body("onto", int(layout.roles["active"].argmax()))
        return {"object": layout.body("object").name, "target": target.name}


@dataclass(kw_only=True, eq=False)
class PickPlaceSide(PickPlace):
    """Place a block on a side of another one, :data:`~..field.BESIDE_M` away."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        side = int(rng.roles.integers(len(SIDES)))
        color, *colors = self.colors(rng, rng.number(FEW))
        other = scene.block(color)
        place = np.array(other.place_m) + BESIDE_M * np.array(tuple(SIDES.values())[side])
        low, high = np.array((INNER.x_m, INNER.y_m)).T
        if (place < low).any() or (place > high).any() or not INNER.contains(*place):
            raise LayoutError("the place is outside the field or out of reach")
        scene.keep_free(place, AROUND_M)
        picked, *_ = scene.row(colors)
        for color in self.colors(rng, rng.number(FEW)):
            scene.bowl(color)
        bounds = {"low": place - AROUND_M, "high": place + AROUND_M}
        return self.pick(scene, picked, other=other.slot, side=side, **bounds)

    def fields(self, layout: Layout) -> Fields:
        side = tuple(SIDE_WORDS.values())[int(layout.roles["side"])]
        block, other = (layout.body(role).name for role in ("object", "other"))
        distance = f"{100 * BESIDE_M:.0f} cm"
        return {"object": block, "other": other, "side": side, "distance": distance}


@dataclass(kw_only=True, eq=False)
class PickPlaceSize(PickPlace):
    """Place a block on another one; each color comes in both sizes."""

    predicates = (Keeping, OnTop, Untouched)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        for color in self.colors(rng, rng.number(FEW)):
            scene.pair(color)
        top, bottom = (scene.blocks[k] for k in rng.roles.permutation(len(scene.blocks))[:2])
        return self.pick(scene, top, 5, onto=bottom.slot)

    def placed(self, roles: Mapping[str, Tensor]) -> Predicate:
        return OnTop(roles["object"], roles["onto"])

    def fields(self, layout: Layout) -> Fields:
        bodies = layout.body("object"), layout.body("onto")
        words = (f"{size_word(2 * body.geometry.half_extents[0])} {body.name}" for body in bodies)
        return dict(zip(("object", "target"), words, strict=True))
