"""What lies where in a dataset, and the two files that belong to the whole of it.

::

    DIR/dataset.json                  robot, criteria, cameras, format and package versions
    DIR/failures.jsonl                one line per failed attempt: task, split, seed, reason, steps
    DIR/<task>/<split>_<seed>/        one episode of N control steps
        episode.json                  what is said once: prompt, goal, scene, segments, ...
        steps.parquet                 N rows, one per control step
        states.npz                    ``states`` (N + 1, S), bit for bit
        <camera>.mp4                  N + 1 frames; frame t shows the state after t steps
        prompt/*.png, keysteps/*.png  pictures of the prompt and of the key-steps
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import clevrskills
from clevrskills.dataset_tools.files import StorageError, storage_errors, to_json, write_whole
from clevrskills.errors import ClevrSkillsError

FORMAT = "clevrskills"
FORMAT_VERSION = 1
DATASET_FILE = "dataset.json"
FAILURES_FILE = "failures.jsonl"
EPISODE_FILE = "episode.json"
STEPS_FILE = "steps.parquet"
STATES_FILE = "states.npz"
_LOCK_FILE = ".lock"
_PACKAGES = ("mani_skill", "sapien", "torch", "numpy", "mplib")


class DatasetError(ClevrSkillsError):
    """A folder is not a dataset, or not the one that was asked for."""


def episode_id(task: str, split: str, seed: int) -> str:
    """Name of an episode within its dataset, also its directory: ``sort/train_00000007``."""
    return f"{task}/{split}_{seed:08d}"


@functools.cache
def versions() -> dict[str, str | None]:
    """Versions of Python and of the packages that shape an episode; ``None``: absent."""
    found: dict[str, str | None] = {
        "clevrskills": clevrskills.__version__,
        "python": platform.python_version(),
    }
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


@dataclass(frozen=True)
class Header:
    """What all episodes of a dataset have in common; the content of ``dataset.json``."""

    robot: str
    criteria: str
    cameras: tuple[str, ...]
    fps: int = 20
    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    versions: dict[str, str | None] = field(default_factory=versions, compare=False)

    @classmethod
    def read(cls, root: Path) -> Header:
        """Read the header of a dataset.

        Raises:
            DatasetError: ``root`` is not a dataset, or one of a later format.
        """
        path = root / DATASET_FILE
        if not path.is_file():
            raise DatasetError(f"{root} is not a dataset: it has no {DATASET_FILE}")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise DatasetError(f"{root} is not a dataset: format {data['format']!r}")
            if data["format_version"] > FORMAT_VERSION:
                raise DatasetError(
                    f"{root} has format version {data['format_version']}; "
                    f"this package reads up to {FORMAT_VERSION}: update it"
                )
            values = {f.name: data[f.name] for f in fields(cls)}
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{path} is damaged: {error!r}") from error
        return cls(**{**values, "cameras": tuple(values["cameras"])})

    def open(self, root: Path) -> None:
        """Make ``root`` a dataset with this header, or check that it is one.

        Raises:
            DatasetError: ``root`` holds something else, or a dataset made with other arguments.
            StorageError: It cannot be written.
        """
        if root.exists() and not root.is_dir():
            raise DatasetError(f"{root} is a file; give a folder")
        if (root / DATASET_FILE).exists():
            return self._check(Header.read(root), root)
        with storage_errors(root):
            root.mkdir(parents=True, exist_ok=True)
            if any(path.name != _LOCK_FILE for path in root.iterdir()):
                raise DatasetError(
                    f"{root} is not a dataset (no {DATASET_FILE}) and not empty; "
                    "give an empty or new folder"
                )
        write_whole(root / DATASET_FILE, to_json(asdict(self), indent=1) + "\n")
        return None

    def _check(self, other: Header, root: Path) -> None:
        for name in ("robot", "criteria", "cameras", "fps"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise DatasetError(
                    f"{root} was made with {name} {_words(theirs)}, not {_words(mine)}; "
                    "give another folder"
                )


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return str(value)


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Keep other writers out of a dataset; the lock ends with the process.

    Raises:
        DatasetError: Another process writes to it.
        StorageError: It cannot be written.
    """
    with storage_errors(root):
        descriptor = os.open(root / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatasetError(f"another process is writing to {root}") from None
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Failure:
    """One failed attempt at a demonstration."""

    task: str
    split: str
    seed: int
    reason: str
    steps: int


def read_failures(root: Path) -> list[Failure]:
    """The failed attempts of a dataset, in the order in which they ended.

    Raises:
        DatasetError: A line cannot be read.
    """
    path = root / FAILURES_FILE
    if not path.exists():
        return []
    failures = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            failures.append(Failure(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise DatasetError(f"{path} is damaged in line {number}; remove that line") from error
    return failures


def append_failure(root: Path, failure: Failure) -> None:
    """Add one line to the failures, whole or not at all.

    Raises:
        StorageError: It could not be written; the file is as before.
    """
    path = root / FAILURES_FILE
    line = (to_json(asdict(failure)) + "\n").encode()
    with storage_errors(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            try:
                written = os.write(descriptor, line)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
            if written < len(line):
                os.ftruncate(descriptor, size)
                raise StorageError(f"the disk is full: cannot write to {path}")
        finally:
            os.close(descriptor)
