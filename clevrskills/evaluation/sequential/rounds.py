"""Rounds of a sequential evaluation: one episode of each task, in a fixed shuffled order.

All tasks have the same weight. Episodes of different tasks and splits are sampled independently,
so the values of a round are independent.

A run is read up to its first incomplete round. Incomplete rounds cannot be skipped, since the loss
of an episode may depend on its outcome. The confidence sequence is valid after each round.
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
"""Rounds that run together, task by task, since each change of the task needs a new environment.
Episodes of incomplete rounds stay in the results, but not in the sequential interval."""

Pair = tuple[str, str]
"""Task and split."""


@dataclass(frozen=True)
class SequentialEstimate:
    """Success rate of a sequential evaluation."""

    rounds: int  # rounds used: until the interval was narrow enough, else all complete ones
    of: int  # number of available rounds
    mean: float  # mean over the rounds; NaN without rounds
    low: float  # lower end of the interval of the mean success rate over tasks
    high: float  # upper end of the interval
    decided: bool  # whether the interval is narrow enough


def order(task: str, count: int) -> list[int]:
    """Return the order of the episodes of a task, the same for all policies and splits."""
    words = (crc32(task.encode()), count)
    found: list[int] = np.random.default_rng((SEED, *words)).permutation(count).tolist()
    return found


def in_blocks(pairs: Sequence[Pair], count: int) -> list[tuple[str, str, int]]:
    """Return task, split and index of all episodes, by block and by task within a block."""
    return [
        (task, split, index)
        for start in range(0, count, BLOCK)
        for task, split in pairs
        for index in order(task, count)[start : start + BLOCK]
    ]


def round_values(
    results: Mapping[tuple[str, str, int], EpisodeResult], pairs: Sequence[Pair], count: int
) -> NDArray[np.float64]:
    """Return lower and upper bounds of the outcomes of complete rounds, (2, rounds, pairs). They
    differ for a restarted episode that counts as a failure although its last start succeeded.

    Args:
        results: Results that count, by task, split and index.
        pairs: Tasks and splits.
        count: Number of episodes per task and split.
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
    """Return the estimate after the first round with a sufficiently narrow interval, or the last.

    Args:
        values: Values of :func:`round_values`.
        count: Number of available rounds.
        width: Target width.
    """
    least, most = values
    if not len(least):
        return SequentialEstimate(0, count, float("nan"), 0.0, 1.0, False)
    first = first_within(least, width, most)
    n = first or len(least)
    low, high = interval(least[:n], most[:n])
    return SequentialEstimate(n, count, float(least[:n].mean()), low, high, first is not None)


def forecast(width: float, tasks: int, count: int) -> str:
    """Return a sentence on the number of rounds needed for a width."""
    needed = rounds_needed(width, tasks, count)
    text = (
        f"--until-width {width:g}: about {needed} rounds of {tasks} tasks at a success rate of "
        f"50 %, fewer at others; there are {count}"
    )
    return text + (", so the width may not be reached" if needed > count else "")


def same_count(counts: Mapping[Pair, int]) -> int:
    """Return the common number of episodes of all tasks and splits.

    Raises:
        ClevrSkillsError: The numbers differ.
    """
    if len({*counts.values()}) > 1:
        low, high = min(counts.values()), max(counts.values())
        raise ClevrSkillsError(
            f"a sequential evaluation needs as many episodes of each task and split, but there are "
            f"{low} to {high}: give --episodes {low}, or one --split"
        )
    return next(iter(counts.values()))
