"""Paired comparison of two runs on their common episodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.tables import pool, records
from clevrskills.evaluation.results import SETTINGS, EpisodeResult, Evaluation, Run
from clevrskills.evaluation.statistics import (
    Estimate,
    Pairs,
    columns,
    holm,
    paired_difference,
    share,
)

EXPLANATION = (
    "Only episodes that both runs have evaluated without an infrastructure error. In brackets: "
    "95 % intervals. Difference: second minus first, in percentage points. p: McNemar's exact "
    "two-sided test on the episodes with different outcomes; p (Holm): adjusted for the number of "
    "tasks."
)
ASKED = {f"observation.{name}" for name in ("cameras", "size_px", "history", "proprioception")}
"""Observation options that a policy requests, and so a part of it."""
SEEN = {"renderer", "observation.views", "observation.look"}
"""Settings that do not matter for a policy without images."""


@dataclass(frozen=True)
class PairRow:
    """Comparison of two runs on one task or level of one split."""

    level: str
    task: str  # empty for a level
    split: str
    episodes: int  # number of pairs
    a: Estimate  # success rate of the first run
    b: Estimate  # success rate of the second run
    difference: Estimate  # second minus first
    cells: Pairs  # contingency table
    p_value: float  # of McNemar's exact test
    p_holm: float | None = None  # adjusted for all tasks; ``None`` for a level


@dataclass(frozen=True)
class Comparison:
    """Comparison of two runs."""

    a: str  # label of the first run
    b: str  # label of the second run
    levels: tuple[PairRow, ...]  # a row for each level and split
    tasks: tuple[PairRow, ...]  # a row for each task and split
    won: tuple[str, ...]  # ids of episodes in which only the second run succeeded
    lost: tuple[str, ...]  # ids of episodes in which only the first run succeeded
    remarks: tuple[str, ...]  # caveats in words


@dataclass(frozen=True)
class _Pair:
    episode: EpisodeResult
    a: bool
    b: bool


def compare_runs(a: Evaluation, b: Evaluation) -> Comparison:
    """Compare two runs.

    Raises:
        ClevrSkillsError: They have no episode in common, or do not identify their episodes.
    """
    for evaluation in (a, b):
        if obstacle := pairing_obstacle(evaluation):
            raise ClevrSkillsError(obstacle)
    pairs, remarks = _pair(a, b)
    if not pairs:
        raise ClevrSkillsError(
            f"{a.root} and {b.root} have no episode in common that ended without an error"
        )
    tasks = _rows(pairs, True, a)
    adjusted = holm([row.p_value for row in tasks])
    return Comparison(
        a.label,
        b.label,
        levels=tuple(_rows(pairs, False, a)),
        tasks=tuple(replace(row, p_holm=p) for row, p in zip(tasks, adjusted, strict=True)),
        won=tuple(p.episode.id for p in pairs if p.b and not p.a),
        lost=tuple(p.episode.id for p in pairs if p.a and not p.b),
        remarks=tuple(remarks),
    )


def pairing_obstacle(evaluation: Evaluation) -> str:
    """Return why the episodes of a run cannot be paired; empty: they can."""
    if evaluation.source is None:
        return ""
    if all(result.episode for result in evaluation.results if result.counts):
        return ""
    return (
        f"{evaluation.root}: the files of {evaluation.source.program} do not identify the "
        "episodes, so they cannot be paired; run the policy with `clevrskills evaluate`"
    )


def numbers(rows: Sequence[PairRow]) -> pd.DataFrame:
    """Return the data table."""
    return pd.DataFrame([columns(row) for row in rows])


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON data."""
    return {
        "a": comparison.a,
        "b": comparison.b,
        "levels": records(numbers(comparison.levels)),
        "tasks": records(numbers(comparison.tasks)),
        "only_a": comparison.lost,
        "only_b": comparison.won,
        "remarks": comparison.remarks,
    }


