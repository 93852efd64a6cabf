"""``clevrskills generate``: recording of demonstrations by the oracle."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.episode import DEMONSTRATIONS, SUBSTITUTE, SeedRange
from clevrskills.core.suite import (
    NO_ROBOT,
    RATE,
    all_splits,
    all_views,
    check_axes,
    find_interface,
    find_suite,
    image_views,
    path_of,
    step_interface,
)
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.arguments import (
    CameraArgs,
    PlannerArgs,
    PoolArgs,
    SuiteArgs,
    check_least,
    check_names,
)
from clevrskills.jobs.console import console
from clevrskills.jobs.files import to_json
from clevrskills.jobs.options import Repeated
from clevrskills.jobs.run_folder import chosen_planner, write_into

if TYPE_CHECKING:
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.core.suite import Suite
    from clevrskills.dataset_tools.generate.schedule import TaskQueue
    from clevrskills.dataset_tools.generate.summary import TaskSummary
    from clevrskills.dataset_tools.layout import Header


_DECIDED = ("episodes", "seed", "split", "arg", "robot", "criteria", "axis", "frozen")
"""Options fixed by a standard dataset."""


@dataclass(kw_only=True)
class GenerateArgs(PlannerArgs, PoolArgs, CameraArgs, SuiteArgs):
    """Record demonstrations of tasks by the oracle; running it again continues."""

    standard: int | None = None
    """Record the standard dataset with this many demonstrations of each task, 100 or 1000, of all
    tasks unless some are named. `clevrskills check --standard` verifies it."""
    all: bool = False
    """All tasks of the suite."""
    episodes: int = 10
    """Successful episodes of each task."""
    seed: int = 0
    """First of the consecutive seeds."""
    frozen: bool = False
    """Use the frozen episodes of the split, starting at index --seed; policies are evaluated on
    them and must not learn from them."""
    axis: Repeated[str] = ()
    """Perturb the episodes along an axis, NAME:LEVEL, e.g. camera:3; repeatable."""
    split: str | None = None
    """Split of the episodes, e.g. train or test; by default the suite's first split."""
    out: Path
    """Folder of the dataset."""
    arg: Repeated[str] = ()
    """Argument of a task, TASK.NAME=VALUE, e.g. `sort.num_objects=3` or `stack.num_objects=[2,3]`;
    repeatable."""
    robot: str | None = None
    """Robot, e.g. panda; by default the suite's first one."""
    criteria: str | None = None
    """Success criteria, e.g. released; by default the suite's first ones."""
    no_cameras: bool = False
    """Record no images: several times faster, and needs no renderer."""
    interface: str | None = None
    """Interface of the oracle; by default the suite's first one. If a turn takes many control
    steps, turns and control steps are recorded."""
    view: Repeated[str] = ()
    """View to record at each turn; repeatable. By default the text views of the suite."""
    json: bool = False
    """Print the summary as JSON."""


def generate(
    args: GenerateArgs, suite: Suite | None = None, seeds: SeedRange = DEMONSTRATIONS
) -> int:
    """Record demonstrations.

    Args:
        args: The arguments.
        suite: Suite of the environments; ``None``: that of the arguments.
        seeds: Range of seeds; its first one is seed 0 of the arguments.

    Returns:
        Exit code: 0 if all episodes exist, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, or a task that keeps failing; finished
            episodes are kept.
    """
    from clevrskills.solvers.requirements import require_oracle

    source = suite or find_suite(args.suite, args.tasks)
    if args.standard is not None:
        args = _standard(args, source)
    with chosen_planner(args.planner):
        header, queues = _check(args, source, seeds)
        require_oracle(source)
        header.open(args.out.absolute())
        return write_into(args.out, lambda _: _generate(args, source, queues, header), args.writer)


def _generate(args: GenerateArgs, suite: Suite, queues: list[TaskQueue], header: Header) -> int:
    from clevrskills.dataset_tools.generate.run import run
    from clevrskills.dataset_tools.generate.schedule import read_history
    from clevrskills.dataset_tools.generate.summary import summarize
    from clevrskills.dataset_tools.generate.worker import make_worker
    from clevrskills.dataset_tools.manifest import Manifest
    from clevrskills.jobs.work import open_pool

    root = args.out.absolute()
    manifest = Manifest(root, args.writer)
    read_history(root, queues)
    make = partial(make_worker, root, suite, header, args.writer, args.frozen)
    pool = partial(open_pool, args.driver, make, root, args.workers, args.timeout)
    run(queues, pool, manifest, root)
    return _report(args, queues, [summarize(queue, args.workers) for queue in queues])


def _standard(args: GenerateArgs, suite: Suite) -> GenerateArgs:
    """Return the arguments of a standard dataset."""
    from clevrskills.dataset_tools.standard import SIZES, read_standard

    if args.standard not in SIZES:
        allowed = " and ".join(str(size) for size in SIZES)
        raise ClevrSkillsError(f"--standard {args.standard}: allowed are {allowed}")
    for entry in fields(args):
        if entry.name in _DECIDED and getattr(args, entry.name) != entry.default:
            raise ClevrSkillsError(f"--standard decides --{entry.name}: leave that out")
    named = args.tasks or args.level or args.group
    tasks = args.tasks if named else tuple(suite.tasks)
    settings: dict[str, Any] = {**read_standard(suite).settings}
    return replace(args, tasks=tasks, episodes=args.standard, **settings)


