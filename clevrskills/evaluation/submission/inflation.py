"""Tests of inflation: whether a policy succeeds less often than a file of outcomes claims.

All tests are exact and one-sided, and together they refuse at most :data:`LEVEL` of the honest
files, also where the policy or the machine does not repeat outcomes. A repeated outcome that agrees
with the file makes them more conservative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

SOLVED, FAILED = "1", "0"
"""Letters of outcomes."""
PAIRED, FRESH, POOLED = 0.0003, 0.0002, 0.0045
"""Levels of the three tests of :func:`judge`."""
LEVEL = PAIRED + FRESH + POOLED
"""Largest share of honest files that are refused: 1 of 200."""
INFLATION, POWER = 0.1, 0.9
"""Difference of success rates that is to be found, and the probability that samples are sized for:
more than the 80 % that are promised, as exact tests are conservative."""
FIRST = 100
"""Episodes of the first part of a sample."""


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of a task and split."""

    claimed: str  # those of the file, a letter each
    # new outcomes of episodes of the file, by index
    sample: Mapping[int, bool] = field(default_factory=dict)
    fresh: Sequence[bool] = ()  # outcomes of fresh episodes


@dataclass(frozen=True)
class InflationVerdict:
    """Result of the tests."""

    lost: int  # episodes of the sample that are solved in the file alone
    gained: int  # those that are solved now alone
    p: Mapping[str, float]  # p-value of each test, by name
    failed: tuple[str, ...]  # names of the tests that refuse the file


def judge(tasks: Mapping[str, Outcomes], numbers: Mapping[str, Sequence[str]]) -> InflationVerdict:
    """Test whether the rates of a file are inflated.

    - ``sample``: among episodes of the sample whose outcome changed, too many were solved in the
      file (exact one-sided McNemar test).
    - ``fresh``: fresh episodes are solved less often than those of the file, task by task (exact
      conditional test of Mantel and Haenszel).
    - the name of a number, and ``all``: the same for sample and fresh episodes together; half of
      the level is that of ``all``, the numbers share the other half.

    Args:
        tasks: Outcomes by task and split.
        numbers: Names of the tasks and splits of each headline number.
    """
    pairs = [
        (of.claimed[k] == SOLVED, now) for of in tasks.values() for k, now in of.sample.items()
    ]
    lost = sum(before and not now for before, now in pairs)
    gained = sum(now and not before for before, now in pairs)
    p, levels = {}, {}
    if pairs:
        p["sample"], levels["sample"] = paired_p(lost, gained), PAIRED
    if any(of.fresh for of in tasks.values()):
        p["fresh"], levels["fresh"] = excess_p(_strata(tasks.values(), sample=False)), FRESH
    parts = {name: [tasks[key] for key in keys] for name, keys in numbers.items()}
    parts = {name: some for name, some in parts.items() if len(some) < len(tasks)}
    if p:
        p["all"] = excess_p(_strata(tasks.values()))
        levels["all"] = POOLED / 2 if parts else POOLED
    for name, some in parts.items():
        if strata := _strata(some):
            p[name], levels[name] = excess_p(strata), POOLED / 2 / len(parts)
    failed = tuple(name for name, value in p.items() if value < levels[name])
    return InflationVerdict(lost, gained, p, failed)


def _strata(tasks: Iterable[Outcomes], sample: bool = True) -> list[tuple[int, int, int, int]]:
    strata = []
    for of in tasks:
        now = [*of.fresh, *(of.sample.values() if sample else ())]
        if now:
            strata.append((of.claimed.count(SOLVED), len(of.claimed), sum(now), len(now)))
    return strata


def paired_p(lost: int, gained: int) -> float:
    """Return the probability of so many lost outcomes or more among those that changed, if each is
    as likely lost as gained.
    """
    n = lost + gained
    return sum(math.comb(n, k) for k in range(lost, n + 1)) / 2**n


def excess_p(strata: Iterable[tuple[int, int, int, int]]) -> float:
    """Return the probability of so few new successes or fewer, given the successes of each task in
    all, if new episodes succeed as often as those of the file.

    Args:
        strata: For each task its successes and episodes in the file, and among the new ones.
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


def sample_size(episodes: int, fresh: int, numbers: int = 1) -> int:
    """Return how many episodes of a file are run again to find an inflation of ten points, at the
    rate of 50 % where that takes most.

    Args:
        episodes: Episodes of the file.
        fresh: Fresh episodes.
        numbers: Headline numbers.
    """
    from statistics import NormalDist

    level = POOLED if numbers == 1 else POOLED / 2
    deviations = NormalDist().inv_cdf(1 - level) + NormalDist().inv_cdf(POWER)
    left = (2 * INFLATION / deviations) ** 2 - 1 / episodes
    needed = math.ceil(1 / left) - fresh if left > 0 else episodes
    return min(episodes, max(FIRST, needed))


def settled(lost: int, sample: int) -> bool:
    """Return whether a sample shows that fewer than a tenth of the file's outcomes are lost: of an
    inflation of ten points, so few would be seen once in a hundred times.
    """
    some = (math.comb(sample, k) * 0.1**k * 0.9 ** (sample - k) for k in range(lost + 1))
    return sum(some) <= 0.01


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
