"""Names and seeds of episodes, and the files of frozen ones.

Each kind of episode has its own range of seeds. A file of frozen episodes is gzipped UTF-8 text
with one JSON object per line: a :class:`FrozenHeader`, then the episodes in order.
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

HELD: dict[Path, bytes] = {}
"""Files of frozen episodes in the memory of this process, by their former paths."""
_RECORDED = re.compile(r"([^/]+)/([^/]+)_(\d{8,})")


@dataclass(frozen=True)
class RecordedName:
    """Name and directory of an episode within its dataset, e.g. ``sort/train_00000007``."""

    task: str
    split: str
    seed: int

    def __str__(self) -> str:
        return f"{self.task}/{self.split}_{self.seed:08d}"

    @classmethod
    def parse(cls, text: str) -> RecordedName:
        """Parse a name.

        Raises:
            ValueError: The text is not such a name.
        """
        match = _RECORDED.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not the name of an episode, e.g. sort/train_00000007")
        return cls(match[1], match[2], int(match[3]))


def episode_id(task: str, split: str, seed: int) -> str:
    """Return the name of an episode within its dataset."""
    return str(RecordedName(task, split, seed))


def episode_name(
    task: str, split: str, index: int, repeat: int = 0, seed: int | None = None
) -> str:
    """Return the name of an episode: ``sort_test_007`` by the index of a frozen one,
    ``sort_train_00000042`` by the seed of a sampled one; repetitions end in ``_r1``, ``_r2``, ...
    """
    number = f"{index:03d}" if seed is None else f"{seed:08d}"
    return f"{frozen_name(task, split)}_{number}" + (f"_r{repeat}" if repeat else "")


def frozen_name(task: str, split: str) -> str:
    """Return the name of the frozen episodes of a task and split, e.g. ``sort_test``."""
    return f"{task}_{split}"


SUBSTITUTE = 10_000_000
"""Offset from a seed to its substitute; requested seeds lie below it within their range."""
ATTEMPTS = 20
"""Maximum number of seeds tried for one requested episode."""


@dataclass(frozen=True)
class SeedRange:
    """Seeds from ``start`` to below ``stop``."""

    start: int
    stop: int

    def after(self, count: int) -> SeedRange:
        """Return the range of the ``count`` seeds that follow this one."""
        return SeedRange(self.stop, self.stop + count)


DEMONSTRATIONS = SeedRange(0, SUBSTITUTE * ATTEMPTS)
"""``clevrskills generate``."""
DAGGER = DEMONSTRATIONS.after(SUBSTITUTE * ATTEMPTS)
"""Rounds of ``clevrskills dagger``."""
SCENES = DAGGER.after(SUBSTITUTE * ATTEMPTS)
"""``clevrskills scenes``."""
TRAINING = SeedRange(0, 1_000_000_000)
"""All episodes for training; vector environments sample from it."""
RL_TRAINING = SeedRange(0, 900_000_000)
"""First episodes of the environments of ``clevrskills rl``."""
FROZEN = TRAINING.after(1_000_000_000)
"""Frozen episodes, disjoint from those for training."""
FRESH = SeedRange(FROZEN.stop, 2**32)
"""Episodes that verify a submission; simulators take 32-bit seeds."""


def as_seed(seed: Any) -> int:
    """Return a valid episode seed.

    Raises:
        ClevrSkillsError: The seed is not an unsigned 32-bit integer.
    """
    return whole_number("seed", seed, FRESH.stop - 1)


@dataclass(frozen=True)
class Rejection:
    """A seed rejected as a frozen episode, with the reason."""

    seed: int
    reason: str


@dataclass(frozen=True)
class FrozenHeader:
    """First line of a file of frozen episodes."""

    task: str  # key of the task
    split: str  # name of the split
    robot: str  # name of the robot
    episodes: int  # number of episodes
    max_steps: int  # step limit of the task when they were made
    oracle_steps: tuple[int, ...]  # control steps of the oracle in each episode
    rejected: tuple[Rejection, ...] = ()  # rejected seeds with their reasons
    # versions of Python and of the packages they were made with
    versions: Mapping[str, str | None] = field(default_factory=dict)
    format: str = FORMAT  # name of the format
    format_version: int = FORMAT_VERSION  # version of the format
    suite: str = "clevrskills"  # name of the suite
    limits: tuple[int, ...] = ()  # turn limit of each episode; empty: that of the task
    # version of the suite's frozen episodes, results of different versions are not comparable;
    # 0: not part of the benchmark
    benchmark: int = 0

    @property
    def oracle_median_steps(self) -> float:
        """Median number of the oracle's control steps."""
        return median(self.oracle_steps)

    @property
    def oracle_most_steps(self) -> int:
        """Greatest number of the oracle's control steps."""
        return max(self.oracle_steps)

    def to_json(self) -> str:
        """Return the line without its line break."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse the line.

        Raises:
            ValueError: The line is damaged or of another format.
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
    """Frozen episodes of a task and split, each parsed on access.

    Args:
        folder: Folder of the files.
        task: Key of the task.
        split: Name of the split.
        read: Function that makes an episode from its JSON data.

    Raises:
        ClevrSkillsError: There are no such episodes; on access: the file is damaged.
    """

    def __init__(
        self, folder: Path, task: str, split: str, read: Callable[[Mapping[str, Any]], EpisodeT]
    ) -> None:
        folder = folder.absolute()
        self._path = folder / f"{frozen_name(task, split)}{SUFFIX}"
        self._read = read
        if self._path not in HELD and not self._path.is_file():
            raise _missing(folder, task, split)

    @cached_property
    def header(self) -> FrozenHeader:
        """Header of the file."""
        return _header(self._path, self._text)

    @property
    def content_hash(self) -> str:
        """SHA-256, in hexadecimal, of the decompressed file."""
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
        if (count := self.header.episodes) != len(lines):
            raise ClevrSkillsError(f"{self._path} is damaged: {len(lines)} of {count} episodes")
        return lines


def _missing(folder: Path, task: str, split: str) -> ClevrSkillsError:
    """Return the error of missing episodes, which lists the existing ones."""
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
        return gzip.decompress(HELD.get(path) or path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error


def _header(path: Path, text: bytes) -> FrozenHeader:
    try:
        return FrozenHeader.from_json(text.partition(b"\n")[0])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClevrSkillsError(f"{path} cannot be read: {error}") from error
