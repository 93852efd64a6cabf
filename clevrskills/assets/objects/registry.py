"""Registry of objects: their builders, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from clevrskills.assets.parts import SOLIDS, joined
from clevrskills.assets.solids import Solid
from clevrskills.assets.tables import check_table, read_toml

Builder = Callable[[], Solid]


@dataclass(frozen=True)
class Item:
    """Builder of an object (in millimetres) and its density in kg/m^3."""

    build: Builder  # draws it
    density: float  # its density
    # of an object that another distribution adds: what draws it in the tasks of that distribution,
    # such as ``("train.top", "test.top")``; nothing else ever draws it
    pools: tuple[str, ...] = ()


CATALOGUE: dict[str, Item] = {}
FITTINGS: dict[str, Item] = {}
"""Objects, and what tasks put into a scene besides them, that Python modules add."""


def entry(
    name: str, density: float, into: dict[str, Item] = CATALOGUE
) -> Callable[[Builder], Builder]:
    """Put the decorated builder into the catalogue, or among the fittings."""

    def register(build: Builder) -> Builder:
        into[name] = Item(build, density)
        return build

    return register


@cache
def catalogue() -> Mapping[str, Item]:
    """Return the objects by name."""
    return {**_items("catalogue.toml"), **CATALOGUE}


@cache
def fittings() -> Mapping[str, Item]:
    """Return by name what tasks put into a scene besides objects; no split draws it."""
    return {**_items("fittings.toml"), **FITTINGS}


def _items(file: str) -> dict[str, Item]:
    rows = read_toml(Path(__file__).with_name(file))
    for name, row in rows.items():
        check_table(f"{file}: {name}", row, {"density": int, "parts": list})
        for part in row["parts"]:
            check_table(f"{file}: {name}.parts", part, SOLIDS, optional=SOLIDS)
    return {name: Item(partial(joined, row["parts"]), row["density"]) for name, row in rows.items()}
