import random

import pytest

from clevrskills.dataset_tools.schedule import MIN_FAILURES, TaskQueue, next_attempt
from clevrskills.dataset_tools.sources import Setup


def make_queue(episodes: int, done: set[int], failed: set[int], first_seed: int = 0) -> TaskQueue:
    return TaskQueue(Setup("sort"), "L1", episodes, first_seed, done.__contains__, failed)


def succeeds(seed: int) -> bool:
    return seed % 3 != 1


@pytest.mark.parametrize("workers", [1, 2, 5, 50])
@pytest.mark.parametrize("order", range(5))
def test_seeds_do_not_depend_on_workers_order_or_interruptions(workers: int, order: int) -> None:
    shuffle = random.Random(order)
    done, failed, tried = set[int](), set[int](), set[int]()
    for run in range(3):  # interrupted after a few attempts, but for the last
        queue, works = make_queue(10, done, set(failed), first_seed=7), []
        for _ in range(shuffle.randrange(12) if run < 2 else 100):
            while len(works) < workers and (attempt := queue.next()):
                assert attempt.seed not in tried - {a.seed for a in works}
                works.append(attempt)
            if not works:
                break
            attempt = works.pop(shuffle.randrange(len(works)))
            tried.add(attempt.seed)
            (done if succeeds(attempt.seed) else failed).add(attempt.seed)
            queue.ended(attempt, succeeds(attempt.seed))
    assert queue.complete
    assert done == {seed for seed in range(7, 22) if succeeds(seed)}
    assert len(done) == 10
    assert failed == {seed for seed in range(7, 22) if not succeeds(seed)}


def test_gives_up_after_many_failures() -> None:
    queue, attempts = make_queue(2, set(), set()), 0
    while attempt := queue.next():
        attempts += 1
        queue.ended(attempt, success=False)
    assert queue.exhausted and not queue.complete
    assert attempts == MIN_FAILURES + 1


def test_earlier_failures_count() -> None:
    queue = make_queue(2, set(), set(range(MIN_FAILURES + 1)))
    assert queue.next() is None
    assert queue.exhausted


def test_tasks_come_one_after_the_other() -> None:
    queues = [make_queue(2, set(), set()), make_queue(1, set(), set())]
    order = []
    while found := next_attempt(queues):
        order.append(queues.index(found[0]))
    assert order == [0, 0, 1]