def _check(args: GenerateArgs, suite: Suite, seeds: SeedRange) -> tuple[Header, list[TaskQueue]]:
    """Check the arguments; return the header and the queues of the tasks, without their history."""
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.dataset_tools.generate.schedule import TaskQueue
    from clevrskills.dataset_tools.layout import Header

    interface = find_interface(suite, args.interface)
    for task in suite.tasks if args.interface else ():
        if task in args.tasks:
            allowed = suite.tasks[task].interfaces
            check_names(**{f"interface of {task}": ((args.interface,), allowed)})
    in_turns = RATE not in interface.spec
    check_least(args, episodes=1, seed=0, size=1)
    if args.seed + args.episodes > SUBSTITUTE:
        raise ClevrSkillsError(
            f"--seed and --episodes must not exceed {SUBSTITUTE:,} together, not "
            f"{args.seed + args.episodes:,}: later seeds are for substitutes"
        )
    args.check_pool()
    tasks = list(suite.tasks) if args.all else args.select(suite.tasks)
    if not tasks:
        raise ClevrSkillsError("nothing to generate: name tasks, a level with --level, or --all")
    robots, known_cameras = suite.tasks[tasks[0]].robots, image_views(suite.tasks[tasks[0]].views)
    has_arm = NO_ROBOT not in robots
    if any((NO_ROBOT in suite.tasks[task].robots) == has_arm for task in tasks):
        raise ClevrSkillsError("some of the tasks have an arm, others have none: name one kind")
    cameras = suite.tasks[tasks[0]].cameras if args.cameras is None else args.cameras
    cameras = () if args.no_cameras or not has_arm else cameras
    if args.view and not in_turns:
        raise ClevrSkillsError("--view is for suites of turns: name --cameras")
    if not has_arm and (args.cameras or args.depth or args.segmentation or args.size):
        raise ClevrSkillsError(f"{suite.title} has no arm to film: name views with --view")
    kinds = all_views(suite)
    check_names(
        view=(args.view, kinds or ("(none)",)),
        split=((args.split,), all_splits(suite)),
        robot=((args.robot,), robots),
        criteria=((args.criteria,), suite.criteria()),
        camera=(cameras, known_cameras),
    )
    turns: dict[str, Any] = {}
    if in_turns:
        views = args.view or tuple(name for name, kind in kinds.items() if kind == "text")
        turns = {"interface": interface.name, "suite": path_of(suite), "views": views}
    axes = check_axes(suite, args.axis)
    if "embodiment" in axes:
        raise ClevrSkillsError("--axis embodiment: name the other arm with --robot")
    given = task_arguments(args.arg, tuple(suite.tasks))
    for task, task_args in given.items():
        suite.check(EnvConfig(task, task_args=task_args))
    index, of = args.part
    header = Header(
        robot=args.robot or robots[0],
        criteria=args.criteria or suite.criteria()[0],
        fps=int(step_interface(suite).spec[RATE]) if has_arm else 0,
        standard=args.standard,
        task_args=given,
        axes=axes,
        **args.filmed(cameras, known_cameras),
        **turns,
    )
    split = args.split or all_splits(suite)[0]
    slots, first_seed = range(index, args.episodes, of), seeds.start + args.seed
    queues = []
    for task in tasks:
        frozen = _frozen_seeds(args, suite, header.config(task, split)) if args.frozen else ()
        level = suite.tasks[task].level
        queues.append(TaskQueue(task, level, split, slots, first_seed, frozen))
    return header, queues


def _frozen_seeds(args: GenerateArgs, suite: Suite, config: EnvConfig) -> tuple[int, ...]:
    """Return the seeds of the selected frozen episodes."""
    episodes = suite.frozen(config.task, config.split)
    stop = args.seed + args.episodes
    if stop > len(episodes):
        raise ClevrSkillsError(
            f"{config.task} has {len(episodes)} frozen episodes of {config.split}, not {stop}"
        )
    if args.arg or config.robot != episodes[0].robot:
        raise ClevrSkillsError(
            f"--frozen: the frozen episodes are for {episodes[0].robot}, without --arg"
        )
    return tuple(episode.seed for episode in episodes[args.seed : stop])


def task_arguments(texts: tuple[str, ...], tasks: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Parse arguments by task; values are JSON or plain text."""
    import json

    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        task, dot, argument = name.partition(".")
        if not (equals and dot and argument):
            raise ClevrSkillsError(
                f"--arg {text}: allowed is TASK.NAME=VALUE, e.g. sort.num_objects=3"
            )
        if task not in tasks:
            raise UnknownNameError("task in --arg", task, tasks)
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value
        found.setdefault(task, {})[argument] = parsed
    return found


def _report(args: GenerateArgs, queues: list[TaskQueue], summaries: list[TaskSummary]) -> int:
    """Print the summary; raise ``ClevrSkillsError`` if a task failed too often."""
    from clevrskills.dataset_tools.generate.summary import remarks, table
    from clevrskills.dataset_tools.layout import MANIFEST_DIR

    if args.json:
        data = {"dataset": args.out, "tasks": [vars(summary) for summary in summaries]}
        print(to_json(data, indent=1))
    else:
        screen = console()
        screen.print(table(summaries))
        if text := remarks(summaries):
            screen.print(text, highlight=False)
    missing = [queue for queue in queues if not queue.complete]
    if missing:
        names = ", ".join(f"{q.task} ({len(q.failed)} failures)" for q in missing)
        raise ClevrSkillsError(
            f"gave up on {names}: see the reasons in {args.out / MANIFEST_DIR}; "
            "remove lines of failed attempts there to retry their seeds"
        )
    return 0
