"""Tables specific to suites: tags, refused turns, token usage, published results."""

import operator
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from typing import Any

import pandas as pd

from clevrskills.core.replies import REPLIES
from clevrskills.core.report import Pivot, PublishedTable, reported
from clevrskills.core.suite import Suite, all_interfaces
from clevrskills.evaluation.report.curves import curve_tables
from clevrskills.evaluation.report.tables import (
    ResultRow,
    Table,
    measures_of,
    numbers,
    pool,
    splits_of,
    strata,
    summarize,
    table_of,
    words,
)
from clevrskills.evaluation.results import USAGE, EpisodeResult, Evaluation
from clevrskills.evaluation.statistics import Estimate, mean, propagate, share

COUNTED = USAGE | REPLIES
"""Counters of requests to a language model and of its replies."""
ORACLE, CONDITIONS = "oracle", ("interface", "noise")
"""Reference policy, and the settings that must be equal to those of its run."""
FEWEST, MOST = 2, 24
"""Minimum and maximum number of values of a tag for a table by value."""


@dataclass(frozen=True)
class RunPivot:
    """Success rate of one run by the values of two tags."""

    row: str  # tag of the rows
    column: str  # tag of the columns
    run: str
    split: str
    columns: tuple[str, ...]  # values of the column tag
    # success by column for each value of the row tag; `None`: no episode
    cells: dict[str, list[Estimate | None]] = field(default_factory=dict)


def suite_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return all tables with data."""
    tables = []
    if rows := tag_rows(evaluations):
        texts = words(rows, measures_of(evaluations))
        tables.append(Table("tags", "By tag", numbers(rows), texts))
    for (row, column), group in groupby(pivots(evaluations), key=lambda p: (p.row, p.column)):
        tables.append(_pivot_table(row, column, list(group)))
    rest = (oracle_table, curve_tables, refusals, usage_table)
    return [*tables, *(table for make in rest for table in make(evaluations))]


def published_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of published results for the evaluated tasks."""
    published: dict[str, PublishedTable] = {}
    for evaluation in evaluations:
        done = {result.task for result in evaluation.results}
        for table in reported(evaluation.suite, PublishedTable):
            if not table.tasks or done & {*table.tasks}:
                published[table.title] = table
    tables = []
    for k, table in enumerate(published.values(), start=1):
        frame = pd.DataFrame(table.rows, columns=list(table.columns))
        relation = "Comparable" if table.comparable else "Not comparable"
        note = f"{relation} with the numbers here. {table.note} Source: {table.source}."
        title = f"Published: {table.title}"
        tables.append(Table(f"published-{k}", title, frame, frame.astype(str), note))
    return tables


def tag_rows(evaluations: Sequence[Evaluation]) -> list[ResultRow]:
    """Return a row for each value of each tag, split and run."""
    measures, rows = measures_of(evaluations), []
    for tag, values in _tags(evaluations).items():
        if not FEWEST <= len(values) <= MOST:
            continue
        for value in values:
            for split in splits_of(evaluations):
                for evaluation in evaluations:
                    found = _of(evaluation, split, {tag: value})
                    if found:
                        about = {"run": evaluation.label, "split": split, "tag": tag}
                        rows.append(
                            summarize(found, measures, evaluation.suite, **about, value=str(value))
                        )
    return rows


def pivots(evaluations: Sequence[Evaluation]) -> list[RunPivot]:
    """Return the success rates by the suites' pairs of tags, for each split and run."""
    tags, found = _tags(evaluations), []
    pairs = dict.fromkeys(pair for e in evaluations for pair in reported(e.suite, Pivot))
    for row, column in ((pair.row, pair.column) for pair in pairs):
        for split in splits_of(evaluations):
            for evaluation in evaluations:
                columns = tags.get(column, [])
                pivot = RunPivot(row, column, evaluation.label, split, tuple(map(str, columns)))
                for value in tags.get(row, []):
                    cells = [_of(evaluation, split, {row: value, column: c}) for c in columns]
                    if any(cells):
                        pivot.cells[str(value)] = [
                            _success(cell, evaluation.suite) if cell else None for cell in cells
                        ]
                if pivot.cells:
                    found.append(pivot)
    return found


