"""How far a run of ``generate`` is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from clevrskills.dataset_tools.generate.schedule import TaskQueue

LOG_EVERY_S = 60.0
"""Where standard error is not a terminal, such as in a batch job, a line is printed this often."""


def bars(console: Console) -> Progress:
    """Bars with a count and the field ``more``; nothing where the console is not a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[more]}"),
        console=console,
        disable=not console.is_terminal,
    )


class Display:
    """Progress on standard error: a bar for each task that is being worked on, and one for all."""

    def __init__(self, queues: Sequence[TaskQueue]) -> None:
        self._console = Console(stderr=True)
        self._progress = bars(self._console)
        self._bars = {queue.config.task: self._bar(queue.config.task, queue) for queue in queues}
        self._all = self._bar("all", *queues) if len(queues) > 1 else None
        self._began_s = self._logged_s = time.monotonic()
        self._before = sum(len(queue.succeeded) for queue in queues)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def update(self, queues: Sequence[TaskQueue]) -> None:
        """Show how far the tasks are."""
        for queue in queues:
            made = len(queue.succeeded)
            begun = queue.pending > 0 or 0 < made < len(queue.slots)
            self._progress.update(
                self._bars[queue.config.task],
                completed=made,
                visible=begun,
                more=_failures([queue]),
            )
        made = sum(len(queue.succeeded) for queue in queues)
        total = sum(len(queue.slots) for queue in queues)
        more = _failures(queues) + self._speed(made, total)
        bar = self._all or self._bars[queues[0].config.task]
        self._progress.update(bar, completed=made, visible=True, more=more)
        if self._progress.disable and time.monotonic() - self._logged_s >= LOG_EVERY_S:
            self._logged_s = time.monotonic()
            self._console.print(f"{made} of {total} episodes, {more}", highlight=False)

    def _bar(self, name: str, *queues: TaskQueue) -> TaskID:
        total = sum(len(queue.slots) for queue in queues)
        return self._progress.add_task(name, total=total, more="", visible=False)

    def _speed(self, made: int, total: int) -> str:
        """Rate of this run and time left at that rate; empty before the first episode."""
        if made <= self._before:
            return ""
        per_s = (made - self._before) / (time.monotonic() - self._began_s)
        minutes = round((total - made) / per_s / 60)
        return f", {3600 * per_s:.0f} episodes/h, {minutes // 60}:{minutes % 60:02d} h left"


def _failures(queues: Sequence[TaskQueue]) -> str:
    """Failed attempts and the share of those that succeeded."""
    failed = sum(len(queue.failed) for queue in queues)
    ended = failed + sum(len(queue.succeeded) for queue in queues)
    return f"{failed} failed" + (f" ({1 - failed / ended:.1%} succeed)" if failed else "")
