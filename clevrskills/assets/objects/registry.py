"""Registry of objects: their builders, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from clevrskills.assets.solids import Solid

Builder = Callable[[], Solid]


@dataclass(frozen=True)
class Item:
    """Builder of an object (in millimetres) and its density in kg/m^3.

    Attributes:
        build: Draws it.
        density: Its density.
        pools: Of an object that another distribution adds: what draws it in the tasks of that
            distribution, such as ``("train.top", "test.top")``; nothing else ever draws it.
    """

    build: Builder
    density: float
    pools: tuple[str, ...] = ()


CATALOGUE: dict[str, Item] = {}
FITTINGS: dict[str, Item] = {}
"""What tasks put into a scene besides objects; no split draws it."""


def entry(name: str, density: float) -> Callable[[Builder], Builder]:
    """Put the decorated builder into the catalogue."""

    def register(build: Builder) -> Builder:
        CATALOGUE[name] = Item(build, density)
        return build

    return register
