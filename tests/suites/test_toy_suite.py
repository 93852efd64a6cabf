"""A toy suite of symbols, in a distribution of its own: listed, frozen, evaluated, compared."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.evaluation.freeze import frozen
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.pool import InlinePool
from tests.support.foreign import installed

TOY = Path(__file__).parent / "toy_suite"
ROOT = Path(__file__).parents[2]
SUITE = "lamps:Lamps"
TASKS = ["lamps_one", "lamps_two"]


@pytest.fixture(scope="module", autouse=True)
def in_this_process() -> Iterator[None]:
    """All is done in this process, and nothing of the suite is left there."""
    with installed(TOY), pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        yield


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten frozen episodes of each task."""
    folder: Path = tmp_path_factory.mktemp("lamps") / "episodes"
    arguments = ["--suite", SUITE, "--episodes", "10", "--out", str(folder)]
    assert main(["freeze", *TASKS, *arguments]) == 0
    return folder


def evaluate(policy: str, episodes: Path, out: Path, *more: str) -> list:
    arguments = ["--policy", policy, "--suite", SUITE, "--episodes", "10"]
    folders = ["--frozen", str(episodes), "--out", str(out)]
    assert main(["evaluate", *TASKS, *arguments, *folders, *more]) == 0
    return list(read_results(out))


def test_a_suite_is_short() -> None:
    lines = (TOY / "lamps.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 60


def test_its_tasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--suite", SUITE, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["key"] for row in rows] == TASKS and rows[0]["interfaces"] == ["text"]


def test_episodes_are_frozen_with_their_limits(episodes: Path) -> None:
    head = frozen.header("lamps_two", "test", episodes)
    assert (head.suite, head.format_version, head.limits) == ("lamps", 2, (8,) * 10)
    assert 2 <= min(head.oracle_steps) and max(head.oracle_steps) <= 4
    suite = load_suite(SUITE, folder=episodes)
    spec = suite.frozen("lamps_two", "test")[3]
    assert suite.read_episode(json.loads(json.dumps(spec.to_json()))) == spec
    assert suite.draw("lamps_two", "test", spec.seed).content_hash == spec.content_hash


def test_the_oracle_solves_it_and_nobody_else_does_by_accident(
    episodes: Path, tmp_path: Path
) -> None:
    solved = evaluate("oracle", episodes, tmp_path / "oracle")
    assert len(solved) == 20 and all(r.success_once and r.goal_fraction == 1 for r in solved)
    assert all(r.steps == 0 and 1 <= r.turns <= 4 and not r.refused for r in solved)
    nothing = evaluate("zero", episodes, tmp_path / "zero")
    assert not any(r.success_once for r in nothing)
    assert all(r.codes == {"UNPARSABLE": 8} and r.refused == 8 for r in nothing)
    assert {(r.suite, r.interface, r.max_turns) for r in nothing} == {("lamps", "text", 8)}
    chance = evaluate("random", episodes, tmp_path / "random")
    assert 0 < sum(r.success_once for r in chance) < 20
    assert any(0 < r.goal_fraction < 1 for r in chance)  # plugged in, not switched on


class Reader:
    """Reads what it is told: plugs in what has no power."""

    def reset(self, prompt) -> None:
        self.wanted = prompt.text.removeprefix("Switch on: ").split(", ")

    def act(self, observation) -> str:
        turns, lamp = observation["turns"], self.wanted[0]
        assert observation["turn"] == len(turns)
        if turns and turns[-1]["message"] == f"Failure. The {lamp} lamp has no power.":
            return f"plug {lamp}"
        if turns and turns[-1]["action"] == f"switch {lamp}":
            self.wanted.pop(0)
            if not self.wanted:
                return "done"
        return f"switch {self.wanted[0]}"


def test_a_policy_is_told_of_its_turns_and_says_that_it_is_done(
    episodes: Path, tmp_path: Path
) -> None:
    policy = f"{__name__}:Reader"
    detailed = ("--feedback", "detailed", "--stop", "declared")
    results = evaluate(policy, episodes, tmp_path / "detailed", *detailed)
    assert all(r.success_once and r.cause == "success" for r in results)
    never = evaluate("random", episodes, tmp_path / "never", "--stop", "declared")
    assert all(r.cause == "no stop" and not r.success_once for r in never)
    on = evaluate("random", episodes, tmp_path / "on", "--stop", "limit")
    assert all(r.turns == 8 for r in on) and any(r.success_once for r in on)


def test_reports_and_comparisons(
    episodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [tmp_path / name for name in ("oracle", "zero")]
    for run in runs:
        evaluate(run.name, episodes, run)
    assert main(["compare", *map(str, runs)]) == 0
    assert "S2" in capsys.readouterr().out
    assert main(["report", *map(str, runs), "--out", str(tmp_path / "page")]) == 0
    assert "lamps_two" in (tmp_path / "page" / "tables.md").read_text()


@pytest.mark.slow
def test_it_is_found_by_its_entry_point(tmp_path: Path) -> None:
    """From another distribution, with nothing of the package edited."""
    about = tmp_path / "lamps_suite-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lamps-suite\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[clevrskills.suites]\nlamps = lamps:Lamps\n")
    path = os.pathsep.join([str(tmp_path), str(TOY), str(ROOT)])
    for command in (
        "suites",
        "freeze lamps_one --episodes 2 --out episodes",
        "evaluate lamps_one --policy oracle --episodes 2 --frozen episodes --out run --workers 2",
    ):
        run = subprocess.run(
            [sys.executable, "-m", "clevrskills", *command.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr[-2000:]
        assert "lamps" in run.stdout
