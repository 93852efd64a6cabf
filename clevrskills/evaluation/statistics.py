"""Estimates with 95 % intervals, and paired comparisons of two policies.

A *stratum* is the episodes of one task. Estimates over several tasks are means over tasks, as in
the paper: every task has the same weight, whatever its number of episodes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from clevrskills.core.statistics import wilson

CONFIDENCE = 0.95
RESAMPLES = 4000
SEED = 20241117
"""Seed of the bootstrap, for reproducible intervals."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate with its 95 % interval."""

    value: float  # NaN without data
    low: float  # lower end of the interval; NaN if unknown
    high: float  # upper end of the interval
    n: int  # number of episodes

    def columns(self, name: str) -> dict[str, float]:
        """Return value and interval as columns of a data table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def percent(self, digits: int = 1, sign: str = "") -> str:
        """Return the estimate in percent, e.g. ``62.9 [56.6, 68.8]``; see :func:`number_text`."""
        return self.text(digits, sign, 100)

    def text(self, digits: int = 2, sign: str = "", scale: float = 1) -> str:
        """Return the estimate times a scale, e.g. ``3.06 [2.95, 3.17]``."""
        value, low, high = self.texts(digits, sign, scale)
        return "-" if value == "-" else f"{value} [{low}, {high}]"

    def texts(self, digits: int, sign: str = "", scale: float = 1) -> list[str]:
        """Return the value and both ends of the interval times a scale, as texts."""
        return [number_text(scale * x, digits, sign) for x in (self.value, self.low, self.high)]


def number_text(value: float, digits: int = 1, sign: str = "") -> str:
    """Return a rounded number as text; ``-`` for NaN. ``sign="+"`` marks positive numbers."""
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:{sign}.{digits}f}"


NOTHING = Estimate(math.nan, math.nan, math.nan, 0)
"""Estimate without data."""


def rate(outcomes: np.ndarray) -> Estimate:
    """Return the rate of binary outcomes, (n,) bool, of one task with its Wilson interval."""
    n = len(outcomes)
    if not n:
        return NOTHING
    return Estimate(float(np.mean(outcomes)), *wilson(float(np.sum(outcomes)), n), n)


def mean(strata: Sequence[np.ndarray]) -> Estimate:
    """Return the mean over tasks of task means, with the stratified bootstrap interval.

    Each task is resampled with n - 1 of its n episodes, for an unbiased variance (Rao and Wu 1988).
    If a task has one episode, there is no interval.

    Args:
        strata: Values of each task, (n,).
    """
    strata = [np.asarray(values, float) for values in strata if len(values)]
    n = sum(map(len, strata))
    if not strata:
        return NOTHING
    value = float(np.mean([values.mean() for values in strata]))
    if min(map(len, strata)) < 2:
        return Estimate(value, math.nan, math.nan, n)
    return Estimate(value, *_bootstrap(strata), n)


def share(strata: Sequence[np.ndarray]) -> Estimate:
    """Return the mean over tasks of task means of a quantity in [0, 1], such as success.

    The interval is Wilson's for binary outcomes of one task. Otherwise it is that of :func:`mean`,
    but no narrower than Wilson's for the effective number of episodes: a bootstrap of 300 failures
    alone would have width 0.

    Args:
        strata: Values of each task, (n,), in [0, 1] or bool.
    """
    strata = [np.asarray(values, float) for values in strata if len(values)]
    if len(strata) == 1 and set(strata[0]) <= {0.0, 1.0}:
        return rate(strata[0])
    estimate = mean(strata)
    if not strata:
        return estimate
    n = _effective(strata, estimate.value * (1 - estimate.value))
    low, high = wilson(estimate.value * n, n)
    return _hull(estimate, low, high)


def interquartile_mean(strata: Sequence[np.ndarray]) -> Estimate:
    """Return the interquartile mean of the scores of training runs, with the stratified bootstrap
    interval over runs (Agarwal et al. 2021, arXiv 2108.13264).

    If a task has one run, there is no interval.

    Args:
        strata: Scores of the runs of each task, (n,).
    """
    strata = [np.asarray(scores, float) for scores in strata if len(scores)]
    n = sum(map(len, strata))
    if not strata:
        return NOTHING
    value = float(_middle(np.concatenate(strata)[None])[0])
    if min(map(len, strata)) < 2:
        return Estimate(value, math.nan, math.nan, n)
    generator = np.random.default_rng(SEED)
    drawn = [
        scores[generator.integers(len(scores), size=(RESAMPLES, len(scores)))] for scores in strata
    ]
    means = _middle(np.concatenate(drawn, axis=1))
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high), n)


def propagate(function: Callable[..., float], *of: Estimate) -> Estimate:
    """Return a function of independent estimates. Its interval adds the squared changes due to each
    end of their intervals (Zou and Donner 2008; Newcombe's method for a difference); it is NaN if
    an estimate has no interval.
    """
    values = [estimate.value for estimate in of]
    if not of or any(map(math.isnan, values)):
        return NOTHING
    value, down, up = function(*values), 0.0, 0.0
    for k, estimate in enumerate(of):
        ends = (estimate.low, estimate.high)
        moved = [0.0, *(function(*values[:k], end, *values[k + 1 :]) - value for end in ends)]
        down, up = down + float(np.min(moved)) ** 2, up + float(np.max(moved)) ** 2
    return Estimate(value, value - math.sqrt(down), value + math.sqrt(up), min(e.n for e in of))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of independent estimates, ``one`` minus ``other``."""
    return propagate(operator.sub, one, other)


def over_runs(whole: Estimate, runs: Sequence[float], is_share: bool = False) -> Estimate:
    """Return the mean over training runs, with an interval over both runs and episodes.

    The interval over runs is Student's t, with 2.5 standard deviations for three runs. Both
    intervals are combined as independent, which is conservative.

    Args:
        whole: Mean with its interval over episodes, each averaged over runs.
        runs: Mean of each run, (n,); a single run leaves the interval unchanged.
        is_share: Whether the mean is in [0, 1].
    """
    if len(runs) == 1:
        return whole
    from scipy.stats import t  # slow import

    quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(runs) - 1))
    half = quantile * float(np.std(runs, ddof=1)) / math.sqrt(len(runs))
    found = propagate(operator.add, whole, Estimate(0.0, -half, half, whole.n))
    if is_share:
        found = replace(found, low=max(0.0, found.low), high=min(1.0, found.high))
    return found


