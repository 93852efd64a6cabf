"""Table of predicted positions in docs/training_results.md."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.statistics import wilson
from pages import DOCS, RESULTS
from pages.trainings import markdown

MEASURED = RESULTS / "positions.json"
PAGE = DOCS / "training_results.md"
PART = re.compile(r"(<!-- positions -->).*?(<!-- end of positions -->)", re.DOTALL)


def page(text: str, results: Path = MEASURED) -> str:
    """Return the page with its table rewritten."""
    written = table(json.loads(results.read_text(encoding="utf-8")))
    return PART.sub(lambda found: f"{found[1]}\n\n{written}\n\n{found[2]}", text)


def table(measured: dict[str, Any]) -> str:
    """Return the table in Markdown: a row for each named object of a task."""
    steps = measured["steps"]
    first, second = steps[:2]
    swaps = (f"images {first}, state {second}", f"images {second}, state of another episode")
    groups: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for row in measured["rows"]:
        groups.setdefault((row["task"], row["object"]), {})[row["condition"]] = row
    conditions = (*(f"step {step}" for step in steps[:2]), *swaps)
    lines = []
    for (task, number), found in groups.items():
        start = found[conditions[0]]
        lines.append(
            [
                f"`{task}`, {number}",
                f"{100 * np.mean(1 / np.array(start['bodies'])):.0f} %",
                *(share(found[name]["right"]) if name in found else "" for name in conditions),
            ]
        )
    return markdown(["task, object", "chance", *conditions], lines)


def share(right: Sequence[int]) -> str:
    """Return a rate with its 95 % interval (Wilson 1927), in percent."""
    low, high = wilson(sum(right), len(right))
    return f"{100 * np.mean(right):.0f} [{100 * low:.0f}, {100 * high:.0f}]"
