"""Estimates with their 95 % intervals, and comparisons of two policies on the same episodes.

A *stratum* is the episodes of one task. What is said of several tasks is the mean over tasks, as in
the paper, so every task weighs the same however many of its episodes ended.
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
"""Of the generator that resamples, so that the same results give the same interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval: the only form in which reports print a rate."""

    value: float  # the estimate; NaN if there was nothing to estimate it from
    low: float  # lower end of the interval; NaN if too little is known to give one
    high: float  # its upper end
    n: int  # number of episodes behind it

    def columns(self, name: str) -> dict[str, float]:
        """Return value and interval, as a table for programs has them."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def percent(self, digits: int = 1, sign: str = "") -> str:
        """Return it in percent, e.g. ``62.9 [56.6, 68.8]``; ``sign="+"`` marks positive values."""
        return self.text(digits, sign, 100)

    def text(self, digits: int = 2, sign: str = "", scale: float = 1) -> str:
        """Return it as text, e.g. ``3.06 [2.95, 3.17]``."""
        value, low, high = self.texts(digits, sign, scale)
        return "-" if value == "-" else f"{value} [{low}, {high}]"

    def texts(self, digits: int, sign: str = "", scale: float = 1) -> tuple[str, str, str]:
        """Return the texts of the value and of both ends, times a scale."""
        value, low, high = (
            number_text(scale * x, digits, sign) for x in (self.value, self.low, self.high)
        )
        return value, low, high


def number_text(value: float, digits: int = 1, sign: str = "") -> str:
    """Return a number as all reports print it, rounded once; ``-`` for NaN.

    Args:
        value: The number.
        digits: Digits behind the point.
        sign: ``+`` marks numbers above zero, too.
    """
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:{sign}.{digits}f}"


NOTHING = Estimate(math.nan, math.nan, math.nan, 0)
"""Estimate without data."""


def rate(outcomes: np.ndarray) -> Estimate:
    """Return the share of the episodes of one task for which something is true, with Wilson's
    interval.

    Args:
        outcomes: (n,) bool.
    """
    n = len(outcomes)
    if not n:
        return NOTHING
    return Estimate(float(np.mean(outcomes)), *wilson(float(np.sum(outcomes)), n), n)


def mean(strata: Sequence[np.ndarray]) -> Estimate:
    """Return the mean over tasks of the means of a quantity, with its bootstrap interval.

    Each task is resampled by itself, n - 1 episodes out of its n, which makes the spread of the
    resampled means unbiased (Rao and Wu 1988). A task with one episode gives no interval.

    Args:
        strata: For each task (n,).
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
    """Return the mean over tasks of the means of a quantity in [0, 1], such as success.

    For one task and a quantity that is 0 or 1 the interval is Wilson's. Otherwise it is that of the
    bootstrap, see :func:`mean`, but no narrower than Wilson's with the effective number of
    episodes: resampling 300 failures would say that the rate is exactly 0.

    Args:
        strata: For each task (n,), numbers in [0, 1] or bool.
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
    """Return the mean of the middle half of the scores of training runs, with the interval of the
    stratified bootstrap: runs are resampled within each task (Agarwal et al. 2021, arXiv
    2108.13264).

    A task with one run gives no interval.

    Args:
        strata: For each task the score of each of its runs, (n,).
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
    """Return a function of independent estimates: what each end of their intervals would change is
    squared and added (Zou and Donner 2008; of a difference that is Newcombe's method). Where one of
    them has no interval, neither has the function.
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
    """Return the first less the second of independent estimates."""
    return propagate(operator.sub, one, other)


def over_runs(whole: Estimate, runs: Sequence[float], is_share: bool = False) -> Estimate:
    """Return the mean over the training runs of a policy, with an interval for both chances: which
    runs these are, and which episodes they were evaluated on.

    Over runs it is Student's t, which is wide: of three runs 2.5 standard deviations. Both parts
    are put together as if they were independent, which is wider than need be.

    Args:
        whole: The mean, with its interval over episodes; of each episode the mean over runs.
        runs: The mean of each run, (n,); one alone leaves the interval as it is.
        is_share: Whether it is in [0, 1].
    """
    if len(runs) == 1:
        return whole
    from scipy.stats import t  # takes a second to import

    quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(runs) - 1))
    half = quantile * float(np.std(runs, ddof=1)) / math.sqrt(len(runs))
    found = propagate(operator.add, whole, Estimate(0.0, -half, half, whole.n))
    if is_share:
        found = replace(found, low=max(0.0, found.low), high=min(1.0, found.high))
    return found


