"""Results summed up by task and by level, as tables: for programs and for people."""

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
from clevrskills.evaluation.results import CAUSES, NO_TRACK, RESTARTED, EpisodeResult, Evaluation
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
    "In brackets: 95 % intervals, Wilson's for the rate of one task, otherwise the bootstrap, "
    "stratified by task. Success: the goal held after some step; at the end: after the last one. "
    "Goals met: share of the leaves of the goal tree that were met at the end. Depth: "
    "share of the steps of an ordered goal that were reached. Reward: sum over the episode, on the "
    "paper's scale; reward/step: that divided by the episode's steps. Episodes whose environment "
    "broke down, or whose process or connection was lost, count as errors and nowhere else."
)
MEAN = "Of several tasks: the mean over tasks."
POOLED = "Of several tasks: the mean over all their episodes, as in the paper of the suite."
TEXT_COLUMNS = (
    *("level", "task", "split", "run", "benchmark", "track", "model", "ended by"),
    *("tag", "value", "category", "code"),
)
KEY_COLUMNS = (
    "level",
    "task",
    "tag",
    "value",
    "split",
    "run",
    "policy",
    "axes",
    "code",
)
"""Columns that tell the rows of a table apart."""
KEY_SHARE = 0.6
"""Share of the width that they may take in each part of a wide table."""
TURNS = Measure("turns", "turns")
WIDTH = 100
"""Characters that a table on a terminal may have."""
GAP = 2
"""Characters between its columns."""
CLIPPED = 0.01
"""Share of actions that may be clipped without a warning."""


@dataclass(frozen=True)
class Table:
    """A table of a report."""

    name: str  # name of its file
    title: str
    data: pd.DataFrame  # for programs
    texts: pd.DataFrame  # for people
    note: str = ""  # what is said below it


def table_of(
    name: str, title: str, data: Sequence[object], texts: object, note: str = ""
) -> list[Table]:
    """Return the table of rows for programs and for people; nothing if there are no rows."""
    return [Table(name, title, pd.DataFrame(data), pd.DataFrame(texts), note)] if data else []


@dataclass(frozen=True)
class ResultRow:
    """Results of one run at one task, level or value of a tag, of one split."""

    run: str  # label of the run
    level: str  # the level
    task: str  # key of the task; empty for the level as a whole
    split: str  # name of the split
    tasks: int  # number of tasks with episodes that count
    of_tasks: int  # how many tasks of the level have the split; 0: it is a row of one task
    episodes: int  # episodes that count
    errors: int  # episodes whose environment broke down, or whose process or connection was lost
    success_once: Estimate  # share of them in which the goal held after some step
    success_at_end: Estimate  # after the last step
    goal_fraction: Estimate  # share of the goal's leaves that were met in the end
    depth: Estimate  # share of the steps of an ordered goal that were reached
    reward: Estimate  # sum over an episode, on the published scale
    reward_per_step: Estimate  # that divided by the steps of the episode
    steps: Estimate  # control steps
    causes: Mapping[str, int]  # number of episodes by cause, errors included
    # what is measured besides: turns, where they are no control steps, and the suite's measures
    measures: Mapping[str, Estimate] = field(default_factory=dict)
    track: str = ""  # what the policy has learned from; empty: it is not stated
    benchmark: str = ""  # suite and version of its frozen episodes, e.g. ``clevrskills 1.0``
    axes: str = ""  # axes that perturbed them, e.g. ``camera:3``; empty: they are clean
    tag: str = ""  # name of the tag, for all tasks whose episodes have it; else empty
    value: str = ""  # its value
    # frozen episodes of the task that were left out, as perturbed they can't be solved or seen
    rejected: int = 0
    restarts: int = 0  # second and further starts of the episodes
    # whether the policy was given the environment or the identity of episodes
    privileged: bool = False


def heading_of(measure: Measure) -> str:
    """Return the heading of a measure's column."""
    return f"{measure.heading} %" if measure.kind == "share" else measure.heading


def estimate_of(row: ResultRow, measure: Measure) -> Estimate:
    """Return what a row has of a measure."""
    of_suite = row.measures.get(measure.name)
    return of_suite or getattr(row, measure.name)


