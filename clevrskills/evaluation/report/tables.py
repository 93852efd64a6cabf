"""Result tables by task and level, as data and as text."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table as ConsoleTable
from rich.text import Text

from clevrskills.core.episode import frozen_name
from clevrskills.core.report import Measure, pools_episodes, reported
from clevrskills.core.suite import Suite
from clevrskills.evaluation.results import (
    CAUSES,
    NO_TRACK,
    RESTARTED,
    EpisodeResult,
    Evaluation,
    seed_warnings,
    state_access,
)
from clevrskills.evaluation.statistics import Estimate, columns, mean, share
from clevrskills.jobs.console import console
from clevrskills.jobs.files import write_whole

MEASURES = (
    Measure("success_once", "success", "share"),
    Measure("success_at_end", "at the end", "share"),
    Measure("goal_fraction", "goals met", "share"),
    Measure("depth", "depth", "share"),
    Measure("reward", "reward"),
    Measure("reward_per_step", "reward/step", digits=2),
    Measure("steps", "steps", digits=0),
)
"""Measures of all suites; each is an :class:`Estimate` of a :class:`ResultRow`."""
EXPLANATION = (
    "In brackets: 95 % intervals, Wilson for the rate of one task, otherwise the bootstrap, "
    "stratified by task. Success: the goal held after any step; at the end: after the last step. "
    "Goals met: fraction of the leaves of the goal tree that were met at the end. Depth: "
    "fraction of the steps of an ordered goal that were reached. Reward: sum over the episode, on "
    "the paper's scale; reward/step: the same divided by the number of steps. Episodes with a "
    "failed environment, lost process or lost connection count as errors and nowhere else."
)
MEAN = "Several tasks: the mean over tasks."
POOLED = "Several tasks: the mean over all their episodes, as in the paper of the suite."
TEXT_COLUMNS = (
    *("level", "task", "split", "run", "benchmark", "track", "model", "ended by"),
    *("tag", "value", "category", "code"),
)
KEY_COLUMNS = ("level", "task", "tag", "value", "split", "run", "policy", "axes", "code")
"""Columns that identify the rows of a table."""
KEY_SHARE = 0.6
"""Maximum fraction of the width for key columns in the parts of a wide table."""
TURNS = Measure("turns", "turns")
WIDTH = 100
"""Maximum width of a table on a terminal, in characters."""
GAP = 2
"""Gap between columns, in characters."""
CLIPPED = 0.01
"""Fraction of actions that may be clipped without a warning."""


@dataclass(frozen=True)
class Table:
    """Table of a report."""

    name: str  # file name without suffix
    title: str
    data: pd.DataFrame  # numbers
    texts: pd.DataFrame  # formatted texts
    note: str = ""  # text below the table


def table_of(
    name: str, title: str, data: Sequence[object], texts: object, note: str = ""
) -> list[Table]:
    """Return the table of data rows and text rows; an empty list without rows."""
    return [Table(name, title, pd.DataFrame(data), pd.DataFrame(texts), note)] if data else []


@dataclass(frozen=True)
class ResultRow:
    """Results of one run by task, level or value of a tag, in one split."""

    run: str  # label of the run
    level: str
    task: str  # empty for a level
    split: str
    tasks: int  # number of tasks with episodes that count
    of_tasks: int  # number of tasks of the level; 0: a row of one task
    episodes: int  # number of episodes that count
    errors: int  # number of episodes with infrastructure errors
    success_once: Estimate  # rate of episodes in which the goal held after any step
    success_at_end: Estimate  # the same after the last step
    goal_fraction: Estimate  # fraction of goal leaves met at the end
    depth: Estimate  # fraction of the steps of an ordered goal that were reached
    reward: Estimate  # sum over an episode, on the published scale
    reward_per_step: Estimate
    steps: Estimate  # control steps
    causes: Mapping[str, int]  # number of episodes by cause, errors included
    # turns, unless they are control steps, and measures of the suite
    measures: Mapping[str, Estimate] = field(default_factory=dict)
    track: str = ""  # training data of the policy; empty: not stated
    benchmark: str = ""  # suite and version of its frozen episodes, e.g. ``clevrskills 1.0``
    axes: str = ""  # perturbation axes, e.g. ``camera:3``
    tag: str = ""  # name of the tag, for a row of a tag
    value: str = ""  # value of the tag
    rejected: int = 0  # rejected perturbed episodes of the task
    restarts: int = 0  # restarts of episodes
    marks: tuple[str, ...] = ()  # access to the state, see `evaluation.results.state_access`


def heading_of(measure: Measure) -> str:
    """Return the column heading of a measure."""
    return f"{measure.heading} %" if measure.kind == "share" else measure.heading


def estimate_of(row: ResultRow, measure: Measure) -> Estimate:
    """Return the estimate of a measure."""
    of_suite = row.measures.get(measure.name)
    return of_suite or getattr(row, measure.name)


def text_of(row: ResultRow, measure: Measure) -> str:
    """Return the estimate of a measure as text."""
    scale = 100 if measure.kind == "share" else 1
    return estimate_of(row, measure).text(measure.digits, scale=scale)


def tasks_text(row: ResultRow) -> str:
    """Return the number of evaluated tasks, and the total if it is larger."""
    return f"{row.tasks} of {row.of_tasks}" if row.of_tasks > row.tasks else str(row.tasks)


def measures_of(evaluations: Sequence[Evaluation]) -> list[Measure]:
    """Return the measures of the suites, and turns unless they are control steps."""
    results = (result for evaluation in evaluations for result in evaluation.results)
    measures = {TURNS.name: TURNS} if any(r.turns not in (0, r.steps) for r in results) else {}
    for evaluation in evaluations:
        measures |= {measure.name: measure for measure in reported(evaluation.suite, Measure)}
    return list(measures.values())


def warning_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return warnings on seeds, truncated replies, and more than 1 % of clipped actions."""
    lines: list[str] = []
    for evaluation in evaluations:
        lines += seed_warnings(evaluation.run, evaluation.suite, splits_of([evaluation]))
        cut_off = sum(result.usage.get("cut_off", 0) for result in evaluation.results)
        if cut_off:
            turns = sum(result.turns for result in evaluation.results)
            lines.append(
                f"Warning: {cut_off:.0f} of {turns} replies of {evaluation.label} were cut off by "
                "the limit of tokens; see max_tokens."
            )
        results = [result for result in evaluation.results if result.greatest]
        # a controller's actions are control steps
        weights = [r.steps if evaluation.run.controller else r.turns for r in results]
        clipped = sum(w * r.clipped for w, r in zip(weights, results, strict=True))
        part = clipped / max(sum(weights), 1)
        if part <= CLIPPED:
            continue
        labels = dict.fromkeys(label for r in results for label in r.greatest)
        largest = {label: max(r.greatest.get(label, 0.0) for r in results) for label in labels}
        most = ", ".join(f"{label} {value:.3g}" for label, value in largest.items() if value > 1)
        lines.append(
            f"Warning: {100 * part:.1f} % of the actions of {evaluation.label} were outside "
            f"[-1, 1] and clipped; largest absolute values: {most}."
        )
    return lines


