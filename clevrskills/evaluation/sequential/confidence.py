"""Anytime-valid tests and confidence sequences for the mean of a quantity over tasks.

Each round has one value in [0, 1] per task, x_k for task k = 1 … K. Given the earlier rounds,
values of different tasks are independent, with means mu_k. For a candidate m of the mean over
tasks, a stake s and centers c_k that sum to 0, round t multiplies the evidence that the mean
exceeds m by

    E_t = product over k of (1 + s g_k),    g_k = (x_k - m - c_k) / (m + max c).

The centers estimate the deviation of each task from the mean over tasks from earlier rounds, so
that differences between tasks do not count as noise.

*E_t is an e-value.* As x_k >= 0, each g_k >= -1, and with s < 1 all factors are positive. If the
mean of the mu_k is at most m, then, as s and c_k are known before the round,

    E[E_t | past] = product over k of (1 + s (mu_k - m - c_k) / (m + max c))
                 <= (1 + s (mean of mu_k - m) / (m + max c)) ** K <= 1,

by the inequality of arithmetic and geometric means, since the c_k sum to 0. So the product over
rounds is a nonnegative supermartingale that starts at 1, and so is its average over fixed stakes.
By Ville's inequality it ever reaches 1 / alpha with probability at most alpha, whichever round one
looks or stops at. This requires one stake for all tasks of a round, and looks after full rounds.

*The accepted candidates form an interval.* g_k = (x_k - c_k + max c) / (m + max c) - 1 with a
nonnegative numerator, so the evidence decreases with m on every path. The other side is the same
test of 1 - x. With alpha / 2 on either side, p < alpha if and only if the null is outside the
interval.

For one task c = 0; the null that two policies are equal then has the mixture form of a sequential
McNemar test, in which only discordant pairs count.

Sources: Ville (1939) for the inequality; Robbins (1970, Ann. Math. Stat. 41) for mixtures;
Waudby-Smith and Ramdas (2024, JRSS B 86) for intervals of bounded means by betting; Orabona and
Jun (2024, IEEE Trans. Inf. Theory 70) for the mixture over stakes; Spertus, Sridhar and Stark
(2024, arXiv 2409.06680) for products of test supermartingales over strata. The test of the mean
over strata, by one stake and centers that sum to 0, is proved above.
"""

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

ALPHA = 0.05
STAKES = np.geomspace(0.05, 0.95, 24)
"""Equally weighted stakes of the mixture; validity does not depend on them."""
PRIOR_ROUNDS = 6
"""Weight of the mean over tasks in the center of a task, in rounds."""
CANDIDATES = 15
"""Candidates between two bounds; odd, so that 0.5, the null of comparisons, is the first middle."""
PRECISION = 1e-6
LEAST_P = 1e-300
TASKS_AT_ONCE = 32
"""Number of tasks whose factors are multiplied before the logarithm, without underflow."""
SEED, RUNS, MOST_ROUNDS = 20261124, 3, 100
"""Parameters of the simulation in :func:`rounds_needed`."""


def log_evidence(x: ArrayLike, means: ArrayLike) -> Floats:
    """Return the log evidence after each round that the mean over tasks exceeds each candidate.

    Args:
        x: Values in [0, 1], (..., rounds, tasks); leading dimensions are separate runs.
        means: Candidates above 0 for the mean, (..., candidates).

    Returns:
        Log evidence, (..., rounds, candidates).

    Raises:
        ValueError: A value is out of range.
    """
    x, means = np.asarray(x, float), np.asarray(means, float)[..., None, :]
    if not ((x >= 0) & (x <= 1)).all():
        raise ValueError("values of a round must be from 0 to 1")
    before = np.cumsum(x, axis=-2) - x
    known = np.arange(x.shape[-2])[:, None] + PRIOR_ROUNDS
    centers = (before - before.mean(axis=-1, keepdims=True)) / known
    room = means + centers.max(axis=-1)[..., None]  # maximum loss of one value
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
        mean: Null hypothesis in (0, 1), for all runs or each run, (...).
        most: Upper bounds of the values, if ``x`` are lower bounds; ``None``: equal to ``x``.
    """
    x, null = np.asarray(x, float), np.asarray(mean, float)[..., None]
    most = x if most is None else np.asarray(most, float)
    logs = np.maximum(log_evidence(x, null), log_evidence(1 - most, 1 - null))[..., 0]
    return np.clip(2 * np.exp(-np.maximum.accumulate(logs, axis=-1)), LEAST_P, 1.0)


def interval(
    x: ArrayLike, most: ArrayLike | None = None, alpha: float = ALPHA
) -> tuple[float, float]:
    """Return the intersection of the intervals of the mean over tasks after each round. If the mean
    drifts, it may be empty, with the lower end above the upper end.

    Args:
        x: Values in [0, 1] of one run, (rounds, tasks).
        most: As in :func:`p_values`.
        alpha: Maximum probability that any of the intervals misses the mean.
    """
    least, most = np.asarray(x, float), np.asarray(x if most is None else most, float)
    return _lower(least, alpha / 2), 1 - _lower(np.subtract(1.0, most), alpha / 2)


def first_within(x: ArrayLike, width: float, most: ArrayLike | None = None) -> int | None:
    """Return the first round after which the interval is narrow enough; ``None``: none yet."""
    x = np.asarray(x, float)
    most = x if most is None else np.asarray(most, float)

    def narrow(rounds: int) -> bool:
        low, high = interval(x[:rounds], most[:rounds])
        return high - low <= width

    if not narrow(len(x)):
        return None
    return bisect_left(range(len(x)), True, lo=1, key=narrow)  # an interval never widens


def rounds_needed(width: float, tasks: int, limit: int) -> int:
    """Return the approximate number of rounds for an interval width in the worst case, a success
    rate of 50 % in each task: the median of simulated runs.

    Args:
        width: The width.
        tasks: Number of tasks per round.
        limit: Number of available rounds; beyond it, or ``MOST_ROUNDS``, the width is extrapolated
            with the square root of the rounds.
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
