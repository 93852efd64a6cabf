"""``clevrskills plan``: number of episodes needed to detect a difference (power analysis)."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from clevrskills.errors import ClevrSkillsError

MAX_EPISODES = 1_000_000


@dataclass(kw_only=True)
class PlanArgs:
    """Compute how many episodes are needed to detect a difference between two policies.

    With --paired, both policies are evaluated on the same frozen episodes, as for `clevrskills
    compare`; only episodes with different outcomes count, and `--discordant` is their share.
    """

    rate: float
    """Success rate of one policy, between 0 and 1."""
    difference: float
    """Difference in success rate of the other policy, e.g. 0.1 for ten percentage points."""
    paired: bool = False
    """Evaluate both policies on the same episodes; McNemar's exact test."""
    discordant: float | None = None
    """Share of episodes with different outcomes; default: that of independent outcomes."""
    power: float = 0.8
    """Power: probability of detecting the difference."""
    alpha: float = 0.05
    """Significance level: probability of a false detection."""
    tasks: int = 1
    """Number of tasks that the episodes are divided among."""
    json: bool = False
    """Print the numbers as JSON."""


def plan(args: PlanArgs) -> int:
    """Print the required number of episodes.

    Raises:
        ClevrSkillsError: An argument is out of range.
    """
    if args.tasks < 1:
        raise ClevrSkillsError(f"--tasks must be at least 1, not {args.tasks}")
    if args.discordant is not None and not args.paired:
        raise ClevrSkillsError("--discordant requires --paired")
    other = args.rate + args.difference
    facts = {"rate": args.rate, "other_rate": other, "power": args.power, "alpha": args.alpha}
    if args.paired:
        share = independent_discordance(args.rate, other)
        share = share if args.discordant is None else args.discordant
        n = paired_episodes(args.rate, args.difference, share, args.power, args.alpha)
        facts["discordant"] = share
        test, extra = "McNemar's exact test", f", discordant on {100 * share:g} % of the episodes"
    else:
        n = unpaired_episodes(args.rate, args.difference, args.power, args.alpha)
        test, extra = "two-sided test of two proportions on different episodes", ""
    each = -(-n // args.tasks)
    if args.json:
        import json

        facts |= {"episodes": n, "tasks": args.tasks, "episodes_per_task": each}
        print(json.dumps(facts, indent=2))
        return 0
    print(f"{n} episodes per policy", end="")
    print(f": {each} for each of {args.tasks} tasks" if args.tasks > 1 else "")
    print(
        f"to distinguish {100 * other:g} % from {100 * args.rate:g} % with power {args.power:g}"
        f" ({test}, level {args.alpha:g}{extra})"
    )
    return 0


def unpaired_episodes(
    rate: float, difference: float, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Return the number of episodes per policy for a two-sided z-test of two proportions on
    different episodes (Fleiss, Levin and Paik 2003, section 4.2, no continuity correction).

    Raises:
        ClevrSkillsError: An argument is out of range.
    """
    from scipy.stats import norm

    _check(rate, difference, power, alpha)
    other, middle = rate + difference, rate + difference / 2
    null = math.sqrt(2 * middle * (1 - middle))
    real = math.sqrt(rate * (1 - rate) + other * (1 - other))
    root = (norm.ppf(1 - alpha / 2) * null + norm.ppf(power) * real) / difference
    return math.ceil(root**2)


def paired_episodes(
    rate: float, difference: float, discordant: float, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Return the number of shared episodes for McNemar's exact two-sided test.

    Args:
        rate: Success rate of one policy.
        difference: Difference in success rate of the other policy.
        discordant: Share of episodes with different outcomes.
        power: Power of the test.
        alpha: Significance level.

    Raises:
        ClevrSkillsError: An argument is out of range, or the share is impossible for these rates.
    """
    _check(rate, difference, power, alpha)
    least, most = abs(difference), min(2 * rate + difference, 2 - 2 * rate - difference)
    if not least - 1e-9 <= discordant <= most + 1e-9:
        raise ClevrSkillsError(
            f"the discordant share must be between {least:g} and {most:g} for rates of {rate:g}"
            f" and {rate + difference:g}, not {discordant:g}"
        )
    return _smallest(lambda n: paired_power(n, difference, discordant, alpha) >= power)


def paired_power(n: int, difference: float, discordant: float, alpha: float = 0.05) -> float:
    """Return the power of McNemar's exact two-sided test with n episodes."""
    import numpy as np
    from scipy.stats import binom

    low, high = (int(k) for k in binom.ppf([1e-9, 1 - 1e-9], n, discordant))
    counts = np.arange(max(low, 1), max(high, 1) + 1)  # discordant episodes
    # most wins of one policy at which the test still rejects; the p-value is twice the tail
    worst = binom.ppf(alpha / 2, counts, 0.5)
    worst -= 2 * binom.cdf(worst, counts, 0.5) > alpha
    better = min(1.0, (discordant + abs(difference)) / (2 * discordant))
    rejects = binom.cdf(worst, counts, better) + binom.cdf(worst, counts, 1 - better)
    return float(binom.pmf(counts, n, discordant) @ rejects)


def independent_discordance(rate: float, other: float) -> float:
    """Return the share of discordant episodes for independent outcomes."""
    return rate * (1 - other) + other * (1 - rate)


def _smallest(enough: Callable[[int], bool]) -> int:
    """Return the smallest sufficient number of episodes by bisection."""
    high = 1
    while not enough(high):
        high *= 2
        if high > MAX_EPISODES:
            raise ClevrSkillsError(f"this needs more than {MAX_EPISODES} episodes")
    return bisect_left(range(high), True, lo=high // 2 + 1, key=enough)


def _check(rate: float, difference: float, power: float, alpha: float) -> None:
    for name, value in (("rate", rate), ("rate + difference", rate + difference)):
        if not 0 <= value <= 1:
            raise ClevrSkillsError(f"{name} must be between 0 and 1, not {value:g}")
    if difference == 0:
        raise ClevrSkillsError("difference must not be 0")
    for name, value in (("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise ClevrSkillsError(f"{name} must be between 0 and 1, not {value:g}")
    if power <= alpha:
        raise ClevrSkillsError(f"power must be greater than alpha, not {power:g}")
