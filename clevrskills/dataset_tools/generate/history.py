"""What earlier runs have left: found by listing folders and reading the manifest, no episode is
opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from clevrskills.dataset_tools.manifest import read_manifest
from clevrskills.jobs.files import storage_errors


@dataclass
class History:
    """What is there of one task in one split.

    Attributes:
        present: Seeds with an episode.
        steps: Length of the episodes that have a line in the manifest, by seed.
        failed: Kind of failure of the seeds that failed.
    """

    present: set[int] = field(default_factory=set)
    steps: dict[int, int] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)


def read_history(root: Path, tasks: Iterable[str], split: str) -> dict[str, History]:
    """What is there of some tasks.

    Raises:
        DatasetError: A line of the manifest cannot be read.
        StorageError: A folder cannot be read.
    """
    found = {task: History(_seeds(root / task, split)) for task in tasks}
    for line in read_manifest(root):
        if line.split != split or line.task not in found:
            continue
        history = found[line.task]
        if line.success:
            history.steps[line.seed] = line.steps
        else:
            history.failed[line.seed] = line.kind
    return found


def _seeds(folder: Path, split: str) -> set[int]:
    """Seeds of the episodes in a task's folder."""
    name = re.compile(rf"{re.escape(split)}_(\d{{8,}})")
    with storage_errors(folder):
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return set()
    return {int(match[1]) for match in map(name.fullmatch, names) if match}
