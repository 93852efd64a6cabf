"""Worker pool: a worker that dies loses only the job it was working on."""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from clevrskills.errors import ClevrSkillsError

JOBS_PER_WORKER = 200
"""Jobs after which a worker is restarted: simulators leak memory with every scene."""
STARTS = 5
"""Failed starts per worker after which the pool gives up."""

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ready:
    """Message of a worker that has started."""


@dataclass(frozen=True)
class JobResult:
    """Result of a job."""

    value: Any


@dataclass(frozen=True)
class Refusal:
    """Fatal error of a worker; ``reason`` is shown to the user."""

    reason: str


@dataclass(frozen=True)
class WorkerDied:
    """End of a worker process before it answered."""

    reason: str  # how it ended
    killed: bool = False  # whether another process killed it, or may have


@dataclass(frozen=True)
class TimedOut:
    """Timeout of a job, whose worker was killed."""

    limit_s: float

    @property
    def reason(self) -> str:
        """Reason of the failure, in words."""
        return f"not done after {self.limit_s:g} s"


Message = Ready | JobResult | Refusal | WorkerDied


@dataclass(frozen=True)
class Done(Generic[Job, Result]):
    """A job with its result, or the reason why there is none."""

    job: Job
    result: Result | WorkerDied | TimedOut


class Pool(Protocol[Job, Result]):
    """Pool of workers, or this process."""

    @property
    def idle(self) -> int:
        """Number of jobs that can be submitted now."""

    @property
    def busy(self) -> int:
        """Number of submitted jobs that have not ended."""

    def submit(self, job: Job) -> None:
        """Start a job; requires positive :attr:`idle`."""

    def next(self) -> Done[Job, Result]:
        """Wait for a job to end; requires positive :attr:`busy`.

        Raises:
            ClevrSkillsError: A worker met a fatal error, or workers keep dying at start.
        """

    def close(self) -> None:
        """Kill all workers."""


class InlinePool(Generic[Job, Result]):
    """Pool that runs jobs one by one in this process.

    Args:
        make: Factory of the function that does a job.
    """

    def __init__(self, make: Callable[[], Callable[[Job], Result]]) -> None:
        self._run = make()
        self._jobs: deque[Job] = deque()

    @property
    def idle(self) -> int:
        return 1 - len(self._jobs)

    @property
    def busy(self) -> int:
        return len(self._jobs)

    def submit(self, job: Job) -> None:
        self._jobs.append(job)

    def next(self) -> Done[Job, Result]:
        job = self._jobs.popleft()
        return Done(job, self._run(job))

    def close(self) -> None:
        self._jobs.clear()


class Driver(Protocol):
    """Backend that starts workers and talks to them; a worker is an opaque handle."""

    def start(self) -> Any:
        """Start a worker, which sends :class:`Ready` and ends when this process dies."""

    def send(self, worker: Any, job: Any) -> None:
        """Send a job to a ready worker; if it has died, :meth:`wait` reports it."""

    def wait(self, workers: Sequence[Any], timeout_s: float | None) -> tuple[Any, Message] | None:
        """Return the next message of any worker, ``None`` on timeout.

        :class:`Refusal` and :class:`WorkerDied` are the last messages of a worker.
        """

    def kill(self, worker: Any) -> None:
        """Kill a worker."""

    def close(self) -> None:
        """Release the driver's resources, after all workers were killed."""


@dataclass(eq=False)
class _Worker(Generic[Job]):
    handle: Any
    ready: bool = False
    job: Job | None = None
    started_s: float = 0.0
    done: int = 0


class WorkerPool(Generic[Job, Result]):
    """Pool of a driver's workers; replaces those that died or did ``jobs_per_worker`` jobs.

    Args:
        driver: Backend of the workers.
        workers: Maximum number of workers.
        timeout_s: Time after which a job's worker is killed, or a function of the job; ``None``:
            no timeout.
        jobs_per_worker: Jobs after which a worker is replaced.
    """

    def __init__(
        self,
        driver: Driver,
        workers: int,
        timeout_s: float | Callable[[Job], float] | None = None,
        jobs_per_worker: int = JOBS_PER_WORKER,
    ) -> None:
        self._driver = driver
        self._size = workers
        self._timeout_s = timeout_s
        self._jobs_per_worker = jobs_per_worker
        self._waiting: deque[Job] = deque()
        self._workers: list[_Worker[Job]] = []
        self._dead_starts = 0

    @property
    def idle(self) -> int:
        return self._size - self.busy

    @property
    def busy(self) -> int:
        return len(self._waiting) + sum(w.job is not None for w in self._workers)

    def submit(self, job: Job) -> None:
        self._waiting.append(job)
        self._assign()

    def next(self) -> Done[Job, Result]:
        while True:
            self._assign()
            found = self._driver.wait([w.handle for w in self._workers], self._patience_s())
            if found is None:
                done = self._end_overdue()
            else:
                worker = next(w for w in self._workers if w.handle is found[0])
                done = self._take(worker, found[1])
            if done is not None:
                return done

    def close(self) -> None:
        for worker in self._workers:
            self._driver.kill(worker.handle)
        self._workers = []
        self._waiting.clear()
        self._driver.close()

    def _assign(self) -> None:
        """Send waiting jobs to ready workers, and start workers for the others."""
        for worker in self._workers:
            if worker.ready and worker.job is None and self._waiting:
                worker.job, worker.started_s = self._waiting.popleft(), time.monotonic()
                self._driver.send(worker.handle, worker.job)
        starting = sum(not w.ready for w in self._workers)
        room = self._size - len(self._workers)
        for _ in range(min(room, len(self._waiting) - starting)):
            self._workers.append(_Worker(self._driver.start()))

    def _take(self, worker: _Worker[Job], message: Message) -> Done[Job, Result] | None:
        job = worker.job
        match message:
            case Ready():
                worker.ready, self._dead_starts = True, 0
                return None
            case JobResult(value):
                assert job is not None
                worker.job, worker.done = None, worker.done + 1
                if worker.done >= self._jobs_per_worker:
                    self._remove(worker)
                return Done(job, value)
            case Refusal(reason):
                raise ClevrSkillsError(reason)
        self._remove(worker)
        if not worker.ready:
            self._dead_starts += 1
            if self._dead_starts >= STARTS * self._size:
                raise ClevrSkillsError(f"workers die at start: {message.reason}")
        return None if job is None else Done(job, message)

    def _patience_s(self) -> float | None:
        """Return the time until the next timeout."""
        due_s = [w.started_s + self._limit_s(w.job) for w in self._workers if w.job is not None]
        if self._timeout_s is None or not due_s:
            return None
        return max(0.0, min(due_s) - time.monotonic())

    def _limit_s(self, job: Job) -> float:
        if self._timeout_s is None:
            return math.inf
        return self._timeout_s(job) if callable(self._timeout_s) else self._timeout_s

    def _end_overdue(self) -> Done[Job, Result] | None:
        for worker in self._workers:
            job, age_s = worker.job, time.monotonic() - worker.started_s
            if job is not None and age_s >= (limit_s := self._limit_s(job)):
                self._remove(worker)
                return Done(job, TimedOut(limit_s))
        return None

    def _remove(self, worker: _Worker[Job]) -> None:
        self._driver.kill(worker.handle)
        self._workers.remove(worker)
