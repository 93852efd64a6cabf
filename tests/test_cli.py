"""Command line: help pages, errors in one line, closed output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from clevrskills.cli import COMMANDS, find_command, main

NAMES = [name for commands in COMMANDS.values() for name in commands]
MAX_GROUPS = 8
MAX_OPTIONS_OF_EVALUATE = 48


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clevrskills", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])


@pytest.mark.parametrize("name", NAMES)
def test_help(name: str) -> None:
    done = run(name, "--help")
    assert done.returncode == 0 and not done.stderr
    page = done.stdout
    groups = re.findall(r"^(\S.*):\n(?=  \S)", page, re.MULTILINE)
    assert "Options" in groups and len({*groups}) == len(groups) <= MAX_GROUPS
    assert "{None}" not in page and "default: None" not in page and "default: )" not in page
    options = re.findall(r"^  -.*", page, re.MULTILINE)
    explained = re.findall(r"^  -\S.*?(?:\n {10,}|  )(?=\S)", page, re.MULTILINE)
    assert len(options) == len(explained)
    if name == "evaluate":
        assert len(options) <= MAX_OPTIONS_OF_EVALUATE and len(groups) == MAX_GROUPS
        assert "--stop {goal,limit,declared}" in page and "(default: 60.0)" in page


def test_help_of_all_commands_needs_no_command() -> None:
    code = (
        "import sys; from clevrskills.cli import main; main(['--help']);"
        "others = ('torch', 'rich', 'clevrskills.evaluation', 'clevrskills.core');"
        "assert not {*others} & {*sys.modules}, {*others} & {*sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for heading, commands in COMMANDS.items():
        assert f"\n{heading}:\n" in done.stdout
        for name, (_, summary) in commands.items():
            assert f"  {name:12}{summary}\n" in done.stdout
    assert run().stdout == run("-h").stdout == done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "evalute",
            r"clevrskills: unknown command 'evalute'; did you mean evaluate\? allowed: doctor, .*",
        ),
        ("evaluate sort", ".* evaluate: the following .* are required: --policy, --out"),
        ("evaluate --look matte", ".* --look: invalid choice: 'matte' .*'soft', 'flat'.*"),
        ("evaluate --workers x", "clevrskills evaluate: --workers: invalid int .*: 'x'"),
        ("view d --out p --limt 3", r".* view: unknown option --limt; did you mean --limit\?"),
        ("card d e", "clevrskills card: unknown argument e; `clev.*` lists .*"),
        (
            "evaluate srot --policy zero --out o",
            r"clevrskills: unknown task 'srot'; did you mean sort\? allowed: m.*",
        ),
        (
            "evaluate geoms --policy zero --video 1 --out o",
            "clevrskills: geoms has no arm to film: .*",
        ),
        ("rl geom --suite ivispar --out o", r"clevrskills: unknown task .*; did you mean geoms\?"),
        (
            "evaluate geoms --suite clevrskills --policy zero --out o",
            "clevrskills: geoms is a task of suite ivispar, not of clevrskills",
        ),
        ("tasks --suite mine", "clevrskills: unknown suite 'mine'; allowed: .*"),
    ],
)
def test_bad_words(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(words.split())
    except SystemExit as error:
        code = error.code
    captured = capsys.readouterr()
    assert code == 2 and not captured.out
    assert re.fullmatch(f"{message}\n", captured.err), captured.err


@pytest.mark.parametrize(
    "words",
    [
        *("generate srot --out o", "freeze srot --out o", "play srot", "rl srot --out o"),
        *("evaluate srot --policy zero --out o", "robustness srot --policy zero --out o"),
    ],
)
def test_an_unknown_task_is_refused_before_a_simulator_is_imported(words: str) -> None:
    code = (
        "import sys; from clevrskills.cli import main; code = main(sys.argv[1:]);"
        "assert not {'torch', 'sapien', 'mani_skill'} & {*sys.modules}; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words.split()], capture_output=True)
    assert done.returncode == 2 and done.stderr.startswith(b"clevrskills: unknown task 'srot'")


@pytest.mark.parametrize("option", ["--clip", "--keep-going", "--no-stop-on-success", "--note"])
def test_options_that_are_gone(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "sort", "--policy", "zero", "--out", "x", option])
    assert f"unknown option {option}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unbuffered"), [("evaluate --help", ""), ("tasks --json", ""), ("--help", "1")]
)
def test_closed_output(words: str, unbuffered: str) -> None:
    command = [sys.executable, "-m", "clevrskills", *words.split()]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, env=environment) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in (0, 141)  # argparse itself is silent


def test_commands_are_found_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suites", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert {"clevrskills", "lohoravens", "ivispar", "asgardbench"} <= {*names}
    for name in NAMES:
        kind, function = find_command(name)
        assert kind.__doc__ and function.__name__ == name.replace("-", "_")
