"""Household as it is imagined by who has only been told of it: all clean, at hand, one of each."""

from __future__ import annotations

from collections.abc import Sequence

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.layout import Fixture, Placed, Room
from clevrskills.suites.asgardbench.rules.world import GONE, Entity, World
from clevrskills.suites.asgardbench.tasks.goals import locations
from clevrskills.suites.asgardbench.tasks.instances import Variant

_TOPS = 4
_ON_A_TOP = 12


class Imagined(World):
    """A household in which everything is seen, wherever it is."""

    def visible(self, entity: Entity) -> bool:
        """Whether it is still there."""
        return entity.parent != GONE


def imagine(task: str, variant: Variant, kinds: Sequence[str]) -> Imagined:
    """What is expected of a household of which only the types are known.

    Args:
        task: The family.
        variant: What is asked for.
        kinds: The types.
    """
    data = catalogue()
    fixed = [kind for kind in kinds if kind in data.fixtures]
    fixed += ["StoveKnob"] if "StoveBurner" in fixed else []
    top = next((k for k in ("CounterTop", "CoffeeTable", "SideTable", "Shelf") if k in fixed), "")
    names = [f"{kind}_1" for kind in fixed]
    names += [f"{top}_{k + 2}" for k in range(_TOPS - 1)] if top else []
    fixtures = [
        Fixture(name, name.rpartition("_")[0], 4.0 * k, 0.0, 0.0, 0.0, 3.0, 0.8, 0.9)
        for k, name in enumerate(names)
    ]
    room = Room(variant.label, "", 5.0, 5.0, tuple(fixtures))
    things = [kind for kind in kinds if kind in data.sizes and kind not in data.slices.values()]
    placed = [
        Placed(kind, kind, f"{top}_{k // _ON_A_TOP + 1}", k % _ON_A_TOP)
        for k, kind in enumerate(things)
    ]
    dirty = ("Mirror_1",) if task == "clean_mirror" else ()
    world = Imagined(room, placed, dirty)
    world.locations = locations(task, variant)
    return world
