"""Command line: ``clevrskills …`` or ``python -m clevrskills …``."""

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.options import Repeated, parse

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Overview": {
        "doctor": ("cli:doctor", "check simulator, planner, renderer and GPU"),
        "suites": ("cli:suites", "list the suites"),
        "tasks": ("cli:tasks", "list the tasks of a suite"),
        "play": ("evaluation.play.command:play", "play an episode by hand or from a script"),
        "gallery": ("dataset_tools.view.gallery:gallery", "film one solved episode of each task"),
    },
    "Demonstrations and episodes": {
        "generate": ("dataset_tools.generate.command:generate", "generate demonstrations"),
        "scenes": ("dataset_tools.scenes.command:scenes", "generate images for perception"),
        "pack": ("dataset_tools.merge:pack", "pack episodes into a few large files"),
        "merge": ("dataset_tools.merge:merge", "merge datasets with equal settings"),
        "view": ("dataset_tools.view.command:view", "show episodes in a browser"),
        "check": ("dataset_tools.check.command:check", "check a dataset for errors"),
        "render": ("dataset_tools.render.command:render", "render recorded episodes again"),
        "export": ("dataset_tools.export.command:export", "export a dataset to another format"),
        "card": ("dataset_tools.card:card", "write the data sheet of a dataset"),
        "freeze": ("evaluation.freeze.command:freeze", "sample and screen evaluation episodes"),
    },
    "Learning": {
        "train": ("baselines.training.train:train", "train a policy on demonstrations"),
        "dagger": ("baselines.training.dagger:dagger", "improve a policy with DAgger"),
        "rl": ("rl.command:rl", "train a policy with PPO"),
        "curriculum": (
            "suites.clevrskills.curriculum:curriculum",
            "run the training and evaluation protocol of the ClevrSkills paper",
        ),
    },
    "Evaluation": {
        "benchmark": (
            "evaluation.benchmark.command:benchmark",
            "run the protocol of a suite and print the numbers to report",
        ),
        "evaluate": ("evaluation.evaluate:evaluate", "evaluate a policy on frozen episodes"),
        "report": ("evaluation.report.command:report", "write tables and a page for runs"),
        "compare": ("evaluation.report.command:compare", "compare two runs, paired by episode"),
        "robustness": (
            "evaluation.robustness.command:robustness",
            "evaluate a policy on clean and on perturbed episodes",
        ),
        "plan": ("evaluation.power:plan", "compute the number of episodes to evaluate"),
        "submission": ("evaluation.submission.command:submission", "pack or verify a run"),
        "reverify": ("evaluation.dialogue.reverify:reverify", "score transcripts again"),
        "serve": ("serving.command:serve", "serve a policy over the network"),
        "chat-stub": ("agents.mock_server:chat_stub", "serve a mock language model"),
    },
    "Extending": {
        "new-task": ("suites.clevrskills.new_task:new_task", "create the template of a task"),
        "check-task": ("suites.clevrskills.check_task:check_task", "check a new task"),
    },
}
"""Function and summary of each command, by heading. Functions are imported on use; the type of the
parameter ``args`` is the dataclass of the command's options.
"""
BROKEN_PIPE = 141
"""Exit code after a broken pipe, as for programs ended by SIGPIPE."""

if TYPE_CHECKING:
    from clevrskills.core.suite import TaskInfo


@dataclass
class DoctorArgs:
    """Check simulator, planner, renderer and GPU, and print remedies."""

    json: bool = False
    """Print the checks as JSON."""


@dataclass
class SuitesArgs:
    """List the suites."""

    json: bool = False
    """Print the suites as JSON."""


@dataclass
class TasksArgs:
    """List the tasks."""

    suite: str = "clevrskills"
    """Suite, see `clevrskills suites`."""
    group: Repeated[str] = ()
    """Only tasks of this group; repeatable."""
    level: Repeated[str] = ()
    """Only tasks of this level, e.g. L0; repeatable."""
    json: bool = False
    """Print the tasks as JSON."""


def suites(args: SuitesArgs) -> int:
    """Print the suites: name, title, tasks, levels, splits, interfaces, presets."""
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

    rows = [
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
        for suite in map(load_suite, suite_names())
    ]
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
    """Print the tasks of a suite: key, level, sentence, predicates."""
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
    """Return a task as JSON data."""
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
    """Check the machine."""
    from clevrskills.doctor import checks

    return checks.main(json=args.json)


def find_command(name: str) -> tuple[type, Callable[[Any], int]]:
    """Return the options dataclass and the function of a command.

    Raises:
        UnknownNameError: Unknown command.
    """
    known = {key: place for commands in COMMANDS.values() for key, (place, _) in commands.items()}
    if name not in known:
        raise UnknownNameError("command", name, [*known])
    module, _, function = known[name].partition(":")
    run = getattr(import_module(f"clevrskills.{module}"), function)
    kind = run.__annotations__["args"]
    return kind if isinstance(kind, type) else run.__globals__[kind], run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code: 0 only on success.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    try:
        try:
            return _run(*(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushed again at exit
        return BROKEN_PIPE


def _run(name: str = "--help", *words: str) -> int:
    """Run a command by name."""
    try:
        if name in ("-h", "--help"):
            print(_overview())
            return 0
        kind, run = find_command(name)
        return run(parse(kind, words, f"clevrskills {name}"))
    except ClevrSkillsError as error:
        print(f"clevrskills: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("clevrskills: interrupted; finished work is kept", file=sys.stderr)
        return 130


def _overview() -> str:
    """Return the help page of all commands."""
    lines = ["usage: clevrskills COMMAND [options]", ""]
    for heading, commands in COMMANDS.items():
        rows = (f"  {name:12}{text}" for name, (_, text) in commands.items())
        lines += [f"{heading}:", *rows, ""]
    return "\n".join((*lines, "`clevrskills COMMAND --help` lists the options of a command."))
