"""The command line: ``clevrskills …`` or ``python -m clevrskills …``."""

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Union

import tyro

from clevrskills.agents.mock_server import ChatStubArgs, chat_stub
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
from clevrskills.evaluation.dialogue.reverify import ReverifyArgs, reverify
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.freeze.command import FreezeArgs, freeze
from clevrskills.evaluation.play.command import PlayArgs, play
from clevrskills.evaluation.power import PlanArgs, plan
from clevrskills.evaluation.report.command import CompareArgs, ReportArgs, compare, report
from clevrskills.evaluation.robustness.command import RobustnessArgs, robustness
from clevrskills.evaluation.submission.command import SubmissionArgs, submission
from clevrskills.rl.command import RLArgs, rl
from clevrskills.serving.command import ServeArgs, serve
from clevrskills.suites.clevrskills.check_task import CheckTaskArgs, check_task
from clevrskills.suites.clevrskills.curriculum import CurriculumArgs, curriculum
from clevrskills.suites.clevrskills.new_task import NewTaskArgs, new_task

if TYPE_CHECKING:
    from clevrskills.core.suite import TaskInfo


@dataclass
class DoctorArgs:
    """Check simulator, planner, renderer and GPU; tell the remedy for what is missing."""

    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the checks as JSON."""


@dataclass
class SuitesArgs:
    """List the suites."""

    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the suites as JSON."""


@dataclass
class TasksArgs:
    """List the tasks."""

    suite: str = "clevrskills"
    """The suite, see `clevrskills suites`."""
    group: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only the tasks of a group; may be given several times."""

    level: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only these levels: L0, L1, L2; may be given several times."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the tasks as JSON."""


def suites(args: SuitesArgs) -> int:
    """Print a table of suites: name, title, tasks, levels, splits, interfaces, presets."""
    from clevrskills.core.suite import (
        all_interfaces,
        all_levels,
        all_robots,
        all_splits,
        all_views,
        load_suite,
        suite_names,
        task_groups,
    )

    rows = []
    for suite in map(load_suite, suite_names()):
        rows.append(
            {
                "name": suite.name,
                "title": suite.title,
                "tasks": list(suite.tasks),
                "levels": list(dict.fromkeys(all_levels(suite).values())),
                "groups": list(task_groups(suite)),
                "splits": list(all_splits(suite)),
                "robots": list(all_robots(suite)),
                "interfaces": list(all_interfaces(suite)),
                "views": list(all_views(suite)),
                "presets": list(suite.presets()),
                "policies": list(suite.policies()),
            }
        )
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    _print_table(
        f"{len(rows)} suites",
        ("name", "title", "tasks", "levels", "splits", "interfaces"),
        [{**row, "tasks": str(len(row["tasks"]))} for row in rows],
    )
    return 0


def tasks(args: TasksArgs) -> int:
    """Print a table of tasks: key, level, sentence, predicates."""
    from clevrskills.core.suite import load_suite
    from clevrskills.jobs.arguments import SuiteArgs

    suite = load_suite(args.suite)
    keys = SuiteArgs(level=args.level, group=args.group).select(suite.tasks) or suite.tasks
    rows = [_task_row(suite.name, key, suite.tasks[key]) for key in keys]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    _print_table(f"{len(rows)} tasks", ("key", "level", "sentence", "predicates"), rows)
    return 0


def _task_row(suite: str, key: str, task: "TaskInfo") -> dict[str, Any]:
    """The description of a task as JSON data."""
    fields = {name: value for name, value in vars(task).items() if name != "details"}
    return {"suite": suite, "key": key, **fields, "interfaces": [*task.interfaces], **task.details}


def _print_table(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table

    from clevrskills.jobs.console import console

    table = Table(title=title)
    for k, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=k == 0)
    for row in rows:
        cells = (row[column] for column in columns)
        table.add_row(*(cell if isinstance(cell, str) else " ".join(cell) for cell in cells))
    console().print(table)


def doctor(args: DoctorArgs) -> int:
    """Run the checks."""
    from clevrskills.doctor import checks

    return checks.main(json=args.json)


COMMANDS: tuple[tuple[str, type, Callable[[Any], int]], ...] = (
    ("doctor", DoctorArgs, doctor),
    ("suites", SuitesArgs, suites),
    ("tasks", TasksArgs, tasks),
    ("generate", GenerateArgs, generate),
    ("render", RenderArgs, render),
    ("export", ExportArgs, export),
    ("view", ViewArgs, view),
    ("check", CheckArgs, check),
    ("card", CardArgs, card),
    ("gallery", GalleryArgs, gallery),
    ("freeze", FreezeArgs, freeze),
    ("evaluate", EvaluateArgs, evaluate),
    ("reverify", ReverifyArgs, reverify),
    ("report", ReportArgs, report),
    ("compare", CompareArgs, compare),
    ("robustness", RobustnessArgs, robustness),
    ("submission", SubmissionArgs, submission),
    ("plan", PlanArgs, plan),
    ("play", PlayArgs, play),
    ("curriculum", CurriculumArgs, curriculum),
    ("serve", ServeArgs, serve),
    ("chat-stub", ChatStubArgs, chat_stub),
    ("train", TrainArgs, train),
    ("dagger", DaggerArgs, dagger),
    ("rl", RLArgs, rl),
    ("new-task", NewTaskArgs, new_task),
    ("check-task", CheckTaskArgs, check_task),
)
Command: Any = Union[  # noqa: UP007 (of a tuple)
    tuple(Annotated[kind, tyro.conf.subcommand(name)] for name, kind, _ in COMMANDS)
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code: 0 only on success.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    args = tyro.cli(Command, prog="clevrskills", description=__doc__, args=arguments)
    try:
        return next(run for _, kind, run in COMMANDS if isinstance(args, kind))(args)
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
