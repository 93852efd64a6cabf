"""Tasks of LoHoRavens: each a row of the catalog and the class of its goal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from clevrskills.suites.lohoravens.tasks.catalog import CATALOG, LEVELS, CatalogRow

if TYPE_CHECKING:
    from clevrskills.suites.lohoravens.tasks.base import RavensTask


@cache
def tasks() -> Mapping[str, type[RavensTask]]:
    """Return the classes of the tasks by key, level by level."""
    keys = sorted(CATALOG, key=lambda key: (LEVELS.index(CATALOG[key].level), key))
    return {key: _task_type(key, CATALOG[key]) for key in keys}


def _task_type(key: str, row: CatalogRow) -> type[RavensTask]:
    """Return the class of a task: that of its goal, with what its row says."""
    parts = (part.split(":") for part in row.kind.split())
    kinds = tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, name in parts)
    own = {k: v for k, v in row._asdict().items() if k not in ("kind", "rules")}
    return type(key.title().replace("_", ""), kinds, {"key": key, **own, **row.rules})
