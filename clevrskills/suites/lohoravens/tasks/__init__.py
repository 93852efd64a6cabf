"""Tasks of LoHoRavens, a folder for each family."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from clevrskills.suites.lohoravens.tasks.base import RavensTask, ravens_tasks


def tasks() -> dict[str, type[RavensTask]]:
    """All tasks of the suite by key: every module below this package."""
    _import_modules()
    return ravens_tasks()


@cache
def _import_modules() -> None:
    """Import every module below this package, once: looking for them costs 12 ms."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
