"""Freeze queue: job queue of seeds that writes the files of frozen episodes.

The subfolder ``screening/`` has a journal of results for each task and split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from clevrskills.core.episode import FORMAT_VERSION, FRESH, FROZEN, FrozenHeader, Rejection
from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.freeze.candidates import (
    Candidate,
    Screening,
    ScreeningQueue,
    ScreeningResult,
)
from clevrskills.evaluation.freeze.frozen import write
from clevrskills.jobs.files import read_json, storage_errors, to_json, write_whole
from clevrskills.jobs.journal import read_lines
from clevrskills.jobs.pool import TimedOut, WorkerDied
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import versions
from clevrskills.jobs.work import DEATHS, KILLS

BENCHMARK = 1
"""Benchmark version of the frozen episodes."""
JOURNAL_DIR = "screening"
CONDITIONS_FILE = "conditions.json"
MIN_REJECTED = 20
"""Number of rejected seeds, at least the number of episodes, after which a task fails."""


@dataclass
class SeedQueue(Screening[Candidate, ScreeningResult]):
    """Screening of the seeds of one task and split."""

    robot: str
    suite: Suite
    secret: int | None = None  # seed of fresh episodes; ``None``: seeds of the benchmark
    head: FrozenHeader | None = field(default=None, init=False)  # header of the written file

    def _candidate(self, place: int) -> tuple[Candidate, int]:
        seed = FROZEN.start + place
        if self.secret is not None:
            of = np.random.default_rng((self.secret, crc32(self.task.encode()), place))
            seed = int(of.integers(FRESH.start, FRESH.stop))
        return Candidate(self.task, self.split, self.robot, seed), seed

    def _goes_on(self) -> bool:
        """Return ``True``, or raise an error after too many rejections."""
        rejected = self.rejected
        if len(rejected) > max(MIN_REJECTED, self.count):
            raise ClevrSkillsError(
                f"gave up on {self.task}, split {self.split}: {len(rejected)} of"
                f" {len(self.screened)} seeds are rejected, the last: {rejected[-1].reason}"
            )
        return True

    def write(self, root: Path) -> FrozenHeader:
        """Write the file of the accepted episodes.

        Raises:
            StorageError: Writing failed.
        """
        accepted, rejected = self.accepted, self.rejected
        limits = tuple(result.limit for result in accepted)
        head = FrozenHeader(
            task=self.task,
            split=self.split,
            robot=self.robot,
            episodes=self.count,
            max_steps=max(limits),
            oracle_steps=tuple(result.oracle_steps for result in accepted),
            rejected=tuple(Rejection(result.seed, result.reason) for result in rejected),
            versions=versions(),
            suite=self.suite.name,
            limits=limits,
            benchmark=BENCHMARK if self.secret is None else 0,
        )
        specs = [
            self.suite.read_episode({**(result.episode or {}), "index": i})
            for i, result in enumerate(accepted)
        ]
        write(root, head, specs)
        return head


def open_queues(
    root: Path,
    pairs: Sequence[tuple[str, str]],
    robot: str,
    count: int | None,
    suite: Suite,
    axes: Mapping[str, int] | None = None,
    secret: int | None = None,
) -> list[SeedQueue]:
    """Return the queues of tasks and splits, with the results of earlier commands.

    Raises:
        ClevrSkillsError: The folder was begun under other conditions, or a journal is damaged.
    """
    folder = root / JOURNAL_DIR
    with storage_errors(folder):
        folder.mkdir(exist_ok=True)
    conditions: dict[str, Any] = {"robot": robot, "format_version": FORMAT_VERSION}
    conditions |= {"versions": versions(), **({"axes": dict(axes)} if axes else {})}
    path = folder / CONDITIONS_FILE
    if not path.exists():
        write_whole(path, to_json(conditions, indent=1) + "\n")
    elif read_json(path) != conditions:
        raise ClevrSkillsError(
            f"{root} was begun with another robot or other versions or axes, see {path}; "
            "give another folder"
        )
    queues = []
    for task, split in pairs:
        journal = folder / f"{task}_{split}.jsonl"
        lines = read_lines(journal, ScreeningResult.from_json) if journal.exists() else ()
        known = {result.seed: result for result in lines}
        number = count or suite.tasks[task].splits[split]
        queues.append(SeedQueue(task, split, number, journal, known, robot, suite, secret))
    return queues


class FreezeQueue(ScreeningQueue[Candidate, ScreeningResult]):
    """Job queue of all tasks and splits; a file is written once its episodes are complete."""

    timeouts = DEATHS

    def __init__(self, queues: Sequence[SeedQueue], root: Path, display: Display) -> None:
        super().__init__(queues)
        self._queues, self._root, self._display = queues, root, display

    def finish(self, job: Candidate, result: ScreeningResult) -> None:
        self._by_name[job.task, job.split].enter(job.seed, result)

    def give_up(self, job: Candidate, end: WorkerDied | TimedOut) -> None:
        """Reject a seed that crashes its worker every time.

        Raises:
            ClevrSkillsError: The worker was killed from outside.
        """
        if isinstance(end, WorkerDied) and not end.killed:
            return self.finish(job, ScreeningResult(job.seed, end.reason))
        times = KILLS if isinstance(end, WorkerDied) else self.timeouts
        raise ClevrSkillsError(
            f"{job.task}, split {job.split}, seed {job.seed}: {end.reason}, {times} times"
        )

    def update(self) -> None:
        for queue in self._queues:
            if queue.head is None and len(queue.accepted) == queue.count:
                queue.head = queue.write(self._root)
                self._display.print(
                    f"{queue.task} {queue.split}: {queue.count} episodes of "
                    f"{len(queue.asked)} seeds"
                )
        self._display.update(sum(len(queue.accepted) for queue in self._queues))
