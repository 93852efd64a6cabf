import random

import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import ATTEMPTS, SUBSTITUTE
from clevrskills.dataset_tools.generate.schedule import (
    MIN_FAILURES,
    Attempt,
    History,
    TaskQueue,
    next_attempt,
)


def make_queue(slots: range, history: History | None = None, first_seed: int = 0) -> TaskQueue:
    return TaskQueue(EnvConfig("sort", "train"), "L1", slots, first_seed, history or History())


def succeeds(seed: int) -> bool:
    """Seeds 1, 4, 7 ... fail, and the first substitutes of 4, 13, 22 ... too."""
    number, base = divmod(seed, SUBSTITUTE)
    return base % 3 != 1 or number > 1 or (number == 1 and base % 9 != 4)


def end(queue: TaskQueue, attempt: Attempt) -> None:
    queue.ended(attempt, "" if succeeds(attempt.seed) else "skill", 5)


def work_off(queue: TaskQueue) -> list[Attempt]:
    made = []
    while attempt := queue.next():
        made.append(attempt)
        end(queue, attempt)
    return made


@pytest.mark.parametrize("workers", [1, 2, 5, 50])
@pytest.mark.parametrize("order", range(5))
def test_seeds_do_not_depend_on_workers_order_or_interruptions(workers: int, order: int) -> None:
    shuffle = random.Random(order)
    history = History()
    for run in range(3):  # interrupted after a few attempts, but for the last
        queue, works = make_queue(range(10), history, first_seed=7), []
        for _ in range(shuffle.randrange(12) if run < 2 else 100):
            while len(works) < workers and (attempt := queue.next()):
                works.append(attempt)
            if not works:
                break
            attempt = works.pop(shuffle.randrange(len(works)))
            if shuffle.random() < 0.2:
                queue.requeue(attempt)  # its worker died
            else:
                assert attempt.seed not in history.present | set(history.failed)
                end(queue, attempt)
    assert queue.complete and queue.pending == 0
    usual = {8, 9, 11, 12, 14, 15} | {10_000_000 + seed for seed in (7, 10, 16)}
    assert history.present == set(queue.succeeded) == usual | {20_000_013}
    assert set(history.failed) == set(queue.failed) == {7, 10, 13, 16, 10_000_013}


def test_shards_share_the_slots() -> None:
    whole = {a.seed: a for a in work_off(make_queue(range(10)))}
    parts = [work_off(make_queue(range(i, 10, 3))) for i in range(3)]
    assert {a.slot % 3 for a in parts[1]} == {1}
    assert sorted(a.seed for part in parts for a in part) == sorted(whole)
    assert all(whole[a.seed] == a for part in parts for a in part)


def test_an_attempt_says_which_one_it_is() -> None:
    queue = make_queue(range(5), first_seed=100)
    attempts = {a.seed: (a.slot, a.number) for a in work_off(queue)}
    assert attempts[100] == (0, 0)
    assert attempts[103] == (3, 0) and attempts[10_000_103] == (3, 1)
    assert next(iter(attempts)) == 100 and queue.next() is None


def test_what_is_there_counts_only_with_its_line() -> None:
    history = History(present={0, 1, 3}, steps={0: 5, 2: 5, 3: 5}, failed={3: "timeout"})
    queue = make_queue(range(4), history)
    made = [attempt.seed for attempt in (queue.next(), queue.next()) if attempt]
    assert made == [1, 2]  # one without a line, one without a folder
    for seed, slot in ((1, 1), (2, 2)):
        queue.ended(Attempt(queue.config, seed, slot), "", 5)
    assert queue.next() is None
    assert sorted(queue.succeeded) == [0, 1, 2, 3] and queue.failed == []


def test_gives_a_task_up_after_many_failures() -> None:
    queue, attempts = make_queue(range(100)), 0
    while attempt := queue.next():
        attempts += 1
        queue.ended(attempt, "skill", 5)
    assert queue.exhausted and not queue.complete
    assert attempts == 101
    again = make_queue(range(100), queue.history)
    assert again.next() is None and again.exhausted
    assert MIN_FAILURES < 100


def test_gives_a_slot_up_after_some_attempts_but_not_the_others() -> None:
    queue, tried = make_queue(range(50)), []
    while attempt := queue.next():
        hopeless = attempt.slot == 3
        tried += [attempt.seed] * hopeless
        queue.ended(attempt, "skill" if hopeless else "", 5)
    assert tried == [3 + j * SUBSTITUTE for j in range(ATTEMPTS)]
    assert len(queue.succeeded) == 49 and not queue.complete and not queue.exhausted
    assert max(tried) < 2**31  # simulators take no larger seeds


def test_tasks_come_one_after_the_other() -> None:
    queues = [make_queue(range(2)), make_queue(range(1))]
    order = []
    while attempt := next_attempt(queues):
        order.append((attempt.slot, [queue.pending for queue in queues]))
    assert order == [(0, [1, 0]), (1, [2, 0]), (0, [2, 1])]
