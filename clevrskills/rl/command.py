"""``clevrskills rl``: PPO on the rewards of a task."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

from clevrskills.core.env_config import LOOKS, Look
from clevrskills.core.suite import NO_ROBOT, all_splits, find_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_least, check_names
from clevrskills.jobs.options import Positional, Repeated
from clevrskills.jobs.run_folder import write_into
from clevrskills.rl.run import CLEVRSKILLS, RLRun, Settings, open_run

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from clevrskills.core.suite import Suite

_LEAST_PX = 36  # smallest input of the convolutions
_COUNTS = ("num_envs", "total_steps", "seed")


@dataclass(frozen=True, kw_only=True)
class RLArgs(Settings):
    """Train a policy with PPO; run the command again to continue.

    With --protocol, train all tasks of a protocol with several seeds and print the results.
    """

    task: Positional[str] = ""
    """Key of the task, e.g. `pick`; with --protocol, by default all tasks."""
    out: Path
    """Folder of the training run, or of all training runs of a protocol."""
    protocol: Literal["states"] | None = None
    """Protocol that determines all settings of training and evaluation: states, the twelve L0
    skills from states."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds of each task of a protocol."""
    evaluate_episodes: int = 50
    """Frozen episodes per split for the evaluation in a protocol."""
    workers: int = 1
    """Processes that run environments, this one included. The result does not depend on it."""
    size: int = 64
    """Image width and height in pixels."""
    look: Look = LOOKS[0]
    """Look of images: soft shadows; flat, at less than half the cost; or stock, with SAPIEN's
    shaders."""
    arg: Repeated[str] = ()
    """Argument of the task, NAME=VALUE, e.g. `num_goals=2`; can be repeated."""
    device: str = "cpu"
    """Device of the networks: cpu or cuda."""
    threads: int = 1
    """CPU threads of the learner."""
    save_every: int = 50_000
    """Control steps between two checkpoints."""


def rl(args: RLArgs, make_envs: Callable[[RLRun, int], VectorEnv] | None = None) -> int:
    """Train a policy.

    Args:
        args: Arguments of the command.
        make_envs: Makes the environments of a training run in a number of processes; by default
            :meth:`RLRun.make_envs`.

    Returns:
        Exit code: 0 if all steps are done, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: An argument is not allowed, or the disk is full; the last checkpoint is
            kept.
    """
    if args.protocol is not None:
        return _by_protocol(args, make_envs)
    if not args.task:
        raise ClevrSkillsError("name a task, or a protocol with --protocol")
    suite = find_suite(args.suite, (args.task,))
    # slow import
    from clevrskills.rl.train import train

    run = _check(args, suite)
    root = args.out.absolute()
    open_run(root, run)

    def learn(check: Callable[[], None]) -> int:
        train(
            *(run, root, make_envs or RLRun.make_envs, check),
            workers=args.workers,
            device=args.device,
            threads=args.threads,
            save_every=args.save_every,
        )
        return 0

    code = write_into(args.out, learn, kept="the last checkpoint")
    if code:
        return code
    named = "" if args.suite == CLEVRSKILLS else f" --suite {args.suite}"
    words = f"{named} --policy {quote(f'rl:{args.out}')} {args.task} --out DIR"
    print(f"the policy is in {args.out}; evaluate it with `clevrskills evaluate{words}`")
    return 0


def _by_protocol(args: RLArgs, make_envs: Callable[[RLRun, int], VectorEnv] | None) -> int:
    """Run a protocol and print its results."""
    from pandas import DataFrame

    from clevrskills.evaluation.report.tables import print_lines, print_table
    from clevrskills.rl.protocol import (
        COLUMNS,
        PROTOCOLS,
        differing,
        run_protocol,
        summarize,
        table_rows,
        write_results,
    )

    assert args.protocol is not None
    known = PROTOCOLS[args.protocol]
    check_names(task=((args.task,) if args.task else (), tuple(known)))
    check_least(args, workers=1, threads=1, save_every=1, evaluate_episodes=1)
    for name in (*differing(args), *(["arg"] if args.arg else [])):
        option = name.replace("_", "-")
        raise ClevrSkillsError(f"--{option} is set by the protocol {args.protocol}")
    if not args.seeds or min(args.seeds) < 0:
        raise ClevrSkillsError(f"--seeds {args.seeds}; allowed: numbers from 0 on")

    def learn(settings: Settings, folder: Path) -> int:
        same = {entry.name: getattr(settings, entry.name) for entry in fields(Settings)}
        rest = {name: getattr(args, name) for name in ("workers", "device", "threads")}
        request = RLArgs(**same, **rest, out=folder, save_every=args.save_every)
        with contextlib.redirect_stdout(io.StringIO()):
            return rl(request, make_envs)

    root, tasks = args.out.absolute(), (args.task,) if args.task else tuple(known)
    code = run_protocol(
        *(args.protocol, root, tasks, args.seeds, args.evaluate_episodes, args.workers), learn
    )
    if code:
        return code
    trainings = write_results(root)["trainings"]
    print_table(DataFrame(table_rows(trainings), columns=list(COLUMNS)))
    done = len({row["task"] for row in trainings})
    for split, mean in summarize(trainings).items():
        print_lines(
            f"{split}: interquartile mean {mean.percent()} % of {mean.n} training runs, {done} of "
            f"{len(known)} tasks"
        )
    return 0


def _check(args: RLArgs, suite: Suite) -> RLRun:
    """Return the settings of the training run."""
    from clevrskills.core.policy_loader import policy_arguments
    from clevrskills.sim.setting import TABLETOP
    from clevrskills.tasks import task

    if args.suite != CLEVRSKILLS:
        return _check_moves(args, suite)
    task_args = policy_arguments(args.arg)
    check_names(
        split=((args.split,), all_splits(suite)),
        robot=((args.robot,), task(args.task, **task_args).all_robots),
        device=((args.device,), ("cpu", "cuda")),
        camera=(args.cameras, TABLETOP.camera_names()),
    )
    check_least(args, num_envs=1, workers=1, total_steps=1, episode_steps=1, threads=1)
    check_least(args, save_every=1, seed=0, size=_LEAST_PX)
    if not 0.0 <= args.head_starts <= 1.0:
        raise ClevrSkillsError(f"--head-starts {args.head_starts}; allowed: 0 to 1")
    same = {entry.name: getattr(args, entry.name) for entry in fields(Settings)}
    same["cameras"] = args.cameras if args.obs == "rgb" else ()
    return RLRun(**same, size_px=args.size, look=args.look, task_args=task_args)


def _check_moves(args: RLArgs, suite: Suite) -> RLRun:
    """Return the settings of the training run in a suite without a robot."""
    check_names(task=((args.task,), suite.tasks), device=((args.device,), ("cpu", "cuda")))
    check_least(args, num_envs=1, total_steps=1, threads=1, save_every=1, seed=0)
    allowed = {"task", "suite", "out", "ppo", "device", "threads", "save_every", *_COUNTS}
    for entry in fields(RLArgs):
        if entry.name not in allowed and getattr(args, entry.name) != entry.default:
            option = entry.name.replace("_", "-")
            raise ClevrSkillsError(f"--{option} applies to the suite {CLEVRSKILLS} only")
    same = {name: getattr(args, name) for name in ("task", "suite", "ppo", *_COUNTS)}
    run = RLRun(**same, robot=NO_ROBOT, cameras=())
    run.make_envs(workers=1).close()  # before the folder is created
    return run
