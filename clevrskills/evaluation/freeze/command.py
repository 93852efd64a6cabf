"""``clevrskills freeze``: samples, screens and saves evaluation episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.suite import (
    OriginalFormat,
    all_robots,
    all_splits,
    check_axes,
    default_splits,
    find_suite,
    load_suite,
    suite_of,
    unsupported,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.selection import task_splits
from clevrskills.jobs import work
from clevrskills.jobs.arguments import (
    PlannerArgs,
    SuiteArgs,
    WorkerArgs,
    check_least,
    check_names,
    check_positive,
)
from clevrskills.jobs.console import console
from clevrskills.jobs.files import storage_errors, to_json
from clevrskills.jobs.options import Repeated
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import chosen_planner, write_into

if TYPE_CHECKING:
    from clevrskills.core.episode import FrozenHeader
    from clevrskills.core.suite import Suite

ROOM = 1.5
"""Step limits below this multiple of the longest oracle episode are reported."""


@dataclass(kw_only=True)
class FreezeArgs(PlannerArgs, WorkerArgs, SuiteArgs):
    """Sample, screen and save evaluation episodes; rerun the command to continue."""

    episodes: int | None = None
    """Number of episodes per task and split; default: 100, or the number that the suite names."""
    split: Repeated[str] = ()
    """Split of the suite; repeatable; default: all splits of each task."""
    robot: str | None = None
    """Robot; default: the suite's first."""
    out: Path | None = None
    """Output folder, with one file per task and split."""
    package: Path | None = None
    """Folder of your own distribution; its tasks are frozen into its package instead of --out."""
    recorded: Path | None = None
    """Dataset whose episodes are frozen instead of new ones; default: all its episodes."""
    import_: Path | None = None
    """Folder of files of the original benchmark to freeze as one split, by default the suite's."""
    axis: Repeated[str] = ()
    """Perturb the episodes along an axis, NAME:LEVEL, e.g. camera:3; repeatable."""
    planned: bool = False
    """Accept the plan found during sampling as proof of solvability, without running the oracle,
    if the suite has such plans."""
    timeout: float = 600.0
    """Seconds after which the screening of a seed is stopped and retried."""
    json: bool = False
    """Print the summary as JSON."""


def freeze(
    args: FreezeArgs,
    make: Callable[[], Callable[[Any], Any]] | None = None,
    suite: Suite | None = None,
) -> int:
    """Freeze episodes.

    Args:
        args: Arguments of the command.
        make: Factory of the screener in each worker; ``None``:
            :class:`~clevrskills.evaluation.freeze.screening.Screener`.
        suite: Suite; ``None``: the named suite, or that of the tasks.

    Returns:
        Exit code: 0 if all episodes are frozen, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, too many rejected seeds of a task, or a full disk;
            screened episodes are kept.
    """
    with chosen_planner(args.planner):
        return _freeze(args, make, suite)


def _freeze(
    args: FreezeArgs, make: Callable[[], Callable[[Any], Any]] | None, suite: Suite | None
) -> int:
    from clevrskills.core.registry import OwnDistribution
    from clevrskills.dataset_tools.layout import DATASET_FILE
    from clevrskills.evaluation.results import RUN_FILE

    own = OwnDistribution.at(args.package) if args.package else None
    if own:
        args = replace(args, tasks=own.select(args.tasks))
    out = args.out or (own.episodes if own else None)
    if out is None:
        raise ClevrSkillsError("name a folder with --out, or a distribution with --package")
    for file in (DATASET_FILE, RUN_FILE):
        if (out / file).exists():
            raise ClevrSkillsError(f"{out} has a {file}: give another folder")
    if args.axis and (args.recorded is not None or args.import_ is not None):
        raise ClevrSkillsError("--axis is for sampled episodes only")
    if args.recorded is not None:
        return _freeze_recorded(args, args.recorded, out, suite)
    suite = suite or find_suite(args.suite, args.tasks)
    # slow imports
    from clevrskills.evaluation.freeze.freeze_queue import FreezeQueue, open_queues
    from clevrskills.evaluation.freeze.screening import Screener

    if args.import_ is not None:
        return _freeze_imported(args, args.import_, out, suite)
    chosen = args.select(suite.tasks)
    robots = suite.tasks[chosen[0]].robots if chosen else all_robots(suite)
    robot = args.robot or robots[0]
    pairs = _check(replace(args, robot=robot), suite)
    axes = check_axes(suite, args.axis)
    if "embodiment" in axes:
        raise ClevrSkillsError("--axis embodiment: name the other arm with --robot")
    if axes and args.planned:
        raise ClevrSkillsError("--planned and --axis exclude each other: plans are unperturbed")
    root, make = out.absolute(), make or partial(Screener, suite, axes, args.planned)
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)

    def do(_: Callable[[], None]) -> int:
        queues = open_queues(root, pairs, robot, args.episodes, suite, axes)
        pool = partial(work.open_pool, "local", make, root, args.workers, args.timeout)
        with Display("episodes", sum(queue.count for queue in queues)) as display:
            work.work(FreezeQueue(queues, root, display), pool)
        _report([queue.head for queue in queues if queue.head], args.json)
        return 0

    return write_into(out, do, "freeze")


