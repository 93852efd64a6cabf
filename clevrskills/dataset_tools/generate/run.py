"""Run of ``generate``: schedules attempts and writes their outcomes to the manifest."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path

from clevrskills.dataset_tools.generate.schedule import TaskQueue, next_attempt
from clevrskills.dataset_tools.manifest import Attempt, Manifest
from clevrskills.dataset_tools.storage import has_episode
from clevrskills.jobs.pool import Pool, TimedOut, WorkerDied
from clevrskills.jobs.progress import Display
from clevrskills.jobs.work import JobQueue, work


class AttemptQueue(JobQueue[Attempt, Attempt]):
    """Queue of the attempts of all tasks."""

    def __init__(
        self, queues: Sequence[TaskQueue], manifest: Manifest, root: Path, display: Display
    ) -> None:
        super().__init__()
        self._queues = {queue.task: queue for queue in queues}
        self._manifest, self._root, self._display = manifest, root, display

    def key(self, job: Attempt) -> Hashable:
        return job.id

    def next(self) -> Attempt | None:
        return next_attempt(self._queues.values())

    def requeue(self, job: Attempt) -> None:
        self._queues[job.task].requeue(job)

    def finish(self, job: Attempt, result: Attempt) -> None:
        self._manifest.append(result)
        self._queues[job.task].finish(result)

    def give_up(self, job: Attempt, end: WorkerDied | TimedOut) -> None:
        """Record a failed attempt; if its episode exists, only its line is missing."""
        if has_episode(self._root / job.id):
            return self.requeue(job)
        kind = "timeout" if isinstance(end, TimedOut) else "crash"
        return self.finish(job, job.end(kind, end.reason))

    def update(self) -> None:
        queues = self._queues.values()
        if len(queues) > 1:
            for task, queue in self._queues.items():
                made = len(queue.succeeded)
                begun = queue.pending > 0 or 0 < made < len(queue.slots)
                self._display.update_part(task, made, _failures([queue]), visible=begun)
        self._display.update(sum(len(queue.succeeded) for queue in queues), _failures(queues))


def run(
    queues: Sequence[TaskQueue],
    start_pool: Callable[[], Pool[Attempt, Attempt]],
    manifest: Manifest,
    root: Path,
) -> None:
    """Run all attempts, see :func:`~clevrskills.jobs.work.work`."""
    first = next_attempt(queues)  # also counts existing episodes
    with make_display(queues) as display:
        attempts = AttemptQueue(queues, manifest, root, display)
        if first is not None:
            attempts.requeue(first)
        work(attempts, start_pool)


def make_display(queues: Sequence[TaskQueue]) -> Display:
    """Return a display with a bar for each running task, and one for all."""
    names = [queue.task for queue in queues]
    totals = [len(queue.slots) for queue in queues]
    done = sum(len(queue.succeeded) for queue in queues)
    if len(names) == 1:
        return Display(names[0], totals[0], done)
    return Display("all", sum(totals), done, parts=dict(zip(names, totals, strict=True)))


def _failures(queues: Iterable[TaskQueue]) -> str:
    """Return the number of failed attempts and the success rate in words."""
    failed = sum(len(queue.failed) for queue in queues)
    ended = failed + sum(len(queue.succeeded) for queue in queues)
    return f"{failed} failed" + (f" ({1 - failed / ended:.1%} succeed)" if failed else "")
