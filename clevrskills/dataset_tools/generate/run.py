"""Works off the queues of a run: hands out attempts, enters how they ended into the manifest."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from clevrskills.dataset_tools.generate.schedule import Attempt, TaskQueue, next_attempt
from clevrskills.dataset_tools.generate.worker import line_of
from clevrskills.dataset_tools.manifest import Manifest, ManifestLine
from clevrskills.jobs.pool import Pool, TimedOut, WorkerDied
from clevrskills.jobs.progress import Display

DEATHS, KILLS = 3, 10
"""Workers that may die of a seed, or be killed while at it, before it counts as failed."""


def run(
    queues: Sequence[TaskQueue],
    open_pool: Callable[[], Pool[Attempt, ManifestLine]],
    manifest: Manifest,
    root: Path,
) -> dict[str, list[ManifestLine]]:
    """Keep a pool busy until no queue has anything left.

    Args:
        queues: The queues.
        open_pool: Starts the pool; it is not started if there is nothing to do.
        manifest: Where to enter the attempts.
        root: The dataset.

    Returns:
        The attempts of this run by task.

    Raises:
        ClevrSkillsError: It makes no sense to go on.
    """
    by_task = {queue.config.task: queue for queue in queues}
    lines: dict[str, list[ManifestLine]] = {task: [] for task in by_task}
    first = next_attempt(queues)
    if first is None:
        return lines
    first[0].again(first[1])
    deaths: Counter[str] = Counter()
    with contextlib.closing(open_pool()) as pool, Display(queues) as display:
        while True:
            while pool.idle and (found := next_attempt(queues)):
                pool.submit(found[1])
            display.update(queues)
            if not pool.busy:
                return lines
            done = pool.next()
            attempt, result = done.job, done.result
            queue = by_task[attempt.config.task]
            if not isinstance(result, ManifestLine):
                deaths[attempt.id] += 1
                if (root / attempt.id).is_dir() or _worth_another_try(result, deaths[attempt.id]):
                    queue.again(attempt)
                    continue
                result = _failed(attempt, result)
            manifest.append(result)
            queue.ended(attempt, result.kind, result.steps)
            lines[queue.config.task].append(result)


def _worth_another_try(end: WorkerDied | TimedOut, deaths: int) -> bool:
    """Whether a seed is tried again after its worker came to an end."""
    return isinstance(end, WorkerDied) and deaths < (KILLS if end.killed else DEATHS)


def _failed(attempt: Attempt, end: WorkerDied | TimedOut) -> ManifestLine:
    if isinstance(end, TimedOut):
        return line_of(attempt, "timeout", f"not done after {end.limit_s:g} s")
    return line_of(attempt, "crash", end.reason)