def _middle(scores: np.ndarray) -> np.ndarray:
    """Return interquartile means (m,) of scores (m, n): a quarter is cut off at either end."""
    cut = scores.shape[1] // 4
    ranked = np.sort(scores, axis=1)
    middle: np.ndarray = ranked[:, cut : ranked.shape[1] - cut].mean(axis=1)
    return middle


@dataclass(frozen=True, slots=True)
class Pairs:
    """Outcomes of two policies on the same episodes: numbers of episodes, or shares of them."""

    both: float  # both succeeded
    only_a: float  # only the first one did
    only_b: float  # only the second one did
    neither: float  # neither did

    @classmethod
    def count(cls, outcomes: np.ndarray) -> Pairs:
        """Count episodes.

        Args:
            outcomes: (n, 2) bool, for each episode of the first and of the second policy.
        """
        a, b = np.asarray(outcomes, bool).reshape(-1, 2).T
        return cls(*(int(k.sum()) for k in (a & b, a & ~b, ~a & b, ~a & ~b)))

    def columns(self, name: str) -> dict[str, float]:
        """Return the numbers, as a table for programs has them, whatever they are called."""
        return asdict(self)

    @property
    def total(self) -> float:
        """Number of episodes."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def difference(self) -> float:
        """Rate of the second one less that of the first one."""
        return (self.only_b - self.only_a) / self.total

    @property
    def p_value(self) -> float:
        """P-value of the exact two-sided McNemar test: does one win more of the episodes on which
        they differ than chance would? Needs whole numbers.
        """
        from scipy.stats import binomtest  # takes a second to import

        discordant = int(self.only_a + self.only_b)
        return float(binomtest(int(self.only_b), discordant).pvalue) if discordant else 1.0

    def interval(self, n: float | None = None) -> tuple[float, float]:
        """Return Newcombe's 95 % interval of the difference (Newcombe 1998, paired method 10).

        Args:
            n: Number of episodes, where the attributes are shares.
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
        """Return the correlation of the two outcomes, with Newcombe's correction for continuity;
        ``scale`` makes numbers of shares.
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
    """Return the mean over tasks of the difference of two success rates, second less first.

    The interval is Newcombe's for one task; for several it is that of the paired bootstrap (pairs
    are resampled within each task), but no narrower than Newcombe's with the effective number of
    episodes.

    Args:
        strata: For each task (n, 2) bool.
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
    """Return the fields of a dataclass as a table for programs has them, see
    :meth:`Estimate.columns`.
    """
    found: dict[str, Any] = {}
    for entry in fields(row):
        value = getattr(row, entry.name)
        expands = isinstance(value, Estimate | Pairs)
        found |= value.columns(entry.name) if expands else {entry.name: value}
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values of several tests at once, made larger so that together they err at most as
    often as one (Holm 1979).
    """
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
    """Return the effective number of episodes: drawn from all tasks alike, each with this variance.

    Tasks that differ are told apart beforehand, so it is more than there are, where the variance
    within the tasks is less; but no fewer than if every episode had the whole variance.
    """
    alike = len(strata) ** 2 / sum(1 / len(values) for values in strata)
    if min(map(len, strata)) < 2:
        return alike
    within = sum(values.var(ddof=1) / len(values) for values in strata) / len(strata) ** 2
    return max(alike, variance / within) if within > 0 else alike


def _hull(estimate: Estimate, low: float, high: float) -> Estimate:
    """Return the estimate with an interval that holds another one, too."""
    low, high = float(np.nanmin([estimate.low, low])), float(np.nanmax([estimate.high, high]))
    return Estimate(estimate.value, low, high, estimate.n)


def _combine(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * phi * one * other + other**2))
