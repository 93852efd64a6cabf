"""``clevrskills generate``: demonstrations by many processes, continuing where it stopped."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:
    from clevrskills.dataset_tools.pool import Pool
    from clevrskills.dataset_tools.progress import Display
    from clevrskills.dataset_tools.rollout import EpisodeResult
    from clevrskills.dataset_tools.schedule import Attempt, TaskQueue
    from clevrskills.dataset_tools.sources import Setup, Source

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
    workers: int = 1
    """Number of processes; the result is the same for any number."""
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    """Cameras to film with."""
    no_cameras: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Film nothing: several times faster, and no renderer is needed."""
    robot: str = "xarm6"
    """The robot: xarm6 or panda."""
    criteria: str = "paper"
    """When a task counts as solved: paper or released."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the summary as JSON."""


def generate(args: GenerateArgs, source: Source | None = None) -> int:
    """Make the demonstrations.

    Args:
        args: What to make.
        source: Where environments come from; ``None``: ClevrSkills.

    Returns:
        Exit code: 0 if everything that was asked for is there, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, a task that keeps failing; what was finished
            is kept.
    """
    from clevrskills.dataset_tools.files import remove_partial
    from clevrskills.dataset_tools.layout import Header, locked

    if source is None:
        from clevrskills.dataset_tools.sources import ClevrSkillsSource

        source = ClevrSkillsSource()
    setup, tasks = _check(args, source)
    Header(robot=args.robot, criteria=args.criteria, cameras=setup.cameras).open(args.out)
    with locked(args.out):
        remove_partial(args.out)
        try:
            with _stop_signals():
                return _generate(args, source, setup, tasks)
        except KeyboardInterrupt:
            print(
                f"interrupted; what is finished is in {args.out}, the same command continues",
                file=sys.stderr,
            )
            return INTERRUPTED
        finally:
            remove_partial(args.out)


def _check(args: GenerateArgs, source: Source) -> tuple[Setup, list[tuple[str, str]]]:
    """Check the arguments; returns the setup and the (task, level) in the order of the registry."""
    from clevrskills.cameras import CAMERAS
    from clevrskills.dataset_tools.sources import SPLITS, Setup

    for name, least in (("episodes", 1), ("seed", 0), ("workers", 1)):
        value = getattr(args, name)
        if value < least:
            raise ClevrSkillsError(f"--{name} must be at least {least}, not {value}")
    cameras = () if args.no_cameras else args.cameras
    levels = source.levels()
    known = {
        "task": (args.tasks, tuple(levels)),
        "level": (args.level, tuple(dict.fromkeys(levels.values()))),
        "split": ((args.split,), SPLITS),
        "robot": ((args.robot,), tuple(source.robots())),
        "criteria": ((args.criteria,), tuple(source.criteria())),
        "camera": (cameras, CAMERAS),
    }
    for kind, (names, allowed) in known.items():
        for name in names:
            if name not in allowed:
                raise UnknownNameError(kind, name, allowed)
    tasks = [(t, lv) for t, lv in levels.items() if t in args.tasks or lv in args.level]
    if not tasks:
        raise ClevrSkillsError("nothing to generate: name tasks, or a level with --level")
    cameras = tuple(name for name in CAMERAS if name in cameras)
    return Setup("", args.split, args.robot, args.criteria, cameras), tasks


def _generate(
    args: GenerateArgs,
    source: Source,
    setup: Setup,
    tasks: Sequence[tuple[str, str]],
) -> int:
    from clevrskills.dataset_tools.attempts import Attempter
    from clevrskills.dataset_tools.layout import EPISODE_FILE, episode_id, read_failures
    from clevrskills.dataset_tools.pool import InlinePool, ProcessPool
    from clevrskills.dataset_tools.progress import Display
    from clevrskills.dataset_tools.schedule import queues_for

    failed = {(f.task, f.split, f.seed) for f in read_failures(args.out)}
    queues = queues_for(
        setup,
        tasks,
        args.episodes,
        args.seed,
        exists=lambda t, s: (args.out / episode_id(t, setup.split, s) / EPISODE_FILE).exists(),
        failed=lambda t: {s for task, split, s in failed if (task, split) == (t, setup.split)},
    )
    make = partial(Attempter, args.out, source)
    pool: Pool[Attempt, EpisodeResult]
    pool = InlinePool(make) if args.workers == 1 else ProcessPool(make, args.workers)
    with contextlib.closing(pool), Display(queues) as display:
        results = _run(args.out, pool, queues, display)
    return _report(args, queues, results)


def _run(
    root: Path,
    pool: Pool[Attempt, EpisodeResult],
    queues: Sequence[TaskQueue],
    display: Display,
) -> dict[str, list[EpisodeResult]]:
    """Keep the pool busy until no queue has anything left; returns the attempts by task."""
    from clevrskills.dataset_tools.layout import Failure, append_failure
    from clevrskills.dataset_tools.pool import WorkerDied
    from clevrskills.dataset_tools.rollout import EpisodeResult
    from clevrskills.dataset_tools.schedule import next_attempt

    by_task = {queue.setup.task: queue for queue in queues}
    results: dict[str, list[EpisodeResult]] = {task: [] for task in by_task}
    while True:
        while pool.idle and (found := next_attempt(queues)):
            pool.submit(found[1])
        display.update(queues)
        if not pool.busy:
            return results
        done = pool.next()
        result, setup = done.result, done.job.setup
        if isinstance(result, WorkerDied):
            result = EpisodeResult(done.job.seed, False, 0, 0.0, result.reason, 0.0, 0.0)
        if not result.success:
            failure = Failure(setup.task, setup.split, result.seed, result.reason, result.steps)
            append_failure(root, failure)
        by_task[setup.task].ended(done.job, result.success)
        results[setup.task].append(result)


def _report(
    args: GenerateArgs,
    queues: Sequence[TaskQueue],
    results: dict[str, list[EpisodeResult]],
) -> int:
    """Print the summary.

    Raises:
        ClevrSkillsError: A task failed too often.
    """
    from rich.console import Console

    from clevrskills.dataset_tools.files import to_json
    from clevrskills.dataset_tools.layout import FAILURES_FILE
    from clevrskills.dataset_tools.summary import summarise, table

    summaries = [summarise(args.out, queue, results[queue.setup.task]) for queue in queues]
    if args.json:
        data = {"dataset": args.out, "tasks": [s.to_json() for s in summaries]}
        print(to_json(data, indent=1))
    else:
        Console().print(table(summaries))
    exhausted = [queue for queue in queues if not queue.complete]
    if exhausted:
        names = ", ".join(f"{q.setup.task} ({q.failures} failures)" for q in exhausted)
        raise ClevrSkillsError(
            f"gave up on {names}: the reasons are in {args.out / FAILURES_FILE}; "
            "remove its lines to try those seeds again"
        )
    return 0


@contextlib.contextmanager
def _stop_signals() -> Iterator[None]:
    """Being asked to end (SIGTERM) is like Ctrl-C: what is half-written is removed."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    handler: Callable[..., Any] | int | None
    try:
        handler = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
