"""Inflation tests: whether a policy succeeds less often than a submission claims.

All tests are exact and one-sided; together they reject at most :data:`LEVEL` of honest files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SOLVED, FAILED = "1", "0"
"""Characters of outcomes."""
LEVEL = 0.005
"""Maximum fraction of honest files that are rejected: 1 of 200."""


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of a task and split."""

    claimed: str  # outcomes in the file, one character each
    fresh: Sequence[bool] = ()  # outcomes of fresh episodes


def judge(
    tasks: Mapping[str, Outcomes], numbers: Mapping[str, Sequence[str]]
) -> tuple[dict[str, float], list[str]]:
    """Test whether fresh episodes are solved less often than those of the file, stratified by task
    (exact conditional test of Mantel and Haenszel): over all tasks, ``all``, and for each headline
    number. ``all`` has half of the level, and the numbers share the other half.

    Args:
        tasks: Outcomes by task and split.
        numbers: Tasks and splits of each headline number.

    Returns:
        The p-value of each test by name, and the names of the tests that reject the file.
    """
    parts = {name: [tasks[key] for key in keys] for name, keys in numbers.items()}
    parts = {name: some for name, some in parts.items() if len(some) < len(tasks)}
    counts = {
        name: [
            (of.claimed.count(SOLVED), len(of.claimed), sum(of.fresh), len(of.fresh))
            for of in some
            if of.fresh
        ]
        for name, some in {"all": tasks.values(), **parts}.items()
    }
    p = {name: excess_p(strata) for name, strata in counts.items() if strata}
    levels = dict.fromkeys(parts, LEVEL / 2 / max(1, len(parts)))
    levels["all"] = LEVEL / 2 if parts else LEVEL
    return p, [name for name, value in p.items() if value < levels[name]]


def excess_p(strata: Iterable[tuple[int, int, int, int]]) -> float:
    """Return the probability of at most the observed new successes, given the total successes of
    each task, if new episodes succeed as often as those of the file.

    Args:
        strata: For each task: successes and episodes in the file, then those of new episodes.
    """
    density, seen = np.ones(1), 0
    for claimed, of, now, new in strata:
        total = claimed + now
        least = max(0, total - of)
        counts = range(least, min(new, total) + 1)
        ways = [_log_comb(new, k) + _log_comb(of, total - k) for k in counts]
        share = np.exp(np.array(ways) - _log_comb(of + new, total))
        density, seen = np.convolve(density, share), seen + now - least
    return float(min(1.0, density[: seen + 1].sum()))


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