def _middle(scores: np.ndarray) -> np.ndarray:
    """Return the interquartile means (m,) of scores (m, n)."""
    cut = scores.shape[1] // 4
    ranked = np.sort(scores, axis=1)
    middle: np.ndarray = ranked[:, cut : ranked.shape[1] - cut].mean(axis=1)
    return middle


@dataclass(frozen=True, slots=True)
class Pairs:
    """Contingency table of two policies on the same episodes: counts or fractions."""

    both: float  # both succeeded
    only_a: float  # only the first succeeded
    only_b: float  # only the second succeeded
    neither: float

    @classmethod
    def count(cls, outcomes: np.ndarray) -> Pairs:
        """Count outcomes of both policies, (n, 2) bool."""
        a, b = np.asarray(outcomes, bool).reshape(-1, 2).T
        return cls(*(int(k.sum()) for k in (a & b, a & ~b, ~a & b, ~a & ~b)))

    def columns(self, name: str) -> dict[str, float]:
        """Return the counts as columns of a data table."""
        return asdict(self)

    @property
    def total(self) -> float:
        """Number of episodes."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def difference(self) -> float:
        """Success rate of the second minus that of the first policy."""
        return (self.only_b - self.only_a) / self.total

    @property
    def p_value(self) -> float:
        """P-value of McNemar's exact two-sided test; requires counts."""
        from scipy.stats import binomtest  # slow import

        discordant = int(self.only_a + self.only_b)
        return float(binomtest(int(self.only_b), discordant).pvalue) if discordant else 1.0

    def interval(self, n: float | None = None) -> tuple[float, float]:
        """Return Newcombe's 95 % interval of the difference (Newcombe 1998, paired method 10).

        Args:
            n: Number of episodes, if the attributes are fractions.
        """
        total = self.total
        a, b = (self.both + self.only_a) / total, (self.both + self.only_b) / total
        n = total if n is None else n
        (low_a, high_a), (low_b, high_b) = wilson(a * n, n), wilson(b * n, n)
        phi = self._correlation(n / total)
        down = _combine(b - low_b, high_a - a, phi)
        up = _combine(high_b - b, a - low_a, phi)
        return self.difference - down, self.difference + up

    def _correlation(self, scale: float) -> float:
        """Return the correlation of the outcomes, with Newcombe's continuity correction; ``scale``
        converts fractions to counts.
        """
        both, only_a, only_b, neither = (
            scale * x for x in (self.both, self.only_a, self.only_b, self.neither)
        )
        margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
        if margins <= 0:
            return 0.0
        surplus = both * neither - only_a * only_b
        if surplus > 0:
            surplus = max(0.0, surplus - scale * self.total / 2)
        return surplus / math.sqrt(margins)


