"""Names and seeds of episodes: built, read and shared out here, and nowhere else.

Each range of seeds belongs to somebody, so that no two kinds of episodes share one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
    """Name of an episode within its dataset."""
    return str(RecordedName(task, split, seed))


def episode_name(task: str, split: str, index: int, repeat: int = 0) -> str:
    """Name of an episode within a run or among frozen ones, e.g. ``sort_test_007``; of one that is
    run again, ``sort_test_007_r1`` and so on.
    """
    return f"{frozen_name(task, split)}_{index:03d}" + (f"_r{repeat}" if repeat else "")


def frozen_name(task: str, split: str) -> str:
    """Name of the frozen episodes of a task and split, e.g. ``sort_test``."""
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
        """The next ``count`` seeds behind this range."""
        return SeedRange(self.stop, self.stop + count)


DEMONSTRATIONS = SeedRange(0, SUBSTITUTE * ATTEMPTS)
"""``clevrskills generate``."""
DAGGER = DEMONSTRATIONS.after(SUBSTITUTE * ATTEMPTS)
"""Rounds of ``clevrskills dagger``."""
TRAINING = SeedRange(0, 1_000_000_000)
"""All episodes that may be learned from; vector environments draw theirs from it."""
RL_TRAINING = SeedRange(0, 900_000_000)
"""First episodes of the environments that ``clevrskills rl`` trains in."""
FROZEN = TRAINING.after(1_000_000_000)
"""Frozen episodes: no episode that is learned from starts as one that is evaluated on."""
