"""``clevrskills benchmark``: runs the protocol of a suite and prints the numbers to report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.core.report import NONE, protocol_of
from clevrskills.core.suite import all_levels, find_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.arguments import EvaluateArgs, RestartArgs
from clevrskills.jobs.arguments import TaskArgs, WorkerArgs, check_least, check_names, select_tasks
from clevrskills.jobs.console import console
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.jobs.options import Repeated
from clevrskills.jobs.run_folder import check_settings, open_folder, remove_unused

if TYPE_CHECKING:
    from clevrskills.core.report import Protocol
    from clevrskills.core.suite import Suite
    from clevrskills.evaluation.benchmark.protocol import RunPart


@dataclass(kw_only=True)
class BenchmarkArgs(RestartArgs, WorkerArgs, TaskArgs):
    """Run the protocol of a suite and print the numbers to report; rerun the command to continue.
    The policy runs in a separate process unless it is privileged.

    ClevrSkills: 33 tasks with 50 `test` episodes each and three numbers: L0; L1+L2 zero-shot, for
    policies trained on L0 only; L1+L2 trained, for others. If tasks or levels are named, only
    these are run, and the result says so.
    """

    suite: str | None = None
    """Suite, see `clevrskills suites`; default: the suite of the tasks."""
    cell: Repeated[str] = ()
    """Row of the protocol, e.g. a view of iVISPAR; repeatable; default: all."""
    interface: str | None = None
    """Action interface of the policy; default: the suite's first."""
    policy: str
    """Policy, as for `clevrskills evaluate`."""
    policy_arg: Repeated[str] = ()
    """Policy argument, NAME=VALUE with a JSON value; repeatable."""
    track: str = ""
    """Training data, if the policy does not declare it: none, standard-100, standard-1000 or
    open."""
    trained_on: str = ""
    """Tasks that the policy was trained on: for ClevrSkills L0, L0+L1 or all; none without
    training."""
    quick: bool = False
    """Run ten `val` episodes per task, as a check that is never a result."""
    until_width: float | None = None
    """Stop when the 95 % interval of the mean success rate over tasks is this narrow, e.g. 0.1."""
    batch: int = 1
    """Episodes that a process runs concurrently; results do not depend on it."""
    label: str = ""
    """Name of the policy in tables."""
    out: Path
    """Output folder, with one subfolder per run."""
    dry_run: bool = False
    """Only print the cost."""
    json: bool = False
    """Print the numbers as JSON."""


def benchmark(args: BenchmarkArgs, suite: Suite | None = None) -> int:
    """Run the protocol.

    Args:
        args: Arguments of the command.
        suite: Suite; ``None``: the named suite, or that of the tasks.

    Returns:
        Exit code: 0 if all episodes count, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a missing declaration, or an error of ``clevrskills
            evaluate``.
    """
    check_least(args, workers=1, batch=1)
    suite = suite or find_suite(args.suite, args.tasks)
    protocol = protocol_of(suite)
    if protocol is None:
        raise ClevrSkillsError(
            f"suite {suite.name} has no protocol: use `clevrskills evaluate --suite {suite.name}`"
        )
    if args.until_width is not None and protocol.pool == "episodes":
        raise ClevrSkillsError(
            f"tasks of {suite.name} differ in their number of episodes: leave out --until-width"
        )
    parts = _parts(args, suite, protocol)
    _announce(args, suite, parts)
    if args.dry_run:
        return _dry_run(args, suite, parts)
    _open(args, suite, parts)
    from clevrskills.evaluation.evaluate import evaluate  # slow import
    from clevrskills.evaluation.results import BENCHMARK_FILE

    try:
        for part in parts:
            cell = "" if args.quick else part.cell.name
            declared = {"protocol": cell, "trained_on": args.trained_on}
            code = evaluate(_evaluate_args(args, suite, part), suite, declared)
            if code:
                return code
    finally:
        remove_unused(args.out, BENCHMARK_FILE)
    _print(args, protocol, parts)
    return 0


def _parts(args: BenchmarkArgs, suite: Suite, protocol: Protocol) -> list[RunPart]:
    """Return the episodes to run of each cell."""
    from clevrskills.evaluation.benchmark.protocol import QUICK_EPISODES, RunPart, cell_tasks
    from clevrskills.evaluation.results import check_track

    known = {cell.name: cell for cell in protocol.cells}
    check_names(cell=(args.cell, known))
    if args.trained_on:
        allowed = (*protocol.trained_on, NONE)
        check_names(**{"value of --trained-on": ((args.trained_on,), allowed)})
    if args.track:
        check_track(args.track)
    named = bool(args.tasks or args.level)
    levels = all_levels(suite)
    chosen = select_tasks(levels, args.tasks, args.level) if named else [*levels]
    parts = []
    for name in args.cell or known:
        cell, of = known[name], cell_tasks(suite, known[name])
        check_names(**{f"task of {name}": (args.tasks, of)})
        tasks = tuple(
            task
            for task in of
            if task in chosen and args.interface in (None, *suite.tasks[task].interfaces)
        )
        split, episodes = cell.split, cell.episodes
        if args.quick:
            split, episodes = protocol.quick_split, QUICK_EPISODES
        if tasks:
            parts.append(RunPart(cell, tasks, split, episodes))
    if not parts:
        raise ClevrSkillsError(
            f"the protocol of {suite.name} has none of these tasks: name others, or none for all"
        )
    return parts


