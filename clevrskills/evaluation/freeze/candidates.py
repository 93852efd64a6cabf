"""Candidates: seeds that may become frozen episodes, and results of their screening."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from clevrskills.jobs.files import to_json
from clevrskills.jobs.journal import parse_record


@dataclass(frozen=True)
class Candidate:
    """A seed to be screened."""

    task: str
    split: str
    robot: str
    seed: int


@dataclass(frozen=True)
class ScreeningResult:
    """What was found of a seed."""

    seed: int
    reason: str = ""  # why it is rejected; empty: it is not
    oracle_steps: int = 0  # turns that the oracle needed; of a delta action, control steps
    episode: Mapping[str, Any] | None = None  # the episode as JSON data, unless rejected
    limit: int = 0  # turns after which it ends

    def to_json(self) -> str:
        """One line of a journal, without its end."""
        return to_json(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a line.

        Raises:
            ValueError: It is damaged.
        """
        return parse_record(cls, text)
