"""Assumed household, from its object types alone: all clean, in reach, one of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.layout import Fixture, PlacedObject, Room
from clevrskills.suites.asgardbench.rules.world import GONE, Entity, Household
from clevrskills.suites.asgardbench.tasks.goals import locations
from clevrskills.suites.asgardbench.tasks.instances import FAMILIES, Variant

_ROOM = 60
"""Capacity of an assumed container."""


class BeliefWorld(Household):
    """Household without geometry: everything is visible and fits."""

    def visible(self, entity: Entity) -> bool:
        return entity.parent != GONE

    def seen_by_turning(self, entity: Entity) -> bool:
        return False

    def free_slots(self, container: Entity, item: Entity) -> list[int]:
        taken = {e.slot for e in self.contents(container)}
        return [slot for slot in range(_ROOM) if slot not in taken]

    def free_slot(self, container: Entity, item: Entity, near: int | None = None) -> int | None:
        return next(iter(self.free_slots(container, item)), None)

    def place(self, entity: Entity) -> tuple[float, float, float]:
        return 1.0, 1.0, 0.9

    def look_at(self, entity: Entity) -> None:
        self.focus = entity.id

    def nearest(self, entities: Sequence[Entity]) -> Iterator[Entity]:
        yield from entities


def imagine(
    task: str,
    variant: Variant,
    kinds: Sequence[str],
    *,
    dirty: Sequence[str] = (),
    full: bool = False,
    inside: Mapping[str, str] = MappingProxyType({}),
) -> BeliefWorld:
    """Return the assumed household of a set of types.

    Args:
        task: The family.
        variant: The instance.
        kinds: Types of objects and fixtures.
        dirty: Dishes assumed to be dirty.
        full: Whether the mug is assumed to hold coffee.
        inside: Fixture in or on which each type is assumed to be; by default a counter or table.
    """
    data = catalogue()
    fixed = [kind for kind in kinds if kind in data.fixtures]
    fixed += ["StoveKnob"] if "StoveBurner" in fixed else []
    top = next((k for k in ("CounterTop", "CoffeeTable", "SideTable", "Shelf") if k in fixed), "")
    fixtures = [Fixture(f"{kind}_1", kind, 1.0, 1.0, 0.0, 0.0, kind) for kind in fixed]
    room = Room(variant.label, "", 5.0, 5.0, tuple(fixtures))
    items = [kind for kind in kinds if kind in data.sizes and kind not in data.slices.values()]
    placed = [
        PlacedObject(
            *(kind, kind, f"{inside.get(kind, top)}_1", slot, kind in dirty),
            filled="coffee" if full and kind == "Mug" else "",
        )
        for slot, kind in enumerate(items)
    ]
    world = BeliefWorld(room, placed, FAMILIES[task].dirty)
    world.locations = locations(task, variant)
    return world
