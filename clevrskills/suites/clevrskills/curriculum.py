"""``clevrskills curriculum``: the paper's protocol from L0 to L2."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.suite import all_levels
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.clevrskills.curriculum_args import CurriculumArgs, requested_curriculum

if TYPE_CHECKING:
    from clevrskills.core.suite import Suite
    from clevrskills.evaluation.evaluate import EvaluateArgs
    from clevrskills.suites.clevrskills.curriculum_tables import PaperTable
    from clevrskills.suites.clevrskills.protocol import Curriculum, Trial
    from clevrskills.suites.clevrskills.stages import Stages

    Evaluate = Callable[..., int]


def curriculum(
    args: CurriculumArgs, suite: Suite | None = None, evaluate: Evaluate | None = None
) -> int:
    """Run a curriculum stage by stage.

    Args:
        args: The arguments.
        suite: Suite of the tasks; ``None``: ClevrSkills.
        evaluate: Function that evaluates a policy; ``None``: that of ``clevrskills evaluate``.

    Returns:
        Exit code: 0 if everything is finished, or that of an interrupted ``evaluate``.

    Raises:
        ClevrSkillsError: Invalid input, or a failed training or evaluation; finished results are
            kept.
    """
    from clevrskills.evaluation import evaluate as evaluation
    from clevrskills.suites.clevrskills.protocol import STAGES
    from clevrskills.suites.clevrskills.stages import Stages, check_is_curriculum
    from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

    levels = all_levels(suite or ClevrSkillsSuite())
    for root in args.beside:
        check_is_curriculum(root)
    stages = Stages(requested_curriculum(args), args.out, levels)
    if args.plan:
        return _print_plan(stages, args.json)
    stages.open()
    faults: list[str] = []
    run_trial = evaluate or evaluation.evaluate
    for stage in STAGES:
        trials = [trial for trial in stages.what.trials(stage) if stages.missing(trial)]
        for trial in trials:
            code = _run_trial(stages, trial, run_trial, args.json, faults)
            if code:
                return code
        if trials:
            _tables(args, levels)
    _print_tables(args, levels)
    if faults:
        raise ClevrSkillsError("; ".join(faults))
    return 0


def _run_trial(
    stages: Stages, trial: Trial, evaluate: Evaluate, json: bool, faults: list[str]
) -> int:
    """Train if necessary and evaluate; returns the exit code of the evaluation.

    Errors are collected in ``faults`` as long as some episodes count.
    """
    from clevrskills.suites.clevrskills.protocol import TRAINED_ON

    found = stages.prepare(trial)
    if found is None:
        return 0  # no checkpoint, and nothing that makes one
    run_args = _evaluate_args(stages.what, trial, *found, stages.folder(trial))
    try:
        # with --json, only JSON goes to stdout
        with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
            return evaluate(run_args, declared={"trained_on": TRAINED_ON[trial.stage]})
    except ClevrSkillsError as error:
        faults.append(f"{trial.name}: {error}")
        if not stages.counts(trial):
            raise ClevrSkillsError(faults[-1]) from error
        return 0


def _evaluate_args(
    what: Curriculum, trial: Trial, policy: str, policy_args: Mapping[str, Any], out: Path
) -> EvaluateArgs:
    import json

    from clevrskills.evaluation.evaluate import EvaluateArgs
    from clevrskills.suites.clevrskills.protocol import CELL

    return EvaluateArgs(
        policy=policy,
        level=(trial.level,),
        split=(trial.split,),
        episodes=what.episodes,
        out=out,
        policy_arg=tuple(f"{name}={json.dumps(value)}" for name, value in policy_args.items()),
        prompt=trial.prompt,  # type: ignore[arg-type]
        label=f"{what.label}, {trial.stage}",
        **{**CELL.options, **what.options},
    )


def _tables(args: CurriculumArgs, levels: Mapping[str, str]) -> tuple[list[PaperTable], list[str]]:
    """Write the tables of the finished trials."""
    from clevrskills.suites.clevrskills import curriculum_tables as made

    results = [made.read_results(root, levels) for root in (args.out, *args.beside)]
    tables = made.paper_tables(results)
    remarks = [remark for one in results for remark in one.remarks]
    made.write(args.out, tables, remarks)
    return tables, remarks


def _print_tables(args: CurriculumArgs, levels: Mapping[str, str]) -> None:
    from clevrskills.evaluation.report.tables import print_lines, print_table, records
    from clevrskills.suites.clevrskills import curriculum_tables as made

    tables, remarks = _tables(args, levels)
    if args.json:
        from clevrskills.jobs.files import to_json

        print(to_json({"tables": records(made.numbers(tables)), "remarks": remarks}, indent=1))
        return
    for table in tables:
        texts = made.frame(table)
        names = [c for c in texts.columns if c[1] not in made.MEASURES[1:]]
        texts = texts[names]
        texts.columns = [" ".join(filter(None, name)) for name in names]
        print_table(texts, table.title)
    print_lines(*remarks, f"{args.out / made.PAGE}, and the tables beside it")


def _print_plan(stages: Stages, json: bool) -> int:
    rows = [asdict(step) for step in stages.steps()]
    if json:
        from clevrskills.jobs.files import to_json

        print(to_json(rows, indent=1))
        return 0
    import pandas as pd

    from clevrskills.evaluation.report.tables import print_lines, print_table

    table = pd.DataFrame(rows)
    table["state"] = [_state(row) for row in rows]
    columns = ["does", "stage", "prompt", "level", "setting", "split", "tasks", "episodes", "state"]
    print_table(table[columns].replace({"tasks": {0: ""}, "episodes": {0: ""}}))
    possible = [row for row in rows if row["possible"]]
    episodes = sum(row["missing"] for row in possible if row["does"] == "evaluate")
    trainings = sum(row["missing"] for row in possible if row["does"] == "train")
    print_lines(f"to do: {trainings} trainings, {episodes} episodes")
    return 0


def _state(row: Mapping[str, Any]) -> str:
    """Return the progress of a step in words."""
    if not row["possible"]:
        return "no checkpoint: left out"
    if not row["missing"]:
        return "done"
    return "to do" if row["does"] == "train" else f"{row['missing']} episodes to do"
