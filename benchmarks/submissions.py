"""How often does `clevrskills submission verify` refuse honest, inflated and forged files?

Outcomes are coins: each task has a success rate. A file is inflated by turning failures into
successes until its rate is so many points higher; a forged one says 80 % of a policy of 0 %, as
does a parrot, which solves the episodes of the file and no other.

    python benchmarks/submissions.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import tyro
from common import print_table

from clevrskills.evaluation.submission.inflation import FAILED, SOLVED, Outcomes, judge

INFLATIONS = (0, 10, 20, 30)
"""Points that the rate of a file is too high; 0: it is honest."""
SIZES = {"L0": (12, 1), "L0, L1+L2": (33, 2)}
"""Tasks and headline numbers of a submission."""


@dataclass
class SubmissionsArgs:
    """Simulate verifications."""

    files: int = 1000
    """Files of each kind."""
    forged: int = 20
    """Forged files of each size."""
    episodes: int = 50
    """Episodes of a task in a file."""
    fresh: int = 10
    """Fresh episodes of a task."""
    seed: int = 0
    """Of the coins."""


def verify(claimed: np.ndarray, fresh: np.ndarray, numbers: int) -> bool:
    """Return whether a file is refused.

    Args:
        claimed: (tasks, episodes) bool, outcomes of the file.
        fresh: (tasks, episodes) bool, those of fresh episodes.
        numbers: Headline numbers, to which tasks belong in turn.
    """
    outcomes = {
        str(k): Outcomes("".join(SOLVED if one else FAILED for one in of), new.tolist())
        for k, (of, new) in enumerate(zip(claimed, fresh, strict=True))
    }
    parts = {str(n): [*outcomes][n::numbers] for n in range(numbers)}
    return bool(judge(outcomes, parts)[1])


def main(args: SubmissionsArgs) -> None:
    """Print a table."""
    rng = np.random.default_rng(args.seed)
    rows = list[list[object]]()
    for size, (tasks, numbers) in SIZES.items():
        for rates in ("all 50 %", "0 to 100 %"):
            refused = dict.fromkeys(INFLATIONS, 0)
            for points in refused:
                for _ in range(args.files):
                    rate = np.full((tasks, 1), 0.5)
                    if rates != "all 50 %":
                        rate = rng.random((tasks, 1))
                    claimed = rng.random((tasks, args.episodes)) < rate
                    fresh = rng.random((tasks, args.fresh)) < rate
                    failures = rng.permutation(np.flatnonzero(~claimed))
                    claimed.ravel()[failures[: claimed.size * points // 100]] = True
                    refused[points] += verify(claimed, fresh, numbers)
            share = 100 / args.files
            rows.append([size, rates, *(f"{share * count:.1f}" for count in refused.values())])
    print_table("Files refused, %", ["numbers", "rates", *map(str, INFLATIONS)], rows)
    for size, (tasks, numbers) in SIZES.items():
        claims = np.random.default_rng(args.seed).random((args.forged, tasks, args.episodes)) < 0.8
        nothing = np.zeros((tasks, args.fresh), bool)
        forged = sum(verify(claimed, nothing, numbers) for claimed in claims)
        print(f"{size}: {forged} forged files of {args.forged} refused")


if __name__ == "__main__":
    main(tyro.cli(SubmissionsArgs, description=__doc__))
    sys.exit(0)
