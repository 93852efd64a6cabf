"""``clevrskills submission``: what is packed, what verifies, what is refused, what is run again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fabricated import result
from inline import one_worker_here

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.errors import UnknownNameError
from clevrskills.evaluation.env_pool import WorkerConfig
from clevrskills.evaluation.results import read_results
from clevrskills.evaluation.submission.command import run_again
from clevrskills.evaluation.submission.document import Submission, TaskOutcomes, read_submission
from clevrskills.evaluation.worker import Ended, Evaluator, Group

ROOT = Path(__file__).parents[3]
COUNT = 8
COMMAND = ["evaluate", "geoms", "tiles", "--suite", "ivispar", "--episodes", str(COUNT)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "greedy"
    with one_worker_here():
        assert main([*COMMAND, "--policy", "greedy", "--track", "none", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def packed(run: Path) -> Path:
    out = run.parent / "greedy.json"
    command = ["submission", "pack", str(run), "--name", "greedy", "--by", "us", "--out", str(out)]
    assert main(command) == 0
    return out


def test_outcomes_and_rates_are_those_of_the_run(run: Path, packed: Path) -> None:
    found, results = read_submission(packed), list(read_results(run))
    assert (found.name, found.by, found.track, found.suite) == ("greedy", "us", "none", "ivispar")
    assert set(found.tasks) == {"geoms_base", "tiles_base"}
    solved = {(r.task, r.index): r.success_at_end for r in results}
    for task in ("geoms", "tiles"):
        letters = found.tasks[f"{task}_base"].outcomes
        assert [letter == "1" for letter in letters] == [solved[task, k] for k in range(COUNT)]
    rate, low, high = found.rates["board base"]
    assert rate == pytest.approx(sum(solved.values()) / len(solved)) and low < rate <= high
    assert packed.stat().st_size < 5000
    worker = results[0].worker.split(":")[0]
    assert str(run) not in packed.read_text() and worker not in packed.read_text()


def test_it_verifies_and_the_sample_agrees(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submission", "verify", str(packed)]) == 0
    assert "in order; greedy, 16 episodes: board base" in capsys.readouterr().out
    sample = ["--sample", "16", "--policy", "greedy"]
    assert main(["submission", "verify", str(packed), *sample, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["again"]["episodes"] == 16 and told["again"]["differ"] == []
    assert told["again"]["claimed"] == told["again"]["now"]


def test_a_policy_that_does_not_do_it_contradicts(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["submission", "verify", str(packed), "--sample", "16", "--policy", "zero", "--json"]
    assert main(command) == 1
    again = json.loads(capsys.readouterr().out)["again"]
    assert again["now"] == 0 and again["contradicted"] and again["p"] < 0.01


def changed(packed: Path, out: Path, change: Callable[[dict[str, Any]], None], sign: bool) -> Path:
    """A copy with a change; ``sign``: with a digest that is right."""
    data = json.loads(packed.read_text())
    change(data)
    if sign:
        tasks = {name: TaskOutcomes(**of) for name, of in data["tasks"].items()}
        data["digest"] = Submission(**{**data, "tasks": tasks}).signed().digest
    out.write_text(json.dumps(data))
    return out


def test_it_is_run_again_as_it_was_shown(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    class Watched(Evaluator):
        def __init__(self, config: WorkerConfig) -> None:
            seen.append(config.policy.overrides)
            super().__init__(config)

    more = {"history": 3, "proprioception": False, "size_px": 64, "cameras": []}

    def change(data: dict[str, Any]) -> None:
        data["run"]["observation"].update(more)

    monkeypatch.setattr("clevrskills.evaluation.worker.Evaluator", Watched)
    other = changed(packed, tmp_path / "other.json", change, sign=True)
    sample = ["--sample", "4", "--policy", "greedy"]
    assert main(["submission", "verify", str(other), *sample]) == 0
    (shown,) = seen
    assert {name: shown[name] for name in more} == {**more, "cameras": ()}
    more["smell"] = True
    other = changed(packed, tmp_path / "other.json", change, sign=True)
    with pytest.raises(UnknownNameError, match="unknown setting of the observation 'smell'"):
        run_again(read_submission(other), 4, 0, "greedy")


def test_a_sample_may_be_of_tasks_with_different_splits(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Solves:
        def __init__(self, config: WorkerConfig) -> None: ...

        def __call__(self, group: Group) -> Ended:
            return Ended(
                tuple(result(r.task, r.index, True, split=r.split) for r in group.episodes)
            )

    monkeypatch.setattr("clevrskills.evaluation.worker.Evaluator", Solves)
    found = read_submission(packed)
    suite, all_solved = load_suite(), TaskOutcomes("", "", "11")
    tasks = {"pick_train": all_solved, "throw_train": all_solved, "sort_counts": all_solved}
    about = {"robot": "xarm6", "criteria": "paper", "interface": "delta"}
    other = replace(found, suite=suite.name, tasks=tasks, run={**found.run, **about})
    assert run_again(other, 6, 0, "zero")["now"] == 6


def better(data: dict[str, Any]) -> None:
    data["tasks"]["geoms_base"]["outcomes"] = "1" * COUNT
    data["tasks"]["tiles_base"]["outcomes"] = "0" * COUNT


def longer(data: dict[str, Any]) -> None:
    data["tasks"]["geoms_base"]["outcomes"] += "1"


def set_to(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        for name in path[:-1]:
            data = data[name]
        data[path[-1]] = value

    return change


CHANGES = {
    "a digest that is not its own": (set_to("track", value="open"), False, "digest is another"),
    "outcomes": (better, True, "rates are not those"),
    "rates": (set_to("rates", "board base", value=[1.0, 0.8, 1.0]), True, "rates are not those"),
    "more outcomes": (longer, True, "not the first 9"),
    "other episodes": (
        set_to("tasks", "geoms_base", "file", value="0" * 64), True, "not the frozen episodes"
    ),
    "chosen episodes": (
        set_to("tasks", "geoms_base", "episodes", value="0" * 64), True, "not the first 8"
    ),
    "another benchmark": (set_to("run", "benchmark", value=7), True, "version of the benchmark"),
    "another suite": (set_to("suite", value="os:path"), True, "unknown suite"),
    "another task": (
        lambda data: data["tasks"].update(cubes_base=data["tasks"].pop("tiles_base")),
        True,
        "has no cubes_base",
    ),
    "no track": (set_to("track", value=""), True, "no name or no track"),
    "no episodes": (set_to("tasks", value={}), True, "no episodes"),
    "another version": (set_to("version", value=2), True, "of version 2"),
    "another field": (set_to("extra", value=1), False, "other fields"),
    "other letters": (
        set_to("tasks", "geoms_base", "outcomes", value="11112222"), True, "not of 0 and 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_is_refused(
    name: str, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, sign, told = CHANGES[name]
    file = changed(packed, tmp_path / "changed.json", change, sign)
    assert main(["submission", "verify", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_fewer_episodes_of_one_task_are_refused(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clevrskills.evaluation.submission.document import episodes_hash, rates_of

    suite = load_suite("ivispar")

    def shorter(data: dict[str, Any]) -> None:
        of = data["tasks"]["tiles_base"]
        of["outcomes"] = of["outcomes"][:5]
        of["episodes"] = episodes_hash([e.content_hash for e in suite.frozen("tiles", "base")[:5]])
        tasks = {name: TaskOutcomes(**each) for name, each in data["tasks"].items()}
        data["rates"] = rates_of(tasks, suite)

    file = changed(packed, tmp_path / "shorter.json", shorter, True)
    assert main(["submission", "verify", str(file)]) == 2
    assert "its tasks have 5 to 8 episodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--seed", "3", "--track", "none"], "were drawn"),
        ([], "track"),
        (["--repeat", "2", "--track", "none"], "repeats episodes"),
    ],
)
def test_runs_that_cannot_be_handed_in(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["evaluate", "geoms", "--suite", "ivispar", "--episodes", "2", "--policy", "greedy"]
    with one_worker_here():
        assert main([*command, *options, "--out", str(out)]) == 0
    if not options:  # a policy of one's own does not say what it has learned from
        data = json.loads((out / "run.json").read_text())
        (out / "run.json").write_text(json.dumps({**data, "track": ""}))
    assert main(["submission", "pack", str(out)]) == 2
    assert told in capsys.readouterr().err
    assert not (out / "submission.json").exists()


def test_bad_input(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.json").write_text("no JSON")
    for command, told in (
        (["verify", str(tmp_path / "missing.json")], "there is no file"),
        (["verify", str(tmp_path / "text.json")], "is no submission"),
        (["verify", str(packed), "--name", "x"], "are for pack"),
        (["verify", str(packed), "--sample", "2"], "go together; the file says greedy"),
        (["pack", str(tmp_path), "--sample", "1"], "are for verify"),
        (["pack", str(tmp_path)], "no run"),
    ):
        assert main(["submission", *command]) == 2
        assert told in capsys.readouterr().err


def test_the_leaderboard_is_made_of_files_that_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    leaderboard_page = __import__("leaderboard_page")
    files = list(leaderboard_page.FOLDER.glob("*.json"))
    assert len(files) >= 5
    page = leaderboard_page.PAGE.read_text(encoding="utf-8")
    assert leaderboard_page.page() == page, "run python docs/draw.py leaderboard"
    assert all(read_submission(file).name in page for file in files)
