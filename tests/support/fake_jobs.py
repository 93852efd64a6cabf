"""Jobs for worker processes, of which some end badly, and a pool without processes."""

import os
import signal
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.pool import Done


def work(job: str) -> str | tuple[str | None, int]:
    if job == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "exit":
        os._exit(3)
    if job == "error":
        raise ClevrSkillsError("the disk is full")
    if job == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if job == "hang":
        time.sleep(3600)
    if job.startswith("where"):
        return os.environ.get("OMP_NUM_THREADS"), os.getpid()
    return job.upper()


def make_work() -> Callable[[str], object]:
    return work


def make_nothing() -> Callable[[str], object]:
    raise ClevrSkillsError("no renderer")


def make_death() -> Callable[[str], object]:
    os._exit(4)


class InlinePool:
    """Does one job at a time in this process: quick, and what is patched here counts."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._run = make()
        self._jobs: deque[Any] = deque()

    @property
    def idle(self) -> int:
        return 1 - len(self._jobs)

    @property
    def busy(self) -> int:
        return len(self._jobs)

    def submit(self, job: Any) -> None:
        self._jobs.append(job)

    def next(self) -> Done:
        job = self._jobs.popleft()
        return Done(job, self._run(job))

    def close(self) -> None:
        self._jobs.clear()
