"""Tables of composition: success rates of parts of episodes, and losses by cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from clevrskills.core.statistics import wilson
from clevrskills.evaluation.handover.director import NO_HANDOVER
from clevrskills.evaluation.handover.parts import LONGER, OWN, PLAN, PROMPT, WHOLE, Part, leaf_part
from clevrskills.evaluation.report.tables import ResultRow, Table, summarize
from clevrskills.evaluation.results import EpisodeResult, Evaluation
from clevrskills.evaluation.statistics import (
    Estimate,
    columns,
    difference,
    paired_difference,
    propagate,
    rate,
    share,
)

LEVELS = {
    "alone": "in isolation",
    "in_place": "in context",
    "prompted": "in context, whole prompt",
    "expected": "expected",
    "product": "product",
    "planner": "oracle planner",
    "whole": "whole task",
    "longer": "twice the limit",
}
"""Success rates of parts, with their headings."""
LOSSES = {
    "gap": "gap",
    "strange": "state shift",
    "dependence": "dependence",
    "choosing": "subgoal choice",
    "horizon": "horizon",
}
"""Losses by cause, with their headings."""
NOTE = (
    "In isolation: a leaf as the first step of the task of its kind, prompted by its sentence. "
    "In context: after the oracle has done the earlier leaves, with the step limit of isolation. "
    "Whole prompt: the same, prompted by the sentence of the task. Product: of the rates in "
    "context, leaf by leaf. Oracle planner: the policy acts, and the oracle prompts it with the "
    "next leaf at every change. Whole task: prompted by the task only, zero-shot if the policy "
    "was not trained on it. Several tasks: the mean."
)
GAP_NOTE = (
    "In percentage points. Expected: the product of the rates in isolation. Gap: expected minus "
    "whole task, the sum of the next three. State shift: expected minus product. Dependence: "
    "product minus oracle planner. Subgoal choice: oracle planner minus whole task. Horizon, not "
    "part of the gap: twice the limit minus whole task. Subgoal choice and horizon are paired by "
    "episode; the other intervals treat the two rates as independent."
)


@dataclass(frozen=True)
class Composition:
    """Composition results of one run on a task and split."""

    run: str  # label of the run
    level: str
    task: str  # empty: mean over the tasks of the level
    split: str
    episodes: int  # episodes with any part
    leaves: float  # mean number of leaves
    missing: int  # parts that never began, see :data:`NO_HANDOVER`; not counted elsewhere
    alone: Estimate  # rate of leaves in isolation
    in_place: Estimate  # rate of leaves in context, prompted by their sentences
    prompted: Estimate  # the same, with the full prompt
    expected: Estimate  # product of the rates in isolation
    product: Estimate  # product of the rates in context
    planner: Estimate  # rate of episodes, prompted with the next leaf
    whole: Estimate  # rate of episodes, with the full prompt
    longer: Estimate  # the same with twice the limit
    gap: Estimate  # ``expected`` - ``whole``
    strange: Estimate  # ``expected`` - ``product``
    dependence: Estimate  # ``product`` - ``planner``
    choosing: Estimate  # ``planner`` - ``whole``
    horizon: Estimate  # ``longer`` - ``whole``


@dataclass(frozen=True)
class _Outcomes:
    """Outcomes of the parts of the episodes of one task and split."""

    leaves: tuple[int, ...]  # number of leaves of each episode
    missing: int  # parts that never began
    # kinds of leaves of each episode in order, if all have tasks of their own
    chains: tuple[tuple[str, ...], ...]
    alone: Mapping[str, Estimate]  # rate of each kind in isolation, shared by all tasks
    in_place: np.ndarray  # fraction of leaves done in context by episode, (n,)
    prompted: np.ndarray  # the same, with the full prompt, (n,)
    places: tuple[Estimate, ...]  # rate in context by position of the leaf
    planner: Mapping[int, bool]  # success by episode, prompted with the next leaf
    whole: Mapping[int, bool]  # the same, with the full prompt
    longer: Mapping[int, bool]  # the same with twice the limit


def compositions(evaluations: Sequence[Evaluation]) -> list[Composition]:
    """Return a row for each run, task and split, then one for each level."""
    rows, levels = [], dict[tuple[str, str, str], list[_Outcomes]]()
    for evaluation in evaluations:
        for (level, task, split), found in _of_run(evaluation):
            rows.append(_composition((evaluation.label, level, task, split), [found]))
            levels.setdefault((level, split, evaluation.label), []).append(found)
    rows.sort(key=lambda row: (row.level, row.task, row.split))
    for (level, split, run), tasks in sorted(levels.items(), key=lambda one: one[0]):
        if len(tasks) > 1:
            rows.append(_composition((run, level, "", split), tasks))
    return rows


def part_title(result: EpisodeResult) -> str:
    """Return the title of the policy's part; empty: a full episode."""
    name = str(result.handover.get("part", ""))
    part = Part.parse(name)
    if part.kind != "leaf":
        return {PLAN: LEVELS["planner"], WHOLE: LEVELS["whole"]}.get(name, name)
    return f"leaf {part.leaf + 1}, {'own sentence' if part.sentence == OWN else 'whole prompt'}"


