"""Candidates for frozen episodes, and their screening in order."""

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
    """Seed to be screened."""

    task: str
    split: str
    robot: str
    seed: int


@dataclass(frozen=True)
class ScreeningResult(Record):
    """Result of the screening of a seed."""

    seed: int
    reason: str = ""  # reason of rejection; empty: accepted
    oracle_steps: int = 0  # turns of the oracle; with delta actions, control steps
    episode: Mapping[str, Any] | None = None  # accepted episode as JSON data
    limit: int = 0  # limit of turns


class Screened(Protocol):
    """Result of screening; an empty ``reason`` accepts the candidate."""

    @property
    def reason(self) -> str: ...
    def to_json(self) -> str: ...


Result = TypeVar("Result", bound=Screened)


@dataclass
class Screening(ABC, Generic[Job, Result]):
    """Screening of the candidates of one task and split, until enough are accepted.

    A candidate is screened only if the earlier ones do not suffice, so that the outcome does not
    depend on the number of workers.
    """

    task: str
    split: str
    count: int  # number of candidates to accept
    journal: Path  # file of the results
    results: dict[int, Result]  # known results by number of the candidate
    asked: list[int] = field(default_factory=list, init=False)  # candidates needed so far

    @property
    def screened(self) -> list[Result]:
        """Known results of the needed candidates."""
        return [self.results[number] for number in self.asked if number in self.results]

    @property
    def accepted(self) -> list[Result]:
        """Results of the accepted candidates."""
        return [result for result in self.screened if not result.reason]

    @property
    def rejected(self) -> list[Result]:
        """Results of the rejected candidates."""
        return [result for result in self.screened if result.reason]

    def next(self) -> Job | None:
        """Return the next candidate to be screened; ``None``: none for now."""
        while len(self.asked) - len(self.rejected) < self.count and self._goes_on():
            candidate, number = self._candidate(len(self.asked))
            self.asked.append(number)
            if number not in self.results:
                return candidate
        return None

    def enter(self, number: int, result: Result) -> None:
        """Write the result of a candidate.

        Raises:
            StorageError: Writing failed.
        """
        Journal(self.journal).append(result.to_json())
        self.results[number] = result

    @abstractmethod
    def _candidate(self, place: int) -> tuple[Job, int]:
        """Return the candidate at a position in the order, and its number."""

    @abstractmethod
    def _goes_on(self) -> bool:
        """Return whether there is another candidate."""


class ScreeningQueue(JobQueue[Job, Result]):
    """Job queue of the candidates of all tasks and splits."""

    def __init__(self, screenings: Sequence[Screening[Job, Result]]) -> None:
        super().__init__()
        self._screenings = screenings
        self._by_name = {(each.task, each.split): each for each in screenings}

    def next(self) -> Job | None:
        return super().next() or next(filter(None, (s.next() for s in self._screenings)), None)
