"""Tasks of LoHoRavens, a folder for each family."""

from __future__ import annotations

import importlib
import pkgutil

from clevrskills.suites.lohoravens.tasks.base import RavensTask, ravens_tasks


def tasks() -> dict[str, type[RavensTask]]:
    """All tasks of the suite by key: every module below this package."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return ravens_tasks()
