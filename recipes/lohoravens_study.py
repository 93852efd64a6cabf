"""The study of LoHoRavens: the runs of a TOML file, one after the other, and their report.

    python recipes/lohoravens_study.py recipes/lohoravens_study.toml --out study --dry-run
    python recipes/lohoravens_study.py recipes/lohoravens_study.toml --out study oracle zero random

A run is a table ``[run.NAME]`` of options of ``clevrskills evaluate``; ``[all]`` has those of all
runs. What is done already is not done again.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names


@dataclass
class StudyArgs:
    """Which runs of which file."""

    file: Annotated[Path, tyro.conf.Positional]
    """The TOML file."""
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Runs; none: all."""
    out: Path = Path("study")
    """Folder of the results, one for each run."""
    set: tuple[str, ...] = ()
    """NAME=VALUE of what the file leaves open in braces."""
    add: str = ""
    """Further options of all runs, e.g. "--seed 0 --episodes 2 --workers 8"."""
    dry_run: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the commands and check them; run nothing."""


def commands(args: StudyArgs) -> Iterator[tuple[str, list[str]]]:
    """Name and arguments of each run.

    Raises:
        ClevrSkillsError: The file is damaged, has no such run, or leaves something open.
    """
    try:
        data = tomllib.loads(args.file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ClevrSkillsError(f"{args.file}: {error}") from None
    runs: Mapping[str, Mapping[str, Any]] = data.get("run", {})
    check_names(run=(args.names, runs))
    known = dict(entry.partition("=")[::2] for entry in args.set)
    for name in args.names or runs:
        words = ["evaluate", "--out", str(args.out / name)]
        for option, value in {**data.get("all", {}), **runs[name]}.items():
            for each in value if isinstance(value, Sequence) and type(value) is list else [value]:
                words += [f"--{option.replace('_', '-')}", _filled(str(each), known, args.dry_run)]
        yield name, [*words, *shlex.split(args.add)]


def _filled(text: str, known: Mapping[str, str], dry: bool) -> str:
    """A text with what is known in place of names in braces.

    Raises:
        ClevrSkillsError: Something is open.
    """
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    if "{" in text and not dry:
        raise ClevrSkillsError(f"{text} is open; give it with --set")
    return text


def check(words: Sequence[str]) -> None:
    """Check the arguments of a run.

    Raises:
        ClevrSkillsError: One is not allowed.
    """
    from clevrskills.core.suite import load_suite
    from clevrskills.evaluation.arguments import EvaluateArgs

    run = tyro.cli(EvaluateArgs, args=words[1:])
    suite = load_suite(run.suite)
    check_names(
        level=(run.level, {*suite.levels().values()}),
        group=(run.group, suite.groups()),
        split=(run.split, suite.splits()),
        preset=([run.preset] if run.preset else [], suite.presets()),
        interface=([run.interface] if run.interface else [], suite.interfaces()),
    )


def main(args: StudyArgs) -> int:
    """Run the study.

    Returns:
        Exit code of the first command that failed; 0: none did.
    """
    done = []
    for name, words in commands(args):
        print(shlex.join(["clevrskills", *words]), flush=True)
        check(words)
        if not args.dry_run:
            code = subprocess.run([sys.executable, "-m", "clevrskills", *words]).returncode
            if code:
                return code
        done.append(str(args.out / name))
    report = ["report", *done, "--out", str(args.out / "report")]
    print(shlex.join(["clevrskills", *report]))
    if args.dry_run:
        return 0
    return subprocess.run([sys.executable, "-m", "clevrskills", *report]).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(tyro.cli(StudyArgs)))
    except ClevrSkillsError as error:
        sys.exit(f"lohoravens_study: {error}")
