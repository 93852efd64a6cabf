"""A toy suite of symbols, in a distribution of its own: listed, frozen, evaluated, compared."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clevrskills.cli import main
from clevrskills.core.suite import Perturbable, load_suite, perturbed
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.report import tables
from clevrskills.evaluation.report.comparison import compare_runs
from clevrskills.evaluation.request import make_request
from clevrskills.evaluation.results import (
    EpisodeResult,
    open_evaluations,
    read_results,
    read_run,
)
from clevrskills.jobs.options import parse
from clevrskills.jobs.pool import InlinePool
from clevrskills.solvers.requirements import planner_obstacle
from tests.support.foreign import installed

TOY = Path(__file__).parent / "toy_suite"
ROOT = Path(__file__).parents[2]
SUITE, BRIGHT = "lamps:Lamps", "bright_lamps:BrightLamps"
TOWERS = "towers:Towers"
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


@pytest.mark.parametrize(("name", "most"), [("lamps.py", 65), ("towers.py", 80)])
def test_a_suite_is_short(name: str, most: int) -> None:
    lines = (TOY / name).read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) <= most


def test_a_suite_that_lacks_members_is_refused() -> None:
    with pytest.raises(ClevrSkillsError, match=r"suite HalfLamps lacks draw, frozen, make, tasks"):
        load_suite("half_lamps:HalfLamps")
    with pytest.raises(ClevrSkillsError, match=r"lamps:Room is not a suite"):
        load_suite("lamps:Room")


def test_unsupported_options_of_a_suite_are_refused(tmp_path: Path) -> None:
    suite = load_suite(SUITE)
    assert isinstance(load_suite(TOWERS), Perturbable) and not isinstance(suite, Perturbable)
    episode = suite.draw("lamps_one", "test", 0)
    assert perturbed(suite, episode, {}) is episode
    with pytest.raises(ClevrSkillsError, match="suite lamps has no axes"):
        perturbed(suite, episode, {"layout": 1})
    arguments = ["--suite", SUITE, "--import", str(tmp_path), "--out", str(tmp_path)]
    assert main(["freeze", "lamps_one", *arguments]) == 2


@pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))
def test_a_suite_with_an_arm_is_frozen_and_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", "--suite", TOWERS, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == ["Towers/TowerOfTwo-v1", "Towers/TowerOfThree-v1"]
    episodes, split = str(tmp_path / "episodes"), ["--split", "test", "--episodes", "1"]
    common = ["tower_of_two", "--suite", TOWERS, *split]
    assert main(["freeze", *common, "--out", episodes]) == 0
    run = ["--policy", "oracle", "--frozen", episodes, "--out", str(tmp_path / "run")]
    assert main(["evaluate", *common, *run]) == 0
    (result,) = read_results(tmp_path / "run")
    assert result.success_once and result.level == "T1"


def test_its_tasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--suite", SUITE, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["key"] for row in rows] == TASKS and rows[0]["interfaces"] == ["text"]


def test_episodes_are_frozen_with_their_limits(episodes: Path) -> None:
    suite = load_suite(SUITE, folder=episodes)
    head = suite.frozen("lamps_two", "test").header
    assert (head.suite, head.format_version, head.limits) == ("lamps", 1, (8,) * 10)
    assert 2 <= min(head.oracle_steps) and max(head.oracle_steps) <= 4
    spec = suite.frozen("lamps_two", "test")[3]
    assert suite.read_episode(json.loads(json.dumps(spec.to_json()))) == spec
    assert suite.draw("lamps_two", "test", spec.seed).content_hash == spec.content_hash


def test_the_oracle_solves_it_and_random_actions_do_not(episodes: Path, tmp_path: Path) -> None:
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
    """Reads the feedback: plugs in lamps without power."""

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


def test_a_policy_observes_its_turns_and_declares_the_end(episodes: Path, tmp_path: Path) -> None:
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


@pytest.fixture(scope="module")
def bright(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frozen episodes of the suite that has tags and measures."""
    folder: Path = tmp_path_factory.mktemp("bright") / "episodes"
    arguments = ["--suite", BRIGHT, "--episodes", "12", "--out", str(folder)]
    assert main(["freeze", *TASKS, *arguments]) == 0
    return folder


