"""Worker processes of which any may die at any time, at the cost of the one job it was doing."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, Protocol, TypeVar

from clevrskills.errors import ClevrSkillsError

Job = TypeVar("Job")
Result = TypeVar("Result")
_THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class WorkerDied:
    """The process that did a job ended without an answer.

    Attributes:
        reason: How it ended.
    """

    reason: str


@dataclass(frozen=True)
class Done(Generic[Job, Result]):
    """The answer to a job, or why its worker died."""

    job: Job
    result: Result | WorkerDied


class Pool(Protocol[Job, Result]):
    """Where jobs are done."""

    @property
    def idle(self) -> int:
        """How many jobs can be submitted now."""

    @property
    def busy(self) -> int:
        """How many jobs are being done."""

    def submit(self, job: Job) -> None:
        """Start a job; only while :attr:`idle` is positive."""

    def next(self) -> Done[Job, Result]:
        """Wait for a job to end; only while :attr:`busy` is positive."""

    def close(self) -> None:
        """End all workers, whatever they do."""


class InlinePool(Generic[Job, Result]):
    """Does one job at a time in this process.

    Args:
        make: Builds the function that does the jobs.
    """

    def __init__(self, make: Callable[[], Callable[[Job], Result]]) -> None:
        self._run = make()
        self._jobs: deque[Job] = deque()

    @property
    def idle(self) -> int:  # noqa: D102
        return 1 - len(self._jobs)

    @property
    def busy(self) -> int:  # noqa: D102
        return len(self._jobs)

    def submit(self, job: Job) -> None:  # noqa: D102
        self._jobs.append(job)

    def next(self) -> Done[Job, Result]:  # noqa: D102
        job = self._jobs.popleft()
        return Done(job, self._run(job))

    def close(self) -> None:  # noqa: D102
        self._jobs.clear()


@dataclass
class _Worker(Generic[Job]):
    process: BaseProcess
    connection: Connection
    job: Job | None = None


class ProcessPool(Generic[Job, Result]):
    """Does jobs in ``workers`` spawned processes, each with one thread for numerics.

    Args:
        make: Builds, in each worker, the function that does the jobs; picklable. A
            ``ClevrSkillsError`` of either is raised by :meth:`next`; after another exception the
            worker is dead.
        workers: Number of processes.
    """

    def __init__(self, make: Callable[[], Callable[[Job], Result]], workers: int) -> None:
        self._make = make
        self._size = workers
        self._workers: list[_Worker[Job]] = []

    @property
    def idle(self) -> int:  # noqa: D102
        return self._size - self.busy

    @property
    def busy(self) -> int:  # noqa: D102
        return sum(worker.job is not None for worker in self._workers)

    def submit(self, job: Job) -> None:  # noqa: D102
        free = next((w for w in self._workers if w.job is None and w.process.is_alive()), None)
        worker = free or self._start()
        worker.job = job
        with contextlib.suppress(BrokenPipeError):  # it just died: next() reports it
            worker.connection.send(job)

    def next(self) -> Done[Job, Result]:  # noqa: D102
        busy = {w.connection: w for w in self._workers if w.job is not None}
        ready = wait(list(busy))
        worker = busy[ready[0]]  # type: ignore[index]
        job, worker.job = worker.job, None
        assert job is not None
        try:
            kind, value = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            return Done(job, self._bury(worker))
        if kind == "error":
            raise ClevrSkillsError(value)
        return Done(job, value)

    def close(self) -> None:  # noqa: D102
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(timeout=5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.connection.close()
        self._workers = []

    def _start(self) -> _Worker[Job]:
        self._workers = [w for w in self._workers if w.job is not None or w.process.is_alive()]
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._make), daemon=True)
        with _for_children():
            process.start()
        theirs.close()
        worker: _Worker[Job] = _Worker(process, mine)
        self._workers.append(worker)
        return worker

    def _bury(self, worker: _Worker[Job]) -> WorkerDied:
        worker.process.join()
        worker.connection.close()
        self._workers.remove(worker)
        code = worker.process.exitcode or 0
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return WorkerDied(f"worker died ({how})")


@contextlib.contextmanager
def _for_children() -> Iterator[None]:
    """Processes started here do not get Ctrl-C (this one ends them) and use one thread each."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(_THREADS)
    resource_tracker.ensure_running()  # starting it later would unblock the signal
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(connection: Connection, make: Callable[[], Callable[[Any], Any]]) -> None:
    """Do jobs until the other side closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        run = make()
        while True:
            connection.send(("result", run(connection.recv())))
    except (EOFError, BrokenPipeError):
        return
    except ClevrSkillsError as error:
        connection.send(("error", str(error)))


def _end_with_parent() -> None:
    """A worker whose parent was killed must not go on writing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
