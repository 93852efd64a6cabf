"""Catalog of the tasks, a row of ``catalog.toml`` each, read without what runs them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_suffix(".toml")
LEVELS = ("primitive", "seen", "unseen", "workshop")
CAPABILITIES = (
    *("color", "size", "spatiality", "arithmetic"),
    *("reference", "commonsense", "occlusion", "shape"),
)
"""Capabilities that a sentence may ask for."""


class CatalogRow(NamedTuple):
    """A task.

    Attributes:
        kind: Module and class of its goal, ``module:Class``, after those of what it adds to it.
        level: One of :data:`LEVELS`.
        family: ``primitive``, ``stack``, ``move``, ``bowls``, ..
        capabilities: Those of :data:`CAPABILITIES` that its sentence asks for.
        moves: Least and greatest number of moves.
        sentence: Request in general terms.
        slots: Keys of its slots; in the file the number of each kind.
        rules: Further attributes of the class.
    """

    kind: str
    level: str
    family: str
    capabilities: tuple[str, ...]
    moves: tuple[int, int]
    sentence: str
    slots: tuple[str, ...]
    rules: Mapping[str, Any]


def _row(table: Mapping[str, Any]) -> CatalogRow:
    found: dict[str, Any]
    found = {name: tuple(of) if isinstance(of, list) else of for name, of in table.items()}
    found["slots"] = tuple(f"{kind}_{k}" for kind, n in table["slots"].items() for k in range(n))
    return CatalogRow._make([*(found.pop(name) for name in CatalogRow._fields[:-1]), found])


_DATA: Mapping[str, Any] = tomllib.loads(FILE.read_text(encoding="utf-8"))
CATALOG: Mapping[str, CatalogRow] = {key: _row(table) for key, table in _DATA.items()}
"""Tasks by key, in the order of their families."""
