"""Where object builders register."""

from collections.abc import Callable
from dataclasses import dataclass

from clevrskills.assets.solids import Solid

Builder = Callable[[], Solid]


@dataclass(frozen=True)
class Item:
    """How to build an object (in millimetres), and its density in kg/m^3."""

    build: Builder
    density: float


CATALOGUE: dict[str, Item] = {}
FITTINGS: dict[str, Item] = {}
"""What tasks put into a scene besides objects; no split draws it."""


def entry(name: str, density: float) -> Callable[[Builder], Builder]:
    """Put the decorated builder into the catalogue."""

    def register(build: Builder) -> Builder:
        CATALOGUE[name] = Item(build, density)
        return build

    return register
