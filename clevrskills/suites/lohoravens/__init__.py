"""LoHoRavens suite: long-horizon rearrangement of blocks from one sentence."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "tasks" / "catalog.toml"
CATALOG: Mapping[str, Mapping[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
"""Rows of the catalog by task, in the order of their families."""
TASKS = tuple(CATALOG)
"""Names of the tasks."""
