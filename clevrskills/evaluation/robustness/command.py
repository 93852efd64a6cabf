"""``clevrskills robustness``: the protocol of perturbed episodes, and its report."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.suite import Perturbable, all_splits, default_splits, find_suite, unsupported
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import SuiteArgs, WorkerArgs, check_least, check_names
from clevrskills.jobs.console import console
from clevrskills.jobs.files import storage_errors
from clevrskills.jobs.options import Repeated

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite


CLEAN = "clean"
STEP_S = 0.025
"""Core-seconds of a control step with two images, without the policy."""


@dataclass(kw_only=True)
class RobustnessArgs(WorkerArgs, SuiteArgs):
    """Evaluate a policy on clean and on perturbed frozen episodes and report the drop in success
    per axis; rerun the command to continue.

    If the policy cannot act at all along an axis, e.g. a policy for six joints on another arm, the
    axis is skipped with a message, and the exit code is 1.

    Perturbed episodes that the oracle cannot solve, or whose objects cannot be distinguished in
    the image, are replaced by the next ones, for all policies alike.
    """

    policy: str
    """Policy, as for `clevrskills evaluate`."""
    policy_arg: Repeated[str] = ()
    """Policy argument, NAME=VALUE with a JSON value; repeatable."""
    axis: Repeated[str] = ()
    """Perturbation axis; repeatable; default: all of the suite."""
    at: Repeated[int] = ()
    """Level, 1 to 5; repeatable; default: 3. Axes with fewer levels use their last."""
    split: str | None = None
    """Split; default: the suite's first."""
    episodes: int = 20
    """Number of episodes per task."""
    batch: int = 1
    """Episodes that a process runs concurrently."""
    out: Path
    """Output folder, with one subfolder per run, and `report`."""
    label: str = ""
    """Name of the policy in tables."""
    dry_run: bool = False
    """Only print the runs and an estimate of their cost."""
    json: bool = False
    """Print the tables as JSON."""


def robustness(args: RobustnessArgs) -> int:
    """Run the protocol.

    Returns:
        Exit code: 0 if all episodes count, 1 if an axis was left out, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, or errors in clean episodes; finished episodes are kept.
    """
    from clevrskills.evaluation.arguments import EvaluateArgs
    from clevrskills.evaluation.evaluate import evaluate
    from clevrskills.evaluation.report.command import ReportArgs, report

    check_least(args, episodes=1, workers=1, batch=1)
    suite = find_suite(args.suite, args.tasks)
    # slow imports
    from clevrskills.evaluation.results import POLICY_ERROR, read_results
    from clevrskills.evaluation.robustness.screened_episodes import kept_episodes
    from clevrskills.evaluation.selection import task_splits

    split = args.split or default_splits(suite)[0]
    check_names(split=((split,), all_splits(suite)))
    tasks = args.select(suite.tasks)
    pairs = task_splits(suite, tasks, (split,), args.tasks)
    if not pairs:
        raise ClevrSkillsError("nothing to evaluate: name tasks, or a level with --level")
    conditions = _conditions(args, suite)
    _announce(args, suite, pairs, conditions)
    if args.dry_run:
        return 0
    needed = args.episodes
    for name, level in conditions:
        for one in kept_episodes(suite, pairs, {name: level}, args.episodes, args.workers):
            needed = max(needed, 1 + max(one.indices))
    common: dict[str, Any] = {
        "suite": args.suite,
        "policy": args.policy,
        "policy_arg": args.policy_arg,
        "tasks": tuple(task for task, _ in pairs),
        "split": (split,),
        "workers": args.workers,
        "batch": args.batch,
    }
    name_of = args.label or args.policy
    folders, skipped = [args.out / CLEAN], []
    with storage_errors(args.out):
        args.out.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(sys.stderr):
        label = f"{name_of}, {CLEAN}"
        if code := evaluate(EvaluateArgs(**common, episodes=needed, out=folders[0], label=label)):
            return code
        common["episodes"] = args.episodes
        for name, level in conditions:
            folder, label = args.out / f"{name}-{level}", f"{name_of}, {name} {level}"
            axis = (f"{name}:{level}",)
            try:
                code = evaluate(EvaluateArgs(**common, axis=axis, label=label, out=folder))
            except ClevrSkillsError as error:
                skipped.append(f"{name} {level} is skipped: {error}")
                continue
            if code:
                return code
            results = [*read_results(folder)]
            if all(result.cause == POLICY_ERROR for result in results):  # it cannot act at all
                skipped.append(f"{name} {level} is skipped: {results[0].error}")
            else:
                folders.append(folder)
    runs, out = tuple(folders), args.out / "report"
    code = report(ReportArgs(runs=runs, out=out, title="Robustness", json=args.json))
    for line in skipped:
        print(f"clevrskills: {line}", file=sys.stderr)
    return code or int(bool(skipped))


def _conditions(args: RobustnessArgs, suite: Suite) -> list[tuple[str, int]]:
    """Return the axes and levels in the order of the suite."""
    if not isinstance(suite, Perturbable):
        raise unsupported(suite, "axes")
    known = suite.axes()
    check_names(axis=(args.axis, known))
    most = max(len(axis.levels) for axis in known.values())
    levels = args.at or ((most + 1) // 2,)
    for level in levels:
        if not 1 <= level <= most:
            raise ClevrSkillsError(f"--at {level}; allowed: 1 to {most}")
    chosen = [axis for name, axis in known.items() if name in (args.axis or known)]
    found = [(axis.name, min(level, len(axis.levels))) for axis in chosen for level in levels]
    return list(dict.fromkeys(found))


def _announce(
    args: RobustnessArgs,
    suite: Suite,
    pairs: list[tuple[str, str]],
    conditions: list[tuple[str, int]],
) -> None:
    """Print the runs and an estimate of their cost."""
    runs = 1 + len(conditions)
    heads = [suite.frozen(*pair).header for pair in pairs]
    most = sum(head.max_steps for head in heads) * args.episodes * runs
    solved = sum(head.oracle_median_steps for head in heads) * args.episodes * runs
    low, high = (steps * STEP_S / 3600 for steps in (solved, most))
    console(stderr=args.json).print(
        f"{runs} runs of {len(pairs)} tasks x {args.episodes} episodes: about {low:.2f} core-hours "
        f"if all succeed as fast as the oracle, {high:.2f} if none does, plus the policy's time; "
        "the first screening takes as long again",
        highlight=False,
    )
