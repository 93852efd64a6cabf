"""Tables of robustness: drop in success per axis, paired with the clean episodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from clevrskills.core.episode import frozen_name
from clevrskills.evaluation.report.comparison import p_text
from clevrskills.evaluation.report.tables import Table, table_of
from clevrskills.evaluation.results import SETTINGS, Evaluation
from clevrskills.evaluation.statistics import Estimate, Pairs, number_text, paired_difference, share

NOTE = (
    "Each perturbed episode is paired with its clean twin of the same scene, task and seed. Drop: "
    "clean minus perturbed, in percentage points, mean over tasks. In brackets: 95 % intervals. p: "
    "McNemar's exact test. Rejected: frozen episodes that became unsolvable or visually ambiguous "
    "and were replaced by the next ones."
)
WORST_NOTE = (
    "The axis with the largest drop for each task. p: McNemar's, times the number of axes "
    "(Bonferroni); if it is not small, the choice of the axis may be due to chance."
)
_OF_POLICY = ("policy", "policy_args", "benchmark")
TASK_NOTE = "Drop of each task, clean minus perturbed, in percentage points; pairs as above."


@dataclass(frozen=True)
class Drop:
    """Drop in success of one policy along some axes in one split."""

    run: str  # label of the perturbed run
    axes: Mapping[str, int]  # level of each axis
    split: str
    pairs: Mapping[str, np.ndarray]  # by task: success clean and perturbed, (n, 2) bool
    rejected: int  # number of rejected episodes

    @property
    def name(self) -> str:
        """Axes as text, e.g. ``camera 3``."""
        return " + ".join(f"{name} {level}" for name, level in self.axes.items())

    @property
    def count(self) -> int:
        """Number of pairs."""
        return sum(map(len, self.pairs.values()))

    @property
    def policy(self) -> str:
        """Label of the run without its axes."""
        return self.run.partition(",")[0]

    @property
    def clean(self) -> Estimate:
        """Success on the clean twins."""
        return share([pairs[:, 0] for pairs in self.pairs.values()])

    @property
    def perturbed(self) -> Estimate:
        """Success on the perturbed episodes."""
        return share([pairs[:, 1] for pairs in self.pairs.values()])

    @cached_property
    def drop(self) -> Estimate:
        """Clean minus perturbed success rate."""
        return paired_difference([pairs[:, ::-1] for pairs in self.pairs.values()])


def points_text(share: float) -> str:
    """Return a signed difference of rates in rounded percentage points."""
    points = number_text(100 * share, 0, "+")
    return "0" if points == "+0" else points


def drop_of(pairs: np.ndarray) -> float:
    """Return the drop of a task, clean minus perturbed, from pairs (n, 2)."""
    return float(pairs[:, 0].mean() - pairs[:, 1].mean())


def robustness_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of perturbed runs with a clean run of the same policy."""
    drops = list(find_drops(evaluations))
    if not drops:
        return []
    data: list[dict[str, object]] = []
    texts = []
    for one in drops:
        clean, perturbed = one.clean, one.perturbed
        p_value = Pairs.count(np.concatenate(list(one.pairs.values()))).p_value
        where = {"run": one.run, "axes": one.name, "split": one.split}
        numbers = {**clean.columns("clean"), **perturbed.columns("perturbed")}
        numbers |= {**one.drop.columns("drop"), "p_value": p_value, "rejected": one.rejected}
        data.append({**where, "pairs": one.count, **numbers})
        words = {"clean %": clean.percent(), "perturbed %": perturbed.percent()}
        words |= {"drop": one.drop.percent(sign="+"), "p": p_text(p_value)}
        texts.append({**where, "pairs": str(one.count), **words, "rejected": str(one.rejected)})
    whole = table_of("axes", "Robustness", data, texts, NOTE)
    return [*whole, *_worst(drops), *_by_task(drops)]


def find_drops(evaluations: Sequence[Evaluation]) -> Iterator[Drop]:
    """Yield the drop of each perturbed run and split with a clean run of the same policy."""
    for evaluation in evaluations:
        if not evaluation.run.axes:
            continue
        clean = next((one for one in evaluations if _is_twin(one, evaluation)), None)
        twins = {r.episode: r for r in clean.results if r.counts and not r.repeat} if clean else {}
        done = [r for r in evaluation.results if r.counts and not r.repeat and r.twin in twins]
        for split in dict.fromkeys(result.split for result in done):
            pairs: dict[str, list[tuple[bool, bool]]] = {}
            for result in (r for r in done if r.split == split):
                both = twins[result.twin].success_once, result.success_once
                pairs.setdefault(result.task, []).append(both)
            reasons = evaluation.run.rejected
            rejected = sum(len(reasons.get(frozen_name(task, split), ())) for task in pairs)
            arrays = {task: np.array(of_task) for task, of_task in sorted(pairs.items())}
            yield Drop(evaluation.label, evaluation.run.axes, split, arrays, rejected)


def _is_twin(clean: Evaluation, perturbed: Evaluation) -> bool:
    """Return whether a run has the same policy and settings on clean episodes."""
    one, other = clean.run, perturbed.run
    same = {*SETTINGS, *_OF_POLICY} - {"axes", "renderer", "versions"}
    return not one.axes and all(getattr(one, n) == getattr(other, n) for n in same)


def _worst(drops: Sequence[Drop]) -> list[Table]:
    """Return the table of the axis with the largest drop for each task."""
    groups: dict[tuple[str, str, str], list[tuple[str, np.ndarray]]] = {}
    for one in drops:
        for task, pairs in one.pairs.items():
            groups.setdefault((task, one.split, one.policy), []).append((one.name, pairs))
    data: list[dict[str, object]] = []
    texts = []
    for (task, split, policy), found in sorted(groups.items()):
        name, pairs = max(found, key=lambda entry: drop_of(entry[1]))
        drop = paired_difference([pairs[:, ::-1]])
        p_value = min(1.0, len(found) * Pairs.count(pairs).p_value)
        axis = name if drop.value > 0 else ""
        where = {"task": task, "split": split, "policy": policy}
        data.append(
            {**where, "axis": axis, "pairs": len(pairs), **drop.columns("drop"), "p_value": p_value}
        )
        texts.append(
            {**where, "axis": axis or "none", "drop": drop.percent(0, "+"), "p": p_text(p_value)}
        )
    return table_of("axes_worst", "Which axis breaks which task", data, texts, WORST_NOTE)


def _by_task(drops: Sequence[Drop]) -> list[Table]:
    """Return the table of the drops by task, with a column for each run and axis."""
    data: list[dict[str, object]] = []
    rows: dict[tuple[str, str], dict[str, str]] = {}
    several = len({one.policy for one in drops}) > 1
    for one in drops:
        column = f"{one.run}, {one.name}" if several else one.name
        for task, pairs in one.pairs.items():
            drop = drop_of(pairs)
            where = {"run": one.run, "axes": one.name, "split": one.split, "task": task}
            data.append({**where, "pairs": len(pairs), "drop": drop})
            row = rows.setdefault((task, one.split), {"task": task, "split": one.split})
            row[column] = points_text(drop)
    texts = pd.DataFrame(list(rows.values())).fillna("")
    return table_of("axes_tasks", "Robustness by task", data, texts, TASK_NOTE)
