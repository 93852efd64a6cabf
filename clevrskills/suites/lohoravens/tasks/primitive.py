"""Primitives: one block is picked up and placed, the others stay where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.predicates import Keeping, OnTop, Predicate, Set
from clevrskills.suites.lohoravens.predicates.constraints import Untouched
from clevrskills.suites.lohoravens.predicates.put_in import InArea, InBowl, InZone
from clevrskills.suites.lohoravens.scene import BIG_M, INNER, QUADRANTS, SMALL_M, FieldScene, within
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.things import (
    AREAS,
    AROUND_M,
    BESIDE_M,
    SIDE_WORDS,
    SIDES,
    area_bounds_m,
    size_word,
)
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

CENTER = "center"
TARGETS = ("block", "bowl", "zone")


@dataclass(kw_only=True, eq=False)
class PickPlace(RavensTask):
    """One block, the role ``object``, is placed; ``others`` stay where they are."""

    predicates: ClassVar[tuple[type[Predicate], ...]] = (Keeping, InArea, Untouched)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return Keeping(self.placed(roles), Untouched(roles["others"]))

    def placed(self, roles: Mapping[str, Tensor]) -> Predicate:
        """Return what holds when the block is at its place."""
        return InArea(roles["object"], roles["low"], roles["high"])


@dataclass(kw_only=True, eq=False)
class PickPlaceArea(PickPlace):
    """One block goes to another quadrant of the field, or to its center."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        source = int(rng.roles.integers(len(QUADRANTS)))
        target = (source + 1 + int(rng.roles.integers(len(AREAS) - 1))) % len(AREAS)
        low, high = area_bounds_m(AREAS[target])
        if AREAS[target] == CENTER:
            scene.keep_free((low + high) / 2, (high - low).min() / 2)
        for color in self.colors(rng, int(rng.roles.integers(2, 4))):
            scene.bowl(color)
        color, *others = self.colors(rng, int(rng.roles.integers(2, 4)))
        picked = scene.block(color, where=within(QUADRANTS[source]))
        for other in others:
            scene.block(other)
        roles = {"object": picked.slot, "low": low, "high": high}
        kept = {"others": scene.others([picked], 2), "source": source, "target": target}
        return scene.layout(**roles, **kept)

    def fields(self, layout: Layout) -> Fields:
        source, target = (AREAS[int(layout.roles[name])] for name in ("source", "target"))
        return {"thing": layout.body("object").name, "source": source, "target": target}


@dataclass(kw_only=True, eq=False)
class PickPlaceColor(PickPlace):
    """One block goes on another one, into a bowl or on a zone."""

    predicates = (Keeping, Set, OnTop, InBowl, InZone, Untouched)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        counts = {"zone": int(rng.roles.integers(1, 3)), "bowl": int(rng.roles.integers(2, 4))}
        counts["block"] = int(rng.roles.integers(2, 4))
        target = int(rng.roles.integers(len(TARGETS)))
        found = {"zone": [scene.zone(c) for c in self.colors(rng, counts["zone"])]}
        found["bowl"] = [scene.bowl(c) for c in self.colors(rng, counts["bowl"])]
        found["block"] = [scene.block(c).slot for c in self.colors(rng, counts["block"])]
        picked = scene.blocks[0]
        roles = {
            "object": picked.slot,
            "onto": [found[kind][-1] for kind in TARGETS],  # never the picked block
            "active": np.arange(len(TARGETS)) == target,
            "others": scene.others([picked], 2),
        }
        return scene.layout(**roles)

    def placed(self, roles: Mapping[str, Tensor]) -> Predicate:
        body, (block, bowl, zone) = roles["object"], roles["onto"].unbind(1)
        parts = (OnTop(body, block), InBowl(body, bowl[:, None]), InZone(body, zone))
        return Set(parts, roles["active"])

    def fields(self, layout: Layout) -> Fields:
        target = layout.body("onto", int(layout.roles["active"].argmax()))
        return {"thing": layout.body("object").name, "target": target.name}


@dataclass(kw_only=True, eq=False)
class PickPlaceSide(PickPlace):
    """One block goes to a side of another one, see :data:`~..things.SIDES`, 16 cm away."""

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        side = int(rng.roles.integers(len(SIDES)))
        color, *colors = self.colors(rng, int(rng.roles.integers(2, 4)))
        other = scene.block(color)
        place = np.array(other.place_m) + BESIDE_M * np.array(tuple(SIDES.values())[side])
        limits = np.array((INNER.x_m, INNER.y_m))
        if (place < limits[:, 0]).any() or (place > limits[:, 1]).any():
            raise LayoutError("the place is outside the field")
        if not INNER.contains(*place):
            raise LayoutError("the place is out of reach")
        scene.keep_free(place, AROUND_M)
        picked, *_ = [scene.block(color) for color in colors]
        for color in self.colors(rng, int(rng.roles.integers(2, 4))):
            scene.bowl(color)
        roles = {"object": picked.slot, "other": other.slot, "side": side}
        bounds = {"low": place - AROUND_M, "high": place + AROUND_M}
        return scene.layout(**roles, **bounds, others=scene.others([picked], 2))

    def fields(self, layout: Layout) -> Fields:
        side = tuple(SIDE_WORDS.values())[int(layout.roles["side"])]
        thing, other = (layout.body(role).name for role in ("object", "other"))
        distance = f"{100 * BESIDE_M:.0f} cm"
        return {"thing": thing, "other": other, "side": side, "distance": distance}


@dataclass(kw_only=True, eq=False)
class PickPlaceSize(PickPlace):
    """One block goes on another one; each color comes in both sizes, so that size tells."""

    predicates = (Keeping, OnTop, Untouched)

    def lay(self, rng: EpisodeRng, scene: FieldScene) -> Layout:
        for color in self.colors(rng, int(rng.roles.integers(2, 4))):
            for side_m in (BIG_M, SMALL_M):
                scene.block(color, side_m)
        one, other = rng.roles.permutation(len(scene.blocks))[:2]
        top, bottom = scene.blocks[one], scene.blocks[other]
        roles = {"object": top.slot, "onto": bottom.slot, "others": scene.others([top], 5)}
        return scene.layout(**roles)

    def placed(self, roles: Mapping[str, Tensor]) -> Predicate:
        return OnTop(roles["object"], roles["onto"])

    def fields(self, layout: Layout) -> Fields:
        named = {}
        for name, role in (("thing", "object"), ("target", "onto")):
            body = layout.body(role)
            assert body.size is not None
            named[name] = f"{size_word(body.size[0])} {body.name}"
        return named
