"""Tables of first failures and of the arm's trajectories."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import pandas as pd

from clevrskills.envs.events.kinds import KINDS, NOTHING, first_failure
from clevrskills.evaluation.report.tables import Table, strata, table_of
from clevrskills.evaluation.results import EpisodeResult, Evaluation
from clevrskills.evaluation.statistics import mean, share

MOVEMENT = {"path_m": "path (m)", "sparc": "SPARC", "first_contact_s": "first contact (s)"}
"""Measures of a trajectory, with their headings."""
MOST_TASKS = 4
"""Number of tasks listed for a kind of failure, by descending number of episodes."""
NOTE = (
    "Failed episodes by the first event that changed the scene or the reachable goals, or else by "
    "the first event. In brackets: 95 % intervals of the mean over tasks. "
    + "; ".join(f"{kind}: {meaning}" for kind, meaning in KINDS.items())
    + "."
)
MOVEMENT_NOTE = (
    "Means over tasks with 95 % intervals. Path: length of the path of the tool center point. "
    "SPARC: smoothness (Balasubramanian et al. 2015); about -1.4 for a straight reach, lower for "
    "jerky movements. First contact: time of the first contact of the robot, of the episodes with "
    "contact."
)


def failure_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of episodes with event records."""
    groups = list(_groups(evaluations))
    failures = [row for group in groups for row in _failures(*group)]
    movement = [_movement(*group) for group in groups]
    data = [line for lines, _ in failures for line in lines]
    texts = _without_repeats([words for _, words in failures])
    where = table_of("failures", "Where episodes fail first", data, texts, NOTE)
    texts = _without_repeats([words for _, words in movement])
    numbers = [line for line, _ in movement]
    return [*where, *table_of("movement", "How the arm moved", numbers, texts, MOVEMENT_NOTE)]


def first_kind(result: EpisodeResult) -> str:
    """Return the kind of the first failure; empty: the episode did not fail."""
    if result.success_once:
        return ""
    first = first_failure(result.events)
    return NOTHING if first is None else str(first["kind"])


def _groups(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, str, list[EpisodeResult]]]:
    """Yield run, split and episodes with event records."""
    for evaluation in evaluations:
        watched = [r for r in evaluation.results if r.counts and r.trajectory]
        watched.sort(key=lambda r: (evaluation.rank(r.split), r.split))
        for split, group in groupby(watched, key=lambda r: r.split):
            yield evaluation.label, split, list(group)


def _failures(
    run: str, split: str, results: Sequence[EpisodeResult]
) -> Iterator[tuple[list[dict[str, object]], dict[str, str]]]:
    """Yield for each kind the data rows by task, and the text row."""
    failed = [result for result in results if not result.success_once]
    kinds = Counter(map(first_kind, failed))
    for kind in sorted(kinds, key=lambda kind: (-kinds[kind], kind)):
        tasks = Counter(r.task for r in failed if first_kind(r) == kind)
        rate = share(strata(results, lambda r, kind=kind: first_kind(r) == kind))  # type: ignore[misc]
        where = {"run": run, "split": split}
        of = Counter(r.task for r in results)
        lines: list[dict[str, object]] = [
            {**where, "task": task, "failure": kind, "episodes": count, "of": of[task]}
            for task, count in sorted(tasks.items())
        ]
        most = [f"{task} {count}" for task, count in tasks.most_common(MOST_TASKS)]
        most += [f"{len(tasks) - len(most)} more"] if len(tasks) > len(most) else []
        words = {**where, "failed first by": kind, "episodes": str(kinds[kind])}
        yield lines, {**words, "of all %": rate.percent(), "tasks": ", ".join(most)}


def _movement(
    run: str, split: str, results: Sequence[EpisodeResult]
) -> tuple[dict[str, object], dict[str, str]]:
    data: dict[str, object] = {"run": run, "split": split, "episodes": len(results)}
    texts = {name: str(value) for name, value in data.items()}
    for name, heading in MOVEMENT.items():
        estimate = mean(strata(results, lambda r, name=name: r.trajectory.get(name)))  # type: ignore[misc]
        data |= estimate.columns(name)
        texts[heading] = estimate.text()
    return data, texts


def _without_repeats(texts: Sequence[dict[str, str]]) -> pd.DataFrame:
    """Return the table, without the column of runs for a single run."""
    several = len({line["run"] for line in texts}) > 1
    return pd.DataFrame(texts).drop(columns=[] if several else "run", errors="ignore")
