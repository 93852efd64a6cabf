"""Summary of a run, as printed by ``evaluate``."""

from __future__ import annotations

import pandas as pd

from clevrskills.core.report import Measure
from clevrskills.evaluation.handover.tables import composition_tables
from clevrskills.evaluation.report import tables
from clevrskills.evaluation.results import POLICY_ERROR, Evaluation, state_access
from clevrskills.evaluation.sequential.tables import sequential_tables

SHOWN = ("success_once", "goal_fraction")
"""Measures of the summary for all suites, by importance."""
OF_SUITE = 2
"""Maximum number of measures of the suite."""


def print_summary(evaluation: Evaluation) -> None:
    """Print a row for each task and split, then for each level with several tasks; sequential runs
    and partial episodes have their own tables.
    """
    run = evaluation.run
    marks = "".join(f", {mark}" for mark in state_access(run, evaluation.suite))
    title = f"{evaluation.label}{marks} on {run.row}, in brackets 95 % intervals"
    tables.print_lines(title, wrap=True)
    further = [*sequential_tables([evaluation]), *composition_tables([evaluation])]
    rows, levels = tables.task_rows([evaluation]), tables.level_rows([evaluation])
    levels = [row for row in levels if row.tasks > 1]
    if rows and not (run.sequential and len(rows) == 1):
        tables.print_table(_words([*rows, *levels], evaluation), rule_before=len(rows))
    for table in further:
        tables.print_table(table.texts, table.title)


def _words(rows: list[tables.ResultRow], evaluation: Evaluation) -> pd.DataFrame:
    """Return the table, without the last measures if it is too wide."""
    common = [measure for measure in tables.MEASURES if measure.name in SHOWN]
    own = [m for m in tables.measures_of([evaluation]) if m is not tables.TURNS][:OF_SUITE]
    different = {_values(rows, measure): measure for measure in reversed(common + own)}
    measures = [m for values, m in reversed(different.items()) if set(values) != {"-"}]
    measures = measures or common[:1]
    while True:
        frame = pd.DataFrame([_line(row, measures) for row in rows])
        for name in ("policy errors", "errors", "restarts"):
            if name in frame and (frame[name] == "0").all():
                del frame[name]
        if len(measures) == 1 or tables.table_width(frame) <= tables.WIDTH:
            return frame
        measures.pop()


def _values(rows: list[tables.ResultRow], measure: Measure) -> tuple[str, ...]:
    """Return the values of a measure without intervals."""
    return tuple(tables.text_of(row, measure).split()[0] for row in rows)


def _line(row: tables.ResultRow, measures: list[Measure]) -> dict[str, str]:
    texts = {
        "task": row.task or f"{row.level}, {tables.tasks_text(row)} tasks",
        "split": row.split,
        "episodes": str(row.episodes),
    }
    texts |= {tables.heading_of(measure): tables.text_of(row, measure) for measure in measures}
    broken = {"policy errors": row.causes.get(POLICY_ERROR, 0), "errors": row.errors}
    return texts | {n: str(k) for n, k in {**broken, "restarts": row.restarts}.items()}
