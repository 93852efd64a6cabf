"""Work loop: keeps a worker pool busy from a queue of jobs, with one rule for workers that die."""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, Generic

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

DEATHS, KILLS = 3, 10
"""Workers that may die of a job by themselves, or be killed from outside while at it, until it is
given up, unless the queue says otherwise."""


class JobQueue(ABC, Generic[Job, Result]):
    """Jobs that are to be done, and what becomes of them.

    Args:
        jobs: The first ones.

    Attributes:
        waiting: Jobs that are not handed out yet.
        deaths: How many workers may die of a job by themselves until it is given up.
        kills: How many may be killed from outside while at it.
        timeouts: How often it may time out.
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
        """Take a job back whose worker came to an end."""
        self.waiting.append(job)

    @abstractmethod
    def finish(self, job: Job, result: Result) -> None:
        """Take the result of a job.

        Raises:
            ClevrSkillsError: It makes no sense to go on.
        """

    @abstractmethod
    def give_up(self, job: Job, end: WorkerDied | TimedOut) -> None:
        """Take note of how the last worker of a job came to an end; nobody does it any more.

        Raises:
            ClevrSkillsError: It makes no sense to go on.
        """

    def update(self) -> None:
        """Take note that all that can be handed out is, before waiting for a result."""


def work(queue: JobQueue[Job, Result], start_pool: Callable[[], Pool[Job, Result]]) -> None:
    """Keep a pool busy until a queue has nothing left.

    A job whose worker came to an end is handed out again, as often as the queue allows.

    Args:
        queue: The jobs.
        start_pool: Starts the pool; it is not started if there is nothing to do.

    Raises:
        ClevrSkillsError: It makes no sense to go on.
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
        driver: `local`, `ray` (a Ray cluster that is started here), or `ray:ADDRESS` (one that
            runs).
        make: Builds, in each worker, the function that does the jobs; picklable.
        root: The folder that all workers write to, an absolute path.
        workers: Number of processes.
        timeout_s: Time after which a job is ended; a number, or a function of the job.
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