def words(comparison: Comparison, rows: Sequence[PairRow]) -> pd.DataFrame:
    """Return the table as text."""
    a, b = comparison.a, comparison.b
    table = []
    for row in rows:
        texts = {"task": row.task} if row.task else {"level": row.level}
        texts |= {
            "split": row.split,
            "episodes": str(row.episodes),
            f"{a} %": row.a.percent(),
            f"{b} %": row.b.percent(),
            "difference": row.difference.percent(sign="+"),
            f"only {a}": str(int(row.cells.only_a)),
            f"only {b}": str(int(row.cells.only_b)),
            "p": p_text(row.p_value),
        }
        if row.p_holm is not None:
            texts["p (Holm)"] = p_text(row.p_holm)
        table.append(texts)
    return pd.DataFrame(table)


def p_text(p: float) -> str:
    """Return a rounded p-value."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _pair(a: Evaluation, b: Evaluation) -> tuple[list[_Pair], list[str]]:
    """Return the pairs in the order of the results, and remarks on skipped episodes."""
    firsts = [[r for r in run.results if not r.repeat] for run in (a, b)]
    theirs = {r.id: r for r in firsts[1]}
    pairs, changed, broken = [], 0, 0
    for result in firsts[0]:
        other = theirs.get(result.id)
        if other is None:
            continue
        if other.episode != result.episode:
            changed += 1
        elif not (result.counts and other.counts):
            broken += 1
        else:
            pairs.append(_Pair(result, result.success_once, other.success_once))
    common = len(pairs) + changed + broken
    remarks = []
    if alone := sum(map(len, firsts)) - 2 * common:
        remarks.append(f"episodes skipped, in one run only: {alone}")
    if changed:
        remarks.append(f"episodes skipped, with different content: {changed}")
    if broken:
        remarks.append(f"episodes skipped, with an error in a run: {broken}")
    if any(r.repeat for run in (a, b) for r in run.results):
        remarks.append("of repeated episodes, the first rollout counts")
    others = [each for each in (a, b) if each.source]
    remarks += [unstated(each) for each in others]
    if not others and (differing := differences(a.run, b.run)):
        remarks.append(f"the runs differ in {', '.join(differing)}")
    return pairs, remarks


def unstated(evaluation: Evaluation) -> str:
    """Return a sentence on the information missing in the files of another program."""
    assert evaluation.source is not None
    program, missing = evaluation.source.program, ", ".join(evaluation.source.unstated)
    return f"{evaluation.label} was run by {program}, whose files do not state: {missing}"


def differences(a: Run, b: Run) -> list[str]:
    """Return the different settings of two runs, named as in ``run.json``.

    Observation options of different policies are not compared, nor rendering settings if one of
    them has no images.
    """

    def shown(value: Any) -> str:
        return str(value) if value or value in (0, False) else "none"

    left_out: set[str] = set()
    if (a.policy, a.policy_args) != (b.policy, b.policy_args):
        left_out |= ASKED
        if any(not run.renderer for run in (a, b)):
            left_out |= SEEN
    found = []
    for name in SETTINGS:
        one, other = getattr(a, name), getattr(b, name)
        if isinstance(one, dict) and isinstance(other, dict):
            both = {f"{name}.{key}": (one.get(key), other.get(key)) for key in {*one, *other}}
        else:
            both = {name: (one, other)}
        found += [
            f"{key} ({shown(x)} and {shown(y)})"
            for key, (x, y) in sorted(both.items())
            if x != y and key not in left_out
        ]
    return found


def _rows(pairs: Sequence[_Pair], by_task: bool, run: Evaluation) -> list[PairRow]:
    def key(pair: _Pair) -> tuple[str, str, int, str]:
        e = pair.episode
        return e.level, e.task if by_task else "", run.rank(e.split), e.split

    rows = []
    for (level, task, _, split), group in groupby(sorted(pairs, key=key), key=key):
        ordered = sorted(group, key=lambda p: p.episode.task)
        tasks = groupby(ordered, key=lambda p: p.episode.task)
        strata = pool([np.array([(p.a, p.b) for p in g]) for _, g in tasks], run.suite)
        cells = Pairs.count(np.concatenate(strata))
        rows.append(
            PairRow(
                level,
                task,
                split,
                episodes=len(ordered),
                a=share([s[:, 0] for s in strata]),
                b=share([s[:, 1] for s in strata]),
                difference=paired_difference(strata),
                cells=cells,
                p_value=cells.p_value,
            )
        )
    return rows
