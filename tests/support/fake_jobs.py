"""Jobs for worker processes, of which some end badly."""

import os
import signal
import time
from collections.abc import Callable

from clevrskills.errors import ClevrSkillsError


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
