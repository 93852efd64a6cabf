"""``clevrskills submission``: packing, verification, refusals, fresh episodes."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fabricated import result, write_run
from inline import one_worker_here

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.env_pool import EpisodeRef
from clevrskills.evaluation.policies import Zero
from clevrskills.evaluation.results import Run, read_results
from clevrskills.evaluation.submission.checks import numbers_of, rates_of
from clevrskills.evaluation.submission.document import (
    Submission,
    TaskOutcomes,
    read_submission,
)
from clevrskills.evaluation.submission.packing import pack
from clevrskills.evaluation.submission.verification import Verifier, transcribed, verify
from clevrskills.jobs.files import to_json

ROOT = Path(__file__).parents[3]
COUNT = 60
COMMAND = ["evaluate", "geoms", "--suite", "ivispar", "--preset", "text", "--split", "base"]
COMMAND += ["--episodes", str(COUNT), "--policy", "greedy"]
GREEDY = "clevrskills.suites.ivispar.board_policies:Greedy"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "greedy"
    with one_worker_here():
        assert main([*COMMAND, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def packed(run: Path) -> Path:
    out = run.parent / "greedy.json"
    command = ["submission", "pack", str(run), "--name", "greedy", "--by", "us", "--out", str(out)]
    assert main(command) == 0
    return out


def verified(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> tuple[int, Any]:
    """Exit code and printed data of a verification."""
    capsys.readouterr()
    with one_worker_here():
        code = main(["submission", "verify", str(file), *options, "--json"])
    text = capsys.readouterr().out
    return code, json.loads(text[text.index('{"') :])["verified"] if code < 2 else None


def test_outcomes_and_rates_are_those_of_the_run(run: Path, packed: Path) -> None:
    found, results = read_submission(packed), list(read_results(run))
    assert (found.name, found.by, found.suite) == ("greedy", "us", "ivispar")
    assert (found.track, found.trained_on) == ("none", "none")
    (cell,) = found.cells.values()
    solved = {r.index: r.success_at_end for r in results}
    letters = cell.tasks["geoms_base"].outcomes
    assert [letter == "1" for letter in letters] == [solved[k] for k in range(COUNT)]
    rate, low, high = cell.rates["solved"]
    assert rate == pytest.approx(sum(solved.values()) / COUNT) and low < rate <= high
    assert packed.stat().st_size < 5000 and cell.restarts == 0
    worker = results[0].worker.split(":")[0]
    assert str(run) not in packed.read_text() and worker not in packed.read_text()


def test_a_verification_is_recorded_and_repeated_by_its_seed(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submission", "verify", str(packed)]) == 0
    assert "valid, self-reported; greedy, 60 episodes: solved" in capsys.readouterr().out
    options = ["--policy", "greedy", "--fresh", "4"]
    record = tmp_path / "greedy.verified.json"
    code, first = verified(capsys, packed, *options, "--out", str(record))
    assert code == 0 and json.loads(record.read_text()) == first
    assert (first["fresh"], first["transcripts"], first["lost"]) == (4, 0, 0)
    assert first["badge"] == "fresh, weights held" and first["failed"] == []
    assert first["digest"] == read_submission(packed).digest
    _, second = verified(capsys, packed, *options)
    assert second["seed"] != first["seed"], "it is drawn anew each time"
    _, again = verified(capsys, packed, *options, "--seed", str(first["seed"]))
    assert again == first


def test_the_seed_decides_the_episodes(packed: Path, tmp_path: Path) -> None:
    found = read_submission(packed)
    (cell,) = found.cells
    drawn = []
    with one_worker_here():
        for k, seed in enumerate((5, 5, 6)):
            folder = tmp_path / str(k)
            folder.mkdir()
            fresh = Verifier(found, "zero", (), folder, seed).fresh(3)[cell]
            drawn.append({r.episode for r in fresh})
    assert drawn[0] == drawn[1] and not drawn[0] & drawn[2]
    frozen = {e.content_hash for e in load_suite("ivispar").frozen("geoms", "base")}
    assert not drawn[0] & frozen


def test_a_policy_finds_no_fresh_episodes_and_changes_no_results(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("clevrskills.evaluation.submission.verification")
    monkeypatch.setattr("secrets.token_hex", lambda size: "c0ffee")
    evaluate, seen = module.evaluate, []

    def evaluated(request: Any, before: None) -> Any:
        assert [path.name for path in tmp_path.iterdir()] == [request.config.root.name]
        assert request.config.held and all(ref.salt for ref in request.episodes)
        outcome = evaluate(request, before)
        found = [path for path in request.config.root.rglob("*") if path.is_file()]
        seen.extend(path.read_text() for path in found)
        for path in found:
            path.unlink()
        return outcome

    monkeypatch.setattr(module, "evaluate", evaluated)
    found = read_submission(packed)
    (cell,) = found.cells
    with one_worker_here():
        verifier = Verifier(found, "greedy", (), tmp_path, 5)
        results = verifier.fresh(3)[cell]
    assert len(results) == 3 and verifier.runs[cell].privileged
    assert any('"salt": ""' in text for text in seen) and not any("c0ffee" in t for t in seen)
    assert verifier.runs[cell].salt == ""


def fake_evaluation(
    monkeypatch: pytest.MonkeyPatch, solves: Callable[[EpisodeRef, str], bool], cell: str
) -> None:
    """Let the outcome of an episode follow from its name and the folder of its run."""

    def evaluate(
        self: Verifier, name: str, refs: list[EpisodeRef], folder: str, suite: Any
    ) -> list[Any]:
        self.runs[name] = Run("x", "x")
        return [result(r.task, r.index, solves(r, folder), split=r.split) for r in refs]

    monkeypatch.setattr(Verifier, "_evaluate", evaluate)


@pytest.mark.parametrize("kind", ["forged", "parrot", "honest"])
def test_forged_files_and_parrots_are_refused(
    kind: str, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def claim(data: dict[str, Any], cell: str) -> None:
        of = data["cells"][cell]["tasks"]["geoms_base"]
        of["outcomes"] = "".join("0" if k % 5 == 0 else "1" for k in range(COUNT))

    data = json.loads(packed.read_text())
    (cell,) = data["cells"]
    claim(data, cell)
    found = Submission.from_data(data)
    solves = {
        "forged": lambda ref, folder: False,
        "parrot": lambda ref, folder: not folder.startswith("fresh") and ref.index % 5 != 0,
        "honest": lambda ref, folder: ref.index % 5 != 0,
    }[kind]
    fake_evaluation(monkeypatch, solves, cell)
    with one_worker_here():
        record = verify(found, "zero", fresh=10)
    assert list(record.failed) == ([] if kind == "honest" else ["all"])


def test_a_policy_that_does_not_do_it_contradicts(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, record = verified(capsys, packed, "--policy", "zero", "--fresh", "30")
    assert code == 1 and record["failed"] == ["all"] and record["fresh_solved"] == 0
    code, record = verified(capsys, packed, "--policy", "zero", "--fresh", "0")
    assert (code, record["badge"], record["rates"]) == (0, "self-reported", {})


def changed(packed: Path, out: Path, change: Callable[[dict[str, Any]], None], sign: bool) -> Path:
    """A copy with a change; ``sign``: with a digest that is right."""
    data = json.loads(packed.read_text())
    (cell,) = data["cells"].values()
    change({**data, "cell": cell} if change in (better, longer, renamed) else data)
    if sign:
        data["digest"] = Submission.from_data(data).signed().digest
    out.write_text(json.dumps(data))
    return out


def better(data: dict[str, Any]) -> None:
    data["cell"]["tasks"]["geoms_base"]["outcomes"] = "1" * COUNT


def longer(data: dict[str, Any]) -> None:
    data["cell"]["tasks"]["geoms_base"]["outcomes"] += "1"


def renamed(data: dict[str, Any]) -> None:
    data["cell"]["tasks"]["cubes_base"] = data["cell"]["tasks"].pop("geoms_base")


def moved(data: dict[str, Any]) -> None:
    data["cells"]["../x"] = data["cells"].pop("text")


def set_to(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        for name in path[:-1]:
            data = next(iter(data["cells"].values())) if name == "cell" else data[name]
        data[path[-1]] = value

    return change


GEOMS = ("cell", "tasks", "geoms_base")
CHANGES = {
    "a digest that is not its own": (set_to("track", value="open"), False, "digest does not match"),
    "outcomes": (better, True, "rates do not match"),
    "rates": (set_to("cell", "rates", "solved", value=[1.0, 0.8, 1.0]), True, "rates do not"),
    "more outcomes": (longer, True, "not the first 61"),
    "other episodes": (set_to(*GEOMS, "file", value="0" * 64), True, "not the frozen episodes"),
    "chosen episodes": (set_to(*GEOMS, "episodes", value="0" * 64), True, "not the first 60"),
    "another benchmark": (set_to("cell", "run", "benchmark", value=7), True, "benchmark version"),
    "another suite": (set_to("suite", value="os:path"), True, "unknown suite"),
    "another task": (renamed, True, "has no cubes_base"),
    "laxer criteria": (
        set_to("cell", "run", "criteria", value="released"), True, "criteria released, not paper"
    ),
    "another end": (set_to("cell", "run", "stop", value="limit"), True, "stop limit, not goal"),
    "restarts": (set_to("cell", "restarts", value=3), True, "3 second starts"),
    "no track": (set_to("track", value=""), True, "no name or no track"),
    "an unknown track": (set_to("track", value="bananas"), True, "allowed: none, standard-100"),
    "an address that is code": (set_to("link", value="javascript:x()"), True, "allowed: http"),
    "an address that ends a link": (set_to("link", value="http://x/)<b>"), True, "allowed: http"),
    "a name of two lines": (set_to("name", value="a\nb"), True, "one line"),
    "no episodes": (set_to("cells", value={}), True, "no episodes"),
    "another version": (set_to("version", value=2), True, "has version 2"),
    "another field": (set_to("extra", value=1), False, "other fields"),
    "another setting": (set_to("cell", "run", "smell", value=1), True, "of a run 'smell'"),
    "a name that is a number": (set_to("name", value=3), True, "name=3; allowed: text"),
    "invented training": (set_to("trained_on", value="<b>"), True, "unknown value of --trained-on"),
    "another interface": (
        set_to("cell", "run", "interface", value="`<b>"), True, "unknown interface of geoms '`<b>'"
    ),
    "another robot": (set_to("cell", "run", "robot", value="arm"), True, "the robot is another"),
    "another look": (
        set_to("cell", "run", "observation", "look", value="raw"), True, "unknown look 'raw'"
    ),
    "settings that are a list": (set_to("cell", "run", value=[1]), True, "is no submission"),
    "restarts below 0": (set_to("cell", "restarts", value=-1), True, "restarts=-1; allowed"),
    "a cell that is a path": (moved, True, "'../x' is no name of a cell"),
    "another cell": (set_to("cell", "run", "protocol", value="view3d"), True, "no name of a cell"),
    "other letters": (set_to(*GEOMS, "outcomes", value="11112222"), False, "not all 0 or 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_changed_files_are_refused(
    name: str, packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, sign, printed = CHANGES[name]
    file = changed(packed, tmp_path / "changed.json", change, sign)
    assert main(["submission", "verify", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert printed in line


def test_verification_repeats_the_observation_options(packed: Path, tmp_path: Path) -> None:
    found = read_submission(packed)
    (cell,) = found.cells
    shown = {"history": 3, "proprioception": False, "size_px": 64, "cameras": ()}

    def other(more: dict[str, Any]) -> Submission:
        run = {**found.cells[cell].run}
        run["observation"] = {**run["observation"], **more}
        return replace(found, cells={cell: replace(found.cells[cell], run=run)})

    with one_worker_here():
        for name in "ab":
            (tmp_path / name).mkdir()
        verifier = Verifier(other(shown), "greedy", (), tmp_path / "a", 0)
        verifier.fresh(1)
        now = verifier.runs[cell].observation
        assert {name: now[name] for name in shown} == shown
        with pytest.raises(UnknownNameError, match="unknown setting of the observation 'smell'"):
            Verifier(other({"smell": True}), "greedy", (), tmp_path / "b", 0).fresh(1)


PICK = load_suite().frozen("pick", "test")
SHOWN = {"prompt": "multimodal"}


def own_run(root: Path, count: int = 4, tasks: tuple[str, ...] = ("pick",), **more: Any) -> Path:
    """A run of the package's own suite that never happened."""
    results, episodes = [], {}
    for task in tasks:
        frozen = load_suite().frozen(task, "test")
        episodes[f"{task}_test"] = frozen.content_hash
        results += [
            result(task, k, k % 2 == 0, split="test", episode=frozen[k].content_hash)
            for k in range(count)
        ]
    known = {"track": "standard-100", "trained_on": "L0", "benchmark": 1, "observation": SHOWN}
    return write_run(root, more.pop("results", results), episodes=episodes, **{**known, **more})


