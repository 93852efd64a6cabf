"""The command line: ``clevrskills …`` or ``python -m clevrskills …``."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from clevrskills.baselines.training.dagger import DaggerArgs, dagger
from clevrskills.baselines.training.train import TrainArgs, train
from clevrskills.dataset_tools.card import CardArgs, card
from clevrskills.dataset_tools.check.command import CheckArgs, check
from clevrskills.dataset_tools.export.command import ExportArgs, export
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.render.command import RenderArgs, render
from clevrskills.dataset_tools.view.command import ViewArgs, view
from clevrskills.dataset_tools.view.gallery import GalleryArgs, gallery
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.freeze.command import FreezeArgs, freeze
from clevrskills.evaluation.power import PlanArgs, plan
from clevrskills.evaluation.report.command import CompareArgs, ReportArgs, compare, report
from clevrskills.rl.command import RLArgs, rl
from clevrskills.serving.command import ServeArgs, serve
from clevrskills.suites.clevrskills.curriculum import CurriculumArgs, curriculum


@dataclass
class DoctorArgs:
    """Check simulator, planner, renderer and GPU; tell the remedy for what is missing."""

    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the checks as JSON."""


@dataclass
class TasksArgs:
    """List the tasks."""

    level: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only these levels: L0, L1, L2; may be given several times."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the tasks as JSON."""


def tasks(args: TasksArgs) -> int:
    """Print a table of tasks: key, level, sentence, predicates."""
    from clevrskills.jobs.arguments import select_tasks
    from clevrskills.tasks import tasks as all_tasks

    known = all_tasks()
    keys = select_tasks({key: task.level for key, task in known.items()}, level=args.level)
    rows = [known[key]().describe() for key in keys or known]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{len(rows)} tasks")
    for column in ("key", "level", "sentence", "predicates"):
        table.add_column(column, overflow="fold", no_wrap=column == "key")
    for row in rows:
        table.add_row(row["key"], row["level"], row["sentence"], " ".join(row["predicates"]))
    Console().print(table)
    return 0


def doctor(args: DoctorArgs) -> int:
    """Run the checks."""
    from clevrskills.doctor import checks

    return checks.main(json=args.json)


Command = (
    Annotated[DoctorArgs, tyro.conf.subcommand("doctor")]
    | Annotated[TasksArgs, tyro.conf.subcommand("tasks")]
    | Annotated[GenerateArgs, tyro.conf.subcommand("generate")]
    | Annotated[RenderArgs, tyro.conf.subcommand("render")]
    | Annotated[ExportArgs, tyro.conf.subcommand("export")]
    | Annotated[ViewArgs, tyro.conf.subcommand("view")]
    | Annotated[CheckArgs, tyro.conf.subcommand("check")]
    | Annotated[CardArgs, tyro.conf.subcommand("card")]
    | Annotated[GalleryArgs, tyro.conf.subcommand("gallery")]
    | Annotated[FreezeArgs, tyro.conf.subcommand("freeze")]
    | Annotated[EvaluateArgs, tyro.conf.subcommand("evaluate")]
    | Annotated[ReportArgs, tyro.conf.subcommand("report")]
    | Annotated[CompareArgs, tyro.conf.subcommand("compare")]
    | Annotated[PlanArgs, tyro.conf.subcommand("plan")]
    | Annotated[CurriculumArgs, tyro.conf.subcommand("curriculum")]
    | Annotated[ServeArgs, tyro.conf.subcommand("serve")]
    | Annotated[TrainArgs, tyro.conf.subcommand("train")]
    | Annotated[DaggerArgs, tyro.conf.subcommand("dagger")]
    | Annotated[RLArgs, tyro.conf.subcommand("rl")]
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code: 0 only on success.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    args = tyro.cli(Command, prog="clevrskills", description=__doc__, args=arguments)
    runners = {
        DoctorArgs: doctor,
        TasksArgs: tasks,
        GenerateArgs: generate,
        RenderArgs: render,
        ExportArgs: export,
        ViewArgs: view,
        CheckArgs: check,
        CardArgs: card,
        GalleryArgs: gallery,
        FreezeArgs: freeze,
        EvaluateArgs: evaluate,
        ReportArgs: report,
        CompareArgs: compare,
        PlanArgs: plan,
        CurriculumArgs: curriculum,
        ServeArgs: serve,
        TrainArgs: train,
        DaggerArgs: dagger,
        RLArgs: rl,
    }
    try:
        return runners[type(args)](args)  # type: ignore[operator]
    except ClevrSkillsError as error:
        print(f"clevrskills: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        print("clevrskills: stopped; what was finished is kept", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