def run_bright(policy: str, bright: Path, out: Path, *more: str) -> list[EpisodeResult]:
    arguments = ["--policy", policy, "--suite", BRIGHT, "--frozen", str(bright), "--out", str(out)]
    assert main(["evaluate", *arguments, *more]) == 0
    return list(read_results(out))


def test_measures_tags_and_refusals_are_reported(
    bright: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = run_bright("random", bright, tmp_path / "run", "--all", "--json")
    assert len(results) == 24  # all that are frozen
    assert {tuple(r.tags) for r in results} == {("wanted", "powered", "colors")}
    printed = json.loads(capsys.readouterr().out)
    one = next(row for row in printed["tasks"] if row["task"] == "lamps_one")
    solved = [r for r in results if r.task == "lamps_one" and r.success_once]
    assert one["commands"] == sum(r.measures["commands"] for r in solved) / len(solved)
    assert one["commands_low"] < one["commands"] < one["commands_high"]
    assert one["lit_low"] < one["lit"] < one["lit_high"] <= 1.0 and one["turns"] > 1
    rows = {(row["tag"], row["value"]): row for row in printed["tags"]}
    assert {tag for tag, _ in rows} == {"wanted", "powered", "colors"}
    assert rows["wanted", "1"]["episodes"] == rows["wanted", "2"]["episodes"] == 12
    assert sum(rows["colors", lamp]["episodes"] for lamp in ("red", "green", "blue")) == 36
    (refused,) = printed["refused"]
    assert (refused["category"], refused["code"]) == ("state", "NO_POWER")
    assert refused["turns"] == sum(r.codes.get("NO_POWER", 0) for r in results)
    pivot = printed["pivot-wanted-powered"]
    assert sum(cell["episodes"] for cell in pivot) == 24

    out = tmp_path / "page"
    assert main(["report", str(tmp_path / "run"), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tags"] == printed["tags"]
    text = (out / "tables.md").read_text()
    for heading in ("By tag", "Success % by wanted and powered", "What was refused"):
        assert f"## {heading}\n" in text
    assert "| lamps lit % | commands |" in text and "| reward/step |" not in text
    assert "| Electrician | 97.5 |\n\nNot comparable with the numbers here. Other lamps." in text
    page = (out / "report.html").read_text()
    assert page.count('<table class="number heat">') == 1 and "--share: " in page
    assert {"tags.csv", "refused.csv", "pivot-wanted-powered.csv", "published-1.csv"} <= {
        path.name for path in out.iterdir()
    }


class Looker:
    """Observes the lamps."""

    def reset(self, prompt) -> None:
        """An episode begins."""

    def act(self, observation) -> str:
        assert observation["images"] == {}
        text = observation["views"]["text"]
        assert text.startswith(("red off, ", "red plugged in, ", "red on, "))
        assert not any(turn["message"] for turn in observation["turns"])
        return "switch red" if "red plugged in" in text else "plug red"


def test_views_presets_and_groups(bright: Path, tmp_path: Path) -> None:
    policy = f"{__name__}:Looker"
    results = run_bright(policy, bright, tmp_path / "a", "--group", "single", "--preset", "blind")
    assert {r.task for r in results} == {"lamps_one"} and {r.turns for r in results} == {8}
    run = read_run(tmp_path / "a")
    assert (run.feedback, run.stop, run.interface) == ("none", "limit", "text")
    assert run.observation["views"] == ["text"] and run.observation["cameras"] == []
    assert run.suite == BRIGHT
    more = ("lamps_one", "--preset", "blind", "--stop", "goal")  # what is given wins
    assert any(r.turns < 8 for r in run_bright(policy, bright, tmp_path / "b", *more))
    for wrong, message in (
        (("--view", "map"), "unknown view 'map'; allowed: text"),
        (("--view", "text", "--cameras", "top"), "--view and --cameras exclude each other"),
        (("--preset", "loud"), "unknown preset 'loud'; allowed: blind"),
        (("--group", "many"), "unknown group 'many'; allowed: single"),
        (("--seed", "1"), "--seed needs the number of episodes: give --episodes"),
    ):
        args = parse(EvaluateArgs, ["--policy", "zero", "--out", "o", "lamps_one", *wrong])
        with pytest.raises(ClevrSkillsError, match=re.escape(message)):
            make_request(args, load_suite(BRIGHT, folder=bright))


def test_episodes_are_repeated_with_other_draws_of_the_policy(bright: Path, tmp_path: Path) -> None:
    once = run_bright("random", bright, tmp_path / "once", "--all")
    thrice = run_bright("random", bright, tmp_path / "thrice", "--all", "--repeat", "3")
    assert len(thrice) == 3 * len(once)
    passing = dict.fromkeys(("policy_s", "env_s", "wall_s", "worker", "ended"), 0)
    first = [r for r in thrice if not r.repeat]
    assert [replace(r, **passing).to_json() for r in first] == [
        replace(r, **passing).to_json() for r in once
    ]
    assert "repeat" not in once[0].to_json() and thrice[1].id == "lamps_one_test_000_r1"
    assert len({(r.seed, r.episode) for r in thrice}) == len(once)  # the same starts
    turns = {name: [r.turns for r in thrice if r.repeat == name] for name in range(3)}
    assert turns[0] != turns[1] != turns[2]
    lines = (tmp_path / "thrice" / "results" / "local.jsonl").read_text().splitlines()
    assert [EpisodeResult.from_json(line).to_json() for line in lines] == lines
    # an episode counts once, however often it was run
    row = tables.task_rows(open_evaluations([tmp_path / "thrice"]))[0]
    assert (row.episodes, row.success_once.n) == (36, 12)
    runs = open_evaluations([tmp_path / "once", tmp_path / "thrice"])
    assert compare_runs(*runs).tasks[0].episodes == 12


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


def test_demonstrations_are_made_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demos"
    assert main(["generate", *TASKS, "--suite", SUITE, "--episodes", "3", "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["check", str(out), "--replay", "6", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["episodes"], report["replayed"], report["faults"]) == (6, 6, [])
    turns = Dataset(out).episode("lamps_two/test_00000000").turns
    assert set(turns["action"].str.split().str[0]) <= {"plug", "switch"}
    assert turns["success"].tolist() == [False] * (len(turns) - 1) + [True]
    chat = tmp_path / "chat"
    assert main(["export", str(out), "--to", "chat", "--out", str(chat)]) == 0
    first, *_ = (chat / "conversations.jsonl").read_text().splitlines()
    asked, replied = json.loads(first)["messages"][0], json.loads(first)["messages"][-1]
    assert "Switch on:" in asked["content"] and replied["content"] in set(
        Dataset(out)[0].turns["action"]
    )
    page = tmp_path / "page.html"
    assert main(["view", str(out), "--out", str(page)]) == 0
    assert all(action in page.read_text() for action in Dataset(out)[0].turns["action"])
    assert main(["view", str(out), "--out", str(tmp_path / "folder")]) == 0
    assert len([*(tmp_path / "folder/episodes").rglob("*.html")]) == 6
    assert main(["export", str(out), "--to", "ivispar", "--out", str(tmp_path / "boards")]) == 2
    assert not (tmp_path / "boards").exists()
    assert main(["card", str(out)]) == 0
    card = (out / "README.md").read_text()
    turns = sum(len(episode.turns) for episode in Dataset(out))
    assert f"| turns | {turns} |" in card and "robot" not in card
    sets = json.loads((out / "croissant.json").read_text())["recordSet"]
    columns = {f["name"].removeprefix("turns/") for s in sets[1:] for f in s["field"]}
    assert len(columns) > 10 and columns <= set(Dataset(out)[0].turns.columns)
