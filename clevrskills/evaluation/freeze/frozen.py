"""Frozen episodes on disk: one small file for each task and split.

A file is gzipped text, UTF-8, one JSON object in each line: first a :class:`Header`, then the
episodes in order, as their suite writes them.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import Any, Self

from clevrskills.core.episode import frozen_name
from clevrskills.core.suite import DEFAULT, Episode, load_suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.files import to_json, write_whole

__all__ = ["Header", "episodes", "header"]

FORMAT = "clevrskills-episodes"
FORMAT_VERSION, SUITES_VERSION = 1, 2
SUFFIX = ".jsonl.gz"


@dataclass(frozen=True)
class Rejection:
    """A seed that is no frozen episode, and why."""

    seed: int
    reason: str


@dataclass(frozen=True)
class Header:
    """The first line of a file.

    Attributes:
        task: Key of the task.
        split: Name of the split.
        robot: Name of the robot.
        episodes: How many there are.
        max_steps: The task's step limit when they were made.
        oracle_steps: Control steps that the oracle needed, episode by episode.
        rejected: The seeds between those of the episodes, with the reasons.
        versions: Of Python and of the packages with which they were made.
        format: Name of the format.
        format_version: Its version: 1 for ClevrSkills, 2 for other suites.
        suite: Name of the suite.
        limits: Limit of turns, episode by episode; nothing: all have that of the task.
        benchmark: Version of the suite's frozen episodes; 0: of before they had one, or of a suite
            that has none.
    """

    task: str
    split: str
    robot: str
    episodes: int
    max_steps: int
    oracle_steps: tuple[int, ...]
    rejected: tuple[Rejection, ...] = ()
    versions: Mapping[str, str | None] = field(default_factory=dict)
    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    suite: str = DEFAULT
    limits: tuple[int, ...] = ()
    benchmark: int = 0

    @property
    def oracle_median_steps(self) -> float:
        """Control steps of the oracle in the middle one of the episodes."""
        return median(self.oracle_steps)

    @property
    def oracle_most_steps(self) -> int:
        """Control steps of the oracle in the longest one."""
        return max(self.oracle_steps)

    def to_json(self) -> str:
        """The line of the file, without its end."""
        data = asdict(self)
        if self.suite == DEFAULT:
            del data["suite"], data["limits"]
        else:
            data["format_version"] = SUITES_VERSION
        return to_json(data)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the line.

        Raises:
            ValueError: It is damaged, or of another format.
        """
        data = json.loads(text)
        if data.get("format") != FORMAT:
            raise ValueError(f"format {data.get('format')!r}; allowed: {FORMAT!r}")
        if data.get("format_version") not in (FORMAT_VERSION, SUITES_VERSION):
            raise ValueError(
                f"format version {data.get('format_version')}; this package reads {FORMAT_VERSION}"
                f" and {SUITES_VERSION}"
            )
        data = {"suite": DEFAULT, "limits": (), "benchmark": 0, **data}
        values = {f.name: data[f.name] for f in fields(cls)}
        values["oracle_steps"] = tuple(values["oracle_steps"])
        values["limits"] = tuple(values["limits"])
        values["rejected"] = tuple(Rejection(**entry) for entry in values["rejected"])
        return cls(**values)


def episodes(
    task: str,
    split: str,
    folder: Path,
    read: Callable[[Mapping[str, Any]], Any] | None = None,
) -> list[Any]:
    """The frozen episodes of a task and split.

    Args:
        task: Key of the task.
        split: Name of the split.
        folder: Where they are.
        read: Reads one from JSON data; ``None``: as the suite does that the header names.

    Raises:
        ClevrSkillsError: There are none of this task or split, or the file is damaged.
    """
    path = _path(task, split, folder)
    first, *lines = _lines(path)
    head = _header(path, first)
    if head.episodes != len(lines):
        raise ClevrSkillsError(f"{path} is damaged: {len(lines)} of {head.episodes} episodes")
    read = read or load_suite(head.suite).read_episode
    try:
        return [read(json.loads(line)) for line in lines]
    except (ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error


def header(task: str, split: str, folder: Path) -> Header:
    """What is said of all frozen episodes of a task and split.

    Raises:
        ClevrSkillsError: There are none, or the file is damaged.
    """
    path = _path(task, split, folder)
    return _header(path, _lines(path)[0])


def file_hash(task: str, split: str, folder: Path) -> str:
    """SHA-256, in hexadecimal, of the text of a file, however it is compressed.

    Raises:
        ClevrSkillsError: There is no such file, or it is damaged.
    """
    return hashlib.sha256(_text(_path(task, split, folder))).hexdigest()


def write(
    folder: Path,
    head: Header,
    specs: Sequence[Episode],
    pack: Callable[[Episode], Mapping[str, Any]] | None = None,
) -> Path:
    """Write the file of a task and split, whole or not at all; the same bytes for the same data.

    Args:
        folder: Where.
        head: What is said of all episodes.
        specs: The episodes.
        pack: Gives the JSON data of one; ``None``: as it gives itself.

    Raises:
        StorageError: It could not be written.
    """
    data = [pack(spec) if pack else spec.to_json() for spec in specs]
    lines = [head.to_json(), *map(to_json, data)]
    text = "".join(f"{line}\n" for line in lines)
    path = folder / f"{frozen_name(head.task, head.split)}{SUFFIX}"
    write_whole(path, gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path


def _path(task: str, split: str, folder: Path) -> Path:
    wanted = folder / f"{frozen_name(task, split)}{SUFFIX}"
    if wanted.is_file():
        return wanted
    known: dict[str, list[str]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        head = _header(path, _lines(path)[0])
        known.setdefault(head.task, []).append(head.split)
    if not known:
        raise ClevrSkillsError(f"{folder} has no frozen episodes")
    if task not in known:
        raise UnknownNameError("task with frozen episodes", task, tuple(known))
    raise UnknownNameError(f"split of {task}", split, tuple(known[task]))


def _text(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error


def _lines(path: Path) -> list[bytes]:
    return _text(path).splitlines() or [b""]


def _header(path: Path, line: bytes) -> Header:
    try:
        return Header.from_json(line)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error
