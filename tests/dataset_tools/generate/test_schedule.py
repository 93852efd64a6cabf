import random
from collections.abc import Iterable

import pytest

from clevrskills.core.episode import ATTEMPTS, SUBSTITUTE
from clevrskills.dataset_tools.generate.schedule import MIN_FAILURES, TaskQueue, next_attempt
from clevrskills.dataset_tools.manifest import Attempt


def make_queue(slots: range, earlier: Iterable[Attempt] = (), first_seed: int = 0) -> TaskQueue:
    history = {(attempt.seed, attempt.success): attempt for attempt in earlier}
    present = {attempt.seed for attempt in earlier if attempt.success}
    return TaskQueue("sort", "L1", "train", slots, first_seed, (), present, history)


def seeds_of(attempts: Iterable[Attempt]) -> set[int]:
    return {attempt.seed for attempt in attempts}


def succeeds(seed: int) -> bool:
    """Seeds 1, 4, 7 ... fail, and the first substitutes of 4, 13, 22 ... too."""
    number, base = divmod(seed, SUBSTITUTE)
    return base % 3 != 1 or number > 1 or (number == 1 and base % 9 != 4)


def end(queue: TaskQueue, attempt: Attempt) -> None:
    queue.finish(attempt.end("" if succeeds(attempt.seed) else "skill", steps=5))


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
    earlier: list[Attempt] = []
    for run in range(3):  # interrupted after a few attempts, but for the last
        queue, works = make_queue(range(10), earlier, first_seed=7), []
        for _ in range(shuffle.randrange(12) if run < 2 else 100):
            while len(works) < workers and (attempt := queue.next()):
                works.append(attempt)
            if not works:
                break
            attempt = works.pop(shuffle.randrange(len(works)))
            if shuffle.random() < 0.2:
                queue.requeue(attempt)  # its worker died
            else:
                assert attempt.seed not in seeds_of(earlier)
                end(queue, attempt)
                earlier.append(queue.ended[-1])
    assert queue.complete and queue.pending == 0
    usual = {8, 9, 11, 12, 14, 15} | {10_000_000 + seed for seed in (7, 10, 16)}
    failed = {7, 10, 13, 16, 10_000_013}
    assert seeds_of(queue.succeeded) == usual | {20_000_013}
    assert seeds_of(queue.failed) == failed
    assert seeds_of(earlier) == usual | {20_000_013} | failed


def test_shards_share_the_slots() -> None:
    whole = {a.seed: a for a in work_off(make_queue(range(10)))}
    parts = [work_off(make_queue(range(i, 10, 3))) for i in range(3)]
    assert {a.slot % 3 for a in parts[1]} == {1}
    assert sorted(a.seed for part in parts for a in part) == sorted(whole)
    assert all(whole[a.seed] == a for part in parts for a in part)


def test_an_attempt_has_its_slot_and_number() -> None:
    queue = make_queue(range(5), first_seed=100)
    attempts = {a.seed: (a.slot, a.number) for a in work_off(queue)}
    assert attempts[100] == (0, 0)
    assert attempts[103] == (3, 0) and attempts[10_000_103] == (3, 1)
    assert next(iter(attempts)) == 100 and queue.next() is None


def test_a_folder_counts_only_with_its_manifest_line() -> None:
    ended = [Attempt("sort", "train", seed, seed).end() for seed in (0, 2, 3)]
    queue = make_queue(range(4), [*ended, Attempt("sort", "train", 3, 3).end("timeout")])
    queue.present = {0, 1, 3}
    made = [attempt.seed for attempt in (queue.next(), queue.next()) if attempt]
    assert made == [1, 2]  # one without a line, one without a folder
    for seed, slot in ((1, 1), (2, 2)):
        queue.finish(Attempt("sort", "train", seed, slot).end())
    assert queue.next() is None
    assert seeds_of(queue.succeeded) == {0, 1, 2, 3} and queue.failed == []


def test_gives_a_task_up_after_many_failures() -> None:
    queue, attempts = make_queue(range(100)), 0
    while attempt := queue.next():
        attempts += 1
        queue.finish(attempt.end("skill"))
    assert queue.exhausted and not queue.complete
    assert attempts == 101
    again = make_queue(range(100), queue.ended)
    assert again.next() is None and again.exhausted
    assert MIN_FAILURES < 100


def test_gives_a_slot_up_after_some_attempts_but_not_the_others() -> None:
    queue, tried = make_queue(range(50)), []
    while attempt := queue.next():
        hopeless = attempt.slot == 3
        tried += [attempt.seed] * hopeless
        queue.finish(attempt.end("skill" if hopeless else ""))
    assert tried == [3 + j * SUBSTITUTE for j in range(ATTEMPTS)]
    assert len(queue.succeeded) == 49 and not queue.complete and not queue.exhausted
    assert max(tried) < 2**31  # simulators take no larger seeds


def test_tasks_come_one_after_the_other() -> None:
    queues = [make_queue(range(2)), make_queue(range(1))]
    order = []
    while attempt := next_attempt(queues):
        order.append((attempt.slot, [queue.pending for queue in queues]))
    assert order == [(0, [1, 0]), (1, [2, 0]), (0, [2, 1])]
