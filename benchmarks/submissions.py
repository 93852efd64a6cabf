"""How often does `clevrskills submission verify` refuse honest, inflated and forged files?

Outcomes are coins: each task has a success rate, each episode is solved or not when the file is
made, and on the verifier's machine it comes out as before (`same`), anew where the machine makes
some of the outcomes flip (`other CPU`, a tenth of them), or anew everywhere (`random`, a policy
that draws its actions). A file is inflated by turning failures into successes until its rate is ten
points higher; a forged one says 80 % of a policy of 0 %; a parrot solves the episodes of the file
and no other.

    python benchmarks/submissions.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import tyro
from common import print_table

from clevrskills.evaluation.submission.inflation import (
    FAILED,
    FIRST,
    SOLVED,
    Outcomes,
    judge,
    sample_size,
    settled,
)

FLIPPED = 0.1
SIZES = {"L0": (12, 1), "L0, L1+L2": (33, 2)}
"""Tasks and headline numbers of a submission."""


@dataclass
class SubmissionsArgs:
    """Simulate verifications."""

    files: int = 1000
    """Honest and inflated files of each kind."""
    forged: int = 20
    """Forged files and parrots of each size."""
    episodes: int = 50
    """Episodes of a task in a file."""
    fresh: int = 10
    """Fresh episodes of a task."""
    seed: int = 0
    """Of the coins."""


def verify(
    claimed: np.ndarray,
    again: np.ndarray,
    fresh: np.ndarray,
    numbers: int,
    rng: np.random.Generator,
) -> tuple[bool, int]:
    """Return whether a file is refused, and the size of the sample.

    Args:
        claimed: (tasks, episodes) bool, outcomes of the file.
        again: (tasks, episodes) bool, those of the verifier.
        fresh: (tasks, episodes) bool, those of fresh episodes.
        numbers: Headline numbers, to which tasks belong in turn.
        rng: Draws the sample.
    """
    tasks, count = claimed.shape
    order = rng.permutation(claimed.size)
    lost = int((claimed & ~again).ravel()[order[:FIRST]].sum())
    size = FIRST
    if not settled(lost, FIRST):
        size = sample_size(claimed.size, fresh.size, numbers)
    chosen = np.zeros(claimed.size, bool)
    chosen[order[:size]] = True
    outcomes = {
        str(k): Outcomes(
            "".join(SOLVED if one else FAILED for one in claimed[k]),
            {i: bool(again[k, i]) for i in range(count) if chosen[k * count + i]},
            [bool(one) for one in fresh[k]],
        )
        for k in range(tasks)
    }
    parts = {str(n): [str(k) for k in range(tasks) if k % numbers == n] for n in range(numbers)}
    return bool(judge(outcomes, parts).failed), size


def main(args: SubmissionsArgs) -> None:
    """Print a table."""
    rng = np.random.default_rng(args.seed)
    rows = list[list[object]]()
    for size, (tasks, numbers) in SIZES.items():
        shape = tasks, args.episodes
        for rates in ("all 50 %", "0 to 100 %"):
            for machine, flipped in (("same", 0.0), ("other CPU", FLIPPED), ("random", 1.0)):
                refused, samples = {"honest": 0, "inflated": 0}, 0
                for kind in refused:
                    for _ in range(args.files):
                        rate = np.full((tasks, 1), 0.5)
                        if rates != "all 50 %":
                            rate = rng.random((tasks, 1))
                        true = rng.random(shape) < rate
                        anew = rng.random(shape) < rate
                        again = np.where(rng.random(shape) < flipped, anew, true)
                        fresh = rng.random((tasks, args.fresh)) < rate
                        claimed = true.copy()
                        if kind == "inflated":
                            failures = rng.permutation(np.flatnonzero(~true))
                            claimed.ravel()[failures[: true.size // 10]] = True
                        no, episodes = verify(claimed, again, fresh, numbers, rng)
                        refused[kind] += no
                        samples += episodes if kind == "honest" else 0
                share = 100 / args.files
                told = (f"{share * refused['honest']:.2f}", f"{share * refused['inflated']:.1f}")
                rows.append([size, rates, machine, *told, f"{samples / args.files:.0f}"])
    print_table(
        "Files refused",
        ["numbers", "rates", "outcomes", "honest refused, %", "inflated refused, %", "sample"],
        rows,
    )
    for size, (tasks, numbers) in SIZES.items():
        claims = np.random.default_rng(args.seed).random((args.forged, tasks, args.episodes)) < 0.8
        nothing = np.zeros((tasks, args.fresh), bool)
        forged = sum(verify(c, c & False, nothing, numbers, rng)[0] for c in claims)
        parrots = sum(verify(c, c, nothing, numbers, rng)[0] for c in claims)
        print(f"{size}: {forged} forged files and {parrots} parrots of {args.forged} refused")


if __name__ == "__main__":
    main(tyro.cli(SubmissionsArgs, description=__doc__))
    sys.exit(0)
