"""Names and seeds of episodes, and the files of frozen ones.

Each range of seeds belongs to somebody, so that no two kinds of episodes share one. A file of
frozen episodes is gzipped text, UTF-8, one JSON object in each line: first a :class:`FrozenHeader`,
then the episodes in order, as their suite writes them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, Self, TypeVar, overload

from clevrskills.errors import ClevrSkillsError, UnknownNameError, whole_number

FORMAT = "clevrskills-episodes"
FORMAT_VERSION = 1
SUFFIX = ".jsonl.gz"
EpisodeT = TypeVar("EpisodeT", covariant=True)

_RECORDED = re.compile(r"([^/]+)/([^/]+)_(\d{8,})")


@dataclass(frozen=True)
class RecordedName:
    """Name of an episode within its dataset, also its directory: ``sort/train_00000007``."""

    task: str
    split: str
    seed: int

    def __str__(self) -> str:
        return f"{self.task}/{self.split}_{self.seed:08d}"

    @classmethod
    def parse(cls, text: str) -> RecordedName:
        """Read a name.

        Raises:
            ValueError: It is none.
        """
        match = _RECORDED.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no name of an episode such as sort/train_00000007")
        return cls(match[1], match[2], int(match[3]))


def episode_id(task: str, split: str, seed: int) -> str:
    """Return the name of an episode within its dataset."""
    return str(RecordedName(task, split, seed))


def episode_name(
    task: str, split: str, index: int, repeat: int = 0, seed: int | None = None
) -> str:
    """Return the name of an episode: a frozen one is named by its index, ``sort_test_007``, a drawn
    one by its seed, ``sort_train_00000042``; one that is run again ends in ``_r1`` and so on.
    """
    number = f"{index:03d}" if seed is None else f"{seed:08d}"
    return f"{frozen_name(task, split)}_{number}" + (f"_r{repeat}" if repeat else "")


def frozen_name(task: str, split: str) -> str:
    """Return the name of the frozen episodes of a task and split, e.g. ``sort_test``."""
    return f"{task}_{split}"


SUBSTITUTE = 10_000_000
"""Distance from a seed to its substitute: seeds asked for lie below it within their range."""
ATTEMPTS = 20
"""Seeds that are tried for one episode that was asked for, at most."""


@dataclass(frozen=True)
class SeedRange:
    """Seeds from ``start`` to below ``stop``."""

    start: int
    stop: int

    def after(self, count: int) -> SeedRange:
        """Return the next ``count`` seeds behind this range."""
        return SeedRange(self.stop, self.stop + count)


DEMONSTRATIONS = SeedRange(0, SUBSTITUTE * ATTEMPTS)
"""``clevrskills generate``."""
DAGGER = DEMONSTRATIONS.after(SUBSTITUTE * ATTEMPTS)
"""Rounds of ``clevrskills dagger``."""
SCENES = DAGGER.after(SUBSTITUTE * ATTEMPTS)
"""``clevrskills scenes``."""
TRAINING = SeedRange(0, 1_000_000_000)
"""All episodes that may be learned from; vector environments draw theirs from it."""
RL_TRAINING = SeedRange(0, 900_000_000)
"""First episodes of the environments that ``clevrskills rl`` trains in."""
FROZEN = TRAINING.after(1_000_000_000)
"""Frozen episodes: no episode that is learned from starts as one that is evaluated on."""
FRESH = SeedRange(FROZEN.stop, 2**32)
"""Episodes that are drawn to verify a submission; simulators take seeds of 32 bits."""


def as_seed(seed: Any) -> int:
    """Return the seed of an episode, as all environments take it.

    Raises:
        ClevrSkillsError: It is no whole number of 32 bits.
    """
    return whole_number("seed", seed, FRESH.stop - 1)


@dataclass(frozen=True)
class Rejection:
    """A seed that is no frozen episode, and why."""

    seed: int
    reason: str


@dataclass(frozen=True)
class FrozenHeader:
    """The first line of a file of frozen episodes."""

    task: str  # key of the task
    split: str  # name of the split
    robot: str  # name of the robot
    episodes: int  # number of the episodes
    max_steps: int  # the task's step limit when they were made
    oracle_steps: tuple[int, ...]  # control steps that the oracle needed, episode by episode
    # the seeds between those of the episodes, with the reasons
    rejected: tuple[Rejection, ...] = ()
    # of Python and of the packages with which they were made
    versions: Mapping[str, str | None] = field(default_factory=dict)
    format: str = FORMAT  # name of the format
    format_version: int = FORMAT_VERSION  # its version
    suite: str = "clevrskills"  # name of the suite
    # limit of turns, episode by episode; empty: all have that of the task
    limits: tuple[int, ...] = ()
    # version of the suite's frozen episodes; results on different ones can't be compared; 0: they
    # are of no benchmark
    benchmark: int = 0

    @property
    def oracle_median_steps(self) -> float:
        """Median of the oracle's control steps."""
        return median(self.oracle_steps)

    @property
    def oracle_most_steps(self) -> int:
        """Control steps of the oracle in the longest episode."""
        return max(self.oracle_steps)

    def to_json(self) -> str:
        """Return the line of the file, without its end."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the line.

        Raises:
            ValueError: It is damaged, or of another format.
        """
        data = json.loads(text)
        if data.get("format") != FORMAT:
            raise ValueError(f"format {data.get('format')!r}; allowed: {FORMAT!r}")
        if data.get("format_version") != FORMAT_VERSION:
            raise ValueError(
                f"format version {data.get('format_version')}; this package reads {FORMAT_VERSION}"
            )
        values = {f.name: data[f.name] for f in fields(cls)}
        values["oracle_steps"] = tuple(values["oracle_steps"])
        values["limits"] = tuple(values["limits"])
        values["rejected"] = tuple(Rejection(**entry) for entry in values["rejected"])
        return cls(**values)


