"""The manifest of a dataset: one line for every attempt that has ended, well or not.

Each writer of a dataset (``local``, ``ray``, ``shard-<i>-of-<n>``) has a file of its own,
``manifest/<writer>.jsonl``, so that several write at the same time without a common lock. A writer
that was killed may leave a torn last line: readers pass over it, the writer removes it when it is
started again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from clevrskills.dataset_tools.files import StorageError, storage_errors, sync, to_json
from clevrskills.dataset_tools.layout import MANIFEST_DIR, DatasetError, episode_id

KINDS = ("skill", "planner", "step limit", "timeout", "crash")
"""Why an attempt may fail: a skill gave up, a pose or path was not found, the task's step limit or
the time limit was reached, or the program or its process broke down."""
_RENAMED = {"total_reward": "return"}


@dataclass(frozen=True, slots=True)
class ManifestLine:
    """How one attempt ended.

    Attributes:
        task: Key of the task.
        split: ``train`` or ``test``.
        seed: Seed of the episode.
        slot: Which of the episodes asked for it is, from 0.
        attempt: 0, or how many seeds of this slot have failed before.
        success: Whether it is an episode of the dataset.
        kind: One of :data:`KINDS`; empty on success.
        reason: Why it failed, in words; empty on success.
        steps: Control steps made.
        total_reward: Sum of the rewards; ``return`` in the file.
        worker: Host and process that did it.
        ended: When, ISO 8601, UTC.
        times_s: Seconds spent by phase (``reset``, ``plan``, ``physics``, ``render``, ``encode``,
            ``write``) and in all (``total_cpu``, ``total_wall``).
        files: Size in bytes and SHA-256 of each file of the episode, by name.
    """

    task: str
    split: str
    seed: int
    slot: int
    attempt: int
    success: bool
    kind: str = ""
    reason: str = ""
    steps: int = 0
    total_reward: float = 0.0
    worker: str = ""
    ended: str = ""
    times_s: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name of the episode within the dataset, e.g. ``sort/train_00000007``."""
        return episode_id(self.task, self.split, self.seed)

    def to_json(self) -> str:
        """The line, without its end."""
        return to_json({_RENAMED.get(f.name, f.name): getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> ManifestLine:
        """Read a line.

        Raises:
            ValueError: It is damaged.
        """
        data = json.loads(text)
        try:
            return cls(**{f.name: data[_RENAMED.get(f.name, f.name)] for f in fields(cls)})
        except (KeyError, TypeError) as error:
            raise ValueError(f"damaged line: {error!r}") from error


class Manifest:
    """The file of one writer, to which it appends; a torn end is removed first.

    Args:
        root: The dataset.
        writer: Name of the writer.

    Raises:
        StorageError: The disk refused, here or in :meth:`append`.
    """

    def __init__(self, root: Path, writer: str) -> None:
        self.path = root / MANIFEST_DIR / f"{writer}.jsonl"
        with storage_errors(self.path):
            self.path.parent.mkdir(exist_ok=True)
            if self.path.exists():
                _remove_torn_end(self.path)

    def append(self, line: ManifestLine) -> None:
        """Add one line, whole or not at all; it is on the disk when this returns."""
        data = (line.to_json() + "\n").encode()
        with storage_errors(self.path):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                try:
                    written = os.write(descriptor, data)
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, size)
                    raise
                if written < len(data):
                    os.ftruncate(descriptor, size)
                    raise StorageError(f"the disk is full: cannot write to {self.path}")
            finally:
                os.close(descriptor)
        if not size:
            with storage_errors(self.path):
                sync(self.path.parent)  # the file is new


def read_manifest(root: Path) -> Iterator[ManifestLine]:
    """All lines of all writers, those of one writer in the order in which the attempts ended.

    Raises:
        DatasetError: A line cannot be read.
    """
    for path in sorted((root / MANIFEST_DIR).glob("*.jsonl")):
        with path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                if not text.endswith(b"\n"):
                    break  # torn: its writer was killed, or is writing it
                try:
                    yield ManifestLine.from_json(text)
                except ValueError as error:
                    raise DatasetError(
                        f"{path} is damaged in line {number}; remove that line"
                    ) from error


def latest_lines(root: Path) -> dict[str, ManifestLine]:
    """The last line of every episode that was made, by its name.

    Raises:
        DatasetError: A line cannot be read.
    """
    latest: dict[str, ManifestLine] = {}
    for line in read_manifest(root):
        if line.success and (line.id not in latest or line.ended >= latest[line.id].ended):
            latest[line.id] = line
    return latest


def file_hashes(directory: Path) -> dict[str, tuple[int, str]]:
    """Size in bytes and SHA-256 of every file of an episode, by name.

    Raises:
        StorageError: A file cannot be read.
    """
    found = {}
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        with storage_errors(path), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found[path.relative_to(directory).as_posix()] = (file.tell(), digest)
    return found


def _remove_torn_end(path: Path) -> None:
    """Cut off what follows the last line end."""
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        keep = end
        while keep > 0:
            start = max(0, keep - 4096)
            file.seek(start)
            at = file.read(keep - start).rfind(b"\n")
            if at >= 0:
                keep = start + at + 1
                break
            keep = start
        if keep < end:
            file.truncate(keep)
            os.fsync(file.fileno())
