"""Rounds of a sequential evaluation: one episode of each task, in a fixed shuffled order.

The mean of a round over its tasks is a value in [0, 1], drawn without replacement from as many as
there are episodes of each task; the mean of all rounds is the mean over tasks of all their
episodes. So the evaluation is stratified by task, and each task weighs the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import EpisodeResult
from clevrskills.evaluation.sequential.confidence import confidence_sequence

SEED = 20261124
BLOCK = 5
"""Rounds that are handed out together, task by task, as each change of the task costs a new
environment. Episodes of rounds that are not complete when it stops stay in the results and count
for nothing in the sequential interval."""

Pair = tuple[str, str]
"""Task and split."""


@dataclass(frozen=True)
class Estimate:
    """What a sequential evaluation says, whenever it stops.

    Attributes:
        rounds: Rounds that count: until it was narrow enough, else all that are complete.
        of: How many there are.
        tasks: Episodes of each round.
        mean: Mean of the rounds; NaN without any.
        low: Lower end of the interval for the mean over all frozen episodes.
        high: Its upper end.
        decided: Whether the interval is as narrow as asked for.
    """

    rounds: int
    of: int
    tasks: int
    mean: float
    low: float
    high: float
    decided: bool


def order(task: str, split: str, count: int) -> list[int]:
    """The order in which the episodes of a task and split are drawn, the same for all policies."""
    words = (crc32(task.encode()), crc32(split.encode()), count)
    found: list[int] = np.random.default_rng((SEED, *words)).permutation(count).tolist()
    return found


def in_blocks(pairs: Sequence[Pair], count: int) -> list[tuple[str, str, int]]:
    """Task, split and index of all episodes, block by block, and in a block task by task."""
    orders = {pair: order(*pair, count) for pair in pairs}
    return [
        (*pair, index)
        for start in range(0, count, BLOCK)
        for pair in pairs
        for index in orders[pair][start : start + BLOCK]
    ]


def round_means(
    results: Mapping[tuple[str, str, int], EpisodeResult],
    pairs: Sequence[Pair],
    count: int,
    value: Callable[[EpisodeResult], float],
) -> NDArray[np.float64]:
    """Means of the first rounds that are complete, (t,).

    Args:
        results: Those that count, by task, split and index.
        pairs: Tasks and splits.
        count: Episodes of each.
        value: What is averaged.
    """
    means = list[float]()
    if not pairs:
        return np.zeros(0)
    for indices in zip(*(order(*pair, count) for pair in pairs), strict=True):
        found = [results.get((*pair, k)) for pair, k in zip(pairs, indices, strict=True)]
        known = [result for result in found if result is not None]
        if len(known) < len(pairs):
            break
        means.append(float(np.mean([value(result) for result in known])))
    return np.array(means)


def estimate(means: NDArray[np.float64], count: int, tasks: int, width: float) -> Estimate:
    """The estimate after the first round at which the interval is narrow enough, else the last."""
    if not len(means):
        return Estimate(0, count, tasks, float("nan"), 0.0, 1.0, False)
    bounds = confidence_sequence(means, count)
    first = bounds.first_within(width)
    n = first or len(means)
    low, high = float(bounds.low[n - 1]), float(bounds.high[n - 1])
    return Estimate(n, count, tasks, float(means[:n].mean()), low, high, first is not None)


def same_count(counts: Mapping[Pair, int]) -> int:
    """How many episodes all tasks and splits have.

    Raises:
        ClevrSkillsError: They have not as many of each.
    """
    if len({*counts.values()}) > 1:
        low, high = min(counts.values()), max(counts.values())
        raise ClevrSkillsError(
            f"a sequential evaluation needs as many episodes of each task and split, but there are "
            f"{low} to {high}: give --episodes {low}, or one --split"
        )
    return next(iter(counts.values()))
