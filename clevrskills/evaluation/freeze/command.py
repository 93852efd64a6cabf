"""``clevrskills freeze``: episodes to be evaluated on, screened and written as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:
    from clevrskills.evaluation.freeze.frozen import Header

ROOM = 1.5
"""Step limits below this multiple of the oracle's longest episode are pointed out."""


@dataclass(kw_only=True)
class FreezeArgs:
    """Freeze episodes to evaluate on: draw them, screen them, write them as data; running it again
    continues.
    """

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks, e.g. `sort stack`."""
    level: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """All tasks of a level, L0, L1 or L2; may be given several times."""
    episodes: int = 100
    """Episodes of each task and split."""
    split: tuple[str, ...] = ("train", "test")
    """Objects and textures: train, test or both."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    out: Path
    """Folder of the files, one for each task and split."""
    workers: int = 1
    """Number of processes; the result is the same for any number."""
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
        Exit code: 0, all is there.

    Raises:
        ClevrSkillsError: Bad arguments, a task of which too many seeds are rejected, a full disk;
            what was screened is kept.
    """
    from clevrskills.dataset_tools.layout import locked
    from clevrskills.evaluation.freeze.freeze_queue import open_queues, work_off
    from clevrskills.evaluation.freeze.screening import Screener
    from clevrskills.jobs.files import storage_errors
    from clevrskills.jobs.signals import stop_signals

    tasks = _check(args)
    root = args.out.absolute()
    with storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
    with locked(root, "freeze"), stop_signals():
        queues = open_queues(root, tasks, args.split, args.robot, args.episodes)
        heads = work_off(queues, make or Screener, root, args.workers, args.timeout)
    _report(heads, args.json)
    return 0


def _check(args: FreezeArgs) -> list[str]:
    """Check the arguments; the tasks, in the order of the registry."""
    from clevrskills.core.env_config import SPLITS
    from clevrskills.sim.robots.description import ROBOTS
    from clevrskills.tasks import LEVELS, tasks

    for name in ("episodes", "workers"):
        if getattr(args, name) < 1:
            raise ClevrSkillsError(f"--{name} must be at least 1, not {getattr(args, name)}")
    if not args.timeout > 0:
        raise ClevrSkillsError(f"--timeout must be positive, not {args.timeout}")
    known = tasks()
    for kind, names, allowed in (
        ("task", args.tasks, tuple(known)),
        ("level", args.level, LEVELS),
        ("split", args.split, SPLITS),
        ("robot", (args.robot,), tuple(ROBOTS)),
    ):
        for name in names:
            if name not in allowed:
                raise UnknownNameError(kind, name, allowed)
    chosen = [key for key, t in known.items() if key in args.tasks or t.level in args.level]
    if not (chosen and args.split):
        raise ClevrSkillsError("nothing to freeze: name tasks, or a level with --level")
    for key in chosen:
        if args.robot not in known[key].robots:
            raise UnknownNameError(f"robot for {key}", args.robot, known[key].robots)
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
