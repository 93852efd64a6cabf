import multiprocessing
import os
from collections.abc import Callable

import pytest
from fake_jobs import make_nothing, make_work

from clevrskills.dataset_tools.pool import InlinePool, ProcessPool, WorkerDied
from clevrskills.errors import ClevrSkillsError


def test_inline() -> None:
    pool = InlinePool(make_work)
    assert (pool.idle, pool.busy) == (1, 0)
    pool.submit("a")
    assert (pool.idle, pool.busy) == (0, 1)
    done = pool.next()
    assert (done.job, done.result) == ("a", "A")
    assert (pool.idle, pool.busy) == (1, 0)


def test_processes_answer_and_may_die() -> None:
    pool = ProcessPool(make_work, workers=2)
    jobs = ["a", "kill", "b", "exit", "interrupt", "c"]
    results = {}
    try:
        while jobs or pool.busy:
            while jobs and pool.idle:
                pool.submit(jobs.pop(0))
            done = pool.next()
            results[done.job] = done.result
    finally:
        pool.close()
    assert results == {
        "a": "A",
        "b": "B",
        "c": "C",
        "interrupt": "INTERRUPT",  # Ctrl-C is the parent's business
        "kill": WorkerDied("worker died (killed by SIGKILL)"),
        "exit": WorkerDied("worker died (exit code 3)"),
    }


def test_a_job_is_not_lost_when_its_worker_dies_before_the_next_one_starts() -> None:
    pool = ProcessPool(make_work, workers=2)
    try:
        pool.submit("exit")
        (process,) = multiprocessing.active_children()
        process.join()
        pool.submit("a")
        assert {pool.next().job, pool.next().job} == {"exit", "a"}
    finally:
        pool.close()


def test_ctrl_c_does_not_reach_even_the_first_worker() -> None:
    pool = ProcessPool(make_work, workers=1)
    pool.submit("interrupt")
    try:
        assert pool.next().result == "INTERRUPT"
    finally:
        pool.close()


def test_workers_have_one_thread_and_are_ended() -> None:
    before = os.environ.get("OMP_NUM_THREADS")
    pool = ProcessPool(make_work, workers=1)
    pool.submit("where")
    threads, pid = pool.next().result
    assert threads == "1"
    assert os.environ.get("OMP_NUM_THREADS") == before
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("make", "message"), [(make_work, "the disk is full"), (make_nothing, "no renderer")]
)
def test_errors_for_the_user_reach_the_parent(make: Callable, message: str) -> None:
    pool = ProcessPool(make, workers=1)
    try:
        pool.submit("error")
        with pytest.raises(ClevrSkillsError, match=message):
            pool.next()
    finally:
        pool.close()
