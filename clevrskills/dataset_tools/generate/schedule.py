"""Schedule of seeds, which gives the same episodes for any number of workers.

Slot k of a run with first seed S has the seed S + k. If that fails, its substitutes are the seeds
S + k + j * 10,000,000 for j = 1, 2, ... So the result of a slot depends on its seeds only.
"""

import os
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from clevrskills.core.episode import ATTEMPTS, SUBSTITUTE, RecordedName
from clevrskills.dataset_tools.manifest import Attempt, read_manifest
from clevrskills.dataset_tools.storage import packed_episodes
from clevrskills.jobs.files import storage_errors

MIN_FAILURES = 20
"""Failures after which a task is given up, unless more episodes were requested."""


@dataclass
class TaskQueue:
    """Slots of one task in order; substitutes come before untried slots.

    Args:
        task: Key of the task.
        level: Level of the task.
        split: Split of the episodes.
        slots: Slots to fill.
        first_seed: Seed of slot 0.
        seeds_of_slots: Seed of each slot for frozen episodes, which have no substitutes.
        present: Seeds of existing episodes.
        history: Last attempts of earlier runs, by seed and success.

    Attributes:
        succeeded: Successful attempts of all runs.
        failed: Failed attempts of all runs.
        ended: Finished attempts of this run.
        pending: Number of running attempts.
    """

    task: str
    level: str
    split: str
    slots: range
    first_seed: int
    seeds_of_slots: tuple[int, ...] = ()
    present: set[int] = field(default_factory=set)
    history: dict[tuple[int, bool], Attempt] = field(default_factory=dict)
    succeeded: list[Attempt] = field(default_factory=list, init=False)
    failed: list[Attempt] = field(default_factory=list, init=False)
    ended: list[Attempt] = field(default_factory=list, init=False)
    pending: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._fresh = iter(self.slots)
        self._requeued: deque[Attempt] = deque()

    @property
    def exhausted(self) -> bool:
        """``True`` if too many attempts failed."""
        return len(self.failed) > max(MIN_FAILURES, len(self.slots))

    @property
    def complete(self) -> bool:
        """``True`` if all episodes exist."""
        return len(self.succeeded) == len(self.slots)

    def next(self) -> Attempt | None:
        """Return the next attempt, ``None`` if there is none for now."""
        while not self.exhausted:
            if self._requeued:
                attempt = self._requeued.popleft()
            elif (slot := next(self._fresh, None)) is not None:
                attempt = self._attempt(slot, 0)
            else:
                return None
            present = attempt.seed in self.present
            ended = self.history.get((attempt.seed, present))
            if ended is None:  # to run, or to add to the manifest
                self.pending += 1
                return attempt
            self._sort(ended, attempt)
        return None

    def requeue(self, attempt: Attempt) -> None:
        """Put back an attempt that did not finish."""
        self.pending -= 1
        self._requeued.appendleft(attempt)

    def finish(self, attempt: Attempt) -> None:
        """Count a finished attempt; its hashes are dropped."""
        self.pending -= 1
        attempt = replace(attempt, files={})
        self.ended.append(attempt)
        self._sort(attempt, attempt)

    def _sort(self, ended: Attempt, attempt: Attempt) -> None:
        """Count the outcome of an attempt's seed, in this or an earlier run."""
        (self.succeeded if ended.success else self.failed).append(ended)
        if not ended.success and attempt.number + 1 < ATTEMPTS and not self.seeds_of_slots:
            self._requeued.append(self._attempt(attempt.slot, attempt.number + 1))

    def _attempt(self, slot: int, number: int) -> Attempt:
        seeds = self.seeds_of_slots
        seed = seeds[slot] if seeds else self.first_seed + slot + number * SUBSTITUTE
        return Attempt(self.task, self.split, seed, slot, number)


def next_attempt(queues: Iterable[TaskQueue]) -> Attempt | None:
    """Return the next attempt of the first task that has one, so that environments are reused."""
    return next((attempt for queue in queues if (attempt := queue.next())), None)


def read_history(root: Path, queues: Iterable[TaskQueue]) -> None:
    """Read existing episodes and attempts of the tasks into their queues.

    Raises:
        DatasetError: A line of the manifest is damaged.
        StorageError: A folder cannot be read.
    """
    by_task = {(queue.task, queue.split): queue for queue in queues}
    for queue in by_task.values():
        queue.present = _seeds(root / queue.task, queue.split)
    for name in map(RecordedName.parse, packed_episodes(root)):
        if (name.task, name.split) in by_task:
            by_task[name.task, name.split].present.add(name.seed)
    for attempt in read_manifest(root):
        key = attempt.task, attempt.split
        if key in by_task:
            bare = replace(attempt, files={}, times_s={})
            by_task[key].history[attempt.seed, attempt.success] = bare


def _seeds(folder: Path, split: str) -> set[int]:
    """Return the seeds of the episodes in a task's folder."""
    name = re.compile(rf"{re.escape(split)}_(\d{{8,}})")
    with storage_errors(folder):
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return set()
    return {int(match[1]) for match in map(name.fullmatch, names) if match}
