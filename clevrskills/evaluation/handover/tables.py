"""Tables of composition: how well parts of episodes are done, and what is lost where."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from statistics import fmean

import numpy as np
import pandas as pd

from clevrskills.core.statistics import wilson
from clevrskills.evaluation.handover.director import NO_HANDOVER
from clevrskills.evaluation.handover.parts import LONGER, OWN, PLAN, PROMPT, WHOLE, leaf_part
from clevrskills.evaluation.report.tables import Table
from clevrskills.evaluation.results import EpisodeResult, Evaluation
from clevrskills.evaluation.statistics import (
    Estimate,
    difference,
    paired_difference,
    propagate,
    rate,
    share,
)

LEVELS = {
    "alone": "alone",
    "in_place": "in place",
    "prompted": "in place, by the prompt",
    "product": "product",
    "planner": "perfect planner",
    "zero_shot": "zero-shot",
    "longer": "twice the limit",
}
"""How well something is done, and what tables call it."""
LOSSES = {
    "gap": "gap",
    "strange": "strange states",
    "dependence": "dependence",
    "choosing": "choosing",
    "horizon": "horizon",
}
"""What is lost where."""
NOTE = (
    "Alone: a leaf as the first thing to do in the task of its kind, told by its own sentence. In "
    "place: after the oracle has done what comes before, with as many steps as alone. By the "
    "prompt: the same, told the whole prompt. Product: of the rates in place, leaf after leaf. "
    "Perfect planner: the policy does all, told the next leaf at every change. Zero-shot: told the "
    "prompt alone. Of several tasks the mean."
)
GAP_NOTE = (
    "In points. As if alone: the product of the rates alone. Gap: that less zero-shot, the sum of "
    "the next three. Strange states: as if alone less product. Dependence: product less perfect "
    "planner. Choosing: perfect planner less zero-shot. Horizon, beside these: twice the limit "
    "less zero-shot. Choosing and horizon are paired by episode; the intervals of the others are "
    "made of those of what they are differences of, as if these were independent."
)
Chains = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Composition:
    """How one run did at parts of the episodes of a task and split.

    Attributes:
        run: Label of the run.
        level: Level of the task.
        task: Key of the task; empty: the mean of those of the level.
        split: Name of the split.
        episodes: Episodes of which there is any part.
        leaves: How many leaves they have, on average.
        missing: Parts that never began, see :data:`NO_HANDOVER`; they count nowhere else.
        alone: Rate of the leaves, alone.
        in_place: Rate of the leaves where they are, told by their own sentences.
        prompted: The same, told by the whole prompt.
        expected: Product of the rates alone.
        product: Product of the rates in place.
        planner: Rate of episodes, told the next leaf.
        zero_shot: Rate of episodes, told the prompt.
        longer: The same with twice the limit.
        gap: ``expected`` less ``zero_shot``.
        strange: ``expected`` less ``product``.
        dependence: ``product`` less ``planner``.
        choosing: ``planner`` less ``zero_shot``.
        horizon: ``longer`` less ``zero_shot``.
        chains: Of each task and episode the kinds of the leaves that can be done alone, in order.
        rates: Rate of each kind alone, one estimate for all tasks that have it.
    """

    run: str
    level: str
    task: str
    split: str
    episodes: int
    leaves: float
    missing: int
    alone: Estimate
    in_place: Estimate
    prompted: Estimate
    expected: Estimate
    product: Estimate
    planner: Estimate
    zero_shot: Estimate
    longer: Estimate
    gap: Estimate
    strange: Estimate
    dependence: Estimate
    choosing: Estimate
    horizon: Estimate
    chains: tuple[Chains, ...] = ()
    rates: Mapping[str, Estimate] = field(default_factory=dict)


def compositions(evaluations: Sequence[Evaluation]) -> list[Composition]:
    """A row for each run, task and split, then one for each level."""
    rows = [row for evaluation in evaluations for row in _of_run(evaluation)]
    rows.sort(key=lambda row: (row.level, row.task, row.split))
    means = []
    keyed = sorted(rows, key=lambda row: (row.level, row.split, row.run))
    for _, group in groupby(keyed, key=lambda row: (row.level, row.split, row.run)):
        same = list(group)
        if len(same) > 1:
            means.append(_mean(same))
    return [*rows, *means]


def composition_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """The tables; none of runs without parts."""
    rows = compositions(evaluations)
    if not rows:
        return []
    data = pd.DataFrame([_numbers(row) for row in rows])
    levels = pd.DataFrame([_words(row, LEVELS) for row in rows])
    losses = pd.DataFrame([_words(row, {"expected": "as if alone", **LOSSES}, "+") for row in rows])
    if len(evaluations) == 1:
        levels, losses = levels.drop(columns="run"), losses.drop(columns="run")
    return [
        Table("composition", "Where composition breaks: parts of episodes", data, levels, NOTE),
        Table("composition-gap", "Where composition breaks: the gap", data, losses, GAP_NOTE),
    ]


def _numbers(row: Composition) -> dict[str, object]:
    found: dict[str, object] = {}
    for entry in fields(row):
        value = getattr(row, entry.name)
        if isinstance(value, Estimate):
            found |= value.columns(entry.name)
        elif isinstance(value, str | int | float):
            found[entry.name] = value
    return found


def _words(row: Composition, columns: Mapping[str, str], sign: str = "") -> dict[str, str]:
    texts = {"task": row.task or f"mean of {row.level}", "split": row.split, "run": row.run}
    texts |= {"episodes": str(row.episodes), "leaves": f"{row.leaves:.1f}"}
    for name, heading in columns.items():
        plus = "" if name in LEVELS or name == "expected" else sign
        texts[f"{heading} %"] = getattr(row, name).percent(0, plus)
    return texts


def _of_run(evaluation: Evaluation) -> Iterator[Composition]:
    parts = [r for r in evaluation.parts if r.counts and not r.repeat]
    parts.sort(key=lambda r: (r.level, r.task, evaluation.rank(r.split), r.split))
    first = leaf_part(0, OWN)
    begun = [r for r in parts if r.cause != NO_HANDOVER]
    for (level, task, split), group in groupby(parts, key=lambda r: (r.level, r.task, r.split)):
        same = list(group)
        if {r.handover["part"] for r in same} == {first}:
            continue  # it is here for the sake of others
        alone = {
            kind: rate(
                np.array([r.success_once for r in begun if _is(r, kind, split, first)], bool)
            )
            for kind in dict.fromkeys(r.handover.get("alone", "") for r in same)
            if kind
        }
        yield _row((evaluation.label, level, task, split), same, alone)


def _is(result: EpisodeResult, task: str, split: str, part: str) -> bool:
    return (result.task, result.split, result.handover["part"]) == (task, split, part)


def _row(
    where: tuple[str, str, str, str],
    results: Sequence[EpisodeResult],
    alone: Mapping[str, Estimate],
) -> Composition:
    by_part: dict[str, dict[int, EpisodeResult]] = {}
    for result in results:
        if result.cause != NO_HANDOVER:
            by_part.setdefault(result.handover["part"], {})[result.index] = result
    counts = {r.index: int(r.handover["leaves"]) for r in results}
    kinds: dict[int, list[str]] = {}
    for result in results:
        if "leaf" in result.handover and str(result.handover["part"]).endswith(OWN):
            kinds.setdefault(result.index, []).append(result.handover["alone"])
    chains = tuple(tuple(kind for kind in chain if kind) for chain in kinds.values())
    each, expected = _as_if_alone([chains], alone)
    own, prompted = (_leaves(by_part, max(counts.values()), told) for told in (OWN, PROMPT))
    product = propagate(
        lambda *r: float(np.mean([math.prod(r[:n]) for n in counts.values()])), *own[1]
    )
    product = _no_narrower(product, len(counts))
    planner = _whole(by_part.get(PLAN, {}))
    longer = _whole(by_part.get(WHOLE, {}))
    zero = {index: _in_time(r) for index, r in by_part.get(WHOLE, {}).items()}
    planned = {index: r.success_once for index, r in by_part.get(PLAN, {}).items()}
    late = {index: r.success_once for index, r in by_part.get(WHOLE, {}).items()}
    zero_shot = rate(np.array([*zero.values()], bool))
    return Composition(
        *where,
        episodes=len(counts),
        leaves=float(np.mean([*counts.values()])),
        missing=sum(r.cause == NO_HANDOVER for r in results),
        alone=each,
        in_place=own[0],
        prompted=prompted[0],
        expected=expected,
        product=product,
        planner=planner,
        zero_shot=zero_shot,
        longer=longer,
        gap=difference(expected, zero_shot),
        strange=difference(expected, product),
        dependence=difference(product, planner),
        choosing=_paired(zero, planned),
        horizon=_paired(zero, late),
        chains=(chains,),
        rates=alone,
    )


def _as_if_alone(
    tasks: Sequence[Chains], rates: Mapping[str, Estimate]
) -> tuple[Estimate, Estimate]:
    """Rates of single leaves, and of all leaves of an episode, as if each were done alone: means
    over tasks, which have the rates of the kinds of leaves in common.
    """
    kinds = [*rates]

    def leaves(*values: float) -> float:
        of = dict(zip(kinds, values, strict=True))
        return fmean(fmean(of[k] for chain in chains for k in chain) for chains in tasks)

    def episodes(*values: float) -> float:
        of = dict(zip(kinds, values, strict=True))
        return fmean(fmean(math.prod(of[k] for k in c) for c in chains) for chains in tasks)

    return propagate(leaves, *rates.values()), propagate(episodes, *rates.values())


def _leaves(
    by_part: Mapping[str, Mapping[int, EpisodeResult]], most: int, told: str
) -> tuple[Estimate, list[Estimate]]:
    """Rate of leaves in place, each episode by its mean; and that of each place in the order."""
    found = [by_part.get(leaf_part(k, told), {}) for k in range(most)]
    episodes = sorted({index for each in found for index in each})
    means = [np.mean([each[i].success_once for each in found if i in each]) for i in episodes]
    each_rate = [rate(np.array([r.success_once for r in each.values()], bool)) for each in found]
    return share([np.array(means)] if means else []), each_rate


def _whole(results: Mapping[int, EpisodeResult]) -> Estimate:
    return rate(np.array([result.success_once for result in results.values()], bool))


def _in_time(result: EpisodeResult) -> bool:
    """Whether the goal held within the ordinary limit."""
    return result.success_once and result.turns <= result.max_turns // LONGER


def _no_narrower(product: Estimate, n: int) -> Estimate:
    """A product of rates with an interval that holds Wilson's of a rate of n episodes: one of
    nothing but failures would be exact.
    """
    if math.isnan(product.value):
        return product
    low, high = wilson(product.value * n, n)
    return replace(product, low=min(product.low, low), high=max(product.high, high), n=n)


def _paired(one: Mapping[int, bool], other: Mapping[int, bool]) -> Estimate:
    """Rate of the second less that of the first, on the episodes that both have."""
    pairs = [(one[index], other[index]) for index in sorted(one.keys() & other.keys())]
    return paired_difference([np.array(pairs, bool)] if pairs else [])


def _mean(rows: Sequence[Composition]) -> Composition:
    """The mean of tasks."""
    first, means = rows[0], dict[str, Estimate]()
    for entry in fields(first):
        if isinstance(getattr(first, entry.name), Estimate):
            known = [e for row in rows if not math.isnan((e := getattr(row, entry.name)).value)]
            means[entry.name] = propagate(lambda *values: fmean(values), *known)
    able = [row for row in rows if row.rates]
    rates = {kind: each for row in able for kind, each in row.rates.items()}
    chains = tuple(chain for row in able for chain in row.chains)
    means["alone"], means["expected"] = _as_if_alone(chains, rates)
    for name, other in (("gap", "zero_shot"), ("strange", "product")):
        less = [e for row in able if not math.isnan((e := getattr(row, other)).value)]
        if len(less) == len(able):  # else it is the mean of what is known
            of = propagate(lambda *values: fmean(values), *less)
            means[name] = difference(means["expected"], of)
    return replace(
        first,
        task="",
        episodes=sum(row.episodes for row in rows),
        leaves=fmean(row.leaves for row in rows),
        missing=sum(row.missing for row in rows),
        chains=chains,
        rates=rates,
        **means,  # type: ignore[arg-type]
    )
