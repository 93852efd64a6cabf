"""Tables of sequential evaluations: stopping round and interval."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.tables import Table, table_of
from clevrskills.evaluation.results import EpisodeResult, Evaluation
from clevrskills.evaluation.sequential.confidence import ALPHA, interval, p_values
from clevrskills.evaluation.sequential.rounds import Pair, estimate, round_values, same_count

NOTE = (
    "The run stopped when its interval was narrow enough. This is a 95 % confidence sequence of "
    "the success rate on new episodes of these tasks, with equal weight of all tasks; it is valid "
    "whenever the run stops. The intervals of other tables assume a fixed number of episodes."
)
NULL = "equal expected success on new episodes of these tasks, with equal weight of all tasks"
COMPARED = (
    f"Null: {NULL}. Paired by rounds of one episode of each task; p and the 95 % interval are "
    "anytime-valid. Decided: p < 0.05, that is, 0 is outside the interval."
)


def sequential_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the table of sequential runs, if there are any."""
    data, texts = [], []
    for evaluation in evaluations:
        about = evaluation.run.sequential
        if not about:
            continue
        results = _first_runs(evaluation)
        count, width = int(about["population"]), about["width"]
        pairs = sorted({(task, split) for task, split, _ in results})
        tasks = pairs if len(pairs) == int(about["tasks"]) else []  # else a task has no result yet
        found = estimate(round_values(results, tasks, count), count, width)
        episodes, of = found.rounds * len(pairs), found.of * len(pairs)
        record = {"run": evaluation.label, "width": width, "tasks": len(tasks), **asdict(found)}
        data.append({**record, "episodes": episodes, "of_episodes": of})
        texts.append(
            {
                "run": evaluation.label,
                "width asked for": f"{100 * width:g} points",
                "success %": _shown(found.mean, found.low, found.high) if found.rounds else "-",
                "rounds": f"{found.rounds} of {found.of}",
                "episodes": f"{episodes} of {of}",
                "narrow enough": "yes" if found.decided else "not yet",
            }
        )
    return table_of("sequential", "Sequential evaluation", data, texts, NOTE)


@dataclass(frozen=True)
class SequentialComparison:
    """Sequential comparison of two runs."""

    a: str  # label of the first run
    b: str  # label of the second run
    tasks: int  # tasks per round
    rounds: int  # rounds that are complete in both runs
    of: int  # number of available rounds
    difference: float  # mean difference in success over these rounds, second minus first
    low: float  # lower end of the interval of the difference on new episodes
    high: float  # upper end of the interval
    p_value: float  # anytime-valid p-value of the null
    decided_after: int | None  # first round with a p-value below 0.05, if any
    null: str = NULL  # null hypothesis in words

    def lines(self) -> list[str]:
        """Return the comparison in sentences."""
        shown = _shown(self.difference, self.low, self.high, "+", " points")
        verdict = "not decided" if self.rounds < self.of else "all episodes used, not decided"
        if self.decided_after is not None:
            verdict = f"decided from round {self.decided_after} on"
        return [
            f"{self.b} minus {self.a}: {shown} after {self.rounds} of {self.of} rounds of "
            f"{self.tasks} tasks, p = {self.p_value:.2g} (anytime-valid): {verdict}",
            COMPARED,
        ]


def compare_sequentially(a: Evaluation, b: Evaluation) -> SequentialComparison:
    """Compare two runs by rounds.

    Raises:
        ClevrSkillsError: They have no complete round in common.
    """
    one, other = _first_runs(a), _first_runs(b)
    common = {
        key: (one[key], other[key])
        for key in one.keys() & other.keys()
        if one[key].episode == other[key].episode
    }
    pairs = sorted({(task, split) for task, split, _ in common})
    for run, results in ((a, one), (b, other)):
        for task, split in sorted({(task, split) for task, split, _ in results} - {*pairs}):
            raise ClevrSkillsError(
                f"{run.root} has {task}, split {split}, of which the other run has no common "
                "episode: evaluate both on the same tasks"
            )
    count, tasks = _population(a, b, pairs) if pairs else 0, sorted(pairs)
    first, second = (
        round_values({key: two[k] for key, two in common.items()}, tasks, count) for k in (0, 1)
    )
    if not len(first[0]):
        raise ClevrSkillsError(
            f"{a.root} and {b.root} have no complete round of the shuffled order in common: "
            "evaluate both with --until-width, or all frozen episodes"
        )
    least, most = (second - first[::-1] + 1) / 2  # the least of the one, the most of the other
    (low, high), p = interval(least, most), p_values(least, most=most)
    below = np.flatnonzero(p < ALPHA)
    return SequentialComparison(
        a.label,
        b.label,
        len(tasks),
        len(least),
        count,
        float((second - first)[0].mean()),
        2 * low - 1,
        2 * high - 1,
        float(p[-1]),
        int(below[0]) + 1 if len(below) else None,
    )


def _shown(mean: float, low: float, high: float, sign: str = "", unit: str = "") -> str:
    ends = f"{100 * low:{sign}.1f}, {100 * high:{sign}.1f}"
    return f"{100 * mean:{sign}.1f}{unit} [{ends if low < high else 'empty: the mean drifts'}]"


def _first_runs(evaluation: Evaluation) -> dict[tuple[str, str, int], EpisodeResult]:
    """Return the results that count, without repetitions."""
    return {(r.task, r.split, r.index): r for r in evaluation.results if r.counts and not r.repeat}


def _population(a: Evaluation, b: Evaluation, pairs: Sequence[Pair]) -> int:
    """Return the common number of episodes of all tasks in both runs."""
    known = {int(run.sequential["population"]) for run in (a.run, b.run) if run.sequential}
    if len(known) > 1:
        raise ClevrSkillsError(
            f"{a.root} and {b.root} were sampled from {' and '.join(map(str, sorted(known)))} "
            "episodes of each task: evaluate both with the same --episodes"
        )
    if known:
        return known.pop()
    return same_count({pair: a.suite.frozen(*pair).header.episodes for pair in pairs})
