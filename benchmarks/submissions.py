"""Simulation of `clevrskills submission verify`: refusals of honest, inflated and forged files.

Outcomes are independent draws from a success rate per task. A file is inflated by turning failures
into successes until its rate is that many points higher. A forged file claims 80 % for a policy of
0 %, like a policy that replays only the episodes of the file.

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
"""Points by which the rate of a file is inflated; 0: honest."""
SIZES = {"L0": (12, 1), "L0, L1+L2": (33, 2)}
"""Tasks and headline numbers of a submission."""


@dataclass
class SubmissionsArgs:
    """Verifications to simulate."""

    files: int = 1000
    """Files per kind."""
    forged: int = 20
    """Forged files per size."""
    episodes: int = 50
    """Episodes per task in a file."""
    fresh: int = 10
    """Fresh episodes per task."""
    seed: int = 0
    """Seed of the outcomes."""


def verify(claimed: np.ndarray, fresh: np.ndarray, numbers: int) -> bool:
    """Return whether a file is refused.

    Args:
        claimed: (tasks, episodes) bool, outcomes of the file.
        fresh: (tasks, episodes) bool, those of fresh episodes.
        numbers: Headline numbers; tasks are assigned to them in turn.
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