def pooling(evaluations: Sequence[Evaluation]) -> str:
    """Return a sentence on the pooling of several tasks."""
    kinds = {POOLED if pools_episodes(e.suite) else MEAN: e.run.suite for e in evaluations}
    return " ".join(f"{suite}: {kind}" if len(kinds) > 1 else kind for kind, suite in kinds.items())


def splits_of(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the splits of the results, in the order of the suites."""
    ranks = {r.split: e.rank(r.split) for e in evaluations for r in e.results}
    return sorted(ranks, key=lambda split: (ranks[split], split))


def task_rows(evaluations: Sequence[Evaluation]) -> list[ResultRow]:
    """Return a row for each task, split and run."""
    return _rows(evaluations, lambda r: (r.level, r.task, r.split))


def level_rows(evaluations: Sequence[Evaluation]) -> list[ResultRow]:
    """Return a row for each level, split and run."""
    return _rows(evaluations, lambda r: (r.level, "", r.split))


def strata(
    results: Iterable[EpisodeResult], value: Callable[[EpisodeResult], float | None]
) -> list[np.ndarray]:
    """Return the values of each task, (n,); repetitions are averaged, missing values skipped."""
    made = []
    for _, group in groupby(sorted(results, key=_episode), key=lambda r: r.task):
        runs = [[value(r) for r in same] for _, same in groupby(group, key=_episode)]
        known = [[x for x in same if x is not None] for same in runs]
        made.append(np.array([np.mean(same) for same in known if same], float))
    return made


def pool(strata: Sequence[np.ndarray], suite: Suite | None) -> list[np.ndarray]:
    """Return the strata of several tasks, (n, ...) each, merged if the suite pools episodes."""
    together = strata and pools_episodes(suite)
    return [np.concatenate(strata)] if together else list(strata)


def summarize(
    results: Iterable[EpisodeResult],
    measures: Iterable[Measure] = (),
    suite: Suite | None = None,
    **about: Any,
) -> ResultRow:
    """Return the row of episodes of one or several tasks; repetitions are averaged.

    Args:
        results: Results of the episodes.
        measures: Measures of the suite.
        suite: Suite, for the pooling of tasks; ``None``: mean over tasks.
        about: Other fields of the row, e.g. ``run`` and ``split``.
    """
    results = list(results)
    counted = [result for result in results if result.counts]

    def of(value: Callable[[EpisodeResult], float | None]) -> list[np.ndarray]:
        return pool(strata(counted, value), suite)

    def measured(measure: Measure) -> Estimate:
        def number(result: EpisodeResult) -> float | None:
            if measure.episodes == "solved" and not result.success_once:
                return None
            if result.cause == RESTARTED and measure.kind == "share":
                return 0.0
            return result.turns if measure is TURNS else result.measures.get(measure.name)

        return (share if measure.kind == "share" else mean)(of(number))

    def solved(value: Callable[[EpisodeResult], bool]) -> Estimate:
        """Return a success rate; outcomes after restarts only affect its upper end."""
        found, later = share(of(value)), share(of(lambda r: value(r) or r.later))
        return replace(found, high=float(np.fmax(found.high, later.high)))

    causes = Counter(r.ending for r in results)
    return ResultRow(
        **{"run": "", "level": "", "task": "", "split": "", "of_tasks": 0, **about},
        tasks=len({result.task for result in counted}),
        episodes=len(counted),
        errors=len(results) - len(counted),
        success_once=solved(lambda r: r.success_once),
        success_at_end=solved(lambda r: r.success_at_end),
        goal_fraction=share(of(lambda r: r.goal_fraction)),
        depth=share(of(lambda r: (r.depth or 0) / r.depth_of if r.depth_of else None)),
        reward=mean(of(lambda r: r.total_reward)),
        reward_per_step=mean(of(_reward_per_step)),
        steps=mean(of(lambda r: r.steps)),
        causes={c: causes[c] for c in (*CAUSES, *sorted(causes.keys() - {*CAUSES})) if causes[c]},
        measures={measure.name: measured(measure) for measure in measures},
        restarts=sum(result.starts - 1 for result in results),
    )


def numbers(rows: Sequence[ResultRow]) -> pd.DataFrame:
    """Return the data table: estimates have columns like ``reward``, ``reward_low`` and
    ``reward_high``, and causes their number of episodes.
    """
    causes = dict.fromkeys((*CAUSES, *(cause for row in rows for cause in row.causes)))
    records = []
    for row in rows:
        record: dict[str, object] = {"tag": row.tag, "value": row.value} if row.tag else {}
        left_out = ("tag", "value", *(("level", "task") if row.tag else ()))
        for name, value in columns(row).items():
            if name == "causes":
                record |= {f"ended_{c.replace(' ', '_')}": value.get(c, 0) for c in causes}
            elif name == "measures":
                for measure, estimate in value.items():
                    record |= estimate.columns(measure)
            elif name not in left_out:
                record[name] = value
        records.append(record)
    return pd.DataFrame(records)


def episodes(evaluations: Sequence[Evaluation]) -> pd.DataFrame:
    """Return the data table of the episodes of all runs."""
    frame = pd.DataFrame(
        {"run": evaluation.label, **asdict(result)}
        for evaluation in evaluations
        for result in evaluation.all_results
    )
    names = ("repeat", "curves", "axes", "twin", "handover", "controller")
    empty = [name for name in names if not frame[name].any()]
    return frame.drop(columns=empty)


def words(rows: Sequence[ResultRow], measures: Sequence[Measure] = ()) -> pd.DataFrame:
    """Return the text table, with intervals."""
    several = len({row.run for row in rows}) > 1
    table = []
    for row in rows:
        texts = {"task": row.task} if row.task else {"level": row.level, "tasks": tasks_text(row)}
        if row.tag:
            texts = {"tag": row.tag, "value": row.value, "tasks": tasks_text(row)}
        texts["split"] = row.split
        if not (row.task or row.tag):
            texts["benchmark"] = row.benchmark
        if several:
            texts["run"] = row.run
        texts["track"] = ", ".join([row.track or "not stated", *row.marks])
        texts["episodes"] = str(row.episodes)
        for measure in (*MEASURES, *measures):
            texts[heading_of(measure)] = text_of(row, measure)
        texts["ended by"] = ", ".join(
            f"{n} {cause}" for cause, n in row.causes.items() if cause != "error"
        )
        texts["errors"] = str(row.errors)
        if any(other.restarts for other in rows):
            texts["restarts"] = str(row.restarts)
        table.append(texts)
    frame = pd.DataFrame(table)
    if all(texts["track"] == NO_TRACK or row.tag for texts, row in zip(table, rows, strict=True)):
        del frame["track"]
    for heading in map(heading_of, (*MEASURES[1:], *measures)):
        if heading in frame and (frame[heading] == "-").all():
            del frame[heading]
    if rows and TURNS.name in rows[0].measures and not any(row.steps.value for row in rows):
        frame = frame.drop(columns=["steps", "reward/step"], errors="ignore")
    return frame


def markdown(frame: pd.DataFrame) -> str:
    """Return a text table in Markdown."""
    lines = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "".join("| " + " | ".join(line) + " |\n" for line in cells)


def latex(frame: pd.DataFrame, caption: str, label: str) -> str:
    """Return a text table in LaTeX, for the packages ``booktabs`` and ``longtable``."""
    named = {"caption": latex_escape(caption), "label": f"tab:{label}"}
    text = frame.to_latex(index=False, escape=True, longtable=True, **named)
    return f"{{\\scriptsize\n{text}}}\n"


def latex_escape(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    special = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def write_tables(folder: Path, tables: Sequence[Table], note: str) -> list[Path]:
    """Write each table as ``<name>.csv``, and all tables as ``tables.md``, with a note, and
    ``tables.tex``; return the paths.

    Raises:
        StorageError: Writing failed.
    """
    paths = [folder / f"{table.name}.csv" for table in tables]
    for path, table in zip(paths, tables, strict=True):
        write_whole(path, table.data.to_csv(index=False, lineterminator="\n"))
    parts = [
        f"## {table.title}\n\n{markdown(table.texts)}" + (f"\n{table.note}\n" if table.note else "")
        for table in tables
    ]
    write_whole(folder / "tables.md", "\n".join([*parts, f"{note}\n"]))
    parts = [latex(table.texts, table.title, table.name) for table in tables]
    write_whole(folder / "tables.tex", "\n".join(parts))
    return [*paths, folder / "tables.md", folder / "tables.tex"]


def records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Return the rows of a data table as JSON data; NaN becomes ``None``."""

    def plain(value: object) -> object:
        return None if isinstance(value, float) and math.isnan(value) else value

    rows: list[dict[str, object]] = frame.astype(object).to_dict("records")
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def _reward_per_step(result: EpisodeResult) -> float | None:
    if result.total_reward is None or result.steps is None:
        return None
    return result.total_reward / max(result.steps, 1)


def _episode(result: EpisodeResult) -> tuple[str, str, int]:
    return result.task, result.split, result.index


def _rows(
    evaluations: Sequence[Evaluation], key: Callable[[EpisodeResult], tuple[str, str, str]]
) -> list[ResultRow]:
    rows, measures = [], measures_of(evaluations)
    for k, evaluation in enumerate(evaluations):
        known = evaluation.suite.tasks.values()
        ordered = sorted(evaluation.results, key=key)
        for (level, task, split), results in groupby(ordered, key=key):
            run = evaluation.run
            about = {"run": evaluation.label, "level": level, "task": task, "split": split}
            row = summarize(
                results,
                measures,
                evaluation.suite,
                **about,
                of_tasks=0 if task else sum(t.level == level and split in t.splits for t in known),
                track=run.track,
                marks=state_access(run, evaluation.suite),
                benchmark=run.row,
                axes=" ".join(f"{axis}:{strength}" for axis, strength in run.axes.items()),
                rejected=len(run.rejected.get(frozen_name(task, split), ())),
            )
            rows.append(((level, task, evaluation.rank(split), k), row))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def print_table(frame: pd.DataFrame, title: str = "", rule_before: int = 0) -> None:
    """Print a table; one that is wider than :data:`WIDTH` is split into parts with the key columns.

    Args:
        frame: Texts of the table.
        title: Title.
        rule_before: Index of the row to precede by an empty line; 0: none.
    """
    screen = console()
    if title:
        screen.print(Text(title, style="italic"), soft_wrap=True)
    for part in _parts(frame):
        table = ConsoleTable(box=None, pad_edge=False)
        for column in part.columns:
            table.add_column(
                Text(column), justify="left" if column in TEXT_COLUMNS else "right", overflow="fold"
            )
        for k, row in enumerate(part.to_numpy().tolist()):
            if rule_before and k == rule_before:
                table.add_row()
            table.add_row(*(Text(str(cell)) for cell in row))  # brackets are no markup
        screen.print(table, width=WIDTH if screen.width > WIDTH else None)
        screen.print()


def table_width(frame: pd.DataFrame) -> int:
    """Return the width of a table on a terminal, in characters."""
    return int(sum(_widths(frame).values())) - GAP


def _widths(frame: pd.DataFrame) -> dict[str, int]:
    """Return the width of each column, including the gap."""
    return {str(name): GAP + max(map(len, (str(name), *map(str, frame[name])))) for name in frame}


def _parts(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Split the columns of a table into sufficiently narrow parts, if possible."""
    widths, room = _widths(frame), min(WIDTH, console().width) + GAP
    names = list(widths)
    if sum(widths.values()) <= room:
        return [frame]
    keys = [name for k, name in enumerate(names) if not k or name in KEY_COLUMNS]
    same = [name for name in keys[1:] if frame[name].nunique() == 1]
    while len(keys) > 1 and sum(widths[name] for name in keys) > KEY_SHARE * room:
        keys.remove(same.pop() if same else keys[-1])
    parts: list[list[str]] = [[]]
    for name in (name for name in names if name not in keys):
        if parts[-1] and sum(widths[n] for n in (*keys, *parts[-1], name)) > room:
            parts.append([])
        parts[-1].append(name)
    return [frame[[name for name in names if name in (*keys, *part)]] for part in parts]


def print_tables(tables: Iterable[Table]) -> None:
    """Print text tables with their notes."""
    for table in tables:
        print_table(table.texts, table.title)
        print_lines(*filter(None, (table.note,)), wrap=True)


def print_lines(*lines: str, wrap: bool = False) -> None:
    """Print lines; ``wrap`` wraps sentences, but not commands or paths to be copied."""
    screen = console()
    for line in lines:
        text = fill(line, min(WIDTH, screen.width), break_long_words=False, break_on_hyphens=False)
        screen.print(Text(text if wrap else line), soft_wrap=True)
