"""Candidates: seeds that may become frozen episodes, and the screening of candidates in order."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from clevrskills.jobs.journal import Journal, Record
from clevrskills.jobs.pool import Job
from clevrskills.jobs.work import JobQueue


@dataclass(frozen=True)
class Candidate:
    """A seed to be screened."""

    task: str
    split: str
    robot: str
    seed: int


@dataclass(frozen=True)
class ScreeningResult(Record):
    """Result of the screening of a seed."""

    seed: int
    reason: str = ""  # why it is rejected; empty: it is not
    oracle_steps: int = 0  # turns that the oracle needed; of a delta action, control steps
    episode: Mapping[str, Any] | None = None  # the episode as JSON data, unless rejected
    limit: int = 0  # turns after which it ends


class Screened(Protocol):
    """Result of screening; an empty ``reason`` accepts the candidate."""

    @property
    def reason(self) -> str: ...
    def to_json(self) -> str: ...


Result = TypeVar("Result", bound=Screened)


@dataclass
class Screening(ABC, Generic[Job, Result]):
    """Screening of the candidates of one task and split, until enough are accepted.

    A candidate is screened only once it is certain that those before it do not suffice, so that the
    outcome is the same for any number of workers.
    """

    task: str  # key of the task
    split: str  # name of the split
    count: int  # number of candidates to accept
    journal: Path  # file of the results
    results: dict[int, Result]  # the known ones, by number of the candidate
    # numbers of the candidates that were needed so far
    asked: list[int] = field(default_factory=list, init=False)

    @property
    def screened(self) -> list[Result]:
        """Results of the candidates that were needed, as far as they are known."""
        return [found for number in self.asked if (found := self._result(number))]

    @property
    def accepted(self) -> list[Result]:
        """Results of the accepted candidates."""
        return [result for result in self.screened if not result.reason]

    @property
    def rejected(self) -> list[Result]:
        """Results of the rejected candidates."""
        return [result for result in self.screened if result.reason]

    def next(self) -> Job | None:
        """Return the next candidate to be screened, ``None`` if there is none for now."""
        while len(self.asked) - len(self.rejected) < self.count and self._goes_on():
            candidate, number = self._candidate(len(self.asked))
            self.asked.append(number)
            if number not in self.results:
                return candidate
        return None

    def enter(self, number: int, result: Result) -> None:
        """Keep the result of a candidate.

        Raises:
            StorageError: The disk refused.
        """
        Journal(self.journal).append(result.to_json())
        self.results[number] = result

    def _result(self, number: int) -> Result | None:
        """Return the result of a candidate; ``None``: it is not known yet."""
        return self.results.get(number)

    @abstractmethod
    def _candidate(self, place: int) -> tuple[Job, int]:
        """Return the candidate at a place in the order, and its number."""

    @abstractmethod
    def _goes_on(self) -> bool:
        """Return whether there is another candidate, where too few are accepted."""


class ScreeningQueue(JobQueue[Job, Result]):
    """Candidates of all tasks and splits.

    Args:
        screenings: The screening of each task and split.
    """

    def __init__(self, screenings: Sequence[Screening[Job, Result]]) -> None:
        super().__init__()
        self._screenings = screenings
        self._by_name = {(each.task, each.split): each for each in screenings}

    def next(self) -> Job | None:
        return super().next() or next(filter(None, (s.next() for s in self._screenings)), None)