def _evaluate_args(args: BenchmarkArgs, suite: Suite, part: RunPart) -> EvaluateArgs:
    from clevrskills.core.suite import path_of

    same = {name: getattr(args, name) for name in _PASSED_ON}
    out = args.out / part.cell.name
    return EvaluateArgs(**part.options, **same, suite=path_of(suite), isolate=True, out=out)


_PASSED_ON = (
    *("interface", "policy", "policy_arg", "track", "until_width", "workers", "batch"),
    *("timeout", "accept_restarts", "label"),
)
"""Options with the meaning that they have for ``clevrskills evaluate``."""


def _announce(args: BenchmarkArgs, suite: Suite, parts: Sequence[RunPart]) -> None:
    """Print the runs and their cost."""
    from clevrskills.evaluation.benchmark.protocol import cost_of_part

    costs = [cost_of_part(suite, part) for part in parts]
    episodes, steps = sum(c.episodes for c in costs), sum(c.most_steps for c in costs)
    least, most = (
        _hours(sum(seconds)) for seconds in zip(*(c.range_s for c in costs), strict=True)
    )
    names = ", ".join(part.cell.name for part in parts)
    tasks = dict.fromkeys(task for part in parts for task in part.tasks)
    of_tasks = f"{len(tasks)} task{'s' * (len(tasks) != 1)}"
    lines = [
        f"{suite.name}, {names}: {of_tasks}, {episodes:,} episodes, split {parts[0].split}",
        f"CPU time of the environment: {least} to {most}; of the policy: {_hours(0.01 * steps)} "
        f"for each 10 ms of a step, if no episode is solved ({steps:,} steps)",
    ]
    for line in lines:
        console(stderr=args.json).print(line, highlight=False, soft_wrap=True)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.1f} minutes"


def _dry_run(args: BenchmarkArgs, suite: Suite, parts: Sequence[RunPart]) -> int:
    """Print the requests that a language model would get."""
    from clevrskills.core.policy_loader import CHAT
    from clevrskills.evaluation.evaluate import evaluate

    for part in parts if args.policy.startswith(CHAT) else ():
        evaluate(replace(_evaluate_args(args, suite, part), dry_run=True), suite)
    return 0


def _open(args: BenchmarkArgs, suite: Suite, parts: Sequence[RunPart]) -> None:
    """Create the output folder, or check that it has the same policy and declarations."""
    from clevrskills.core.policy_loader import absolute_name
    from clevrskills.evaluation.results import BENCHMARK_FILE, RUN_FILE, read_benchmark

    made = {"suite": suite.name, "policy": absolute_name(args.policy), "quick": args.quick}
    made |= {"policy_arg": [*args.policy_arg], "interface": args.interface}
    made |= {"track": args.track, "trained_on": args.trained_on}
    cells = [part.cell.name for part in parts]
    path = args.out / BENCHMARK_FILE
    if open_folder(args.out, BENCHMARK_FILE, "no folder of `clevrskills benchmark`"):
        begun = read_benchmark(args.out)
        known = [cell for cell in begun["cells"] if (args.out / cell / RUN_FILE).is_file()]
        if known:
            check_settings(args.out, begun, made)
        cells = [*known, *(cell for cell in cells if cell not in known)]
    write_whole(path, to_json({**made, "cells": cells}, indent=1) + "\n")


def _print(args: BenchmarkArgs, protocol: Protocol, parts: Sequence[RunPart]) -> None:
    from clevrskills.evaluation.benchmark.headline import headlines, pooled_headlines
    from clevrskills.evaluation.results import open_evaluations, state_access

    evaluations = open_evaluations([args.out / part.cell.name for part in parts])
    rows = [
        (evaluation, part, headlines(evaluation, protocol, part.cell, part.split))
        for evaluation, part in zip(evaluations, parts, strict=True)
    ]
    pooled = [] if args.quick else pooled_headlines(evaluations, protocol)
    stopped = any(evaluation.run.sequential for evaluation in evaluations)
    submit = shlex.join(["clevrskills", "submission", "pack", str(args.out)])
    submit = "" if args.quick or stopped else submit
    run = evaluations[0].run
    if args.json:
        numbers = [one.columns() for found in (*(r[2] for r in rows), pooled) for one in found]
        data = {"suite": run.row, "quick": args.quick, "trained_on": run.trained_on}
        print(to_json({**data, "track": run.track, "numbers": numbers, "submit": submit}, indent=1))
        return
    if pooled:
        line = f"{run.row}, {protocol.pooled}: {' | '.join(one.text for one in pooled)}"
        console().print(line, highlight=False, markup=False, soft_wrap=True)
    for k, (evaluation, part, found) in enumerate(rows):
        words = f"{run.row}, {part.cell.name}: {' | '.join(one.text for one in found)}"
        if restarts := sum(result.starts - 1 for result in evaluation.results):
            words += f", {restarts} restarts"
        words += "".join(f", {mark}" for mark in state_access(evaluation.run, evaluation.suite))
        if args.quick:
            words = f"quick check on {part.split}, no result: {words}"
        elif k == len(rows) - 1:
            words += f"; submit it: {submit}" if submit else "; ended early, so not to be submitted"
        console().print(words, highlight=False, markup=False, soft_wrap=True)
