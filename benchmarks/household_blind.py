"""Policies of AsgardBench that do not look, and the oracle, on the frozen instances of ``test``.

    python benchmarks/household_blind.py

Writes the rows that every report of the suite shows, and those of the pages: how many instances
each solves, and how many of them with care, of all and of those that start with a dirty dish.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import tyro
from common import print_table

from clevrskills.evaluation.results import read_results
from clevrskills.jobs.files import to_json
from clevrskills.suites.asgardbench.published import BLIND_FILE, BLIND_HEADINGS

POLICIES = ("oracle", "blind", "open_loop", "cautious", "probing")
PAGES = ("asgardbench.md", "limitations.md")
BEGIN, END = "<!-- household_blind.py -->", "<!-- end of household_blind.py -->"
ROOT = Path(__file__).parents[1]


def main(workers: int = 1) -> None:
    """Measure, and write the rows.

    Args:
        workers: Processes of each evaluation.
    """
    rows = [_row(policy, workers) for policy in POLICIES]
    BLIND_FILE.write_text("[\n" + ",\n".join(map(to_json, rows)) + "\n]\n", encoding="utf-8")
    print_table("Instances", list(BLIND_HEADINGS), [[*row] for row in rows])
    lines = [BLIND_HEADINGS, ["---"] * len(BLIND_HEADINGS), *rows]
    table = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
    for page in (ROOT / "docs" / name for name in PAGES):
        text = page.read_text(encoding="utf-8")
        between = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
        page.write_text(between.sub(lambda _: table + "\n", text), encoding="utf-8")


def _row(policy: str, workers: int) -> list[str | int]:
    with TemporaryDirectory() as folder:
        options = ["--suite", "asgardbench", "--policy", policy, "--all", "--feedback", "simple"]
        options += ["--workers", str(workers), "--out", folder]
        subprocess.run([sys.executable, "-m", "clevrskills", "evaluate", *options], check=True)
        results = list(read_results(Path(folder)))
    counts: list[str | int] = [policy, len(results)]
    for some in (results, [r for r in results if r.tags["dirty"] == "yes"]):
        careful = sum(bool(result.measures["careful"]) for result in some)
        counts += [sum(result.success_once for result in some), careful]
    return counts


if __name__ == "__main__":
    tyro.cli(main)
