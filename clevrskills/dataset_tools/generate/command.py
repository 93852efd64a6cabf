"""``clevrskills generate``: demonstrations by many processes, continuing where it stopped."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from clevrskills.core.seeds import DEMONSTRATIONS, SUBSTITUTE, SeedRange
from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.core.suite import Suite
    from clevrskills.dataset_tools.generate.schedule import TaskQueue
    from clevrskills.dataset_tools.generate.summary import TaskSummary
    from clevrskills.dataset_tools.layout import Header

INTERRUPTED = 130  # what shells report after Ctrl-C


@dataclass(kw_only=True)
class GenerateArgs:
    """Make demonstrations of tasks with the oracle; running it again continues."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks, e.g. `sort stack`."""
    level: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """All tasks of a level, L0, L1 or L2; may be given several times."""
    episodes: int = 10
    """Successful episodes of each task."""
    seed: int = 0
    """The first seed; the next ones follow one by one."""
    split: str = "train"
    """Objects and textures to draw from: train or test."""
    out: Path
    """Folder of the dataset."""
    arg: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Argument of a task, TASK.NAME=VALUE, e.g. `sort.num_objects=3` or `stack.num_objects=[2,3]`;
    may be given several times."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    criteria: str = "paper"
    """When a task counts as solved: paper or released."""
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    """Cameras to film with."""
    no_cameras: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Film nothing: several times faster, and no renderer is needed."""
    size: int | None = None
    """Width and height of the pictures, in pixels; by default each camera's own."""
    depth: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Film depth, too."""
    segmentation: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Film which object each pixel shows, too."""
    workers: int = 1
    """Number of processes; the result is the same for any number."""
    timeout: float = 600.0
    """Seconds after which an attempt is ended and counts as failed."""
    shard: str | None = None
    """Do part i of n of the work, `i/n` with i from 0, while others do the rest, into the same
    folder."""
    driver: str = "local"
    """Where the processes are: local, or ray (a Ray cluster)."""
    address: str | None = None
    """Address of a running Ray cluster, host:port or auto; by default one is started here."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the summary as JSON."""


@dataclass(frozen=True)
class _Plan:
    """What is to be done, all of it checked."""

    header: Header
    configs: tuple[EnvConfig, ...]
    levels: tuple[str, ...]
    slots: range
    writer: str
    first_seed: int


def generate(
    args: GenerateArgs, suite: Suite | None = None, seeds: SeedRange = DEMONSTRATIONS
) -> int:
    """Make the demonstrations.

    Args:
        args: What to make.
        suite: Where environments come from; ``None``: ClevrSkills.
        seeds: Range in which the seeds are; its first one is seed 0 of the arguments.

    Returns:
        Exit code: 0 if everything that was asked for is there, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, a task that keeps failing; what was finished
            is kept.
    """
    from clevrskills.core.suite import load_suite
    from clevrskills.dataset_tools.layout import locked, remove_abandoned
    from clevrskills.jobs.files import remove_partial
    from clevrskills.jobs.signals import stop_signals

    suite = suite or load_suite()
    plan = _check(args, suite, seeds)
    root = args.out.absolute()
    plan.header.open(root)
    remove_abandoned(root)
    with locked(root, plan.writer):
        try:
            with stop_signals():
                return _report(args, *_generate(args, suite, plan, root))
        except KeyboardInterrupt:
            print(
                f"interrupted; what is finished is in {args.out}, the same command continues",
                file=sys.stderr,
            )
            return INTERRUPTED
        finally:
            remove_partial(root, plan.writer)


def _generate(
    args: GenerateArgs, suite: Suite, plan: _Plan, root: Path
) -> tuple[list[TaskQueue], list[TaskSummary]]:
    from functools import partial

    from clevrskills.dataset_tools.generate.history import read_history
    from clevrskills.dataset_tools.generate.run import run
    from clevrskills.dataset_tools.generate.schedule import TaskQueue
    from clevrskills.dataset_tools.generate.summary import summarise
    from clevrskills.dataset_tools.generate.worker import make_attempter
    from clevrskills.dataset_tools.manifest import Manifest
    from clevrskills.jobs.drivers import open_pool

    manifest = Manifest(root, plan.writer)
    history = read_history(root, [config.task for config in plan.configs], args.split)
    queues = [
        TaskQueue(config, level, plan.slots, plan.first_seed, history[config.task])
        for config, level in zip(plan.configs, plan.levels, strict=True)
    ]
    make = partial(make_attempter, root, suite, plan.writer)
    pool = partial(open_pool, args.driver, make, root, args.workers, args.timeout, args.address)
    lines = run(queues, pool, manifest, root)
    return queues, [summarise(queue, lines[queue.config.task], args.workers) for queue in queues]