def text_of(row: ResultRow, measure: Measure) -> str:
    """Return what a row has of a measure, for people."""
    scale = 100 if measure.kind == "share" else 1
    return estimate_of(row, measure).text(measure.digits, scale=scale)


def tasks_text(row: ResultRow) -> str:
    """Return the number of tasks of a level, and of how many if these are more."""
    return f"{row.tasks} of {row.of_tasks}" if row.of_tasks > row.tasks else str(row.tasks)


def measures_of(evaluations: Sequence[Evaluation]) -> list[Measure]:
    """Return the additional measures: turns, where they are no control steps, and the measures of
    the suites.
    """
    results = (result for evaluation in evaluations for result in evaluation.results)
    measures = {TURNS.name: TURNS} if any(r.turns not in (0, r.steps) for r in results) else {}
    for evaluation in evaluations:
        measures |= {measure.name: measure for measure in reported(evaluation.suite, Measure)}
    return list(measures.values())


def warning_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return a sentence on each run with replies that were cut off, and on each in which more than
    1 % of the actions were clipped.
    """
    lines = []
    for evaluation in evaluations:
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
        greatest: dict[str, float] = {}
        for result in results:
            for label, value in result.greatest.items():
                greatest[label] = max(value, greatest.get(label, 0.0))
        most = ", ".join(f"{label} {value:.3g}" for label, value in greatest.items() if value > 1)
        lines.append(
            f"Warning: {100 * part:.1f} % of the actions of {evaluation.label} lay outside [-1, 1] "
            f"and were clipped; greatest absolute values: {most}."
        )
    return lines


def pooling(evaluations: Sequence[Evaluation]) -> str:
    """Return a sentence on what numbers of several tasks are."""
    kinds = {POOLED if pools_episodes(e.suite) else MEAN: e.run.suite for e in evaluations}
    return " ".join(f"{suite}: {kind}" if len(kinds) > 1 else kind for kind, suite in kinds.items())


def splits_of(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the splits of the results, in the order of the suites."""
    ranks = {r.split: e.rank(r.split) for e in evaluations for r in e.results}
    return sorted(ranks, key=lambda split: (ranks[split], split))


def task_rows(evaluations: Sequence[Evaluation]) -> list[ResultRow]:
    """Return a row for each task, split and run, runs next to each other."""
    return _rows(evaluations, lambda r: (r.level, r.task, r.split))


def level_rows(evaluations: Sequence[Evaluation]) -> list[ResultRow]:
    """Return a row for each level, split and run, runs next to each other."""
    return _rows(evaluations, lambda r: (r.level, "", r.split))


def strata(
    results: Iterable[EpisodeResult], value: Callable[[EpisodeResult], float | None]
) -> list[np.ndarray]:
    """Return for each task (n,) what its episodes have: of one that was run several times, the
    mean; those that have nothing are left out.
    """
    made = []
    for _, group in groupby(sorted(results, key=_episode), key=lambda r: r.task):
        runs = [[value(r) for r in same] for _, same in groupby(group, key=_episode)]
        known = [[x for x in same if x is not None] for same in runs]
        made.append(np.array([np.mean(same) for same in known if same], float))
    return made


def pool(strata: Sequence[np.ndarray], suite: Suite | None) -> list[np.ndarray]:
    """Return the episodes of several tasks, (n, ...) of each, as one stratum if the protocol of
    their suite pools so.
    """
    together = strata and pools_episodes(suite)
    return [np.concatenate(strata)] if together else list(strata)


def summarise(
    results: Iterable[EpisodeResult],
    measures: Iterable[Measure] = (),
    suite: Suite | None = None,
    **about: Any,
) -> ResultRow:
    """Sum up episodes, of one task or of several; the runs of one episode count as their mean.

    Args:
        results: Results of the episodes.
        measures: Measures of the suite to sum up, too.
        suite: Their suite, which says how several tasks are pooled; ``None``: as a mean over them.
        about: Other fields of the row by name, such as ``run`` and ``split``.
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
        """Return a success rate; later outcomes of restarted episodes enter its upper end alone."""
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
    """Return the table for programs: an estimate has three columns, e.g. ``reward``, ``reward_low``
    and ``reward_high``; a cause has the number of its episodes.
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
    """Return the episodes of every run, for programs."""
    frame = pd.DataFrame(
        {"run": evaluation.label, **asdict(result)}
        for evaluation in evaluations
        for result in evaluation.all_results
    )
    names = ("repeat", "curves", "axes", "twin", "handover", "controller")
    empty = [name for name in names if not frame[name].any()]
    return frame.drop(columns=empty)


