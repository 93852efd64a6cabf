"""How far a run of ``generate`` is."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from clevrskills.dataset_tools.schedule import TaskQueue


class Display:
    """Progress bars on standard error, one for each task."""

    def __init__(self, queues: Sequence[TaskQueue]) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failures]} failed"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._bars: dict[str, TaskID] = {
            queue.setup.task: self._progress.add_task(
                queue.setup.task, total=queue.episodes, failures=0
            )
            for queue in queues
        }

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
            self._progress.update(
                self._bars[queue.setup.task],
                completed=len(queue.succeeded),
                failures=queue.failures,
            )