def oracle_table(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return measures of each level as fractions of the oracle's over common tasks, see
    :attr:`~clevrskills.core.report.Measure.of_oracle`.
    """
    data, texts = [], []
    asked = [measure for measure in measures_of(evaluations) if measure.of_oracle]
    for run, oracle in product(evaluations, evaluations):
        same = (getattr(run.run, n) == getattr(oracle.run, n) for n in ("suite", *CONDITIONS))
        if run.run.policy == ORACLE or oracle.run.policy != ORACLE or not all(same):
            continue
        for measure, split in product(asked, splits_of([run])):
            both = [[r for r in each.results if r.split == split] for each in (run, oracle)]
            tasks = {r.task for r in both[0]} & {r.task for r in both[1]}
            for level in dict.fromkeys(r.level for r in both[0] if r.task in tasks):
                own, best = (
                    summarize(
                        [r for r in found if r.level == level and r.task in tasks],
                        [measure],
                        run.suite,
                    ).measures[measure.name]
                    for found in both
                )
                if not best.value > 0.0 or not own.n:
                    continue
                part = propagate(operator.truediv, own, best)
                about = {"level": level, "split": split, "run": run.label, "noise": run.run.noise}
                about |= {"measure": measure.heading}
                data.append({**about, **own.columns("own"), **best.columns("oracle")})
                data[-1] |= part.columns("share")
                columns = {"%": own, "oracle %": best, "of the oracle's %": part}
                texts.append({**about, **{name: each.percent() for name, each in columns.items()}})
    return table_of("of_oracle", "Shares of the oracle's", data, texts)


def refusals(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the table of refused turns by category and code."""
    data, texts = [], []
    for evaluation in evaluations:
        interface = all_interfaces(evaluation.suite).get(evaluation.run.interface)
        known = {} if interface is None else interface.codes
        counted = [result for result in evaluation.results if result.counts]
        totals = sum((Counter(r.codes) for r in counted), Counter[str]())
        codes = {code: known[code][1] if code in known else "unknown" for code in totals}
        for code in sorted(codes, key=lambda code: (codes[code], -totals[code], code)):
            if not codes[code]:
                continue  # accepted turns
            each = mean(strata(counted, lambda r, code=code: r.codes.get(code, 0)))  # type: ignore[misc]
            some = share(strata(counted, lambda r, code=code: code in r.codes))  # type: ignore[misc]
            about = {"category": codes[code], "code": code, "run": evaluation.label}
            numbers = {**each.columns("per_episode"), **some.columns("episodes")}
            data.append({**about, "turns": totals[code], **numbers})
            words = {"per episode": each.text(), "episodes %": some.percent()}
            texts.append({**about, "turns": str(totals[code]), **words})
    frame = pd.DataFrame(texts)
    if data and len(evaluations) == 1:
        del frame["run"]
    return table_of("refused", "What was refused", data, frame)


def usage_table(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the table of language model usage by run."""
    data, texts = [], []
    for evaluation in evaluations:
        counted = [result for result in evaluation.results if result.usage]
        if not counted:
            continue
        names = [name for name in COUNTED if any(name in result.usage for result in counted)]
        total = {name: sum(r.usage.get(name, 0) for r in counted) for name in names}
        about = {"run": evaluation.label, "episodes": len(counted)}
        data.append({**about, **total})
        columns = {COUNTED[name]: f"{value:,.10g}" for name, value in total.items()}
        texts.append({**{name: str(value) for name, value in about.items()}, **columns})
    frame = pd.DataFrame(texts).fillna("-")
    return table_of("usage", "What language models were asked", data, frame)


def _pivot_table(row: str, column: str, group: Sequence[RunPivot]) -> Table:
    data, texts = [], []
    several = {name: len({getattr(p, name) for p in group}) > 1 for name in ("run", "split")}
    for pivot in group:
        where = {"run": pivot.run, "split": pivot.split}
        for value, cells in pivot.cells.items():
            line = {row: value, **{name: where[name] for name in where if several[name]}}
            for of, cell in zip(pivot.columns, cells, strict=True):
                line[of] = f"{cell.percent()} ({cell.n})" if cell else "-"
                if cell:
                    about = {**where, row: value, column: of, "episodes": cell.n}
                    data.append({**about, **cell.columns("success_once")})
            texts.append(line)
    title = f"Success % by {row} and {column}"
    note = "In parentheses: the number of episodes."
    return Table(f"pivot-{row}-{column}", title, pd.DataFrame(data), pd.DataFrame(texts), note)


def _success(results: Sequence[EpisodeResult], suite: Suite) -> Estimate:
    return share(pool(strata((r for r in results if r.counts), lambda r: r.success_once), suite))


def _tags(evaluations: Sequence[Evaluation]) -> dict[str, list[Any]]:
    """Return the sorted values of each tag."""
    found: dict[str, set[Any]] = defaultdict(set)
    for evaluation in evaluations:
        for result in evaluation.results:
            for tag in result.tags:
                found[tag] |= {*_values(result, tag)}
    return {
        tag: sorted(values, key=lambda v: (isinstance(v, str), v)) for tag, values in found.items()
    }


def _values(result: EpisodeResult, tag: str) -> list[Any]:
    """Return the values of a tag of an episode, possibly several or none."""
    value = result.tags.get(tag)
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _of(evaluation: Evaluation, split: str, tags: dict[str, Any]) -> list[EpisodeResult]:
    return [
        result
        for result in evaluation.results
        if result.split == split and all(v in _values(result, tag) for tag, v in tags.items())
    ]
