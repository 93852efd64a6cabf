"""Results summed up by task and by level, as tables: for programs and for people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from clevrskills.evaluation.results import CAUSES, EpisodeResult, Evaluation
from clevrskills.evaluation.statistics import Estimate, mean, share
from clevrskills.jobs.files import write_whole

HEADINGS = {
    "success_once": "success %",
    "success_at_end": "at the end %",
    "goal_fraction": "goals met %",
    "depth": "depth %",
    "reward": "reward",
    "reward_per_step": "reward/step",
    "steps": "steps",
}
"""What is measured, and what tables for people call it; each is an :class:`Estimate` of a
:class:`Row`. All rates and shares are printed in percent."""
EXPLANATION = (
    "In brackets: 95 % intervals. Success: the goal held after some step; at the end: after the "
    "last one. Goals met: share of the leaves of the goal tree that were met at the end. Depth: "
    "share of the steps of an ordered goal that were reached. Reward: sum over the episode, on the "
    "paper's scale; reward/step: that divided by the episode's steps. Of several tasks: the mean "
    "over tasks. Episodes that ended in an error of the infrastructure are counted under errors "
    "and nowhere else."
)
TEXT_COLUMNS = ("level", "task", "split", "run", "model", "ended by")
FILE_WIDTH = 400
"""Characters that a line may have where there is no terminal."""


@dataclass(frozen=True)
class Row:
    """How one run did at one task or level of one split.

    Attributes:
        run: Label of the run.
        level: The level.
        task: Key of the task; empty for the level as a whole.
        split: ``train`` or ``test``.
        tasks: Number of tasks with episodes that count.
        episodes: Episodes that count.
        errors: Episodes that ended in an error of the infrastructure.
        success_once: Share of them in which the goal held after some step.
        success_at_end: After the last step.
        goal_fraction: Share of the goal's leaves that were met in the end.
        depth: Share of the steps of an ordered goal that were reached.
        reward: Sum over an episode, on the published scale.
        reward_per_step: That divided by the steps of the episode.
        steps: Control steps.
        causes: Number of episodes by cause, errors included.
    """

    run: str
    level: str
    task: str
    split: str
    tasks: int
    episodes: int
    errors: int
    success_once: Estimate
    success_at_end: Estimate
    goal_fraction: Estimate
    depth: Estimate
    reward: Estimate
    reward_per_step: Estimate
    steps: Estimate
    causes: Mapping[str, int]


def task_rows(evaluations: Sequence[Evaluation]) -> list[Row]:
    """A row for each task, split and run, runs next to each other."""
    return _rows(evaluations, lambda r: (r.level, r.task, r.split))


def level_rows(evaluations: Sequence[Evaluation]) -> list[Row]:
    """A row for each level, split and run, runs next to each other."""
    return _rows(evaluations, lambda r: (r.level, "", r.split))


def summarise(run: str, level: str, task: str, split: str, results: Iterable[EpisodeResult]) -> Row:
    """Sum up episodes, of one task or of several."""
    results = list(results)
    counted = [r for r in results if r.counts]
    by_task = [list(g) for _, g in groupby(sorted(counted, key=_task), key=_task)]

    def strata(name: str) -> list[np.ndarray]:
        return [np.array([getattr(r, name) for r in group], float) for group in by_task]

    ordered = [[r for r in group if r.depth_of] for group in by_task]
    depths = [np.array([(r.depth or 0) / (r.depth_of or 1) for r in g]) for g in ordered]
    rates = [np.array([r.total_reward / max(r.steps, 1) for r in g]) for g in by_task]
    causes = Counter(r.cause for r in results)
    return Row(
        run,
        level,
        task,
        split,
        tasks=len(by_task),
        episodes=len(counted),
        errors=len(results) - len(counted),
        success_once=share(strata("success_once")),
        success_at_end=share(strata("success_at_end")),
        goal_fraction=share(strata("goal_fraction")),
        depth=share(depths),
        reward=mean(strata("total_reward")),
        reward_per_step=mean(rates),
        steps=mean(strata("steps")),
        causes={cause: causes[cause] for cause in CAUSES if causes[cause]},
    )


def numbers(rows: Sequence[Row]) -> pd.DataFrame:
    """For programs: an estimate has three columns, e.g. ``reward``, ``reward_low`` and
    ``reward_high``; a cause has the number of its episodes.
    """
    records = []
    for row in rows:
        record: dict[str, object] = {}
        for field in fields(row):
            value = getattr(row, field.name)
            if isinstance(value, Estimate):
                record |= {
                    field.name: value.value,
                    f"{field.name}_low": value.low,
                    f"{field.name}_high": value.high,
                }
            elif field.name == "causes":
                record |= {f"ended_{c.replace(' ', '_')}": value.get(c, 0) for c in CAUSES}
            else:
                record[field.name] = value
        records.append(record)
    return pd.DataFrame(records)


def episodes(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """For programs: every episode of every run."""
    return pd.DataFrame(
        {"run": evaluation.label, **asdict(result)}
        for evaluation in evaluations
        for result in evaluation.results
    )


def words(rows: Sequence[Row]) -> pd.DataFrame:
    """For people: text, every rate with its interval."""
    several = len({row.run for row in rows}) > 1
    table = []
    for row in rows:
        texts = {"task": row.task} if row.task else {"level": row.level, "tasks": str(row.tasks)}
        texts["split"] = row.split
        if several:
            texts["run"] = row.run
        texts["episodes"] = str(row.episodes)
        for name, heading in HEADINGS.items():
            estimate: Estimate = getattr(row, name)
            per_cent = heading.endswith("%")
            digits = 2 if name == "reward_per_step" else 0 if name == "steps" else 1
            texts[heading] = estimate.percent() if per_cent else estimate.text(digits)
        texts["ended by"] = ", ".join(
            f"{n} {cause}" for cause, n in row.causes.items() if cause != "error"
        )
        texts["errors"] = str(row.errors)
        table.append(texts)
    frame = pd.DataFrame(table)
    if "depth %" in frame and (frame["depth %"] == "-").all():
        del frame["depth %"]  # no goal has an order
    return frame


def markdown(frame: pd.DataFrame) -> str:
    """A table of texts in Markdown."""
    lines = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "".join("| " + " | ".join(line) + " |\n" for line in cells)


def latex(frame: pd.DataFrame, caption: str, label: str) -> str:
    """A table of texts in LaTeX, as long as it is; needs the packages ``booktabs`` and
    ``longtable``.
    """
    text = frame.to_latex(
        index=False,
        escape=True,
        longtable=True,
        caption=latex_escape(caption),
        label=f"tab:{label}",
    )
    return f"{{\\scriptsize\n{text}}}\n"


def latex_escape(text: str) -> str:
    """Plain text for LaTeX."""
    special = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def write_tables(
    folder: Path, tables: Mapping[str, tuple[str, pd.DataFrame, pd.DataFrame]], note: str
) -> list[Path]:
    """Write each table as ``<name>.csv``, and all of them into ``tables.md`` and ``tables.tex``.

    Args:
        folder: Where to.
        tables: By name the title, the table for programs and that for people.
        note: What is said below them.

    Raises:
        StorageError: The disk refused.
    """
    paths = [folder / f"{name}.csv" for name in tables]
    for path, (_, data, _) in zip(paths, tables.values(), strict=True):
        write_whole(path, data.to_csv(index=False, lineterminator="\n"))
    parts = [f"## {title}\n\n{markdown(texts)}" for title, _, texts in tables.values()]
    write_whole(folder / "tables.md", "\n".join([*parts, f"{note}\n"]))
    parts = [latex(texts, title, name) for name, (title, _, texts) in tables.items()]
    write_whole(folder / "tables.tex", "\n".join(parts))
    return [*paths, folder / "tables.md", folder / "tables.tex"]


def records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """The rows of a table for programs as JSON data; NaN becomes ``None``."""

    def plain(value: object) -> object:
        return None if isinstance(value, float) and math.isnan(value) else value

    rows: list[dict[str, object]] = frame.astype(object).to_dict("records")
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def _task(result: EpisodeResult) -> str:
    return result.task


def _rows(
    evaluations: Sequence[Evaluation], key: Callable[[EpisodeResult], tuple[str, str, str]]
) -> list[Row]:
    rows = []
    for k, evaluation in enumerate(evaluations):
        ordered = sorted(evaluation.results, key=key)
        for (level, task, split), results in groupby(ordered, key=key):
            row = summarise(evaluation.label, level, task, split, results)
            # the train split first, as in the paper
            rows.append(((level, task, split != "train", k), row))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def print_table(frame: pd.DataFrame, title: str = "") -> None:
    """Print a table; on a narrow terminal its cells are folded, in a file nothing is."""
    table = Table(box=None, pad_edge=False, title=title or None, title_justify="left")
    for column in frame.columns:
        table.add_column(
            Text(column), justify="left" if column in TEXT_COLUMNS else "right", overflow="fold"
        )
    for row in frame.to_numpy().tolist():
        table.add_row(*(Text(str(cell)) for cell in row))  # its brackets are no markup
    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    console.print(table)
    console.print()


def print_lines(*lines: str) -> None:
    """Print sentences."""
    for line in lines:
        Console().print(Text(line), soft_wrap=True)
