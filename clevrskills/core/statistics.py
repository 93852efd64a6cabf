"""Confidence intervals of rates."""

import math

Z = 1.959963984540054
"""Standard normal quantile of a 95 % interval."""


def wilson(successes: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % score interval of a rate (Wilson 1927).

    Args:
        successes: Number of successes; fractional for effective sample sizes.
        n: Number of trials; the interval is [0, 1] without any.
    """
    if n <= 0:
        return 0.0, 1.0
    share, squared = successes / n, Z**2 / n
    middle = (share + squared / 2) / (1 + squared)
    half = Z * math.sqrt(share * (1 - share) / n + squared / (4 * n)) / (1 + squared)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))
