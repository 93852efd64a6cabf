"""Work loop: feeds a worker pool from a queue of jobs and retries jobs whose workers die."""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, Generic

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.pool import (
    JOBS_PER_WORKER,
    Done,
    Job,
    Pool,
    Result,
    TimedOut,
    WorkerDied,
    WorkerPool,
)
from clevrskills.jobs.processes import Processes
from clevrskills.jobs.progress import Display

DEATHS, KILLS = 3, 10
"""Default limits of a job: crashes of its workers, and kills from outside."""


class JobQueue(ABC, Generic[Job, Result]):
    """Queue of jobs, and handler of their results.

    Args:
        jobs: The first jobs.

    Attributes:
        waiting: Jobs that are not assigned yet.
        deaths: Worker crashes after which a job is given up.
        kills: Kills of its worker from outside after which a job is given up.
        timeouts: Timeouts after which a job is given up.
    """

    deaths, kills, timeouts = DEATHS, KILLS, 1

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self.waiting = deque(jobs)

    def key(self, job: Job) -> Hashable:
        """Return the identifier of a job."""
        return job

    def next(self) -> Job | None:
        """Return the next job, ``None`` if there is none for now."""
        return self.waiting.popleft() if self.waiting else None

    def requeue(self, job: Job) -> None:
        """Put back a job whose worker ended."""
        self.waiting.append(job)

    @abstractmethod
    def finish(self, job: Job, result: Result) -> None:
        """Handle the result of a job; a ``ClevrSkillsError`` stops the run."""

    @abstractmethod
    def give_up(self, job: Job, end: WorkerDied | TimedOut) -> None:
        """Handle a job that reached its limit of retries; a ``ClevrSkillsError`` stops the run."""

    def update(self) -> None:
        """Update displays, before the loop waits for a result."""


class CountedQueue(JobQueue[Job, Result]):
    """Queue that counts finished work on a display and stops the run when a job is given up.

    Args:
        jobs: The jobs.
        display: Display of the count.
        done: Count at the start.
        finish: Handler of a result; returns the number to count.
        failure: Error message for a job.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        display: Display,
        done: int,
        finish: Callable[[Job, Result], int],
        failure: Callable[[Job], str],
    ) -> None:
        super().__init__(jobs)
        self._display, self._done = display, done
        self._finish, self._failure = finish, failure

    def finish(self, job: Job, result: Result) -> None:
        self._done += self._finish(job, result)

    def give_up(self, job: Job, end: WorkerDied | TimedOut) -> None:
        raise ClevrSkillsError(f"{self._failure(job)}: {end.reason}")

    def update(self) -> None:
        self._display.update(self._done)


def work(queue: JobQueue[Job, Result], start_pool: Callable[[], Pool[Job, Result]]) -> None:
    """Run the jobs of a queue, retrying as often as the queue allows.

    Args:
        queue: The jobs.
        start_pool: Factory of the pool; not called if there is nothing to do.

    Raises:
        ClevrSkillsError: A fatal error of a worker or of the queue's handlers.
    """
    pool: Pool[Job, Result] | None = None
    ends: Counter[Hashable] = Counter()
    try:
        while True:
            while (pool is None or pool.idle) and (job := queue.next()) is not None:
                pool = pool or start_pool()
                pool.submit(job)
            queue.update()
            if pool is None or not pool.busy:
                return
            done: Done[Job, Result] = pool.next()
            if isinstance(done.result, WorkerDied | TimedOut):
                _after_end(queue, done.job, done.result, ends)
            else:
                queue.finish(done.job, done.result)
    finally:
        if pool is not None:
            pool.close()


def _after_end(
    queue: JobQueue[Job, Any], job: Job, end: WorkerDied | TimedOut, ends: Counter[Hashable]
) -> None:
    if isinstance(end, TimedOut):
        kind, limit = "timeout", queue.timeouts
    else:
        kind, limit = ("kill", queue.kills) if end.killed else ("death", queue.deaths)
    ends[kind, queue.key(job)] += 1
    if ends[kind, queue.key(job)] < limit:
        queue.requeue(job)
    else:
        queue.give_up(job, end)


def open_pool(
    driver: str,
    make: Callable[[], Callable[[Any], Any]],
    root: Path,
    workers: int,
    timeout_s: float | Callable[[Any], float] | None = None,
    jobs_per_worker: int = JOBS_PER_WORKER,
) -> Pool[Any, Any]:
    """Start a pool.

    Args:
        driver: `local`, `ray` (starts a Ray cluster here), or `ray:ADDRESS` (joins one).
        make: Picklable factory, called in each worker, of the function that does a job.
        root: Absolute path of the folder that all workers write to.
        workers: Number of processes.
        timeout_s: Timeout of a job, or a function of the job.
        jobs_per_worker: Jobs after which a worker is replaced.

    Raises:
        ClevrSkillsError: The Ray cluster cannot be joined.
    """
    kind, _, address = driver.partition(":")
    if kind == "ray":
        from clevrskills.jobs.ray_workers import RayActors

        actors = RayActors(make, root, workers, address or None)
        return WorkerPool(actors, workers, timeout_s, jobs_per_worker)
    return WorkerPool(Processes(make), workers, timeout_s, jobs_per_worker)
