"""Tables of docs/scaling.md, from results of vector.py and generation.py of benchmarks/."""

from __future__ import annotations

import json
import re
from typing import Any

from pages import DOCS, RESULTS
from pages.trainings import markdown

STEPS, FILES = RESULTS / "scaling.json", RESULTS / "scale.json"
PAGE = DOCS / "scaling.md"
PART = r"(?<=<!-- {0} -->).*?(?=<!-- end of {0} -->)"


def page(text: str) -> str:
    """Return the page with its tables rewritten."""
    for name, path, table in (("steps", STEPS, steps), ("files", FILES, files)):
        written = table(json.loads(path.read_text(encoding="utf-8")))
        text = re.sub(PART.format(name), f"\n\n{written}\n\n", text, flags=re.DOTALL)
    return text


def steps(measured: dict[str, Any]) -> str:
    """Return the table of steps per hour, in millions: measured ones, else computed ones."""
    cores = measured["cores"]
    rows = []
    for task, row in measured["tasks"].items():
        known = [row.get(f"steps/h, {c} measured", row[f"steps/h, {c}"]) for c in cores]
        rates = [rate / 1e6 for rate in known]
        rows.append([f"`{task}`", f"{row['step, CPU-ms']:.2f}", *(f"{r:.1f}" for r in rates)])
    columns = ["task", "CPU-ms of a step", "1 core", *(f"{count} cores" for count in cores[1:])]
    return markdown(columns, rows)


def files(measured: dict[str, Any]) -> str:
    """Return the table of measurements on many demonstrations."""
    rows = [
        [name, f"{value:,}" if isinstance(value, int) else f"{value:.3g}"]
        for name, value in measured["measured"].items()
    ]
    return markdown(["what", "number"], rows)