def words(rows: Sequence[ResultRow], measures: Sequence[Measure] = ()) -> pd.DataFrame:
    """Return the table for people: text, every rate with its interval."""
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
        texts["track"] = (row.track or "not stated") + ", privileged" * row.privileged
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
    if all(row.track == NO_TRACK or row.tag for row in rows):
        del frame["track"]  # nothing has learned
    for heading in map(heading_of, (*MEASURES[1:], *measures)):
        if heading in frame and (frame[heading] == "-").all():
            del frame[heading]
    if rows and TURNS.name in rows[0].measures and not any(row.steps.value for row in rows):
        frame = frame.drop(columns=["steps", "reward/step"], errors="ignore")  # without time
    return frame


def markdown(frame: pd.DataFrame) -> str:
    """Return a table of texts in Markdown."""
    lines = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "".join("| " + " | ".join(line) + " |\n" for line in cells)


def latex(frame: pd.DataFrame, caption: str, label: str) -> str:
    """Return a table of texts in LaTeX, as long as it is; needs the packages ``booktabs`` and
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
    """Return plain text for LaTeX."""
    special = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def write_tables(folder: Path, tables: Sequence[Table], note: str) -> list[Path]:
    """Write each table as ``<name>.csv``, and all of them into ``tables.md`` and ``tables.tex``.

    Args:
        folder: Where to.
        tables: The tables.
        note: What is said below them.

    Raises:
        StorageError: The disk refused.
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
    """Return the rows of a table for programs as JSON data; NaN becomes ``None``."""

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
            row = summarise(
                results,
                measures,
                evaluation.suite,
                **about,
                of_tasks=0 if task else sum(t.level == level and split in t.splits for t in known),
                track=run.track,
                privileged=run.privileged,
                benchmark=run.row,
                axes=" ".join(f"{axis}:{strength}" for axis, strength in run.axes.items()),
                rejected=len(run.rejected.get(frozen_name(task, split), ())),
            )
            rows.append(((level, task, evaluation.rank(split), k), row))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def print_table(frame: pd.DataFrame, title: str = "", rule_before: int = 0) -> None:
    """Print a table, its title on a line of its own; one that is wider than :data:`WIDTH` in parts
    below each other, each with the columns that tell the rows apart.

    Args:
        frame: The texts.
        title: The title.
        rule_before: Number of the row before which a line is left empty; 0: none.
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
            table.add_row(*(Text(str(cell)) for cell in row))  # its brackets are no markup
        screen.print(table, width=WIDTH if screen.width > WIDTH else None)
        screen.print()


def table_width(frame: pd.DataFrame) -> int:
    """Return the characters that a table takes on a terminal."""
    return int(sum(_widths(frame).values())) - GAP


def _widths(frame: pd.DataFrame) -> dict[str, int]:
    """Return the characters that each column takes, the gap behind it included."""
    return {str(name): GAP + max(map(len, (str(name), *map(str, frame[name])))) for name in frame}


def _parts(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Divide the columns of a table into parts that are narrow enough, if they can be."""
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
    """Print tables for people, each with its note."""
    for table in tables:
        print_table(table.texts, table.title)
        print_lines(*filter(None, (table.note,)), wrap=True)


def print_lines(*lines: str, wrap: bool = False) -> None:
    """Print sentences, one a line, or wrapped; no command or path that is to be copied."""
    screen = console()
    for line in lines:
        text = fill(line, min(WIDTH, screen.width), break_long_words=False, break_on_hyphens=False)
        screen.print(Text(text if wrap else line), soft_wrap=True)
