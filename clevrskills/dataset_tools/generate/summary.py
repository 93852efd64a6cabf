"""Summary of a run of ``generate``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from clevrskills.core.statistics import wilson
from clevrskills.dataset_tools.generate.schedule import TaskQueue


@dataclass(frozen=True)
class TaskSummary:
    """Counts of one task over all runs, and costs of this run; ``None`` without data."""

    task: str
    level: str
    episodes: int
    failures: int  # failed attempts
    kinds: Mapping[str, int]  # failed attempts by kind of failure
    success_rate: float | None  # success rate of the attempts
    interval: tuple[float, float] | None  # its 95 % Wilson interval
    mean_steps: float | None  # control steps per episode
    cpu_s: float | None  # CPU-seconds per episode, including failed attempts
    cpu_s_per_step: float | None  # CPU-seconds per control step, including failed attempts
    episodes_per_h: float | None  # episodes per hour with all workers on this task
    times_s: Mapping[str, float]  # CPU-seconds by phase


def summarize(queue: TaskQueue, workers: int) -> TaskSummary:
    """Return the summary of a task at the end of a run with some worker processes."""
    made, failures = len(queue.succeeded), len(queue.failed)
    times_s: Counter[str] = Counter()
    for attempt in queue.ended:
        times_s.update(attempt.times_s)
    cpu_s, wall_s = times_s.pop("total_cpu", 0.0), times_s.pop("total_wall", 0.0)
    fresh = [attempt for attempt in queue.ended if attempt.success]
    return TaskSummary(
        task=queue.task,
        level=queue.level,
        episodes=made,
        failures=failures,
        kinds=dict(Counter(attempt.kind for attempt in queue.failed)),
        success_rate=_share(made, made + failures),
        interval=wilson(made, made + failures) if made + failures else None,
        mean_steps=_share(sum(attempt.steps for attempt in queue.succeeded), made),
        cpu_s=_share(cpu_s, len(fresh)),
        cpu_s_per_step=_share(cpu_s, sum(attempt.steps for attempt in fresh)),
        episodes_per_h=_share(3600 * workers * len(fresh), wall_s),
        times_s={**times_s, "other": max(0.0, cpu_s - times_s.total())} if fresh else {},
    )


def table(summaries: Sequence[TaskSummary]) -> Table:
    """Return the summary for a terminal."""
    result = Table(box=None, pad_edge=False, collapse_padding=True)
    result.add_column("task", no_wrap=True)
    names = ("level", "episodes", "failed", "success", "95 %", "steps", "ms/step", "ep./h")
    for name in names:
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
            _or_dash(s.cpu_s_per_step and 1e3 * s.cpu_s_per_step, ".1f"),
            _or_dash(s.episodes_per_h, ".0f"),
        )
    return result


def remarks(summaries: Sequence[TaskSummary]) -> str:
    """Return CPU time by phase and failures by kind as text, or an empty string."""
    times_s: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for summary in summaries:
        times_s.update(summary.times_s)
        kinds.update(summary.kinds)
    lines = []
    if times_s.total():
        shares = (f"{name} {100 * s / times_s.total():.0f}" for name, s in times_s.items())
        lines.append("CPU %: " + ", ".join(shares))
    if kinds:
        lines.append("failures: " + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()))
    return "\n".join(lines)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
