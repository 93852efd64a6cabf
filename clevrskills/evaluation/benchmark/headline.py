"""Headline numbers of runs: the numbers of the suite's protocol, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pandas as pd

from clevrskills.core.report import Cell, Measure, Protocol, protocol_of, reported
from clevrskills.evaluation.benchmark.protocol import cell_tasks
from clevrskills.evaluation.report.tables import Table, summarize, table_of
from clevrskills.evaluation.results import EpisodeResult, Evaluation
from clevrskills.evaluation.sequential.confidence import interval
from clevrskills.evaluation.sequential.rounds import round_values
from clevrskills.evaluation.statistics import Estimate

SUCCESS = Measure("success", "success", "share")


@dataclass(frozen=True)
class Headline:
    """Headline number of a run."""

    name: str
    cell: str  # cell of the protocol
    estimate: Estimate
    measure: Measure
    tasks: int  # number of tasks with episodes that count
    of_tasks: int  # number of tasks of the protocol

    @property
    def value(self) -> str:
        """Text of the number, e.g. ``43.5 % [39.6, 47.5]``."""
        if self.measure.kind == "mean":
            return self.estimate.text(self.measure.digits)
        return self.estimate.percent(self.measure.digits).replace(" [", " % [")

    @property
    def text(self) -> str:
        """Name and number, e.g. ``L0 43.5 % [39.6, 47.5]``, with the task count if incomplete."""
        part = f" ({self.tasks} of {self.of_tasks} tasks)" if self.tasks < self.of_tasks else ""
        return f"{self.name}{part} {self.value}"

    def columns(self) -> dict[str, object]:
        """Return the number as columns of a data table."""
        counts = {"tasks": self.tasks, "of_tasks": self.of_tasks, "episodes": self.estimate.n}
        return {"cell": self.cell, "number": self.name, **self.estimate.columns("value"), **counts}


def headlines(
    evaluation: Evaluation, protocol: Protocol, cell: Cell, split: str = ""
) -> list[Headline]:
    """Return the numbers of the protocol for which a run has episodes.

    Args:
        evaluation: The run.
        protocol: Protocol of its suite.
        cell: Cell of the protocol.
        split: Split; empty: that of the cell.
    """
    run, suite = evaluation.run, evaluation.suite
    measures = {measure.name: measure for measure in (SUCCESS, *reported(suite, Measure))}
    found = []
    for number in protocol.numbers:
        if number.trained_on and run.trained_on and run.trained_on not in number.trained_on:
            continue
        of_tasks = [
            task
            for task in cell_tasks(suite, cell)
            if suite.tasks[task].level in (number.levels or (suite.tasks[task].level,))
        ]
        results = [
            result
            for result in evaluation.results
            if result.counts and result.task in of_tasks and result.split == (split or cell.split)
        ]
        if results:
            measure = measures[number.measure]
            estimate = _estimate(results, measure, evaluation)
            counts = len({result.task for result in results}), len(of_tasks)
            found.append(Headline(number.name, cell.name, estimate, measure, *counts))
    return found


def pooled_headlines(evaluations: Sequence[Evaluation], protocol: Protocol) -> list[Headline]:
    """Return the numbers over all cells, if the protocol pools them and all are present."""
    cells = {cell.name for cell in protocol.cells}
    if not protocol.pooled or {evaluation.run.protocol for evaluation in evaluations} != cells:
        return []
    results = tuple(result for evaluation in evaluations for result in evaluation.results)
    together = replace(evaluations[0], results=results)
    return headlines(together, protocol, replace(protocol.cells[0], name=protocol.pooled))


def headline_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the table of headline numbers of ``clevrskills benchmark`` runs, if there are any."""
    data, texts = list[dict[str, object]](), list[dict[str, object]]()

    def add(label: str, row: str, found: Sequence[Headline]) -> None:
        if found:
            about = {"run": label, "benchmark": f"{row}, {found[0].cell}"}
            data.extend({**about, **one.columns()} for one in found)
            texts.append({**about, **{one.name: one.value for one in found}})

    for folder, group in groupby(evaluations, lambda evaluation: evaluation.root.parent):
        same = [*group]
        for evaluation in same:
            protocol, run = protocol_of(evaluation.suite), evaluation.run
            cells = {cell.name: cell for cell in protocol.cells} if protocol else {}
            if protocol is not None and run.protocol in cells:
                found = headlines(evaluation, protocol, cells[run.protocol])
                add(evaluation.label, run.row, found)
        if protocol := protocol_of(same[0].suite):
            add(folder.name, same[0].run.row, pooled_headlines(same, protocol))
    return table_of("headline", "Numbers to report", data, pd.DataFrame(texts).fillna("-"))


def _estimate(
    results: Sequence[EpisodeResult], measure: Measure, evaluation: Evaluation
) -> Estimate:
    """Return an estimate; the success rate of a sequential run has its confidence sequence."""
    about, suite = evaluation.run.sequential, evaluation.suite
    if about and measure is SUCCESS:
        known = {(r.task, r.split, r.index): r for r in results}
        tasks = sorted({(r.task, r.split) for r in results})
        least, most = round_values(known, tasks, int(about["population"]))
        mean_success = float(least.mean()) if len(least) else math.nan
        return Estimate(mean_success, *interval(least, most), least.size)
    row = summarize(results, (measure,), suite)
    return row.success_once if measure is SUCCESS else row.measures[measure.name]
