"""Worker processes on this machine."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.pool import JobResult, Message, Ready, Refusal, WorkerDied

THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Environment variables of a worker: one thread for numerical libraries."""


@dataclass(frozen=True, eq=False)
class WorkerProcess:
    """Process with its connection."""

    process: BaseProcess
    connection: Connection


class Processes:
    """Driver of spawned processes, each with one thread for numerical libraries.

    A ``ClevrSkillsError`` of a worker is passed on to the pool; other exceptions end the worker.
    """

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._make = make

    def start(self) -> WorkerProcess:
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._make), daemon=True)
        with _for_children():
            process.start()
        theirs.close()
        return WorkerProcess(process, mine)

    def send(self, worker: WorkerProcess, job: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # it just died: wait() reports it
            worker.connection.send(job)

    def wait(
        self, workers: Sequence[WorkerProcess], timeout_s: float | None
    ) -> tuple[WorkerProcess, Message] | None:
        by_connection = {worker.connection: worker for worker in workers}
        ready = wait(list(by_connection), timeout_s)
        if not ready:
            return None
        worker = by_connection[ready[0]]  # type: ignore[index]
        try:
            return worker, worker.connection.recv()
        except (EOFError, OSError):  # it may die in the middle of a message
            return worker, _death_report(worker)

    def kill(self, worker: WorkerProcess) -> None:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()

    def close(self) -> None:
        pass


def _death_report(worker: WorkerProcess) -> WorkerDied:
    worker.process.join()
    code = worker.process.exitcode or 0
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return WorkerDied(f"worker died ({how})", killed=-code in (signal.SIGKILL, signal.SIGTERM))


@contextlib.contextmanager
def _for_children() -> Iterator[None]:
    """Start processes with one thread each and shielded from Ctrl-C, since this one ends them."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(THREADS)
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
    """Run jobs until the connection closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        run = make()
        connection.send(Ready())
        while True:
            connection.send(JobResult(run(connection.recv())))
    except (EOFError, BrokenPipeError):
        return
    except ClevrSkillsError as error:
        connection.send(Refusal(str(error)))


def _end_with_parent() -> None:
    """End this worker when its parent dies, so that it stops writing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
