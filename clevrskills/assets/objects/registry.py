"""Registry of object builders."""

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
    """Builder of an object (in millimeters) and its density in kg/m^3."""

    build: Builder
    density: float
    # pools of an object of another distribution in the tasks of that distribution, such as
    # ``("train.top", "test.top")``
    pools: tuple[str, ...] = ()


CATALOGUE: dict[str, Item] = {}
FITTINGS: dict[str, Item] = {}
"""Objects, and fittings of scenes, registered by Python modules."""


def entry(
    name: str, density: float, into: dict[str, Item] = CATALOGUE
) -> Callable[[Builder], Builder]:
    """Register the decorated builder in the catalogue or the fittings."""

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
    """Return the fittings of scenes by name, which are in no split."""
    return {**_items("fittings.toml"), **FITTINGS}


def _items(file: str) -> dict[str, Item]:
    rows = read_toml(Path(__file__).with_name(file))
    for name, row in rows.items():
        check_table(f"{file}: {name}", row, {"density": int, "parts": list})
        for part in row["parts"]:
            check_table(f"{file}: {name}.parts", part, SOLIDS, optional=SOLIDS)
    return {name: Item(partial(joined, row["parts"]), row["density"]) for name, row in rows.items()}
