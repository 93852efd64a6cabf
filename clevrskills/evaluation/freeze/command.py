"""``clevrskills freeze``: episodes to be evaluated on, screened and written as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.arguments import (
    TaskArgs,
    WorkerArgs,
    check_least,
    check_names,
    check_positive,
    select_tasks,
)

if TYPE_CHECKING:
    from clevrskills.evaluation.freeze.frozen import Header

ROOM = 1.5
"""Step limits below this multiple of the oracle's longest episode are pointed out."""


@dataclass(kw_only=True)
class FreezeArgs(WorkerArgs, TaskArgs):
    """Freeze episodes to evaluate on: draw them, screen them, write them as data; running it again
    continues.
    """

    episodes: int = 100
    """Episodes of each task and split."""
    split: tuple[str, ...] = ("train", "test")
    """Objects and textures: train, test or both."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    out: Path
    """Folder of the files, one for each task and split."""
    timeout: float = 600.0
    """Seconds after which the screening of a seed is ended and begun again."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the summary as JSON."""


def freeze(args: FreezeArgs, make: Callable[[], Callable[[Any], Any]] | None = None) -> int:
    """Freeze episodes.

    Args:
        args: Which.
        make: Builds, in each worker, what screens candidates; ``None``: a
            :class:`~clevrskills.evaluation.freeze.screening.Screener`.

    Returns:
        Exit code: 0 if all is there, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a task of which too many seeds are rejected, a full disk;
            what was screened is kept.
    """
    from clevrskills.jobs.files import storage_errors
    from clevrskills.jobs.run_folder import write_into

    tasks = _check(args)
    with storage_errors(args.out):
        args.out.mkdir(parents=True, exist_ok=True)
    return write_into(args.out, lambda _: _freeze(args, tasks, make), "freeze")


def _freeze(
    args: FreezeArgs, tasks: Sequence[str], make: Callable[[], Callable[[Any], Any]] | None
) -> int:
    from functools import partial

    from clevrskills.evaluation.freeze.freeze_queue import FreezeQueue, open_queues
    from clevrskills.evaluation.freeze.screening import Screener
    from clevrskills.jobs import work
    from clevrskills.jobs.progress import Display

    root = args.out.absolute()
    queues = open_queues(root, tasks, args.split, args.robot, args.episodes)
    pool = partial(work.open_pool, "local", make or Screener, root, args.workers, args.timeout)
    with Display("episodes", sum(queue.wanted for queue in queues)) as display:
        work.work(FreezeQueue(queues, root, display), pool)
    _report([queue.head for queue in queues if queue.head], args.json)
    return 0


def _check(args: FreezeArgs) -> list[str]:
    """Check the arguments; the tasks, in the order of the registry."""
    from clevrskills.core.env_config import SPLITS
    from clevrskills.sim.robots.description import ROBOTS, other_robots
    from clevrskills.tasks import tasks

    check_least(args, episodes=1, workers=1)
    check_positive(args, "timeout")
    known = tasks()
    chosen = select_tasks({key: t.level for key, t in known.items()}, args.tasks, args.level)
    check_names(split=(args.split, SPLITS), robot=((args.robot,), (*ROBOTS, *other_robots())))
    if not (chosen and args.split):
        raise ClevrSkillsError("nothing to freeze: name tasks, or a level with --level")
    for key in chosen:
        robots = (*known[key].robots, *other_robots())
        if args.robot not in robots:
            raise UnknownNameError(f"robot for {key}", args.robot, robots)
    return chosen


def _report(heads: Sequence[Header], as_json: bool) -> None:
    """Print what was frozen, and which step limits are close to what the oracle needs."""
    from rich.console import Console
    from rich.table import Table

    from clevrskills.jobs.files import to_json

    if as_json:
        print(to_json([asdict(head) for head in heads], indent=1))
        return
    table = Table(title=f"{sum(head.episodes for head in heads)} frozen episodes")
    for column in ("task", "split", "episodes", "rejected", "oracle, median", "longest", "limit"):
        table.add_column(column, no_wrap=column == "task")
    for head in heads:
        row = (head.episodes, len(head.rejected), head.oracle_median_steps)
        table.add_row(
            head.task,
            head.split,
            *(f"{value:g}" for value in row),
            str(head.oracle_most_steps),
            str(head.max_steps),
        )
    console = Console()
    console.print(table)
    tight = [h for h in heads if h.max_steps < ROOM * h.oracle_most_steps]
    if tight:
        names = ", ".join(f"{head.task} ({head.split})" for head in tight)
        console.print(
            f"The step limit is less than {ROOM:g} times the longest of: {names}", highlight=False
        )
