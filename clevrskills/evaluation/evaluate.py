"""``clevrskills evaluate``: resumable evaluation of a policy by several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any

from clevrskills.core.suite import find_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.jobs.files import to_json
from clevrskills.jobs.run_folder import open_folder, write_into

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite
    from clevrskills.evaluation.request import EvaluationRequest
    from clevrskills.evaluation.runner import EvaluationOutcome


def evaluate(
    args: EvaluateArgs, suite: Suite | None = None, declared: Mapping[str, Any] | None = None
) -> int:
    """Evaluate a policy.

    Args:
        args: Arguments of the command.
        suite: Suite; ``None``: the named suite, or that of the tasks.
        declared: Fields ``protocol`` and ``trained_on`` of
            :class:`~clevrskills.evaluation.results.Run` for a run of a suite's protocol; its
            results are not printed.

    Returns:
        Exit code: 0 if all requested episodes count, 130 after Ctrl-C.

    Raises:
        ClevrSkillsError: Bad arguments, a full disk, or a policy that cannot be created or fails;
            finished episodes are kept.
    """
    suite = suite or find_suite(args.suite, args.tasks, folder=args.frozen)
    # slow imports
    from clevrskills.evaluation.request import make_request
    from clevrskills.evaluation.results import RUN_FILE, read_run
    from clevrskills.evaluation.runner import run

    request = make_request(args, suite, declared or {})
    if args.dry_run:
        from clevrskills.evaluation.dialogue.estimate import dry_run

        return dry_run(request)
    root = request.config.root
    exists = open_folder(root, RUN_FILE, "no run of `clevrskills evaluate`")
    before = read_run(root) if exists else None

    def do(_: Callable[[], None]) -> int:
        outcome = run(request, before)
        if declared is None:
            _report(request, outcome)
        _complain(request, outcome)
        return 0

    return write_into(args.out, do, request.config.writer)


def _report(request: EvaluationRequest, outcome: EvaluationOutcome) -> None:
    """Print the results in the run folder."""
    from clevrskills.evaluation.benchmark.protocol import deviations
    from clevrskills.evaluation.handover.tables import composition_tables
    from clevrskills.evaluation.report import tables
    from clevrskills.evaluation.report.suite_tables import suite_tables
    from clevrskills.evaluation.report.summary import print_summary
    from clevrskills.evaluation.results import open_evaluations
    from clevrskills.evaluation.sequential.tables import sequential_tables

    args = request.args
    (evaluation,) = evaluations = open_evaluations([request.config.root])
    tasks, levels = tables.task_rows(evaluations), tables.level_rows(evaluations)
    further = [*sequential_tables(evaluations), *composition_tables(evaluations)]
    further = [*suite_tables(evaluations), *further]
    if args.json:
        data = {
            "run": args.out,
            "rule": evaluation.rule,
            "left_out": outcome.left_out,
            "tasks": tables.records(tables.numbers(tasks)),
            "levels": tables.records(tables.numbers(levels)),
            "tags": [],
            **{table.name: tables.records(table.data) for table in further},
            "warnings": tables.warning_lines(evaluations),
        }
        print(to_json(data, indent=1))
        return
    lines = [evaluation.rule]
    if args.verbose:
        measures = tables.measures_of(evaluations)
        for rows in filter(None, (tasks, levels)):
            tables.print_table(tables.words(rows, measures))
        tables.print_tables(further)
        lines.append(f"{tables.EXPLANATION} {tables.pooling(evaluations)}")
    else:
        print_summary(evaluation)
    lines += tables.warning_lines(evaluations)
    results = (*evaluation.results, *evaluation.parts)
    if differs := deviations(evaluation.run, evaluation.suite, results):
        lines.append(f"Not the protocol of `clevrskills benchmark`: {'; '.join(differs)}.")
    if outcome.left_out:
        skipped = ", ".join(outcome.left_out)
        lines.append(f"Skipped with language prompts, as in the paper: {skipped}.")
    tables.print_lines(*lines, wrap=True)
    page = f"Page and all tables: clevrskills report {quote(str(args.out))}"
    tables.print_lines(f"Results: {args.out}", page)


def _complain(request: EvaluationRequest, outcome: EvaluationOutcome) -> None:
    """Raise an error if episodes do not count."""
    from clevrskills.evaluation.runner import error_line

    if outcome.errors:
        first = error_line(request.config.root, request.run.policy, outcome.errors[0])
        raise ClevrSkillsError(
            f"{len(outcome.errors)} of {outcome.episodes} episodes ended without a result and do "
            f"not count; rerun the command to retry them. The first: {first}"
        )
