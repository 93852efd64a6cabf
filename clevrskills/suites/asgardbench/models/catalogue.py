"""Catalogue of what can be drawn: every type, its builder and the states that show."""

from __future__ import annotations

from collections.abc import Mapping

from clevrskills.suites.asgardbench.models import (
    appliances,
    fixtures,
    food,
    household,
    kitchenware,
)
from clevrskills.suites.asgardbench.models.model import Builder, State

THINGS: Mapping[str, Builder] = {
    **kitchenware.BUILDERS,
    **food.BUILDERS,
    **household.BUILDERS,
}
FIXTURES: Mapping[str, Builder] = {**fixtures.BUILDERS, **appliances.BUILDERS}

STATES: Mapping[str, tuple[State, ...]] = {
    **dict.fromkeys(("Plate", "Cloth", "HandTowel"), (State(dirty=True),)),
    **{
        kind: (State(dirty=True), *(State(filled=liquid) for liquid in ("water", "coffee")))
        for kind in ("Bowl", "Cup", "Mug", "Pan", "Pot")
    },
    "Kettle": (State(filled="water"),),
    "Bottle": (State(filled="water"),),
    "WineBottle": (State(filled="wine"),),
    **dict.fromkeys(("Potato", "PotatoSliced", "BreadSliced", "EggCracked", "TomatoSliced"),
                    (State(cooked=True),)),
    **dict.fromkeys(
        ("Book", "Laptop", "Box", "Cabinet", "WallCabinet", "Drawer", "Fridge", "Toilet"),
        (State(open=True),),
    ),
    "Microwave": (State(open=True), State(on=True)),
    "Mirror": (State(dirty=True), State(sprayed=True), State(dirty=True, sprayed=True)),
    **dict.fromkeys(
        ("CoffeeMachine", "Toaster", "StoveBurner", "StoveKnob", "Television", "Faucet",
         "LightSwitch", "FloorLamp", "Candle", "CellPhone"),
        (State(on=True),),
    ),
}  # fmt: skip
"""States other than the plain one in which a type can be seen; types not named have none."""


def builder(kind: str) -> Builder:
    """Return what builds a type.

    Raises:
        ValueError: The type is unknown.
    """
    found = THINGS.get(kind) or FIXTURES.get(kind)
    if found is None:
        known = ", ".join(sorted({*THINGS, *FIXTURES}))
        raise ValueError(f"no type {kind!r} is drawn; there are: {known}")
    return found
