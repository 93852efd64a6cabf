"""Anytime-valid tests and confidence sequences for the mean of a quantity over tasks.

In each round there is one value in [0, 1] of each task, x_k for task k = 1 … K. Values of
different tasks are independent of each other given the rounds before, with means mu_k. For a
candidate m of the mean over tasks, a stake s and centers c_k that sum to 0, round t multiplies the
evidence that the mean is greater than m by

    E_t = product over k of (1 + s g_k),    g_k = (x_k - m - c_k) / (m + max c).

The centers estimate from earlier rounds how each task differs from the mean over tasks, so that
differences between tasks do not count as noise.

*E_t is an e-value.* As x_k >= 0, each g_k >= -1, and with s < 1 all factors are positive. If the
mean of the mu_k is at most m, then, as s and c_k are known before the round,

    E[E_t | past] = product over k of (1 + s (mu_k - m - c_k) / (m + max c))
                 <= (1 + s (mean of mu_k - m) / (m + max c)) ** K <= 1,

by the inequality of arithmetic and geometric means, since the c_k sum to 0. So the product over
rounds is a nonnegative supermartingale that starts at 1, and so is its average over fixed stakes.
By Ville's inequality it ever reaches 1 / alpha with probability alpha at most, at whichever round
one looks or stops. This needs one stake for all tasks of a round, and looks at the ends of rounds.

*What is rejected is an interval.* g_k = (x_k - c_k + max c) / (m + max c) - 1 with a nonnegative
numerator, so the evidence falls with m on every path. The other side is the same test of 1 - x.
With alpha / 2 on either side, p < alpha if and only if the null is outside the interval.

For one task c = 0; the null that two policies are equal then has the mixture form of a sequential
McNemar test, in which only discordant pairs count.

Sources: Ville (1939) for the inequality; Robbins (1970, Ann. Math. Stat. 41) for mixtures;
Waudby-Smith and Ramdas (2024, JRSS B 86) for intervals of bounded means by betting; Orabona and
Jun (2024, IEEE Trans. Inf. Theory 70) for the mixture over stakes; Spertus, Sridhar and Stark
(2024, arXiv 2409.06680) for products of test supermartingales over strata. One stake with centers
that sum to 0, which tests the mean over strata directly, is proved above and not from these.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

ALPHA = 0.05
STAKES = np.geomspace(0.05, 0.95, 24)
"""Stakes of the mixture, all of the same weight; validity does not depend on them."""
PRIOR_ROUNDS = 6
"""Rounds for which the mean over tasks counts in the center of a task."""
CANDIDATES = 15
"""Candidates between two bounds; odd, so that 0.5, the null of comparisons, is the first middle."""
PRECISION = 1e-6
LEAST_P = 1e-300
TASKS_AT_ONCE = 32
"""Tasks whose factors are multiplied before a logarithm is taken, without underflow."""
SEED, RUNS, MOST_ROUNDS = 20261124, 3, 100
"""Of the simulation by which :func:`rounds_needed` predicts the length of a run."""


def log_evidence(x: ArrayLike, means: ArrayLike) -> Floats:
    """Return the logarithm of the evidence after each round that the mean over tasks is greater.

    Args:
        x: Values in [0, 1], (..., rounds, tasks); the leading dimensions are separate runs.
        means: Candidates for the mean, above 0, (..., candidates).

    Returns:
        The evidence of each run, round and candidate, (..., rounds, candidates).

    Raises:
        ValueError: A value is out of range.
    """
    x, means = np.asarray(x, float), np.asarray(means, float)[..., None, :]
    if not ((x >= 0) & (x <= 1)).all():
        raise ValueError("values of a round must be from 0 to 1")
    before = np.cumsum(x, axis=-2) - x
    known = np.arange(x.shape[-2])[:, None] + PRIOR_ROUNDS
    centers = (before - before.mean(axis=-1, keepdims=True)) / known
    room = means + centers.max(axis=-1)[..., None]  # the most that one value can lose
    gains = (np.moveaxis(x - centers, -1, 0)[..., None] - means) / room  # (tasks, ...)
    parts = [gains[k : k + TASKS_AT_ONCE] for k in range(0, len(gains), TASKS_AT_ONCE)]
    total = np.full(gains.shape[1:], -np.inf)
    for stake in STAKES:
        rounds = sum(np.log(np.prod(1 + stake * part, axis=0)) for part in parts)
        np.logaddexp(total, np.cumsum(rounds, axis=-2), out=total)
    return total - math.log(len(STAKES))


def p_values(x: ArrayLike, mean: ArrayLike = 0.5, most: ArrayLike | None = None) -> Floats:
    """Return the anytime-valid two-sided p-value of a mean after each round; it is never 0.

    Args:
        x: Values in [0, 1], (..., rounds, tasks).
        mean: The null, inside (0, 1), for all runs or one of each, (...).
        most: The most that each value may be, where ``x`` is the least; ``None``: they are known.
    """
    x, null = np.asarray(x, float), np.asarray(mean, float)[..., None]
    most = x if most is None else np.asarray(most, float)
    logs = np.maximum(log_evidence(x, null), log_evidence(1 - most, 1 - null))[..., 0]
    return np.clip(2 * np.exp(-np.maximum.accumulate(logs, axis=-1)), LEAST_P, 1.0)


def interval(
    x: ArrayLike, most: ArrayLike | None = None, alpha: float = ALPHA
) -> tuple[float, float]:
    """Return the interval of the mean over tasks after the last round, the intersection of those
    after each round. If the mean drifts, it may become empty: the lower end exceeds the upper one.

    Args:
        x: Values in [0, 1] of one run, (rounds, tasks).
        most: As in :func:`p_values`.
        alpha: Probability that any of the intervals misses the mean, at most.
    """
    least, most = np.asarray(x, float), np.asarray(x if most is None else most, float)
    return _lower(least, alpha / 2), 1 - _lower(np.subtract(1.0, most), alpha / 2)


def first_within(x: ArrayLike, width: float, most: ArrayLike | None = None) -> int | None:
    """Return the first round after which the interval is no wider; ``None``: it still is."""
    x = np.asarray(x, float)
    most = x if most is None else np.asarray(most, float)

    def narrow(rounds: int) -> bool:
        low, high = interval(x[:rounds], most[:rounds])
        return high - low <= width

    if not narrow(len(x)):
        return None
    wide, found = 0, len(x)
    while found - wide > 1:  # an interval never widens
        middle = (wide + found) // 2
        wide, found = (wide, middle) if narrow(middle) else (middle, found)
    return found


def rounds_needed(width: float, tasks: int, limit: int) -> int:
    """Return roughly how many rounds an interval of a width takes at a success rate of 50 % in each
    task, which is the worst case: the median of simulated runs.

    Args:
        width: The width.
        tasks: Values of each round.
        limit: Rounds there are; beyond them, or ``MOST_ROUNDS``, the width is taken to fall with
            the square root of the rounds.
    """
    generator, needed = np.random.default_rng(SEED), list[float]()
    limit = min(limit, MOST_ROUNDS)
    for _ in range(RUNS):
        x = (generator.random((limit, tasks)) < 0.5).astype(float)
        low, high = interval(x)
        needed.append(first_within(x, width) or limit * ((high - low) / width) ** 2)
    return math.ceil(np.median(needed))


def _lower(x: Floats, alpha: float) -> float:
    """Return the lower bound of the mean over tasks after the last round."""
    low, high = 0.0, 1.0
    while len(x) and high - low > PRECISION:
        candidates = np.linspace(low, high, CANDIDATES + 2)[1:-1]
        out = log_evidence(x, candidates).max(axis=0) >= math.log(1 / alpha)
        low, high = max([low, *candidates[out]]), min([high, *candidates[~out]])
    return float(low)