def test_a_number_needs_all_of_its_tasks(tmp_path: Path) -> None:
    (cell,) = pack(own_run(tmp_path / "a"), "a", "", "", "").cells.values()
    assert cell.rates == {}, "one of twelve tasks"
    suite = load_suite()
    names = numbers_of({"observation": SHOWN, "protocol": "test"}, suite, "L0")
    assert set(names) == {"L0", "L1+L2 zero-shot"} and len(names["L0"]) == 12
    tasks = {name: TaskOutcomes("", "", "10") for name in names["L0"]}
    run = {"observation": SHOWN, "protocol": "test"}
    assert [*rates_of(tasks, run, suite, "L0")] == ["L0"]
    words = numbers_of({**run, "observation": {"prompt": "language"}}, suite, "all")
    assert len(words["L0"]) < 12 and "L1+L2 trained" in words


def line(index: int, success: bool = True, **more: Any) -> Any:
    more = {"split": "test", "episode": PICK[index].content_hash, **more}
    return result("pick", index, success, **more)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"seed": 3}, "were sampled"),
        ({"axes": {"camera": 3}}, "perturbed"),
        ({"results": [line(0, split="train")]}, "no episodes of split test"),
        ({"criteria": "released"}, "criteria released, not paper"),
        ({"wording": "seen"}, "wording seen, not own"),
        ({"stop": "limit"}, "stop limit, not goal"),
        ({"track": "", "trained_on": ""}, "--track .none, standard-100"),
        ({"trained_on": ""}, "--trained-on .L0, L0.L1, all"),
        ({"results": [line(0), line(1, repeat=1)]}, "repeats episodes"),
        ({"results": [line(0), line(2)]}, "not the first 2"),
        ({"results": [line(0), line(0)]}, "pick_test_000 has 2 results"),
        ({"results": [line(0, None)]}, "ended in errors"),
        ({"results": [line(0, steps=0)]}, "solved without a step"),
        ({"results": [line(0, starts=4)]}, "3 second starts"),
    ],
)
def test_runs_that_cannot_be_handed_in(about: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        pack(own_run(tmp_path / "run", **about), "a", "", "", "")


def test_labels_can_be_given_when_a_run_is_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = own_run(tmp_path / "run", track="", trained_on="")
    command = ["submission", "pack", str(run), "--trained-on", "L0", "--track"]
    assert main([*command, "bananas"]) == 2
    assert "unknown track 'bananas'; allowed: none, standard-100" in capsys.readouterr().err
    assert not (run / "submission.json").exists()
    assert main([*command, "open (tea leaves), pretrained"]) == 0
    assert read_submission(run / "submission.json").track == "open (tea leaves), pretrained"
    assert main(["submission", "pack", str(own_run(tmp_path / "b")), "--track", "open"]) == 2
    assert "the run declares 'standard-100'" in capsys.readouterr().err


class Trained(Zero):
    """Declares what it was trained on."""

    trained_tasks = ("geoms",)


def test_a_declaration_that_contradicts_the_policy_is_refused(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "--trained-on L0: the policy was also trained on L1, L2"
    tasks = ["pick", "sort", "balance"]
    run = own_run(tmp_path / "run", trained_on="", trained_tasks=tasks)
    command = ["submission", "pack", str(run), "--trained-on"]
    assert main([*command, "L0"]) == 2 and said in capsys.readouterr().err
    assert main([*command, "all"]) == 0
    (cell,) = read_submission(run / "submission.json").cells.values()
    assert cell.run["trained_tasks"] == tasks
    with pytest.raises(ClevrSkillsError, match=said):
        pack(own_run(tmp_path / "declared", trained_tasks=tasks), "a", "", "", "")

    trained = set_to("cell", "run", "trained_tasks", value=["geoms"])
    file = changed(packed, tmp_path / "changed.json", trained, sign=True)
    assert main(["submission", "verify", str(file)]) == 2
    said = "--trained-on none: the policy was also trained on"
    assert said in capsys.readouterr().err


def test_a_verification_checks_the_declaration_against_the_policy(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrskills.core.policy_loader.PolicySource._isolated", lambda *_: None)
    said = "--trained-on none: the policy was also trained on"
    with one_worker_here(), pytest.raises(ClevrSkillsError, match=said):
        verify(read_submission(packed), f"{__name__}:Trained", fresh=1)


def test_earlier_runs_and_files_do_not_name_the_tasks(packed: Path, tmp_path: Path) -> None:
    run = own_run(tmp_path / "run")
    data = json.loads((run / "run.json").read_text())
    del data["trained_tasks"]
    (run / "run.json").write_text(json.dumps(data))
    assert pack(run, "a", "", "", "").trained_on == "L0"

    def earlier(data: dict[str, Any]) -> None:
        (cell,) = data["cells"].values()
        del cell["run"]["trained_tasks"]

    file = changed(packed, tmp_path / "earlier.json", earlier, sign=True)
    assert main(["submission", "verify", str(file)]) == 0


def test_restarted_episodes_of_a_run_that_accepts_them_are_failures(tmp_path: Path) -> None:
    results = [line(0, starts=5), line(1)]
    run = own_run(tmp_path / "run", results=results, accept_restarts=True)
    (cell,) = pack(run, "a", "", "", "").cells.values()
    assert cell.tasks["pick_test"].outcomes == "01" and cell.restarts == 4


def test_runs_of_a_benchmark_are_cells_of_one_file(tmp_path: Path) -> None:
    frozen = load_suite("lohoravens").frozen("pick_place_area", "test")
    about: dict[str, Any] = {"suite": "lohoravens", "robot": frozen.header.robot, "benchmark": 1}
    about |= {"episodes": {"pick_place_area_test": frozen.content_hash}, "observation": SHOWN}
    about |= {"interface": "pick_place", "track": "open", "trained_on": "all"}
    lines = [
        result("pick_place_area", k, True, split="test", episode=frozen[k].content_hash)
        for k in range(2)
    ]
    for name, noise in (("one", ""), ("two", "p40")):
        write_run(tmp_path / name, lines, noise=noise, **about)
    found = pack(tmp_path, "a", "", "", "")
    assert set(found.cells) == {"clean", "p40"} and found.cells["p40"].count == 2
    write_run(tmp_path / "two", lines, noise="p40", **{**about, "policy": "other:Policy"})
    with pytest.raises(ClevrSkillsError, match="clean and p40 are runs of different policies"):
        pack(tmp_path, "a", "", "", "")
    write_run(tmp_path / "three", lines, **about)
    with pytest.raises(ClevrSkillsError, match="several runs of clean"):
        pack(tmp_path, "a", "", "", "")


def test_language_models_state_model_and_settings(tmp_path: Path) -> None:
    usage = {"requests": 2, "prompt_tokens": 100, "completion_tokens": 7, "cost": 0.5}
    about = {
        "policy": "chat:https://example.org/v1",
        "policy_args": {"model": "some-model", "temperature": 0.2},
        "results": [line(0, usage=usage), line(1, usage=usage)],
    }
    (cell,) = pack(own_run(tmp_path / "run", **about), "a", "", "", "").cells.values()
    assert cell.model == {
        **{"model": "some-model", "date": "2026-01-02", "temperature": 0.2, "max_tokens": 4096},
        **{"requests": 4, "prompt_tokens": 200, "completion_tokens": 14, "cost": 1.0},
    }


def test_transcripts_are_scored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [*COMMAND[:-3], "3", "--policy", "chat:oracle", "--out", str(tmp_path / "run")]
    with one_worker_here():
        assert main(command) == 0
    found = pack(tmp_path / "run", "a", "", "", "")
    (cell,) = found.cells
    assert found.cells[cell].run["privileged"]
    named = {
        **found.cells[cell].run,
        "controller": "os:system",
        "controller_args": {"command": "ls"},
    }
    named_found = replace(found, cells={cell: replace(found.cells[cell], run=named)})
    assert transcribed(named_found, tmp_path / "run")[cell], "without the controller of the file"
    results = transcribed(found, tmp_path / "run")[cell]
    assert [r.success_at_end for r in results] == [True] * 3
    paths = sorted((tmp_path / "run" / "transcripts").iterdir())
    head, *turns = paths[0].read_text().splitlines()
    paths[0].write_text(f"{head}\n")  # nothing was said
    lost, *_ = transcribed(found, tmp_path / "run")[cell]
    assert not lost.success_at_end and len(turns) > 0
    same = {**found.cells[cell].run, "versions": {"torch": "2.0+cpu"}}
    here = replace(found, cells={cell: replace(found.cells[cell], run=same)})

    def evaluate(
        self: Verifier, name: str, refs: list[EpisodeRef], folder: str, suite: Any
    ) -> list[Any]:
        about = {key: same[key] for key in ("renderer", "versions")}
        self.runs[name] = Run("x", "x", cpu=cpu, **about)
        return [result(r.task, r.index, True, split=r.split) for r in refs]

    monkeypatch.setattr(Verifier, "_evaluate", evaluate)
    for cpu, refused in ((same["cpu"], ["transcripts"]), ("AuthenticAMD avx2", [])):  # noqa: B007
        with one_worker_here():
            record = verify(here, "zero", fresh=1, transcripts=tmp_path / "run")
        assert (list(record.failed), record.transcripts, record.lost) == (refused, 3, 1)
    paths[0].write_text(paths[1].read_text())
    with pytest.raises(ClevrSkillsError, match="is not a transcript of"):
        transcribed(found, tmp_path / "run")
    paths[0].unlink()
    with pytest.raises(ClevrSkillsError, match="no transcript of geoms_base_000"):
        transcribed(found, tmp_path / "run")


def test_code_and_secrets_are_named_by_the_verifier(packed: Path, tmp_path: Path) -> None:
    found = read_submission(packed)
    (name,) = found.cells

    def other(**more: Any) -> Submission:
        run = {**found.cells[name].run, **more}
        return replace(found, cells={name: replace(found.cells[name], run=run)})

    controlled = {"controller": "os:system", "controller_args": {"command": "ls"}}
    for of, controller in ((other(**controlled), ""), (found, "zero")):
        with pytest.raises(ClevrSkillsError, match="--controller"):
            Verifier(of, "zero", (), tmp_path, controller=controller)
    Verifier(other(policy_args={"chunk": 3, "prompt": {"few": [True, None]}}), "zero", (), tmp_path)
    for value in ("os:system", ["x"], {"api_key_env": "HOME"}):
        of = other(policy_args={"planner": value})
        with pytest.raises(ClevrSkillsError, match="repeat what you trust: --policy-arg 'planner="):
            Verifier(of, "zero", (), tmp_path)
        Verifier(of, "zero", ["planner=chat:oracle"], tmp_path)
    of = other(**controlled)
    with pytest.raises(ClevrSkillsError, match="--policy-arg 'controller.command="):
        Verifier(of, "zero", (), tmp_path, controller="zero")
    Verifier(of, "zero", ["controller.command=dir"], tmp_path, controller="zero")


def test_bad_input(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.json").write_text("no JSON")
    for command, printed in (
        (["verify", str(tmp_path / "missing.json")], "there is no file"),
        (["verify", str(tmp_path / "text.json")], "is no submission"),
        (["verify", str(packed), "--name", "x"], "--name is not for verify"),
        (["verify", str(packed), "--fresh", "2"], "--fresh needs --policy; the file names greedy"),
        (["pack", str(tmp_path), "--fresh", "1"], "--fresh is not for pack"),
        (["pack", str(tmp_path)], "no run"),
    ):
        assert main(["submission", *command]) == 2
        assert printed in capsys.readouterr().err


def test_the_leaderboard_is_made_of_files_that_verify(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    leaderboard_page = import_module("pages.leaderboard")
    page = leaderboard_page.PAGE.read_text(encoding="utf-8")
    assert leaderboard_page.page() == page, "run python docs/build.py leaderboard"
    assert page.count("\n| ") >= 9
    evil = "x](javascript:a()) | <script> `y`"
    found = read_submission(packed)
    found = replace(found, name=evil, note="a_b*", link="https://x.org/y").signed()
    (cell,), (of,) = found.cells, (found.cells.values())
    (tmp_path / "a.json").write_text(found.to_json())
    record = {"digest": found.digest, "failed": [], "badge": "fresh", "privileged": True}
    record["rates"] = {cell: {"solved": [0.5, 0.4, 0.6]}}
    (tmp_path / "a.verified.json").write_text(to_json(record))
    page = leaderboard_page.page(tmp_path)
    (row,) = (text for text in page.splitlines() if "https://x.org/y" in text)
    assert row.count("|") == page.splitlines()[page.splitlines().index(row) - 1].count("|")
    assert not any(bad in row for bad in ("<", "`", "](j", "_", "*"))
    own = 100 * of.rates["solved"][0]
    assert f"| 50.0 [40.0, 60.0], file {own:.1f} |" in row and "| fresh |" in row
    (tmp_path / "a.verified.json").write_text(to_json({**record, "digest": "x"}))
    with pytest.raises(ClevrSkillsError, match="of another file"):
        leaderboard_page.page(tmp_path)
