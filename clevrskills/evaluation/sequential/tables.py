"""Tables of sequential evaluations: when they stopped, and what the interval is then."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.report.tables import Table, table_of
from clevrskills.evaluation.results import EpisodeResult, Evaluation
from clevrskills.evaluation.sequential.confidence import ALPHA, Bettor, confidence_sequence
from clevrskills.evaluation.sequential.rounds import Pair, estimate, round_means, same_count

NOTE = (
    "The run stopped when its interval was narrow enough. This interval holds whenever one stops, "
    "with probability 95 %: a confidence sequence for sampling without replacement by betting "
    "(Waudby-Smith and Ramdas 2024), of the success rate on all frozen episodes of these tasks, "
    "each task weighing the same. The intervals of all other tables are those of a fixed number "
    "of episodes, and do not allow for the stop."
)
COMPARED = (
    "Paired, anytime-valid: the difference of the mean success of a round, one episode of each "
    "task, in the shuffled order of `evaluate --until-width`; the p-value and the interval hold "
    "however often one looks and whenever one stops (betting without replacement, Waudby-Smith and "
    "Ramdas 2024). Significant: p < 0.05."
)


def sequential_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """The table of the runs that stop when their interval is narrow enough; none without any."""
    data, texts = [], []
    for evaluation in evaluations:
        about = evaluation.run.sequential
        if not about:
            continue
        results = _first_runs(evaluation)
        count, width = int(about["population"]), about["width"]
        pairs = sorted({(task, split) for task, split, _ in results})
        whole = len(pairs) == int(about["tasks"])  # else some task has no result yet
        means = round_means(results, pairs if whole else (), count, lambda r: r.success_once)
        found = estimate(means, count, len(pairs), width)
        episodes, of = found.rounds * found.tasks, found.of * found.tasks
        record = {"run": evaluation.label, "width": width, **asdict(found)}
        data.append({**record, "episodes": episodes, "of_episodes": of})
        mean = f"{100 * found.mean:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"
        texts.append(
            {
                "run": evaluation.label,
                "width asked for": f"{100 * width:g} points",
                "success %": mean if found.rounds else "-",
                "rounds": f"{found.rounds} of {found.of}",
                "episodes": f"{episodes} of {of}",
                "narrow enough": "yes" if found.decided else "not yet",
            }
        )
    return table_of("sequential", "Sequential evaluation", data, texts, NOTE)


@dataclass(frozen=True)
class SequentialComparison:
    """Two runs compared as if one had looked after each round.

    Attributes:
        a: Label of the first run.
        b: Label of the second one.
        tasks: Episodes of each round.
        rounds: Rounds that both runs have complete.
        of: Rounds there are.
        difference: Mean difference of success over these rounds, second less first.
        low: Lower end of the interval of the difference on all episodes.
        high: Its upper end.
        p_value: Anytime-valid, of no difference on all episodes.
        significant_after: First round after which the p-value was below 0.05; ``None``: none was.
    """

    a: str
    b: str
    tasks: int
    rounds: int
    of: int
    difference: float
    low: float
    high: float
    p_value: float
    significant_after: int | None

    def lines(self) -> list[str]:
        """For people."""
        shown = (
            f"{100 * self.difference:+.1f} points [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"
        )
        when = "no significant difference so far"
        if self.significant_after is not None:
            needed = self.significant_after * self.tasks
            when = (
                f"significant after {self.significant_after} rounds, {needed} of "
                f"{self.of * self.tasks} episodes"
            )
        return [
            f"{self.b} less {self.a}: {shown} after {self.rounds} of {self.of} rounds of "
            f"{self.tasks}, p = {self.p_value:.3g}: {when}",
            COMPARED,
        ]


def compare_sequentially(a: Evaluation, b: Evaluation) -> SequentialComparison:
    """Compare two runs by rounds.

    Raises:
        ClevrSkillsError: They have no whole round in common.
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
                f"{run.root} has done {task}, split {split}, of which the other run has no same "
                "episode: evaluate both on the same tasks"
            )
    count = _population(a, b, pairs) if pairs else 0
    first = {key: two[0] for key, two in common.items()}
    second = {key: two[1] for key, two in common.items()}
    means = [round_means(of, pairs, count, lambda r: r.success_once) for of in (first, second)]
    if not pairs or not len(means[0]):
        raise ClevrSkillsError(
            f"{a.root} and {b.root} have no whole round of the shuffled order in common: evaluate "
            "both with --until-width, or all frozen episodes"
        )
    differences = means[1] - means[0]
    values = (differences + 1) / 2
    test, after = Bettor(np.array([0.5]), count), None
    for k, value in enumerate(values, start=1):
        test.see(value)
        if after is None and bool(test.rejected[0]):
            after = k
    bounds = confidence_sequence(values, count, ALPHA)
    return SequentialComparison(
        a.label,
        b.label,
        len(pairs),
        len(values),
        count,
        float(differences.mean()),
        2 * float(bounds.low[-1]) - 1,
        2 * float(bounds.high[-1]) - 1,
        min(1.0, 1 / float(test.evidence[0])),
        after,
    )


def _first_runs(evaluation: Evaluation) -> dict[tuple[str, str, int], EpisodeResult]:
    """The results that count, of each episode the first run."""
    return {(r.task, r.split, r.index): r for r in evaluation.results if r.counts and not r.repeat}


def _population(a: Evaluation, b: Evaluation, pairs: Sequence[Pair]) -> int:
    """How many episodes of each task there are in all.

    Raises:
        ClevrSkillsError: The runs were drawn from different numbers, or tasks have different ones.
    """
    known = {int(run.sequential["population"]) for run in (a.run, b.run) if run.sequential}
    if len(known) > 1:
        raise ClevrSkillsError(
            f"{a.root} and {b.root} were drawn from {' and '.join(map(str, sorted(known)))} "
            "episodes of each task: evaluate both with the same --episodes"
        )
    if known:
        return known.pop()
    return same_count({pair: a.suite.frozen(*pair).header.episodes for pair in pairs})
