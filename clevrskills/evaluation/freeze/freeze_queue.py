"""Works off the seeds of frozen episodes: hands them to workers, keeps the verdicts, writes files.

In the folder, beside the files, ``screening/`` has the verdicts so far, one journal for each task
and split.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from clevrskills.core.episode import FROZEN
from clevrskills.dataset_tools.layout import versions
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.freeze.candidates import Candidate, Verdict
from clevrskills.evaluation.freeze.frozen import FORMAT_VERSION, Header, Rejection, write
from clevrskills.jobs.drivers import open_pool
from clevrskills.jobs.files import storage_errors, to_json, write_whole
from clevrskills.jobs.journal import Journal, read_lines
from clevrskills.jobs.pool import TimedOut, WorkerDied
from clevrskills.tasks import tasks

JOURNAL_DIR = "screening"
CONDITIONS_FILE = "conditions.json"
MIN_REJECTED = 20
"""A task is given up when more seeds are rejected than this, and than episodes were asked for."""
DEATHS = 3
"""Workers that may come to an end over a seed before that decides."""


@dataclass
class Queue:
    """The seeds of one task and split, in order.

    A seed is screened only once it is certain that those before it do not suffice, so that the
    outcome is the same for any number of workers.

    Attributes:
        task: Key of the task.
        split: ``train`` or ``test``.
        robot: Key of the robot.
        wanted: How many episodes are asked for.
        journal: Where verdicts are kept.
        verdicts: The known ones, by seed.
        seeds: The seeds that were needed so far.
        pending: How many of these have no verdict yet.
        head: The header of the file, once it is written.
    """

    task: str
    split: str
    robot: str
    wanted: int
    journal: Path
    verdicts: dict[int, Verdict]
    seeds: list[int] = field(default_factory=list, init=False)
    pending: int = field(default=0, init=False)
    head: Header | None = field(default=None, init=False)

    @property
    def looked_at(self) -> list[Verdict]:
        """The verdicts on the seeds that were needed."""
        return [self.verdicts[seed] for seed in self.seeds if seed in self.verdicts]

    @property
    def accepted(self) -> list[Verdict]:
        """Those of the episodes."""
        return [verdict for verdict in self.looked_at if not verdict.reason]

    @property
    def rejected(self) -> list[Verdict]:
        """The others."""
        return [verdict for verdict in self.looked_at if verdict.reason]

    def next(self) -> Candidate | None:
        """The next seed to be screened, ``None`` if there is none for now.

        Raises:
            ClevrSkillsError: Too many were rejected.
        """
        while len(self.accepted) + self.pending < self.wanted:
            rejected = self.rejected
            if len(rejected) > max(MIN_REJECTED, self.wanted):
                raise ClevrSkillsError(
                    f"gave up on {self.task}, split {self.split}: {len(rejected)} of"
                    f" {len(self.looked_at)} seeds are rejected, the last: {rejected[-1].reason}"
                )
            seed = FROZEN.start + len(self.seeds)
            self.seeds.append(seed)
            if seed not in self.verdicts:
                self.pending += 1
                return Candidate(self.task, self.split, self.robot, seed)
        return None

    def enter(self, verdict: Verdict) -> None:
        """Keep a verdict.

        Raises:
            StorageError: The disk refused.
        """
        Journal(self.journal).append(verdict.to_json())
        self.verdicts[verdict.seed] = verdict
        self.pending -= 1

    def write(self, root: Path) -> Header:
        """Write the file, now that all is known.

        Raises:
            StorageError: The disk refused.
        """
        accepted, rejected = self.accepted, self.rejected
        head = Header(
            task=self.task,
            split=self.split,
            robot=self.robot,
            episodes=self.wanted,
            max_steps=tasks()[self.task].max_steps,
            oracle_steps=tuple(verdict.oracle_steps for verdict in accepted),
            rejected=tuple(Rejection(verdict.seed, verdict.reason) for verdict in rejected),
            versions=versions(),
        )
        specs = [EpisodeSpec.from_json(verdict.episode or {}) for verdict in accepted]
        write(root, head, [replace(spec, index=i) for i, spec in enumerate(specs)])
        return head


def open_queues(
    root: Path, keys: Sequence[str], splits: Sequence[str], robot: str, wanted: int
) -> list[Queue]:
    """The queues of tasks and splits, with what is known from earlier runs.

    Raises:
        ClevrSkillsError: The folder was begun under other conditions, or a journal is damaged.
    """
    folder = root / JOURNAL_DIR
    with storage_errors(folder):
        folder.mkdir(exist_ok=True)
    conditions = {"robot": robot, "format_version": FORMAT_VERSION, "versions": versions()}
    path = folder / CONDITIONS_FILE
    if not path.exists():
        write_whole(path, to_json(conditions, indent=1) + "\n")
    elif json.loads(path.read_text(encoding="utf-8")) != conditions:
        raise ClevrSkillsError(
            f"{root} was begun with another robot or other versions, see {path}; "
            "give another folder"
        )
    queues = []
    for task in keys:
        for split in splits:
            journal = folder / f"{task}_{split}.jsonl"
            lines = read_lines(journal, Verdict.from_json) if journal.exists() else ()
            known = {verdict.seed: verdict for verdict in lines}
            queues.append(Queue(task, split, robot, wanted, journal, known))
    return queues


def work_off(
    queues: Sequence[Queue],
    make: Callable[[], Callable[[Any], Any]],
    root: Path,
    workers: int,
    timeout_s: float,
) -> list[Header]:
    """Screen until every file is written; their headers.

    Raises:
        ClevrSkillsError: It makes no sense to go on.
    """
    by_name = {(queue.task, queue.split): queue for queue in queues}
    deaths: Counter[Candidate] = Counter()
    pool = open_pool("local", make, root, workers, timeout_s)
    with closing(pool), _Display(queues) as display:
        while True:
            while pool.idle and (candidate := next(filter(None, (q.next() for q in queues)), None)):
                pool.submit(candidate)
            for queue in queues:
                if queue.head is None and len(queue.accepted) == queue.wanted:
                    queue.head = queue.write(root)
                    display.written(queue)
            display.update()
            if not pool.busy:
                return [queue.head for queue in queues if queue.head]
            done = pool.next()
            candidate, result = done.job, done.result
            if not isinstance(result, Verdict):
                deaths[candidate] += 1
                if deaths[candidate] < DEATHS:
                    pool.submit(candidate)
                    continue
                result = _without_answer(candidate, result)
            by_name[candidate.task, candidate.split].enter(result)


def _without_answer(candidate: Candidate, end: WorkerDied | TimedOut) -> Verdict:
    """A seed that ends its worker every time is rejected.

    Raises:
        ClevrSkillsError: The end came from outside, so that it says nothing of the seed.
    """
    where = f"{candidate.task}, split {candidate.split}, seed {candidate.seed}"
    if isinstance(end, TimedOut):
        raise ClevrSkillsError(f"{where}: not screened after {end.limit_s:g} s, {DEATHS} times")
    if end.killed:
        raise ClevrSkillsError(f"{where}: {end.reason}, {DEATHS} times")
    return Verdict(candidate.seed, end.reason)


class _Display:
    """Progress on standard error: a bar on a terminal, and a line for each file."""

    def __init__(self, queues: Sequence[Queue]) -> None:
        console = Console(stderr=True)
        self._queues = queues
        self._progress = Progress(
            *Progress.get_default_columns()[:2],
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self._progress.add_task("episodes", total=sum(q.wanted for q in queues))

    def __enter__(self) -> _Display:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self) -> None:
        self._progress.update(self._bar, completed=sum(len(q.accepted) for q in self._queues))

    def written(self, queue: Queue) -> None:
        self._progress.console.print(
            f"{queue.task} {queue.split}: {queue.wanted} episodes of {len(queue.seeds)} seeds",
            highlight=False,
        )
