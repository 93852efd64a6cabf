"""Seeds of episodes: which range belongs to whom, so that no two kinds of episodes share one."""

from __future__ import annotations

from dataclasses import dataclass

SUBSTITUTE = 10_000_000
"""Distance from a seed to its substitute: seeds asked for lie below it within their range."""
ATTEMPTS = 20
"""Seeds that are tried for one episode that was asked for, at most."""


@dataclass(frozen=True)
class SeedRange:
    """Seeds from ``start`` to below ``stop``."""

    start: int
    stop: int

    def after(self, count: int) -> SeedRange:
        """The next ``count`` seeds behind this range."""
        return SeedRange(self.stop, self.stop + count)


DEMONSTRATIONS = SeedRange(0, SUBSTITUTE * ATTEMPTS)
"""``clevrskills generate``."""
DAGGER = DEMONSTRATIONS.after(SUBSTITUTE * ATTEMPTS)
"""Rounds of ``clevrskills dagger``."""
TRAINING = SeedRange(0, 1_000_000_000)
"""All episodes that may be learned from; vector environments draw theirs from it."""
RL_TRAINING = SeedRange(0, 900_000_000)
"""First episodes of the environments that ``clevrskills rl`` trains in."""
FROZEN = TRAINING.after(1_000_000_000)
"""Frozen episodes: no episode that is learned from starts as one that is evaluated on."""
