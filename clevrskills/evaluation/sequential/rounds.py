"""Rounds of a sequential evaluation: one episode of each task, in a fixed shuffled order.

All tasks weigh the same. Episodes of different tasks and splits are drawn independently, so values
of a round are independent of each other.

A run is read up to its first round that lacks a counted episode. Such a round cannot be left out,
since an episode may be lost for a reason that has to do with its outcome. The confidence sequence
holds after each round, so it holds wherever the run is cut.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import EpisodeResult
from clevrskills.evaluation.sequential.confidence import first_within, interval, rounds_needed

SEED = 20261124
BLOCK = 5
"""Rounds that are handed out together, task by task, as each change of the task costs a new
environment. Episodes of rounds that are not complete when it stops stay in the results and count
for nothing in the sequential interval."""

Pair = tuple[str, str]
"""Task and split."""


@dataclass(frozen=True)
class SequentialEstimate:
    """Success rate of a sequential evaluation, whenever it stops."""

    rounds: int  # rounds that count: until it was narrow enough, else all that are complete
    of: int  # how many there are
    mean: float  # mean of the rounds; NaN without any
    low: float  # lower end of the interval of the mean success rate of the tasks
    high: float  # its upper end
    decided: bool  # whether the interval is as narrow as asked for


def order(task: str, count: int) -> list[int]:
    """Return the order in which the episodes of a task are drawn, the same for all policies and
    splits.
    """
    words = (crc32(task.encode()), count)
    found: list[int] = np.random.default_rng((SEED, *words)).permutation(count).tolist()
    return found


def in_blocks(pairs: Sequence[Pair], count: int) -> list[tuple[str, str, int]]:
    """Return task, split and index of all episodes, block by block, and in a block task by task."""
    return [
        (task, split, index)
        for start in range(0, count, BLOCK)
        for task, split in pairs
        for index in order(task, count)[start : start + BLOCK]
    ]


def round_values(
    results: Mapping[tuple[str, str, int], EpisodeResult], pairs: Sequence[Pair], count: int
) -> NDArray[np.float64]:
    """Return the outcomes of the rounds before the first one that is not complete, least and most,
    (2, rounds, pairs): of a restarted episode that counts as a failure, the outcome of its last
    start enters the upper one.

    Args:
        results: Those that count, by task, split and index.
        pairs: Tasks and splits.
        count: Episodes of each task and split.
    """
    rounds = list[list[tuple[bool, bool]]]()
    orders = {task: order(task, count) for task, _ in pairs}
    for k in range(count if pairs else 0):
        found = [results.get((*pair, orders[pair[0]][k])) for pair in pairs]
        known = [(r.success_once, r.success_once or r.later) for r in found if r is not None]
        if len(known) < len(pairs):
            break
        rounds.append(known)
    values = np.array(rounds, dtype=np.float64).reshape(len(rounds), len(pairs), 2)
    return np.moveaxis(values, -1, 0)


def estimate(values: NDArray[np.float64], count: int, width: float) -> SequentialEstimate:
    """Return the estimate after the first round at which the interval is narrow enough, else the
    last.

    Args:
        values: As of :func:`round_values`.
        count: Rounds there are.
        width: Width that is narrow enough.
    """
    least, most = values
    if not len(least):
        return SequentialEstimate(0, count, float("nan"), 0.0, 1.0, False)
    first = first_within(least, width, most)
    n = first or len(least)
    low, high = interval(least[:n], most[:n])
    return SequentialEstimate(n, count, float(least[:n].mean()), low, high, first is not None)


def forecast(width: float, tasks: int, count: int) -> str:
    """Return in a sentence how many rounds a width takes, and whether there are as many."""
    needed = rounds_needed(width, tasks, count)
    text = (
        f"--until-width {width:g}: about {needed} rounds of {tasks} tasks at a success rate of "
        f"50 %, fewer at others; there are {count}"
    )
    return text + (", so that it may not be reached" if needed > count else "")


def same_count(counts: Mapping[Pair, int]) -> int:
    """Return how many episodes all tasks and splits have.

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
