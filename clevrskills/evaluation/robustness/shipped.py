"""Screening verdicts of perturbed episodes shipped with a suite, in one file.

Perturbed episodes are identified by the first digits of their content hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from clevrskills.core.episode import frozen_name
from clevrskills.core.suite import Suite, data_file
from clevrskills.evaluation.robustness.screening import ScreeningVerdict
from clevrskills.jobs.files import read_json, to_json, write_whole

FILE = "screened.json"
"""Name of the file, beside the suite's module."""
DIGITS = 10
"""Number of digits of a content hash that identify an episode."""
NONE = "-"
"""Placeholder for an episode that could not be perturbed."""


def shipped_verdicts(
    suite: Suite, axes_name: str, task: str, split: str, twins: Iterable[str]
) -> dict[int, ScreeningVerdict]:
    """Return the shipped verdicts of a task and split by index of the frozen episode.

    Args:
        suite: The suite.
        axes_name: Name of the axes and levels, e.g. ``clutter-3``.
        task: Key of the task.
        split: Name of the split.
        twins: Content hashes of the frozen episodes.

    Raises:
        DamagedError: The file is damaged.
    """
    path = data_file(suite, FILE)
    data = _read(path) if path else {}
    entry = data.get(axes_name, {}).get(frozen_name(task, split))
    if not entry or not suite.frozen(task, split).content_hash.startswith(entry["frozen"]):
        return {}
    rejected = entry["rejected"]
    return {
        index: ScreeningVerdict(
            *(task, split, index, twin),
            "" if digits == NONE else digits,
            rejected.get(str(index), ""),
        )
        for index, (digits, twin) in enumerate(zip(entry["episodes"].split(), twins, strict=False))
    }


@cache
def _read(path: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_json(path)
    return found


def write_verdicts(
    path: Path,
    suite: Suite,
    verdicts: Mapping[str, Mapping[tuple[str, str], Iterable[ScreeningVerdict]]],
) -> None:
    """Write verdicts to the file of a suite, replacing those of the same axes.

    Args:
        path: The file.
        suite: The suite.
        verdicts: Complete verdicts by name of the axes and by task and split.

    Raises:
        StorageError: Writing failed.
    """
    data: dict[str, Any] = dict(read_json(path)) if path.is_file() else {}
    for name, by_task in verdicts.items():
        data[name] = {}
        for (task, split), some in by_task.items():
            known = sorted(some, key=lambda one: one.index)
            data[name][frozen_name(task, split)] = {
                "frozen": suite.frozen(task, split).content_hash[:DIGITS],
                "episodes": " ".join(one.episode[:DIGITS] or NONE for one in known),
                "rejected": {str(one.index): one.reason for one in known if one.reason},
            }
    write_whole(path, to_json(data, indent=0) + "\n")