def paired_difference(strata: Sequence[np.ndarray]) -> Estimate:
    """Return the mean over tasks of the difference of two success rates, second minus first.

    The interval is Newcombe's for one task; for several it is that of the paired stratified
    bootstrap, but no narrower than Newcombe's for the effective number of episodes.

    Args:
        strata: Outcomes of each task, (n, 2) bool.
    """
    strata = [np.asarray(pairs, float) for pairs in strata if len(pairs)]
    if not strata:
        return NOTHING
    cells = [Pairs.count(pairs) for pairs in strata]
    if len(cells) == 1:
        return Estimate(cells[0].difference, *cells[0].interval(), len(strata[0]))
    estimate = mean([b - a for a, b in (pairs.T for pairs in strata)])
    names = ("both", "only_a", "only_b", "neither")
    whole = Pairs(*(float(np.mean([getattr(c, k) / c.total for c in cells])) for k in names))
    variance = whole.only_a + whole.only_b - whole.difference**2
    n = _effective([pairs[:, 1] - pairs[:, 0] for pairs in strata], variance)
    return _hull(estimate, *whole.interval(n))


def columns(row: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as columns of a data table."""
    found: dict[str, Any] = {}
    for entry in fields(row):
        value = getattr(row, entry.name)
        expands = isinstance(value, Estimate | Pairs)
        found |= value.columns(entry.name) if expands else {entry.name: value}
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests (Holm 1979)."""
    order = np.argsort(p_values)
    scaled = np.asarray(p_values, float)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return [float(p) for p in adjusted]


def _bootstrap(strata: Sequence[np.ndarray]) -> tuple[float, float]:
    generator = np.random.default_rng(SEED)
    means = np.zeros(RESAMPLES)
    for values in strata:
        chosen = generator.integers(len(values), size=(RESAMPLES, len(values) - 1))
        means += values[chosen].mean(axis=1)
    low, high = np.quantile(means / len(strata), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _effective(strata: Sequence[np.ndarray], variance: float) -> float:
    """Return the number of unstratified episodes of this variance that give the same precision.

    It exceeds the actual number if the variance within tasks is smaller than the total variance.
    """
    alike = len(strata) ** 2 / sum(1 / len(values) for values in strata)
    if min(map(len, strata)) < 2:
        return alike
    within = sum(values.var(ddof=1) / len(values) for values in strata) / len(strata) ** 2
    return max(alike, variance / within) if within > 0 else alike


def _hull(estimate: Estimate, low: float, high: float) -> Estimate:
    """Return the estimate with an interval extended to contain another one."""
    low, high = float(np.nanmin([estimate.low, low])), float(np.nanmax([estimate.high, high]))
    return Estimate(estimate.value, low, high, estimate.n)


def _combine(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * phi * one * other + other**2))
