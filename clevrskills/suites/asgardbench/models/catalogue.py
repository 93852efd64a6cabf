"""Catalogue of models: builder and visible states of every type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from clevrskills.suites.asgardbench.models import fixtures, items
from clevrskills.suites.asgardbench.models.model import Builder, State
from clevrskills.suites.asgardbench.models.parts import read_models

HERE = Path(__file__).parent
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
"""Visible states of each type besides the default."""


@cache
def item_builders() -> Mapping[str, Builder]:
    """Return the builders of portable objects, by type."""
    return {**read_models(HERE / "items.toml"), **items.BUILDERS}


@cache
def fixture_builders() -> Mapping[str, Builder]:
    """Return the builders of fixtures, by type."""
    return {**read_models(HERE / "fixtures.toml"), **fixtures.BUILDERS}


def builder(kind: str) -> Builder:
    """Return the builder of a type.

    Raises:
        ValueError: The type is unknown.
    """
    found = item_builders().get(kind) or fixture_builders().get(kind)
    if found is None:
        known = ", ".join(sorted({*item_builders(), *fixture_builders()}))
        raise ValueError(f"unknown type {kind!r}; allowed: {known}")
    return found
