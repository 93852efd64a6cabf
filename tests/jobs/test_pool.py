import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator

import pytest
from fake_jobs import make_death, make_nothing, make_work

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.pool import TimedOut, WorkerDied, WorkerPool
from clevrskills.jobs.processes import Processes


@contextlib.contextmanager
def pool_of(workers: int, make: Callable = make_work, **options: object) -> Iterator[WorkerPool]:
    with contextlib.closing(WorkerPool(Processes(make), workers, **options)) as pool:  # type: ignore[arg-type]
        yield pool


def test_processes_answer_and_may_die() -> None:
    jobs = ["a", "kill", "b", "exit", "interrupt", "c"]
    results = {}
    with pool_of(2) as pool:
        assert (pool.idle, pool.busy) == (2, 0)
        while jobs or pool.busy:
            while jobs and pool.idle:
                pool.submit(jobs.pop(0))
            assert pool.idle + pool.busy == 2
            done = pool.next()
            results[done.job] = done.result
    assert results == {
        "a": "A",
        "b": "B",
        "c": "C",
        "interrupt": "INTERRUPT",  # Ctrl-C is the parent's business
        "kill": WorkerDied("worker died (killed by SIGKILL)", killed=True),
        "exit": WorkerDied("worker died (exit code 3)"),
    }


def test_a_job_is_not_lost_when_its_worker_dies_before_it_starts() -> None:
    with pool_of(1) as pool:
        pool.submit("a")
        assert pool.next().result == "A"
        (process,) = multiprocessing.active_children()
        process.kill()
        process.join()
        pool.submit("b")
        done = pool.next()
        assert (done.job, done.result) == ("b", WorkerDied("worker died (killed by SIGKILL)", True))
        pool.submit("b")
        assert pool.next().result == "B"


def test_a_job_that_takes_too_long_is_ended_with_its_worker() -> None:
    with pool_of(1, timeout_s=0.5) as pool:
        pool.submit("hang")
        done = pool.next()
        assert (done.job, done.result) == ("hang", TimedOut(0.5))
        assert multiprocessing.active_children() == []
        pool.submit("a")
        assert pool.next().result == "A"


def test_the_limit_may_depend_on_the_job() -> None:
    with pool_of(2, timeout_s={"hang": 0.5, "a": 3600.0}.__getitem__) as pool:
        for job in ("a", "hang"):
            pool.submit(job)
        found = {done.job: done.result for done in (pool.next(), pool.next())}
    assert found == {"a": "A", "hang": TimedOut(0.5)}


def test_workers_are_replaced_after_some_jobs() -> None:
    pids = []
    with pool_of(1, jobs_per_worker=2) as pool:
        for number in range(4):
            pool.submit(f"where {number}")
            pids.append(pool.next().result[1])
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_workers_have_one_thread_and_are_ended() -> None:
    before = os.environ.get("OMP_NUM_THREADS")
    with pool_of(1) as pool:
        pool.submit("where")
        threads, pid = pool.next().result
        assert threads == "1"
        assert os.environ.get("OMP_NUM_THREADS") == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (make_work, "the disk is full"),
        (make_nothing, "no renderer"),
        (make_death, r"workers die at start: worker died \(exit code 4\)"),
    ],
)
def test_errors_for_the_user_reach_the_parent(make: Callable, message: str) -> None:
    with pool_of(1, make) as pool:
        pool.submit("error")
        with pytest.raises(ClevrSkillsError, match=message):
            pool.next()
