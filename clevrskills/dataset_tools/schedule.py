"""Which seed of which task comes next; the episodes are the same for any number of workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from clevrskills.dataset_tools.sources import Setup

MIN_FAILURES = 20


@dataclass(frozen=True)
class Attempt:
    """One seed to try."""

    setup: Setup
    seed: int


@dataclass
class TaskQueue:
    """The seeds of one task, in order; a new one only while those in the works could be too few.

    So the seeds tried are the shortest run from ``first_seed`` on that has ``episodes`` successes,
    in whatever order the attempts end and however often the run is interrupted.

    Args:
        setup: What the environment is made from.
        level: Level of the task.
        episodes: Successes wanted.
        first_seed: The first seed to try.
        exists: Tells whether the episode of a seed is already there.
        failed: Seeds that have failed before.
    """

    setup: Setup
    level: str
    episodes: int
    first_seed: int
    exists: Callable[[int], bool]
    failed: set[int]
    succeeded: list[int] = field(default_factory=list, init=False)
    failures: int = field(default=0, init=False)
    pending: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._next_seed = self.first_seed

    @property
    def exhausted(self) -> bool:
        """Whether so many attempts failed that more of them make no sense."""
        return self.failures > max(MIN_FAILURES, self.episodes)

    @property
    def complete(self) -> bool:
        """Whether all episodes are there."""
        return len(self.succeeded) >= self.episodes

    def next(self) -> Attempt | None:
        """The next attempt, ``None`` if there is none for now."""
        while len(self.succeeded) + self.pending < self.episodes and not self.exhausted:
            seed = self._next_seed
            self._next_seed += 1
            if self.exists(seed):
                self.succeeded.append(seed)
            elif seed in self.failed:
                self.failures += 1
            else:
                self.pending += 1
                return Attempt(self.setup, seed)
        return None

    def ended(self, attempt: Attempt, success: bool) -> None:
        """Take note of how an attempt ended."""
        self.pending -= 1
        if success:
            self.succeeded.append(attempt.seed)
        else:
            self.failures += 1


def next_attempt(queues: Iterable[TaskQueue]) -> tuple[TaskQueue, Attempt] | None:
    """The next attempt of the first task that has one, so that environments are kept long."""
    for queue in queues:
        attempt = queue.next()
        if attempt is not None:
            return queue, attempt
    return None


def queues_for(
    setup: Setup,
    levels: Sequence[tuple[str, str]],
    episodes: int,
    first_seed: int,
    exists: Callable[[str, int], bool],
    failed: Callable[[str], set[int]],
) -> list[TaskQueue]:
    """One queue for each (task, level)."""
    return [
        TaskQueue(
            setup=replace(setup, task=task),
            level=level,
            episodes=episodes,
            first_seed=first_seed,
            exists=lambda seed, task=task: exists(task, seed),  # type: ignore[misc]
            failed=failed(task),
        )
        for task, level in levels
    ]