def part_rows(evaluations: Sequence[Evaluation]) -> list[ResultRow]:
    """Return a row for each part, task, split and run."""
    rows = []
    for evaluation in evaluations:
        groups: dict[tuple[str, str, str, str], list[EpisodeResult]] = {}
        for result in evaluation.parts:
            key = (result.level, result.task, part_title(result), result.split)
            groups.setdefault(key, []).append(result)
        for (level, task, part, split), found in sorted(groups.items()):
            about: dict[str, Any] = {"level": level, "task": f"{task}: {part}", "split": split}
            rows.append(summarize(found, run=evaluation.label, **about))
    return sorted(rows, key=lambda row: (row.level, row.task, row.split))


def composition_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of runs with parts of episodes."""
    rows = compositions(evaluations)
    if not rows:
        return []
    data = pd.DataFrame([columns(row) for row in rows])
    rates = {name: heading for name, heading in LEVELS.items() if name != "expected"}
    changes = {"expected": LEVELS["expected"], **LOSSES}
    levels = pd.DataFrame([_words(row, rates) for row in rows])
    losses = pd.DataFrame([_words(row, changes, "+") for row in rows])
    if len(evaluations) == 1:
        levels, losses = levels.drop(columns="run"), losses.drop(columns="run")
    return [
        Table("composition", "Where composition breaks: parts of episodes", data, levels, NOTE),
        Table("composition-gap", "Where composition breaks: the gap", data, losses, GAP_NOTE),
    ]


def _words(row: Composition, names: Mapping[str, str], sign: str = "") -> dict[str, str]:
    texts = {"task": row.task or f"mean of {row.level}", "split": row.split, "run": row.run}
    texts |= {"episodes": str(row.episodes), "leaves": f"{row.leaves:.1f}"}
    for name, heading in names.items():
        plus = "" if name in LEVELS else sign
        texts[f"{heading} %"] = getattr(row, name).percent(0, plus)
    return texts


def _of_run(evaluation: Evaluation) -> Iterator[tuple[tuple[str, str, str], _Outcomes]]:
    """Yield the outcomes of each level, task and split."""
    parts = [r for r in evaluation.parts if r.counts]
    parts.sort(key=lambda r: (r.level, r.task, evaluation.rank(r.split), r.split))
    first = leaf_part(0, OWN)
    begun = [r for r in parts if r.cause != NO_HANDOVER]
    for where, group in groupby(parts, key=lambda r: (r.level, r.task, r.split)):
        same = list(group)
        if {r.handover["part"] for r in same} == {first}:
            continue  # only run for the rates in isolation
        in_split = [r for r in begun if r.split == where[2] and r.handover["part"] == first]
        alone = {
            kind: _rate([r.success_once for r in in_split if r.task == kind])
            for kind in dict.fromkeys(r.handover.get("alone", "") for r in same)
            if kind
        }
        yield where, _outcomes(same, alone)


def _outcomes(results: Sequence[EpisodeResult], alone: Mapping[str, Estimate]) -> _Outcomes:
    by_part: dict[str, dict[int, EpisodeResult]] = {}
    kinds: dict[int, dict[int, str]] = {}
    leaves = {r.index: int(r.handover["leaves"]) for r in results}
    for result in results:
        part = Part.parse(str(result.handover["part"]))
        if result.cause != NO_HANDOVER:
            by_part.setdefault(result.handover["part"], {})[result.index] = result
        if part.kind == "leaf" and result.handover["alone"]:
            kinds.setdefault(result.index, {})[part.leaf] = result.handover["alone"]
    whole = by_part.get(WHOLE, {})
    own, prompted = (_in_place(by_part, max(leaves.values()), how) for how in (OWN, PROMPT))
    return _Outcomes(
        leaves=(*leaves.values(),),
        missing=sum(r.cause == NO_HANDOVER for r in results),
        chains=tuple(
            tuple(of[k] for k in sorted(of))
            for index, of in kinds.items()
            if len(of) == leaves[index]
        ),
        alone=alone,
        in_place=own[0],
        prompted=prompted[0],
        places=own[1],
        planner={index: r.success_once for index, r in by_part.get(PLAN, {}).items()},
        whole={
            index: r.success_once and r.turns <= r.max_turns // LONGER for index, r in whole.items()
        },
        longer={index: r.success_once for index, r in whole.items()},
    )


def _in_place(
    by_part: Mapping[str, Mapping[int, EpisodeResult]], most: int, how: str
) -> tuple[np.ndarray, tuple[Estimate, ...]]:
    """Return the fraction of leaves done by episode, (n,), and the rate by position."""
    found = [by_part.get(leaf_part(k, how), {}) for k in range(most)]
    episodes = sorted({index for each in found for index in each})
    shares = [np.mean([each[i].success_once for each in found if i in each]) for i in episodes]
    rates = tuple(_rate([r.success_once for r in each.values()]) for each in found)
    return np.array(shares, float), rates


def _rate(outcomes: Sequence[bool]) -> Estimate:
    return rate(np.array(outcomes, bool))


def _composition(where: tuple[str, str, str, str], tasks: Sequence[_Outcomes]) -> Composition:
    """Return the row of one task, or the mean of several; unknown values are skipped."""
    levels = {name: estimate(tasks) for name, estimate in _ESTIMATES.items()}
    return Composition(
        *where,
        episodes=sum(len(task.leaves) for task in tasks),
        leaves=fmean(fmean(task.leaves) for task in tasks),
        missing=sum(task.missing for task in tasks),
        gap=_less(tasks, "expected", "whole"),
        strange=_less(tasks, "expected", "product"),
        dependence=_less(tasks, "product", "planner"),
        choosing=paired_difference([_pairs(task.whole, task.planner) for task in tasks]),
        horizon=paired_difference([_pairs(task.whole, task.longer) for task in tasks]),
        **levels,  # type: ignore[arg-type]
    )


def _alone(tasks: Sequence[_Outcomes], of_chain: Callable[[Sequence[float]], float]) -> Estimate:
    """Return the mean over tasks of a function of the isolated rates of an episode's leaves, which
    the tasks share.
    """
    able = [
        task
        for task in tasks
        if task.chains and not any(math.isnan(e.value) for e in task.alone.values())
    ]
    rates = {kind: estimate for task in able for kind, estimate in task.alone.items()}

    def value(*values: float) -> float:
        of = dict(zip(rates, values, strict=True))
        return fmean(fmean(of_chain([of[k] for k in c]) for c in task.chains) for task in able)

    return propagate(value, *rates.values())


def _product(tasks: Sequence[_Outcomes]) -> Estimate:
    """Return the mean over tasks of the products of the rates in context. The interval contains
    Wilson's for as many episodes, since the product of zero rates would have width 0.
    """
    made = [
        propagate(
            lambda *r, leaves=task.leaves: fmean(math.prod(r[:n]) for n in leaves), *task.places
        )
        for task in tasks
    ]
    known = [(one, len(task.leaves)) for one, task in zip(made, tasks, strict=True) if one.n]
    product = propagate(lambda *values: fmean(values), *(one for one, _ in known))
    if not known:
        return product
    n = sum(episodes for _, episodes in known)
    low, high = wilson(product.value * n, n)
    return replace(product, low=min(product.low, low), high=max(product.high, high), n=n)


def _episodes(outcomes: Iterable[Mapping[int, bool]]) -> Estimate:
    return share([np.array([*found.values()], bool) for found in outcomes])


_ESTIMATES: Mapping[str, Callable[[Sequence[_Outcomes]], Estimate]] = {
    "alone": lambda tasks: _alone(tasks, fmean),
    "expected": lambda tasks: _alone(tasks, math.prod),
    "in_place": lambda tasks: share([task.in_place for task in tasks]),
    "prompted": lambda tasks: share([task.prompted for task in tasks]),
    "product": _product,
    "planner": lambda tasks: _episodes(task.planner for task in tasks),
    "whole": lambda tasks: _episodes(task.whole for task in tasks),
    "longer": lambda tasks: _episodes(task.longer for task in tasks),
}


def _less(tasks: Sequence[_Outcomes], one: str, other: str) -> Estimate:
    """Return ``one`` minus ``other`` on the tasks where both are known."""
    of, less = _ESTIMATES[one], _ESTIMATES[other]
    both = [task for task in tasks if not any(math.isnan(f([task]).value) for f in (of, less))]
    return difference(of(both), less(both))


def _pairs(one: Mapping[int, bool], other: Mapping[int, bool]) -> np.ndarray:
    """Return the outcomes of common episodes, (n, 2)."""
    pairs = [(one[index], other[index]) for index in sorted(one.keys() & other.keys())]
    return np.array(pairs, bool).reshape(-1, 2)
