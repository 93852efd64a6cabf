"""Success on clean episodes whose perturbed form is kept, against success on all of them: whether
screening chooses easier episodes.

    python benchmarks/kept_success.py results/leaderboard/bc_compact_l0.json results_of_another_run

Nothing runs: outcomes are those of submissions and of folders of results, verdicts those that the
suite ships. Only episodes that were screened count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from common import print_table

from clevrskills.core.suite import Suite, data_file, load_suite
from clevrskills.evaluation.results import read_results
from clevrskills.evaluation.robustness.shipped import FILE, shipped_verdicts
from clevrskills.evaluation.submission.document import read_submission
from clevrskills.evaluation.submission.inflation import SOLVED


@dataclass
class Args:
    """What is looked at."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Submissions, and folders of results on clean frozen episodes."""
    split: str = "test"
    """The split."""


def outcomes(path: Path, suite: Suite, split: str) -> dict[str, dict[int, bool]]:
    """Whether each frozen episode was solved, by task and number."""
    found: dict[str, dict[int, bool]] = {}
    if path.is_dir():
        numbers: dict[str, dict[str, int]] = {}
        for result in read_results(path):
            if result.split != split or not result.counts:
                continue
            if result.task not in numbers:
                hashes = [one.content_hash for one in suite.frozen(result.task, split)]
                numbers[result.task] = {name: k for k, name in enumerate(hashes)}
            number = numbers[result.task].get(result.episode)
            if number is not None:
                found.setdefault(result.task, {})[number] = result.success_once
        return found
    (cell,) = read_submission(path).cells.values()
    for name, of in cell.tasks.items():
        task, _, own = name.rpartition("_")
        if own == split:
            found[task] = {k: letter == SOLVED for k, letter in enumerate(of.outcomes)}
    return found


def screened(suite: Suite, axes_name: str, task: str, split: str) -> dict[int, bool]:
    """Whether each screened episode is kept."""
    twins = [one.content_hash for one in suite.frozen(task, split)]
    verdicts = shipped_verdicts(suite, axes_name, task, split, twins)
    return {number: not verdict.reason for number, verdict in verdicts.items()}


def row(
    axes_name: str,
    kept: Mapping[str, Mapping[int, bool]],
    name: str,
    solved: Mapping[str, Mapping[int, bool]],
) -> list[object]:
    """One row: means over tasks."""
    whole, chosen, count, rejected = [], [], 0, 0
    for task, of in solved.items():
        numbers = [k for k in kept.get(task, {}) if k in of]
        good = [k for k in numbers if kept[task][k]]
        if good:
            whole.append(np.mean([of[k] for k in numbers]))
            chosen.append(np.mean([of[k] for k in good]))
            count, rejected = count + len(numbers), rejected + len(numbers) - len(good)
    every, some = 100 * np.mean(whole), 100 * np.mean(chosen)
    shares = f"{every:.1f}", f"{some:.1f}", f"{some - every:+.1f}"
    return [axes_name, name, len(whole), count, rejected, *shares]


def main(args: Args) -> None:
    """Compare and print."""
    suite = load_suite()
    path = data_file(suite, FILE)
    names = sorted(json.loads(path.read_text(encoding="utf-8"))) if path else []
    policies = {str(one): outcomes(one, suite, args.split) for one in args.runs}
    rows = []
    for axes_name in names:
        for name, solved in policies.items():
            kept = {task: screened(suite, axes_name, task, args.split) for task in solved}
            if any(kept.values()):
                rows.append(row(axes_name, kept, name, solved))
    columns = ["axis", "run", "tasks", "episodes", "rejected", "all, %", "kept, %", "difference"]
    print_table("Clean success on all screened and on kept episodes", columns, rows)


if __name__ == "__main__":
    main(tyro.cli(Args))
