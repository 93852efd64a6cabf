"""Progress display on standard error: bars on a terminal, an overwritten line in a notebook,
elsewhere log lines.
"""

import os
import sys
import time
from collections.abc import Mapping
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from clevrskills.jobs.console import console

LOG_EVERY_S = 60.0
"""Interval of log lines without a terminal, such as in a batch job."""
NOTEBOOK_EVERY_S = 0.5
NOTEBOOK_WIDTH = 100
"""Interval of updates in a notebook, and width to which the line is padded."""


class Display:
    """Progress bars with count, rate and remaining time.

    Args:
        name: Label of the bar.
        total: Total count.
        done: Count at the start.
        unit: What is counted.
        per_hour: Whether the rate is per hour instead of per second.
        parts: Totals of additional bars by name; each is shown while it is in progress.
    """

    def __init__(
        self,
        name: str,
        total: int,
        done: int = 0,
        unit: str = "episodes",
        per_hour: bool = True,
        parts: Mapping[str, int] | None = None,
    ) -> None:
        self._console = console(stderr=True)
        # commands that a cell starts have a terminal, but one that cannot move its cursor up
        self._notebook = "ipykernel" in sys.modules or "JPY_PARENT_PID" in os.environ
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[more]}"),
            console=self._console,
            disable=self._notebook or not self._console.is_terminal,
        )
        self._parts = {
            part: self._progress.add_task(part, total=count, more="", visible=False)
            for part, count in (parts or {}).items()
        }
        self._bar = self._progress.add_task(name, total=total, completed=done, more="")
        self._total, self._before = total, done
        self._unit, self._per_hour = unit, per_hour
        self._began_s = self._logged_s = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop updating; the bars stay visible."""
        self._progress.stop()
        if self._notebook:
            self._console.print()

    def update(self, done: int, *more: str) -> None:
        """Show the count and additional words."""
        words = ", ".join(filter(None, (*more, self._speed(done))))
        self._progress.update(self._bar, completed=done, more=words)
        every_s = NOTEBOOK_EVERY_S * (done < self._total) if self._notebook else LOG_EVERY_S
        if self._progress.disable and time.monotonic() - self._logged_s >= every_s:
            self._logged_s = time.monotonic()
            count = f"{done} of {self._total} {self._unit}"
            self.print(", ".join(filter(None, (count, words))), "\r" if self._notebook else "\n")

    def update_part(self, name: str, done: int, more: str = "", visible: bool = True) -> None:
        """Update the bar of a part."""
        self._progress.update(self._parts[name], completed=done, more=more, visible=visible)

    def print(self, line: str, end: str = "\n") -> None:
        """Print a line above the bars."""
        line = line.ljust(NOTEBOOK_WIDTH) if self._notebook else line
        self._console.print(line, end=end, highlight=False, markup=False, soft_wrap=True)

    def _speed(self, done: int) -> str:
        """Return rate and remaining time; empty before anything is done."""
        if done <= self._before:
            return ""
        per_s = (done - self._before) / (time.monotonic() - self._began_s)
        minutes = round((self._total - done) / per_s / 60)
        rate = 3600 * per_s if self._per_hour else per_s
        number = f"{rate:.0f}" if self._per_hour or rate >= 100 else f"{rate:.3g}"
        per = "h" if self._per_hour else "s"
        return f"{number} {self._unit}/{per}, {minutes // 60}:{minutes % 60:02d} h left"
