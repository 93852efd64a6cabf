"""Screening of perturbed episodes: rejected share by axis and level, and the verdicts that the
suite ships. Verdicts are cached, so an interrupted run resumes.

python scripts/screen_axes.py --level 1 --level 2 --level 3 --level 4 --level 5 --episodes 3
python scripts/screen_axes.py --out clevrskills/suites/clevrskills/screened.json --workers 8
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from clevrskills.core.statistics import wilson
from clevrskills.core.suite import Perturbable, load_suite, unsupported
from clevrskills.evaluation.robustness.screened_episodes import kept_episodes
from clevrskills.evaluation.robustness.screening import ScreeningVerdict
from clevrskills.evaluation.robustness.shipped import write_verdicts

PHYSICAL = ("embodiment", "layout", "clutter", "robot_start", "disturbance")
"""Axes whose screening runs the oracle; their verdicts are shipped."""
MOST = 4
"""Number of tasks named per level, those with most rejected episodes."""


@dataclass
class Arguments:
    """Screen the first frozen episodes of all tasks."""

    task: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Tasks; default: all."""
    axis: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An axis; default: those that change the physics."""
    level: Annotated[tuple[int, ...], tyro.conf.UseAppendAction] = ()
    """A level; default: 3, or the highest of axes with fewer."""
    split: str = "train"
    """Split of the episodes."""
    episodes: int = 20
    """Kept episodes per task; shares refer to the same number of first frozen episodes."""
    out: Path | None = None
    """File for the verdicts, written after each axis and level."""
    workers: int = 1
    """Worker processes."""


def main(args: Arguments) -> None:
    """Screen and print a line for each axis and level."""
    suite = load_suite()
    if not isinstance(suite, Perturbable):
        raise unsupported(suite, "axes")
    pairs = [(task, args.split) for task in args.task or suite.tasks]
    found: dict[str, dict[tuple[str, str], list[ScreeningVerdict]]] = {}
    for axis in args.axis or PHYSICAL:
        most = len(suite.axes()[axis].levels)
        for level in dict.fromkeys(min(level, most) for level in args.level or (3,)):
            kept = kept_episodes(
                suite, pairs, {axis: level}, args.episodes, args.workers, strict=False
            )
            of_level = {(one.task, one.split): one.screened for one in kept}
            first = [v for some in of_level.values() for v in some if v.index < args.episodes]
            by_task = Counter(v.task for v in first if v.reason)
            rejected = sum(by_task.values())
            low, high = wilson(rejected, len(first))
            tasks = ", ".join(f"{task} {count}" for task, count in by_task.most_common(MOST))
            share = f"{100 * rejected / len(first):.1f} [{100 * low:.1f}, {100 * high:.1f}] %"
            print(f"{axis} {level}: {rejected} of {len(first)}, {share}; {tasks}", flush=True)
            if args.out:
                found[f"{axis}-{level}"] = of_level
                write_verdicts(args.out, suite, found)


if __name__ == "__main__":
    main(tyro.cli(Arguments))
