"""Tasks of LoHoRavens: each is a row of the catalog and the class of its goal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from clevrskills.suites.lohoravens import CATALOG, FILE

if TYPE_CHECKING:
    from clevrskills.suites.lohoravens.tasks.base import RavensTask

LEVELS = ("primitive", "seen", "unseen", "workshop")
CAPABILITIES = (
    *("color", "size", "spatiality", "arithmetic"),
    *("reference", "commonsense", "occlusion", "shape"),
)
"""Capabilities that a sentence may require."""
ENTRIES: Mapping[str, type] = {
    **dict.fromkeys(("kind", "level", "family", "sentence"), str),
    **dict.fromkeys(("capabilities", "moves"), list),
    "slots": dict,
}
"""Type of each entry that all rows have."""


@cache
def tasks() -> Mapping[str, type[RavensTask]]:
    """Return the classes of the tasks by key, level by level.

    Raises:
        ClevrSkillsError: An entry of a row is missing or invalid.
    """
    from clevrskills.assets.tables import check_table  # slower to import than the catalog
    from clevrskills.jobs.arguments import check_names

    for key, row in CATALOG.items():
        common = {name: row[name] for name in ENTRIES if name in row}
        check_table(f"{FILE}: {key}", common, ENTRIES)
        check_names(level=((row["level"],), LEVELS), capability=(row["capabilities"], CAPABILITIES))
    keys = sorted(CATALOG, key=lambda key: (LEVELS.index(CATALOG[key]["level"]), key))
    return {key: _task_type(key, CATALOG[key]) for key in keys}


def _task_type(key: str, row: Mapping[str, Any]) -> type[RavensTask]:
    """Return the class of a task: the classes of its ``kind`` with the other entries of its row."""
    parts = (part.split(":") for part in row["kind"].split())
    kinds = tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, name in parts)
    own = {name: tuple(of) if isinstance(of, list) else of for name, of in row.items()}
    slots = tuple(f"{kind}_{k}" for kind, n in row["slots"].items() for k in range(n))
    return type(key.title().replace("_", ""), kinds, {**own, "key": key, "slots": slots})
