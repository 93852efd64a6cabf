"""Study of LoHoRavens: the runs of a TOML file in turn, and their report.

    python recipes/lohoravens_study.py recipes/lohoravens_study.toml --out study --dry-run
    python recipes/lohoravens_study.py recipes/lohoravens_study.toml --out study oracle zero random

A run is a table ``[run.NAME]`` of options of ``clevrskills evaluate``; ``[all]`` has options of all
runs. Finished runs are skipped.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import tyro

from clevrskills.core.suite import (
    all_interfaces,
    all_levels,
    all_splits,
    load_suite,
    task_groups,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names


@dataclass
class StudyArgs:
    """Runs of a file."""

    file: Annotated[Path, tyro.conf.Positional]
    """TOML file of the study."""
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Runs; default: all."""
    out: Path = Path("study")
    """Folder of the results, one for each run."""
    set: tuple[str, ...] = ()
    """NAME=VALUE for a name in braces in the file."""
    add: str = ""
    """Further options of all runs, e.g. "--seed 900000000 --episodes 2 --workers 8"."""
    dry_run: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print and check the commands without running them."""


def runs(args: StudyArgs) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the name and the options of each run, lists of strings or single ones.

    Raises:
        ClevrSkillsError: The file is damaged, has no such run, or leaves something open.
    """
    try:
        data = tomllib.loads(args.file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ClevrSkillsError(f"{args.file}: {error}") from None
    found: Mapping[str, Mapping[str, Any]] = data.get("run", {})
    check_names(run=(args.names, found))
    known = dict(entry.partition("=")[::2] for entry in args.set)
    for name in args.names or found:
        options = {"out": str(args.out / name), **data.get("all", {}), **found[name]}
        yield name, {k: _filled(value, known, args.dry_run) for k, value in options.items()}


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Return the options as words of a command line."""
    words = ["evaluate"]
    for option, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{option.replace('_', '-')}", str(each)]
    return words


def _filled(value: Any, known: Mapping[str, str], dry: bool) -> Any:
    """Return an option with names in braces replaced.

    Raises:
        ClevrSkillsError: Something is open.
    """
    if isinstance(value, list):
        return [_filled(each, known, dry) for each in value]
    text = str(value)
    for name, given in known.items():
        text = text.replace(f"{{{name}}}", given)
    if "{" in text and not dry:
        raise ClevrSkillsError(f"{text} is open; give it with --set")
    return text


def check(name: str, options: Mapping[str, Any]) -> None:
    """Check the options of a run.

    Raises:
        ClevrSkillsError: One is not allowed.
    """
    from clevrskills.evaluation.arguments import EvaluateArgs

    suite = load_suite(options["suite"])
    check_names(**{f"option of run {name}": (options, [f.name for f in fields(EvaluateArgs)])})
    for option, allowed in (
        ("level", {*all_levels(suite).values()}),
        ("group", task_groups(suite)),
        ("split", all_splits(suite)),
        ("preset", suite.presets()),
        ("interface", all_interfaces(suite)),
    ):
        given = options.get(option, [])
        check_names(
            **{f"{option} of run {name}": ([given] if type(given) is str else given, allowed)}
        )


def main(args: StudyArgs) -> int:
    """Run the study.

    Returns:
        Exit code of the first command that failed; 0: none did.
    """
    done = []
    for name, options in runs(args):
        words = [*words_of(options), *shlex.split(args.add)]
        print(shlex.join(["clevrskills", *words]), flush=True)
        check(name, options)
        if not args.dry_run:
            code = subprocess.run([sys.executable, "-m", "clevrskills", *words]).returncode
            if code:
                return code
        done.append(name)
    report = ["report", *(str(args.out / name) for name in done), "--out", str(args.out / "report")]
    print(shlex.join(["clevrskills", *report]))
    if args.dry_run:
        return 0
    return subprocess.run([sys.executable, "-m", "clevrskills", *report]).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(tyro.cli(StudyArgs)))
    except ClevrSkillsError as error:
        sys.exit(f"lohoravens_study: {error}")