def _check(args: GenerateArgs, suite: Suite, seeds: SeedRange) -> _Plan:
    """Check the arguments; tasks are in the order of the registry."""
    from clevrskills.core.env_config import SPLITS, EnvConfig
    from clevrskills.dataset_tools.layout import Header
    from clevrskills.jobs.drivers import DRIVERS

    for name, least in (("episodes", 1), ("seed", 0), ("workers", 1), ("size", 1)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise ClevrSkillsError(f"--{name} must be at least {least}, not {value}")
    if args.seed + args.episodes > SUBSTITUTE:
        raise ClevrSkillsError(
            f"--seed and --episodes must not exceed {SUBSTITUTE:,} together, not "
            f"{args.seed + args.episodes:,}: later seeds are for substitutes"
        )
    if not args.timeout > 0:
        raise ClevrSkillsError(f"--timeout must be positive, not {args.timeout}")
    cameras = () if args.no_cameras else args.cameras
    levels, all_cameras = suite.levels(), tuple(suite.cameras())
    known = {
        "task": (args.tasks, tuple(levels)),
        "level": (args.level, tuple(dict.fromkeys(levels.values()))),
        "split": ((args.split,), SPLITS),
        "robot": ((args.robot,), tuple(suite.robots())),
        "criteria": ((args.criteria,), tuple(suite.criteria())),
        "camera": (cameras, all_cameras),
        "driver": ((args.driver,), DRIVERS),
    }
    for kind, (names, allowed) in known.items():
        for name in names:
            if name not in allowed:
                raise UnknownNameError(kind, name, allowed)
    if args.address and args.driver != "ray":
        raise ClevrSkillsError("--address is for --driver ray")
    if args.shard and args.driver == "ray":
        raise ClevrSkillsError(
            "--shard is for --driver local: a Ray cluster shares the work itself"
        )
    tasks = [t for t, level in levels.items() if t in args.tasks or level in args.level]
    if not tasks:
        raise ClevrSkillsError("nothing to generate: name tasks, or a level with --level")
    config = EnvConfig(
        "",
        args.split,
        args.robot,
        args.criteria,
        cameras=tuple(name for name in all_cameras if name in cameras),
        size_px=args.size,
        depth=args.depth,
        segmentation=args.segmentation,
    )
    given = _task_args(args.arg, tuple(levels))
    for task, task_args in given.items():
        suite.check(task, task_args)
    index, of = shard_of(args.shard)
    header = Header(
        robot=args.robot,
        criteria=args.criteria,
        cameras=config.cameras,
        size_px=config.size_px,
        depth=config.depth,
        segmentation=config.segmentation,
        task_args=given,
    )
    return _Plan(
        header,
        tuple(replace(config, task=task, task_args=given.get(task, {})) for task in tasks),
        tuple(levels[task] for task in tasks),
        range(index, args.episodes, of),
        f"shard-{index}-of-{of}" if args.shard else args.driver,
        seeds.start + args.seed,
    )


def shard_of(text: str | None) -> tuple[int, int]:
    """The part that is to be done and how many there are, from ``i/n``.

    Raises:
        ClevrSkillsError: It says something else.
    """
    index, _, of = (text or "0/1").partition("/")
    if not (index.isdecimal() and of.isdecimal() and int(index) < int(of)):
        raise ClevrSkillsError(f"--shard {text}: allowed is i/n with i from 0 to n - 1, e.g. 0/8")
    return int(index), int(of)


def _task_args(texts: tuple[str, ...], tasks: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Arguments by task; values are JSON, or else plain words."""
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
    """Print the summary.

    Raises:
        ClevrSkillsError: A task failed too often.
    """
    from rich.console import Console

    from clevrskills.dataset_tools.generate.summary import remarks, table
    from clevrskills.dataset_tools.layout import MANIFEST_DIR
    from clevrskills.jobs.files import to_json

    if args.json:
        data = {"dataset": args.out, "tasks": [s.to_json() for s in summaries]}
        print(to_json(data, indent=1))
    else:
        console = Console()
        console.print(table(summaries))
        if text := remarks(summaries):
            console.print(text, highlight=False)
    missing = [queue for queue in queues if not queue.complete]
    if missing:
        names = ", ".join(f"{q.config.task} ({len(q.failed)} failures)" for q in missing)
        raise ClevrSkillsError(
            f"gave up on {names}: the reasons are in {args.out / MANIFEST_DIR}; "
            "remove the lines of failed attempts there to try those seeds again"
        )
    return 0
