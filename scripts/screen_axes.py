"""Writer of what screening found of perturbed episodes, as the suite ships it; the cache remembers
what was screened, so that it can be stopped and goes on.

python scripts/screen_axes.py clevrskills/suites/clevrskills/screened.json --episodes 20 --workers 8
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from clevrskills.core.suite import load_suite
from clevrskills.evaluation.robustness.kept import kept_episodes
from clevrskills.evaluation.robustness.screening import Verdict
from clevrskills.evaluation.robustness.shipped import write_verdicts

FELT = ("embodiment", "layout", "clutter", "robot_start", "disturbance")
"""Axes of what physics feels."""


@dataclass
class Arguments:
    """Screen the first frozen episodes of all tasks and write what was found."""

    out: Annotated[Path, tyro.conf.Positional]
    """The file."""
    axis: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An axis; by default those of what physics feels."""
    level: int = 3
    """The level; of axes with fewer, their last."""
    split: str = "train"
    """The split."""
    episodes: int = 20
    """Episodes of each task that are kept."""
    workers: int = 1
    """Number of processes."""


def main(args: Arguments) -> None:
    """Screen, and write the file after each axis."""
    suite = load_suite()
    pairs = [(task, args.split) for task in suite.tasks]
    found: dict[str, dict[tuple[str, str], list[Verdict]]] = {}
    for axis in args.axis or FELT:
        level = min(args.level, len(suite.axes()[axis].levels))
        screened = kept_episodes(
            suite, pairs, {axis: level}, args.episodes, args.workers, strict=False
        )
        of_axis = {(one.task, one.split): one.screened for one in screened}
        found[f"{axis}-{level}"] = of_axis
        looked = sum(map(len, of_axis.values()))
        rejected = sum(bool(v.reason) for verdicts in of_axis.values() for v in verdicts)
        print(f"{axis} {level}: {rejected} of {looked} rejected", flush=True)
        write_verdicts(args.out, suite, found)


if __name__ == "__main__":
    main(tyro.cli(Arguments))
