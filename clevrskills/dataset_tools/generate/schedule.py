"""Schedule: which seed of which task comes next; the same episodes for any number of workers.

An episode asked for is a slot: slot k of a run that starts at seed S is the seed S + k. If that
fails, its substitutes are the seeds S + k + j * 10,000,000 for j = 1, 2, ... So what becomes of a
slot depends on nothing but its seeds: not on other slots, nor on who does it when.
"""

import os
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import ATTEMPTS, SUBSTITUTE, episode_id
from clevrskills.dataset_tools.manifest import read_manifest
from clevrskills.jobs.files import storage_errors

MIN_FAILURES = 20
"""A task is given up when more attempts fail than this, and than episodes were asked for."""


@dataclass
class History:
    """What is there of one task in one split."""

    present: set[int] = field(default_factory=set)  # seeds with an episode
    # length of the episodes that have a line in the manifest, by seed
    steps: dict[int, int] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)  # kind of failure of the seeds that failed


@dataclass(frozen=True)
class Attempt:
    """One seed to try."""

    config: EnvConfig  # what the environment is made from
    seed: int
    slot: int = 0  # which of the episodes asked for it is to be
    number: int = 0  # 0, or how many seeds of the slot have failed before
    frozen: bool = False  # whether it is of the frozen episode with this seed

    @property
    def id(self) -> str:
        """Name of the episode within the dataset."""
        return episode_id(self.config.task, self.config.split, self.seed)


@dataclass
class TaskQueue:
    """The slots of one task, in order; substitutes come before what was not tried yet.

    Args:
        config: What the environment is made from.
        level: Level of the task.
        slots: The slots that are to be filled.
        first_seed: Seed of slot 0.
        history: What is there already; it is kept up to date.
        seeds_of_slots: Of frozen episodes the seed of each slot; there are no substitutes then.

    Attributes:
        succeeded: Seeds of the episodes that are there.
        failed: Seeds that failed, in earlier runs or in this one.
    """

    config: EnvConfig
    level: str
    slots: range
    first_seed: int
    history: History = field(default_factory=History)
    seeds_of_slots: tuple[int, ...] = ()
    succeeded: list[int] = field(default_factory=list, init=False)
    failed: list[int] = field(default_factory=list, init=False)
    pending: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._fresh = iter(self.slots)
        self._requeued: deque[Attempt] = deque()

    @property
    def exhausted(self) -> bool:
        """Whether so many attempts failed that more of them make no sense."""
        return len(self.failed) > max(MIN_FAILURES, len(self.slots))

    @property
    def complete(self) -> bool:
        """Whether all episodes are there."""
        return len(self.succeeded) == len(self.slots)

    def next(self) -> Attempt | None:
        """The next attempt, ``None`` if there is none for now."""
        while not self.exhausted:
            if self._requeued:
                attempt = self._requeued.popleft()
            elif (slot := next(self._fresh, None)) is not None:
                attempt = self._attempt(slot, 0)
            else:
                return None
            seed = attempt.seed
            if seed not in self.history.present and seed in self.history.failed:
                self._fail(attempt)
            elif seed in self.history.present and seed in self.history.steps:
                self.succeeded.append(seed)
            else:  # to be made, or to be entered into the manifest
                self.pending += 1
                return attempt
        return None

    def requeue(self, attempt: Attempt) -> None:
        """Take an attempt back that came to no end."""
        self.pending -= 1
        self._requeued.appendleft(attempt)

    def ended(self, attempt: Attempt, kind: str, steps: int) -> None:
        """Take note of how an attempt ended; ``kind`` is that of the failure, empty on success."""
        self.pending -= 1
        if kind:
            self.history.failed[attempt.seed] = kind
            self._fail(attempt)
        else:
            self.history.present.add(attempt.seed)
            self.history.steps[attempt.seed] = steps
            self.succeeded.append(attempt.seed)

    def _fail(self, attempt: Attempt) -> None:
        self.failed.append(attempt.seed)
        if attempt.number + 1 < ATTEMPTS and not self.seeds_of_slots:
            self._requeued.append(self._attempt(attempt.slot, attempt.number + 1))

    def _attempt(self, slot: int, number: int) -> Attempt:
        if self.seeds_of_slots:
            return Attempt(self.config, self.seeds_of_slots[slot], slot, frozen=True)
        return Attempt(self.config, self.first_seed + slot + number * SUBSTITUTE, slot, number)


def next_attempt(queues: Iterable[TaskQueue]) -> Attempt | None:
    """The next attempt of the first task that has one, so that environments are kept long."""
    return next((attempt for queue in queues if (attempt := queue.next())), None)


def read_history(root: Path, tasks: Iterable[str], split: str) -> dict[str, History]:
    """What is there of some tasks.

    Raises:
        DatasetError: A line of the manifest cannot be read.
        StorageError: A folder cannot be read.
    """
    found = {task: History(_seeds(root / task, split)) for task in tasks}
    for line in read_manifest(root):
        if line.split != split or line.task not in found:
            continue
        history = found[line.task]
        if line.success:
            history.steps[line.seed] = line.steps
        else:
            history.failed[line.seed] = line.kind
    return found


def _seeds(folder: Path, split: str) -> set[int]:
    """Seeds of the episodes in a task's folder."""
    name = re.compile(rf"{re.escape(split)}_(\d{{8,}})")
    with storage_errors(folder):
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return set()
    return {int(match[1]) for match in map(name.fullmatch, names) if match}
