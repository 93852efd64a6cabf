"""What a run of ``generate`` achieved, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from clevrskills.dataset_tools.layout import EPISODE_FILE, episode_id
from clevrskills.dataset_tools.rollout import EpisodeResult
from clevrskills.dataset_tools.schedule import TaskQueue


@dataclass(frozen=True)
class TaskSummary:
    """Counts of one task, earlier runs included, and the cost in this run.

    Attributes:
        success_rate: Share of the attempts that succeeded, ``None`` without attempts.
        interval: 95 % Wilson interval of it.
        mean_steps: Control steps per episode.
        cpu_s: CPU seconds per episode made in this run, failed attempts included; ``None`` if
            none was made.
    """

    task: str
    level: str
    episodes: int
    failures: int
    success_rate: float | None
    interval: tuple[float, float] | None
    mean_steps: float | None
    cpu_s: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "interval": list(self.interval) if self.interval else None}


def summarise(root: Path, queue: TaskQueue, results: Sequence[EpisodeResult]) -> TaskSummary:
    """Sum up one task.

    Args:
        root: The dataset.
        queue: The task's queue, at the end of the run.
        results: The task's attempts of this run.
    """
    from scipy.stats import binomtest

    setup, made = queue.setup, len(queue.succeeded)
    attempts = made + queue.failures
    rate, interval = None, None
    if attempts:
        test = binomtest(made, attempts)
        bounds = test.proportion_ci(method="wilson")
        rate, interval = made / attempts, (float(bounds.low), float(bounds.high))
    names = [episode_id(setup.task, setup.split, seed) for seed in queue.succeeded]
    steps = [json.loads((root / name / EPISODE_FILE).read_text())["steps"] for name in names]
    new = sum(result.success for result in results)
    return TaskSummary(
        task=setup.task,
        level=queue.level,
        episodes=made,
        failures=queue.failures,
        success_rate=rate,
        interval=interval,
        mean_steps=sum(steps) / len(steps) if steps else None,
        cpu_s=sum(result.cpu_s for result in results) / new if new else None,
    )


def table(summaries: Sequence[TaskSummary]) -> Table:
    """The summary for a terminal."""
    result = Table(box=None, pad_edge=False, collapse_padding=True)
    result.add_column("task", no_wrap=True)
    for name in ("level", "episodes", "failed", "success", "95 %", "steps", "CPU s/ep."):
        result.add_column(name, justify="right", no_wrap=True)
    for s in summaries:
        low_high = f"{s.interval[0]:.0%} - {s.interval[1]:.0%}" if s.interval else "-"
        result.add_row(
            s.task,
            s.level,
            str(s.episodes),
            str(s.failures),
            _or_dash(s.success_rate, ".0%"),
            low_high,
            _or_dash(s.mean_steps, ".0f"),
            _or_dash(s.cpu_s, ".2f"),
        )
    return result


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
