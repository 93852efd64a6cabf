"""The manifest of a dataset: one line for every attempt that has ended, well or not.

Each writer of a dataset (``local``, ``ray``, ``shard-<i>-of-<n>``) has a file of its own,
``manifest/<writer>.jsonl``, so that several write at the same time without a common lock. A writer
that was killed may leave a torn last line: readers pass over it, the writer removes it when it is
started again.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from clevrskills.core.episode import episode_id
from clevrskills.dataset_tools.layout import MANIFEST_DIR
from clevrskills.dataset_tools.storage import episode_files
from clevrskills.jobs.files import storage_errors, to_json
from clevrskills.jobs.journal import Journal, parse_record, read_lines
from clevrskills.jobs.process_setup import now

KINDS = ("skill", "planner", "step limit", "timeout", "crash", "axis")
"""Why an attempt may fail: a skill gave up, a pose or path was not found, the task's step limit or
the time limit was reached, the program or its process broke down, or the episode cannot be
perturbed along an axis."""
_RENAMED = {"number": "attempt", "total_reward": "return"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at an episode and, once it has ended, how; a line of the manifest."""

    task: str  # key of the task
    split: str  # ``train`` or ``test``
    seed: int  # seed of the episode
    slot: int = 0  # which of the episodes asked for it is, from 0
    number: int = 0  # 0, or how many seeds of this slot have failed before; ``attempt`` in the file
    success: bool = False  # whether it is an episode of the dataset
    kind: str = ""  # one of :data:`KINDS`; empty on success
    reason: str = ""  # why it failed, in words; empty on success
    steps: int = 0  # control steps made; of a dataset of turns, turns
    total_reward: float = 0.0  # sum of the rewards; ``return`` in the file
    worker: str = ""  # host and process that did it
    ended: str = ""  # when, ISO 8601, UTC; empty: it has not
    # seconds spent by phase (``reset``, ``plan``, ``physics``, ``render``, ``encode``, ``write``)
    # and in all (``total_cpu``, ``total_wall``)
    times_s: Mapping[str, float] = field(default_factory=dict)
    # size in bytes and SHA-256 of each file of the episode, by name
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name of the episode within the dataset, e.g. ``sort/train_00000007``."""
        return episode_id(self.task, self.split, self.seed)

    @classmethod
    def of(cls, info: Mapping[str, Any], **more: Any) -> Self:
        """Return the attempt of an episode, as ``episode.json`` tells it."""
        count = info.get("turns", info["steps"])
        given = {name: info[name] for name in ("task", "split", "seed", "success")}
        return cls(**given, steps=count, total_reward=info["return"], **more)

    def end(self, kind: str = "", reason: str = "", **more: Any) -> Self:
        """Return it as one that ended now, in success if no kind of failure is given."""
        return replace(self, success=not kind, kind=kind, reason=reason, ended=now(), **more)

    def to_json(self) -> str:
        """Return the line, without its end."""
        return to_json({_RENAMED.get(f.name, f.name): getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a line.

        Raises:
            ValueError: It is damaged.
        """
        return parse_record(cls, text, _RENAMED)


class Manifest:
    """The file of one writer, to which it appends.

    Args:
        root: The dataset.
        writer: Name of the writer.

    Raises:
        StorageError: The disk refused, here or in :meth:`append`.
    """

    def __init__(self, root: Path, writer: str) -> None:
        self._journal = Journal(root / MANIFEST_DIR / f"{writer}.jsonl")

    def append(self, attempt: Attempt) -> None:
        """Add the line of an attempt that has ended, whole or not at all; it is on the disk when
        this returns.
        """
        self._journal.append(attempt.to_json())


def read_manifest(root: Path) -> Iterator[Attempt]:
    """Yield all lines of all writers, those of one writer in the order in which the attempts ended.

    Raises:
        DatasetError: A line cannot be read.
    """
    for path in sorted((root / MANIFEST_DIR).glob("*.jsonl")):
        yield from read_lines(path, Attempt.from_json)


def latest_lines(root: Path) -> dict[str, Attempt]:
    """Return the last line of every episode that was made, by its name.

    Raises:
        DatasetError: A line cannot be read.
    """
    latest: dict[str, Attempt] = {}
    for line in read_manifest(root):
        if line.success and (line.id not in latest or line.ended >= latest[line.id].ended):
            latest[line.id] = line
    return latest


def round_robin(names: Sequence[str], count: int) -> list[str]:
    """Return at most ``count`` names of episodes, from all tasks and splits in turn, sorted."""
    ordered = sorted(names, key=lambda name: name.rpartition("_"))
    groups = groupby(ordered, key=lambda name: name.rpartition("_")[0])
    ranked = sorted(pair for _, group in groups for pair in enumerate(group))
    return sorted(name for _, name in ranked[:count])


def file_hashes(path: Path) -> dict[str, tuple[int, str]]:
    """Return the size in bytes and SHA-256 of every file of an episode, given its folder, by name.

    Raises:
        StorageError: A file cannot be read.
    """
    found = {}
    for name, file in episode_files(path).items():
        with storage_errors(file.path):
            data = file.read()
        found[name] = (len(data), hashlib.sha256(data).hexdigest())
    return found
