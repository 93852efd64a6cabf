"""How far an evaluation is."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console

from clevrskills.evaluation.results import EpisodeResult
from clevrskills.evaluation.statistics import wilson
from clevrskills.jobs.progress import LOG_EVERY_S, bars


class Display:
    """Progress on standard error: a bar, the rate, the time left, and the success so far.

    Args:
        policy: What the policy is called in lines on errors.
        total: Episodes in all.
        before: Results of earlier runs, by name of the episode.
    """

    def __init__(self, policy: str, total: int, before: dict[str, EpisodeResult]) -> None:
        self.policy, self._total = policy, total
        self._results = dict(before)
        self._before = len(before)
        self._console = Console(stderr=True)
        self._progress = bars(self._console)
        self._bar = self._progress.add_task("episodes", total=total, more="")
        self._began_s = self._logged_s = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        self._show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def add(self, result: EpisodeResult) -> None:
        """Take note of an episode that ended; an error is printed at once."""
        if result.counts:
            self._results[result.id] = result
        else:
            self.print(error_line(self.policy, result))
        self._show()

    def print(self, line: str) -> None:
        """Print a line above the bar."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _show(self) -> None:
        done = len(self._results)
        more = self._success() + self._speed()
        self._progress.update(self._bar, completed=done, more=more)
        if self._progress.disable and time.monotonic() - self._logged_s >= LOG_EVERY_S:
            self._logged_s = time.monotonic()
            self.print(f"{done} of {self._total} episodes, {more}")

    def _success(self) -> str:
        """Success so far, with its interval; of all tasks together, so that it only tells how the
        run is going.
        """
        n = len(self._results)
        if not n:
            return ""
        successes = sum(result.success_once for result in self._results.values())
        low, high = wilson(successes, n)
        return f"success {successes / n:.0%} [{low:.0%}, {high:.0%}]"

    def _speed(self) -> str:
        """Rate of this run and time left at that rate; empty before the first episode."""
        made = len(self._results) - self._before
        if made <= 0:
            return ""
        per_s = made / (time.monotonic() - self._began_s)
        minutes = round((self._total - len(self._results)) / per_s / 60)
        return f", {3600 * per_s:.0f} episodes/h, {minutes // 60}:{minutes % 60:02d} h left"


def error_line(policy: str, result: EpisodeResult) -> str:
    """An error in one line that names the policy and the episode."""
    return f"policy {policy}, episode {result.id}, try {result.tries}: {result.error}"