class FrozenEpisodes(Sequence[EpisodeT]):
    """Frozen episodes of a task and split, each read from their file when it is asked for.

    Args:
        folder: Folder of the files.
        task: Key of the task.
        split: Name of the split.
        read: Makes an episode from its JSON data.

    Raises:
        ClevrSkillsError: There are none of this task or split; later: the file is damaged.
    """

    def __init__(
        self, folder: Path, task: str, split: str, read: Callable[[Mapping[str, Any]], EpisodeT]
    ) -> None:
        folder = folder.absolute()
        self._path = folder / f"{frozen_name(task, split)}{SUFFIX}"
        self._read = read
        if not self._path.is_file():
            raise _missing(folder, task, split)

    @cached_property
    def header(self) -> FrozenHeader:
        """The header that all of them share."""
        return _header(self._path, self._text)

    @property
    def content_hash(self) -> str:
        """SHA-256, in hexadecimal, of the text of the file, however it is compressed."""
        return hashlib.sha256(self._text).hexdigest()

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> EpisodeT: ...
    @overload
    def __getitem__(self, index: slice) -> list[EpisodeT]: ...
    def __getitem__(self, index: int | slice) -> EpisodeT | list[EpisodeT]:
        if isinstance(index, slice):
            return [self[k] for k in range(len(self))[index]]
        line = self._lines[index]
        try:
            return self._read(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise ClevrSkillsError(f"{self._path} is damaged: {error!r}") from error

    @cached_property
    def _text(self) -> bytes:
        return _text(self._path)

    @cached_property
    def _lines(self) -> Sequence[bytes]:
        lines = self._text.splitlines()[1:]
        if self.header.episodes != len(lines):
            count = self.header.episodes
            raise ClevrSkillsError(f"{self._path} is damaged: {len(lines)} of {count} episodes")
        return lines


def _missing(folder: Path, task: str, split: str) -> ClevrSkillsError:
    """Return the error that says which frozen episodes there are instead."""
    known: dict[str, list[str]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        head = _header(path, _text(path))
        known.setdefault(head.task, []).append(head.split)
    if not known:
        return ClevrSkillsError(f"{folder} has no frozen episodes")
    if task not in known:
        return UnknownNameError("task with frozen episodes", task, tuple(known))
    return UnknownNameError(f"split of {task}", split, tuple(known[task]))


def _text(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error


def _header(path: Path, text: bytes) -> FrozenHeader:
    try:
        return FrozenHeader.from_json(text.partition(b"\n")[0])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error
