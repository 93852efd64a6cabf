"""The work loop: jobs whose workers die."""

from collections import Counter
from typing import Any

import pytest

from clevrskills.jobs.pool import Done, TimedOut, WorkerDied
from clevrskills.jobs.work import DEATHS, KILLS, JobQueue, work

ENDS: dict[str, Any] = {
    "die": WorkerDied("exit code 1"),
    "killed": WorkerDied("out of memory", killed=True),
    "hang": TimedOut(2.0),
}


class FakePool:
    """Two workers that do a job, or come to an end by it, as its name says."""

    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.closed = False

    @property
    def idle(self) -> int:
        return 2 - len(self.jobs)

    @property
    def busy(self) -> int:
        return len(self.jobs)

    def submit(self, job: str) -> None:
        assert self.idle
        self.jobs.append(job)

    def next(self) -> Done:
        job = self.jobs.pop(0)
        return Done(job, ENDS.get(job, job.upper()))

    def close(self) -> None:
        self.closed = True


class Words(JobQueue[str, str]):
    """Takes down what becomes of its jobs."""

    def __init__(self, *jobs: str) -> None:
        super().__init__(jobs)
        self.results: list[str] = []
        self.given_up: dict[str, str] = {}
        self.requeued: Counter[str] = Counter()

    def requeue(self, job: str) -> None:
        self.requeued[job] += 1
        super().requeue(job)

    def finish(self, job: str, result: str) -> None:
        self.results.append(result)

    def give_up(self, job: str, end: WorkerDied | TimedOut) -> None:
        self.given_up[job] = end.reason


def test_a_job_is_given_up_after_so_many_ends_of_a_kind() -> None:
    pool, queue = FakePool(), Words("a", "die", "killed", "hang", "b")
    work(queue, lambda: pool)
    assert sorted(queue.results) == ["A", "B"]
    assert queue.given_up == {
        "die": "exit code 1",
        "killed": "out of memory",
        "hang": "not done after 2 s",
    }
    assert queue.requeued == {"die": DEATHS - 1, "killed": KILLS - 1}
    assert pool.closed


def test_a_queue_may_have_its_jobs_time_out_more_often() -> None:
    queue = Words("hang")
    queue.timeouts = 4
    work(queue, FakePool)
    assert queue.requeued == {"hang": 3}


def test_no_pool_is_started_for_nothing() -> None:
    work(Words(), lambda: pytest.fail("started"))


def test_an_error_closes_the_pool() -> None:
    class Strict(Words):
        def finish(self, job: str, result: str) -> None:
            raise ValueError(result)

    pool = FakePool()
    with pytest.raises(ValueError, match="A"):
        work(Strict("a", "b"), lambda: pool)
    assert pool.closed
