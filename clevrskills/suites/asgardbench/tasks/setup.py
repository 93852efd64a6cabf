"""Random initial states of instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.layout import PlacedObject, Room
from clevrskills.suites.asgardbench.rules.world import Entity, Household
from clevrskills.suites.asgardbench.tasks.instances import FAMILIES, Variant
from clevrskills.suites.asgardbench.tasks.rooms import room

ALWAYS = {
    "kitchen": (
        *("Plate", "Bowl", "Mug", "Cup", "Pan", "Pot", "Knife", "ButterKnife", "Fork", "Spoon"),
        *("Spatula", "Ladle", "DishSponge", "Apple", "Bread", "Egg", "Lettuce", "Potato"),
        *("Tomato", "SaltShaker", "SoapBottle"),
    ),
    "bathroom": ("Cloth", "SprayBottle", "SoapBar", "SoapBottle", "HandTowel", "ToiletPaper"),
    "living": ("RemoteControl", "Laptop", "Pillow", "Newspaper"),
}
"""Objects in every room of a kind."""
SOMETIMES = {
    "kitchen": catalogue().classes["Kitchen"],
    "bathroom": ("ScrubBrush", "Candle", "TissueBox", "Plunger", "Towel"),
    "living": ("KeyChain", "Watch", "Box", "Book", "Boots", "Statue", "Vase"),
}
OPEN = ("CounterTop", "DiningTable", "SideTable", "CoffeeTable", "TVStand")
"""Places of the objects that a task needs."""
CLUTTER = (0.4, 0.2, 0.2, 0.1, 0.1)
"""Probability of 0-4 objects in the sink."""
WASHING = (0.1, 0.4, 0.25, 0.15, 0.1)
"""Probability if something must be washed; one of the objects then blocks the faucet."""
ON_TABLE = (5, 6, 7)
"""Numbers of objects on a table that must be cleared."""
HIDING = ("Cabinet", "Drawer", "Fridge", "Shelf", "CounterTop", "SideTable", "DiningTable", "Sofa")
"""Places of other objects."""
NEEDED = {
    "coffee": ("Mug", "DishSponge"),
    "distribute": ("DishSponge", "Knife"),
    "set_table": ("DishSponge", "Mug", "Plate", "Bread", "Knife"),
    "clean_mirror": ("Cloth", "SprayBottle"),
    "turn_on_tv": ("RemoteControl",),
    **dict.fromkeys(
        ("cook_potato", "cook_egg", "cook_toast", "cook_potato_slice"),
        ("DishSponge", "Pan", "Plate", "Bowl", "Knife", "Potato", "Egg", "Bread"),
    ),
}
"""Objects that a family needs besides the named ones."""


def set_up(task: str, variant: Variant, rng: np.random.Generator) -> tuple[PlacedObject, ...]:
    """Draw the objects of an instance and their places.

    Args:
        task: The family.
        variant: The instance.
        rng: Generator of the instance.
    """
    there, needed = room(variant.label), needed_types(task, variant)
    kinds = list(ALWAYS[there.kind])
    kinds += [kind for kind in SOMETIMES[there.kind] if rng.random() < 0.4]
    world, placed = Household(there, ()), []
    washed = bool(variant.dirty) or task == "coffee"
    in_sink = _sink(there, [k for k in kinds if k not in needed], washed, rng)
    on_table = _table(task, [k for k in kinds if k not in needed | in_sink], rng)
    for kind in sorted(kinds, key=lambda k: (k not in needed, kinds.index(k))):
        places: Sequence[str] = OPEN if kind in needed else HIDING
        if kind in in_sink:
            places = ("SinkBasin",)
        elif kind in on_table:
            places = ("DiningTable",)
        elif FAMILIES[task].clears_table and kind in needed:
            places = ("CounterTop", "SideTable")
        item = Entity(kind, kind)
        spot = _place(world, there, item, places, rng)
        if spot is None:  # the room is full
            assert kind not in needed, f"no place for {kind} in room {there.label}"
            continue
        fixture, slot = spot
        item.parent, item.slot = fixture, slot
        world.entities[kind] = item
        filled = "coffee" if kind == "Mug" and variant.coffee else ""
        if kind == "WineBottle":
            filled = "wine"
        placed.append(PlacedObject(kind, kind, fixture, slot, kind in variant.dirty, filled))
    return tuple(placed)


def needed_types(task: str, variant: Variant) -> set[str]:
    """Return the types that an instance needs, including tools."""
    return {*NEEDED.get(task, ("DishSponge",)), *variant.objects, variant.food} - {""}


def _sink(there: Room, kinds: Sequence[str], washed: bool, rng: np.random.Generator) -> set[str]:
    """Draw the types in the sink."""
    data = catalogue()
    if there.kind != "kitchen":
        return set()
    able = [k for k in kinds if "SinkBasin" in data.fits[k]]
    able = [k for k in able if k not in data.classes["Silverware"]]
    count = min(int(rng.choice(len(CLUTTER), p=WASHING if washed else CLUTTER)), len(able))
    chosen = [able[int(k)] for k in rng.permutation(len(able))]
    if washed:
        first = next(kind for kind in chosen if kind not in data.washable)
        chosen = [first, *(kind for kind in chosen if kind != first)]
    return {*chosen[:count]}


def _table(task: str, kinds: Sequence[str], rng: np.random.Generator) -> set[str]:
    """Draw the types on the table that must be cleared."""
    if not FAMILIES[task].clears_table:
        return set()
    able = [k for k in kinds if "DiningTable" in catalogue().fits[k]]
    count = int(rng.choice(ON_TABLE))
    return {able[int(k)] for k in rng.permutation(len(able))[:count]}


def _place(
    world: Household, there: Room, item: Entity, places: Sequence[str], rng: np.random.Generator
) -> tuple[str, int] | None:
    """Draw a fixture and slot for an object; a surface holds at most seven objects."""
    fits = catalogue().fits[item.type]
    able = [f for f in there.fixtures if f.type in places and f.type in fits]
    if not able:
        able = [f for f in there.fixtures if f.type in fits and f.type in catalogue().containers]
    count = Counter(e.parent for e in world.entities.values())
    for k in rng.permutation(len(able)):
        fixture = able[int(k)]
        container = world.entities[fixture.id]
        slots = world.free_slots(container, item)
        full = fixture.type in OPEN and count[fixture.id] >= 7
        if slots and not full:
            if fixture.type in OPEN:
                return fixture.id, slots[int(rng.integers(len(slots)))]
            return fixture.id, slots[0]
    return None
