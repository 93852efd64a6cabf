"""Confidence sequences and anytime-valid tests for means of finite populations.

The method is the hedged capital process for sampling without replacement of Waudby-Smith and Ramdas
(2024, "Estimating means of bounded random variables by betting", JRSS B 86, section 5 and appendix
on sampling without replacement): a bettor stakes on the next value being above or below what a
candidate for the mean of the population predicts. If the candidate is true, neither capital
is expected to grow, so that by Ville's inequality the capital ever reaches 1 / alpha with
probability alpha at most, whenever one looks and stops.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
CELLS = 1000
"""Candidates for the mean lie on a grid of so many cells; an interval reaches to the next one."""
MOST_STAKED = 0.75
"""Share of the capital that is lost at most in one round, so that no bettor is ruined."""
SLACK = 1e-9
"""Rounding that a candidate is allowed against what has been seen."""


@dataclass(frozen=True)
class Bounds:
    """A confidence sequence.

    Attributes:
        low: Lower ends after 1, 2, … rounds, (t,).
        high: Upper ends, (t,).
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def first_within(self, width: float) -> int | None:
        """The number of rounds after which it is no wider, from 1; ``None``: it is still."""
        found = np.flatnonzero(self.high - self.low <= width + SLACK)
        return int(found[0]) + 1 if len(found) else None


class Bettor:
    """Bets against candidates for the mean of a population, round by round.

    Args:
        candidates: The candidates, (...); rows of several populations at once may be given.
        population: Number of rounds until the population is exhausted.
        alpha: Probability of ever rejecting a true candidate, at most.

    Attributes:
        rejected: Which candidates were ever rejected, (...) bool.
        evidence: The greatest capital that was ever had against each, (...); 1 / evidence is an
            anytime-valid p-value.
    """

    def __init__(
        self, candidates: NDArray[np.float64], population: int, alpha: float = ALPHA
    ) -> None:
        self._candidates, self._population, self._alpha = candidates, population, alpha
        shape = candidates.shape[:-1]
        self._up = np.zeros(candidates.shape)  # logarithms of the capitals
        self._down = np.zeros(candidates.shape)
        self._sum, self._squares = np.zeros(shape), np.full(shape, 0.25)
        self._round = 0
        self.rejected = np.zeros(candidates.shape, bool)
        self.evidence = np.ones(candidates.shape)

    def see(self, value: NDArray[np.float64] | float) -> None:
        """Take the next value in [0, 1] of each population, (...) without the candidates.

        Raises:
            ValueError: The population is exhausted, or the value is out of range.
        """
        x = np.asarray(value, float)
        if self._round >= self._population:
            raise ValueError(f"all {self._population} rounds were seen")
        if not ((x >= -SLACK) & (x <= 1 + SLACK)).all():
            raise ValueError(f"value {value}; allowed: 0 to 1")
        self._round += 1
        t, left = self._round, self._population - self._round + 1
        # what a candidate predicts of the next value, as it is drawn from what is left
        expected = (self._population * self._candidates - self._sum[..., None]) / left
        impossible = (expected < -SLACK) | (expected > 1 + SLACK)
        expected = expected.clip(0.0, 1.0)
        stake = np.sqrt(2 * np.log(2 / self._alpha) / (self._squares * np.log(t + 1)))
        gain = x[..., None] - expected
        up = np.minimum(stake[..., None], MOST_STAKED / np.maximum(expected, SLACK))
        down = np.minimum(stake[..., None], MOST_STAKED / np.maximum(1 - expected, SLACK))
        self._up += np.log1p(up * gain)
        self._down += np.log1p(-down * gain)
        capital = np.exp(np.maximum(self._up, self._down)) / 2
        capital[impossible] = np.inf
        self.evidence = np.maximum(self.evidence, capital)
        self._sum = self._sum + x
        # so that the stake of the next round rests on what came before it alone
        mean = (0.5 + self._sum) / (t + 1)
        self._squares = self._squares + (x - mean) ** 2
        # what was seen bounds the mean whatever is left
        seen = self._sum[..., None] / self._population
        beyond = (self._candidates < seen - SLACK) | (
            self._candidates > seen + (self._population - t) / self._population + SLACK
        )
        self.evidence[beyond] = np.inf
        self.rejected = self.evidence >= 1 / self._alpha


def confidence_sequence(
    values: NDArray[np.float64], population: int, alpha: float = ALPHA
) -> Bounds:
    """Intervals that all hold the mean of a population with probability 1 - alpha.

    Args:
        values: Values in [0, 1], drawn without replacement in random order, (t,).
        population: How many there are in all.
        alpha: Probability that any of the intervals misses the mean, at most.

    Raises:
        ValueError: There are more values than the population has, or one is out of range.
    """
    grid = np.linspace(0.0, 1.0, CELLS + 1)
    bettor, low, high = Bettor(grid, population, alpha), list[float](), list[float]()
    total = 0.0
    for k, value in enumerate(values, start=1):
        bettor.see(value)
        total += float(value)
        kept = np.flatnonzero(~bettor.rejected)
        # where the mean is known to less than a cell, what was seen says it
        least, most = total / population, (total + population - k) / population
        ends = least, most
        if len(kept):
            ends = float(grid[max(kept[0] - 1, 0)]), float(grid[min(kept[-1] + 1, CELLS)])
        low.append(min(max(ends[0], least), most))
        high.append(max(min(ends[1], most), least))
    return Bounds(
        np.maximum.accumulate(np.array(low)) if low else np.zeros(0),
        np.minimum.accumulate(np.array(high)) if high else np.zeros(0),
    )
