"""``clevrskills evaluate``: a policy on frozen episodes, by many processes, continuing where it
stopped.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite
    from clevrskills.evaluation.request import Plan
    from clevrskills.evaluation.runner import Done

INTERRUPTED = 130  # what shells report after Ctrl-C
SHOWN_ERRORS = 5


@dataclass(kw_only=True)
class EvaluateArgs:
    """Evaluate a policy on frozen episodes; running it again continues."""

    policy: str
    """The policy: `module:attribute`, `checkpoint:DIR` of `clevrskills train`, `rl:DIR` of
    `clevrskills rl`, `openpi://HOST:PORT`, `vla-eval://HOST:PORT`, `oracle`, `zero`, `random`, or
    `replay:DATASET` on the episodes of a dataset."""
    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks, e.g. `sort stack`."""
    level: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """All tasks of a level, L0, L1 or L2; may be given several times."""
    split: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Objects and textures: train (seen) or test (unseen); may be given several times; by default
    both."""
    episodes: int = 20
    """Episodes of each task and split."""
    out: Path
    """Folder of the results."""
    policy_arg: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Argument of the policy, NAME=VALUE, the value as JSON; may be given several times."""
    cameras: tuple[str, ...] | None = None
    """Cameras that the policy is shown, in place of those that it asks for."""
    no_cameras: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Show no pictures."""
    size: int | None = None
    """Width and height of the pictures, in pixels; by default each camera's own."""
    history: int | None = None
    """Control steps in each observation."""
    no_proprioception: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Do not show the robot's own state."""
    prompt: Literal["multimodal", "language"] | None = None
    """Prompts with pictures, or in words alone; the latter leaves out the tasks that the paper
    leaves out there."""
    chunk: int | None = None
    """Actions that are executed when the policy gives several at once; by default all."""
    clip: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Clip actions outside [-1, 1]; by default they are errors."""
    keep_going: Annotated[
        bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(aliases=["--no-stop-on-success"])
    ] = False
    """Go on to the step limit after the goal held; by default an episode ends then."""
    seed: int | None = None
    """Draw the episodes from this seed on, instead of using frozen ones."""
    frozen: Path | None = None
    """Folder of frozen episodes made by `clevrskills freeze`; by default those of the package."""
    robot: str | None = None
    """The robot; by default that of the frozen episodes, xarm6."""
    criteria: str | None = None
    """When a task counts as solved: paper (the default) or released."""
    workers: int = 1
    """Number of processes, each with a policy of its own; the result is the same for any number."""
    batch: int = 1
    """Episodes that a process runs at the same time; the result is the same for any number."""
    timeout: float = 600.0
    """Seconds after which an episode is ended and counts as an error."""
    retries: int = 1
    """How often an episode that ended in an error is tried again."""
    shard: str | None = None
    """Do part i of n of the work, `i/n` with i from 0, while others do the rest, into the same
    folder."""
    driver: str = "local"
    """Where the processes are: local, or ray (a Ray cluster)."""
    address: str | None = None
    """Address of a running Ray cluster, host:port or auto; by default one is started here."""
    videos: int = 0
    """Film the first episodes of each task and split."""
    video: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Film an episode, e.g. sort_test_007; may be given several times, and after the evaluation."""
    video_camera: str = "base_camera"
    """The camera that films."""
    label: str = ""
    """What tables call the policy."""
    note: str = ""
    """Words to be kept with the results, e.g. what the policy was trained on."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the results as JSON."""


def evaluate(args: EvaluateArgs, suite: Suite | None = None) -> int:
    """Evaluate a policy.

    Args:
        args: Which, and how.
        suite: Where environments and episodes come from; ``None``: ClevrSkills.

    Returns:
        Exit code: 0 if all episodes that were asked for count, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, a policy that cannot be made or breaks down;
            what was finished is kept.
    """
    from clevrskills.core.suite import load_suite
    from clevrskills.dataset_tools.layout import locked, remove_abandoned
    from clevrskills.evaluation.request import check
    from clevrskills.evaluation.run_folder import prepare
    from clevrskills.evaluation.runner import run
    from clevrskills.jobs.files import remove_partial
    from clevrskills.jobs.signals import stop_signals

    plan = check(args, suite or load_suite(folder=args.frozen))
    root, writer = plan.place.root, plan.place.writer
    there = prepare(root)
    remove_abandoned(root)
    with locked(root, writer):
        try:
            with stop_signals():
                done = run(plan, there)
                _report(plan, done)
        except KeyboardInterrupt:
            print(
                f"interrupted; what is finished is in {args.out}, the same command continues",
                file=sys.stderr,
            )
            return INTERRUPTED
        finally:
            remove_partial(root, writer)
    _complain(plan, done)
    return 0


def _report(plan: Plan, done: Done) -> None:
    """Print the results of all that is in the folder."""
    from clevrskills.evaluation.report import tables
    from clevrskills.evaluation.report.terminal import print_lines, print_table
    from clevrskills.evaluation.runs import open_evaluations
    from clevrskills.jobs.files import to_json

    out, evaluations = plan.args.out, open_evaluations([plan.place.root])
    tasks, levels = tables.task_rows(evaluations), tables.level_rows(evaluations)
    if plan.args.json:
        data = {
            "run": out,
            "rule": plan.rule,
            "left_out": done.left_out,
            "tasks": tables.records(tables.numbers(tasks)),
            "levels": tables.records(tables.numbers(levels)),
        }
        print(to_json(data, indent=1))
        return
    if tasks:
        print_table(tables.words(tasks))
        print_table(tables.words(levels))
    print_lines(plan.rule, tables.EXPLANATION)
    if done.left_out:
        print_lines(f"Left out in words alone, as in the paper: {', '.join(done.left_out)}.")
    print_lines(f"Results are in {out}; `clevrskills report {out}` writes a page of them.")


def _complain(plan: Plan, done: Done) -> None:
    """Tell which episodes do not count.

    Raises:
        ClevrSkillsError: There are some.
    """
    from clevrskills.evaluation.display import error_line

    if done.errors:
        lines = [error_line(plan.run.policy, result) for result in done.errors[:SHOWN_ERRORS]]
        more = len(done.errors) - len(lines)
        raise ClevrSkillsError(
            f"{len(done.errors)} of {done.episodes} episodes ended in errors and count for nothing;"
            f" the same command tries them again: {'; '.join(lines)}"
            + (f"; and {more} more" if more else "")
        )