def _freeze_recorded(args: FreezeArgs, dataset: Path, out: Path, suite: Suite | None) -> int:
    from clevrskills.core.episode import RecordedName
    from clevrskills.dataset_tools.dataset import Dataset
    from clevrskills.evaluation.freeze.recorded import freeze_recorded

    recorded = Dataset(dataset)
    if args.robot not in (None, recorded.header.robot):
        raise ClevrSkillsError(f"{dataset} was made with {recorded.header.robot}, not {args.robot}")
    made = {RecordedName.parse(name).task for name in recorded.ids}
    suite = suite or load_suite(args.suite or suite_of([*made]))
    chosen = args.select(suite.tasks)
    check_names(split=(args.split, all_splits(suite)))
    splits = args.split or all_splits(suite)
    heads = freeze_recorded(dataset, out, suite, chosen, splits, args.episodes)
    _report(heads, args.json)
    return 0


def _freeze_imported(args: FreezeArgs, folder: Path, out: Path, suite: Suite) -> int:
    from clevrskills.evaluation.freeze.recorded import write_given

    splits = args.split or default_splits(suite)[:1]
    check_names(split=(splits, all_splits(suite)))
    (task, *more), (split, *others) = args.select(suite.tasks) or [""], splits
    if not task or more or others:
        raise ClevrSkillsError("--import is for one task and one split: name them")
    if not isinstance(suite, OriginalFormat):
        raise unsupported(suite, "files of an original")
    episodes = suite.read_original(task, split, folder)[: args.episodes]
    _report([write_given(out, suite, task, split, "none", episodes, None)], args.json)
    return 0


def _check(args: FreezeArgs, suite: Suite) -> list[tuple[str, str]]:
    """Check the arguments and return the tasks and splits in the order of the suite."""
    check_least(args, episodes=1, workers=1)
    check_positive(args, "timeout")
    chosen = args.select(suite.tasks)
    check_names(split=(args.split, all_splits(suite)), robot=((args.robot,), all_robots(suite)))
    pairs = task_splits(suite, chosen, args.split or None, args.tasks)
    if not pairs:
        raise ClevrSkillsError("nothing to freeze: name tasks, or a level with --level")
    for key in chosen:
        check_names(**{f"robot for {key}": ((args.robot,), suite.tasks[key].robots)})
    return pairs


def _report(heads: Sequence[FrozenHeader], as_json: bool) -> None:
    """Print the frozen episodes, and tasks with tight step limits."""
    from rich.table import Table

    if as_json:
        print(to_json([asdict(head) for head in heads], indent=1))
        return
    table = Table(title=f"{sum(head.episodes for head in heads)} frozen episodes")
    for column in ("task", "split", "episodes", "rejected", "oracle, median", "longest", "limit"):
        table.add_column(column, no_wrap=column == "task")
    for head in heads:
        row = (head.episodes, len(head.rejected), head.oracle_median_steps, head.oracle_most_steps)
        table.add_row(head.task, head.split, *(f"{value:g}" for value in (*row, head.max_steps)))
    screen = console()
    screen.print(table)
    tight = [h for h in heads if h.max_steps < ROOM * h.oracle_most_steps]
    if tight:
        names = ", ".join(f"{head.task} ({head.split})" for head in tight)
        screen.print(
            f"The step limit is less than {ROOM:g} times the longest of: {names}", highlight=False
        )
