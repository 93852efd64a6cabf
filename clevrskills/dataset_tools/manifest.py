"""Manifest of a dataset: one line for every finished attempt, successful or not.

Each writer (``local``, ``ray``, ``shard-<i>-of-<n>``) has its own ``manifest/<writer>.jsonl``, so
that several write concurrently. Readers skip the incomplete last line of a killed writer.
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
"""Kinds of failures: a skill gave up; no pose or path was found; step limit; timeout; an exception
or a crash of the process; the episode cannot be perturbed along an axis."""
_RENAMED = {"number": "attempt", "total_reward": "return"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """Attempt at an episode, with its outcome once it has ended; a line of the manifest."""

    task: str  # key of the task
    split: str
    seed: int
    slot: int = 0  # index among the requested episodes
    number: int = 0  # failed seeds of this slot before; ``attempt`` in the file
    success: bool = False  # whether it is an episode of the dataset
    kind: str = ""  # one of :data:`KINDS`; empty on success
    reason: str = ""  # message of the failure; empty on success
    steps: int = 0  # number of control steps, or of turns in a dataset of turns
    total_reward: float = 0.0  # sum of the rewards; ``return`` in the file
    worker: str = ""  # host and process
    ended: str = ""  # end, ISO 8601, UTC; empty: not ended
    # seconds by phase (``reset``, ``plan``, ``physics``, ``render``, ``encode``, ``write``), and
    # ``total_cpu`` and ``total_wall``
    times_s: Mapping[str, float] = field(default_factory=dict)
    # size in bytes and SHA-256 of each file of the episode, by name
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name of the episode, e.g. ``sort/train_00000007``."""
        return episode_id(self.task, self.split, self.seed)

    @classmethod
    def of(cls, info: Mapping[str, Any], **more: Any) -> Self:
        """Return the attempt described by an ``episode.json``."""
        count = info.get("turns", info["steps"])
        given = {name: info[name] for name in ("task", "split", "seed", "success")}
        return cls(**given, steps=count, total_reward=info["return"], **more)

    def end(self, kind: str = "", reason: str = "", **more: Any) -> Self:
        """Return the attempt as ended now, successfully if no kind of failure is given."""
        return replace(self, success=not kind, kind=kind, reason=reason, ended=now(), **more)

    def to_json(self) -> str:
        """Return the line, without line break."""
        return to_json({_RENAMED.get(f.name, f.name): getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse a line.

        Raises:
            ValueError: The line is damaged.
        """
        return parse_record(cls, text, _RENAMED)


class Manifest:
    """Manifest file of one writer of a dataset.

    Raises:
        StorageError: A write failed, here or in :meth:`append`.
    """

    def __init__(self, root: Path, writer: str) -> None:
        self._journal = Journal(root / MANIFEST_DIR / f"{writer}.jsonl")

    def append(self, attempt: Attempt) -> None:
        """Append a finished attempt atomically and flush it to disk."""
        self._journal.append(attempt.to_json())


def read_manifest(root: Path) -> Iterator[Attempt]:
    """Yield the lines of all writers, those of one writer in chronological order.

    Raises:
        DatasetError: A line is damaged.
    """
    for path in sorted((root / MANIFEST_DIR).glob("*.jsonl")):
        yield from read_lines(path, Attempt.from_json)


def latest_lines(root: Path) -> dict[str, Attempt]:
    """Return the last line of every successful episode, by name.

    Raises:
        DatasetError: A line is damaged.
    """
    latest: dict[str, Attempt] = {}
    for line in read_manifest(root):
        if line.success and (line.id not in latest or line.ended >= latest[line.id].ended):
            latest[line.id] = line
    return latest


def round_robin(names: Sequence[str], count: int) -> list[str]:
    """Return at most ``count`` names of episodes, sorted, evenly from all tasks and splits."""
    ordered = sorted(names, key=lambda name: name.rpartition("_"))
    groups = groupby(ordered, key=lambda name: name.rpartition("_")[0])
    ranked = sorted(pair for _, group in groups for pair in enumerate(group))
    return sorted(name for _, name in ranked[:count])


def file_hashes(path: Path) -> dict[str, tuple[int, str]]:
    """Return the size in bytes and SHA-256 of every file of an episode, by name.

    Raises:
        StorageError: A file cannot be read.
    """
    found = {}
    for name, file in episode_files(path).items():
        with storage_errors(file.path):
            data = file.read()
        found[name] = (len(data), hashlib.sha256(data).hexdigest())
    return found
