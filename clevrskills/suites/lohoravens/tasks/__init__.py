"""Tasks of LoHoRavens: each a row of the catalog and the class of its goal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from clevrskills.suites.lohoravens.tasks.catalog import (
    CAPABILITIES,
    CATALOG,
    FILE,
    LEVELS,
    CatalogRow,
)

if TYPE_CHECKING:
    from clevrskills.suites.lohoravens.tasks.base import RavensTask

KINDS: Mapping[str, type] = {
    **dict.fromkeys(("kind", "level", "family", "sentence"), str),
    **dict.fromkeys(("capabilities", "moves", "slots"), tuple),
    "rules": dict,
}
"""Type of each entry of a row."""


@cache
def tasks() -> Mapping[str, type[RavensTask]]:
    """Return the classes of the tasks by key, level by level."""
    from clevrskills.assets.tables import check_table  # which takes longer than the catalog
    from clevrskills.jobs.arguments import check_names

    for key, row in CATALOG.items():
        check_table(f"{FILE}: {key}", row._asdict(), KINDS)
        check_names(level=((row.level,), LEVELS), capability=(row.capabilities, CAPABILITIES))
    keys = sorted(CATALOG, key=lambda key: (LEVELS.index(CATALOG[key].level), key))
    return {key: _task_type(key, CATALOG[key]) for key in keys}


def _task_type(key: str, row: CatalogRow) -> type[RavensTask]:
    """Return the class of a task: that of its goal, with what its row says."""
    parts = (part.split(":") for part in row.kind.split())
    kinds = tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, name in parts)
    own = {k: v for k, v in row._asdict().items() if k not in ("kind", "rules")}
    return type(key.title().replace("_", ""), kinds, {"key": key, **own, **row.rules})
