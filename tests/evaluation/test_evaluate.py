"""``clevrskills evaluate`` on a fake suite: the same results whoever makes them, errors apart."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from fake_suite import FakeEnv, FakeSuite

from clevrskills.core.interface import Turn
from clevrskills.core.suite import find_interface
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation import modes
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.report.command import ReportArgs, report
from clevrskills.evaluation.report.tables import numbers, records, task_rows
from clevrskills.evaluation.results import EpisodeResult, open_evaluations, read_results, read_run
from clevrskills.evaluation.rollout import PolicyRollout
from clevrskills.jobs.options import parse
from clevrskills.jobs.pool import InlinePool
from clevrskills.sim.render.vulkan import renderer

HERE = Path(__file__).parents[1] / "support"
PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts", "later")
"""What may differ between runs."""


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


def args_for(root: Path, policy: str = "fake_policies:Wanderer", **more: object) -> EvaluateArgs:
    given = {"policy": policy, "tasks": ("reach", "visit"), "episodes": 4, "out": root, **more}
    return EvaluateArgs(**given)  # type: ignore[arg-type]


def core(root: Path) -> list[dict]:
    """All that must not depend on who made it, nor when."""
    return [{k: v for k, v in asdict(r).items() if k not in PASSING} for r in read_results(root)]


def result(root: Path, name: str) -> EpisodeResult:
    return next(r for r in read_results(root) if r.id == name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """The results of an undisturbed run of ``Wanderer`` in this process."""
    root = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        assert evaluate(args_for(root), FakeSuite()) == 0
    results = core(root)
    assert len(results) == 16
    assert len({r["success_once"] for r in results}) == 2, "some fail, some succeed"
    return results


# --- results and metrics


@pytest.mark.usefixtures("inline")
def test_metrics_and_printed_summary(
    tmp_path: Path, whole: list[dict], capsys: pytest.CaptureFixture
) -> None:
    assert evaluate(args_for(tmp_path, json=True, label="W"), FakeSuite()) == 0
    for r in whole:
        assert r["level"] == {"reach": "L0", "visit": "L1"}[r["task"]]
        assert r["seed"] == 100 + r["index"]
        assert r["episode"] == f"hash of {r['task']} {r['split']} {r['seed']}"
        assert r["success_once"] == r["success_at_end"] == (r["cause"] == "success")
        assert r["cause"] in ("success", "step limit") and r["max_steps"] == 40
        assert (r["steps"] < 40) or not r["success_once"]
        assert r["depth_of"] == 2 and r["goal_fraction"] == r["depth"] / 2 == r["progress"]
        assert r["success_once"] == (r["depth"] == 2)
    one = result(tmp_path, "reach_test_002")
    assert one.policy_s > 0 and one.wall_s >= one.policy_s + one.env_s and one.worker and one.ended
    printed = json.loads(capsys.readouterr().out)
    assert printed["rule"].startswith("Episodes end when the goal holds")
    reach = next(r for r in printed["tasks"] if (r["task"], r["split"]) == ("reach", "train"))
    assert reach["episodes"] == 4 and reach["errors"] == 0
    assert reach["success_once_low"] < reach["success_once_high"]
    run = read_run(tmp_path)
    assert (run.policy, run.label) == ("fake_policies:Wanderer", "W")
    assert run.episodes["reach_test"] == "reach test 1" and len(run.episodes) == 4
    assert run.observation["cameras"] == [] and run.renderer == ""
    assert run.versions["clevrskills"]


@pytest.mark.usefixtures("inline")
def test_tracks(tmp_path: Path) -> None:
    learned = "fake_policies:Learned"
    cases = [
        ("zero", "", "none"),
        ("fake_policies:Wanderer", "", ""),
        (learned, "", "standard-100"),
    ]
    cases += [("fake_policies:Wanderer", "standard-1000", "standard-1000")]
    for k, (policy, given, track) in enumerate(cases):
        root = tmp_path / str(k)
        args = args_for(root, policy, track=given, tasks=("reach",), episodes=1)
        assert evaluate(args, FakeSuite()) == 0
        assert read_run(root).track == track
        (row, *_) = records(numbers(task_rows(open_evaluations([root]))))
        assert row["track"] == track
    args = args_for(tmp_path / "x", learned, track="standard-1000", tasks=("reach",), episodes=1)
    with pytest.raises(ClevrSkillsError, match="the policy declares 'standard-100'"):
        evaluate(args, FakeSuite())
    named = args_for(tmp_path / "1", "fake_policies:Wanderer", tasks=("reach",), episodes=1)
    assert evaluate(replace(named, track="open"), FakeSuite()) == 0, "a label can be given later"
    assert read_run(tmp_path / "1").track == "open"
    for track, described in (
        ("none", "made with track open, not none"),
        ("bananas", "unknown track"),
    ):
        with pytest.raises(ClevrSkillsError, match=described):
            evaluate(replace(named, track=track), FakeSuite())


@pytest.mark.usefixtures("inline")
def test_what_a_policy_was_trained_on_is_recorded_and_checked(tmp_path: Path) -> None:
    learned, said = "fake_policies:Learned", "--trained-on L0: the policy was also trained on L1"
    args = args_for(tmp_path / "run", learned, tasks=("reach",), episodes=1)
    for declared in ({"trained_on": "L0"}, {"trained_on": "none"}):
        with pytest.raises(ClevrSkillsError, match="the policy was also trained on"):
            evaluate(args, FakeSuite(), declared)
    assert not args.out.exists()
    assert evaluate(args, FakeSuite()) == 0
    assert read_run(args.out).trained_tasks == ["reach", "visit"]
    with pytest.raises(ClevrSkillsError, match=said):  # finished, so the policy is not made
        evaluate(args, FakeSuite(), {"trained_on": "L0"})
    assert read_run(args.out).trained_on == ""

    path = args.out / "run.json"
    before = json.loads(path.read_text())
    del before["trained_tasks"]  # an earlier file
    path.write_text(json.dumps(before))
    assert read_run(args.out).trained_tasks == []
    more = replace(args, tasks=("reach", "visit"))
    with pytest.raises(ClevrSkillsError, match=said):
        evaluate(more, FakeSuite(), {"trained_on": "L0"})
    assert evaluate(more, FakeSuite(), {"trained_on": "all"}) == 0
    assert read_run(args.out).trained_tasks == ["reach", "visit"]
    unknown = args_for(tmp_path / "unknown", tasks=("reach",), episodes=1)
    assert evaluate(unknown, FakeSuite(), {"trained_on": "L0"}) == 0, "it declares nothing"
    assert read_run(unknown.out).trained_tasks == []


@pytest.mark.usefixtures("inline")
def test_sampled_episodes_that_may_be_those_of_training(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    def said(name: str, policy: str = "fake_policies:Wanderer", **more: object) -> tuple[int, bool]:
        """How often it is said while running, and whether the data say it."""
        args = args_for(tmp_path / name, policy, tasks=("reach",), episodes=1, json=True, **more)
        assert evaluate(args, FakeSuite()) == 0
        printed = capsys.readouterr()
        warnings = json.loads(printed.out)["warnings"]
        found = [line for line in warnings if "may have been trained on the sampled train" in line]
        assert all("use --seed 900000000." in line for line in found)
        return printed.err.count("use --seed 900000000."), bool(found)

    assert said("drawn", seed=0, split=("train", "test")) == (1, True)
    assert said("drawn", seed=0, split=("train", "test")) == (0, True), "it goes on"
    assert said("later", seed=900_000_000, split=("train",)) == (0, False)
    assert said("others", seed=0, split=("test",)) == (0, False)
    assert said("frozen", split=("train",)) == (0, False)
    assert said("untrained", "zero", seed=0, split=("train",)) == (0, False)
    assert report(ReportArgs(runs=(tmp_path / "drawn",), out=tmp_path / "page")) == 0
    assert "may have been trained on the sampled train episodes" in capsys.readouterr().out


@pytest.mark.usefixtures("inline")
def test_going_on_after_success(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert evaluate(args_for(tmp_path, stop="limit"), FakeSuite()) == 0
    results = list(read_results(tmp_path))
    assert {r.steps for r in results} == {40}
    assert any(r.success_once for r in results)
    assert all(r.cause == ("success" if r.success_at_end else "step limit") for r in results)
    assert (
        "Episodes continue for 40 control steps, also after the goal held."
        in capsys.readouterr().out
    )
    assert not read_run(tmp_path).stop_on_success


@pytest.mark.usefixtures("inline")
def test_built_in_policies(tmp_path: Path) -> None:
    assert evaluate(args_for(tmp_path / "zero", "zero"), FakeSuite()) == 0
    assert {(r.cause, r.steps) for r in read_results(tmp_path / "zero")} == {("step limit", 40)}
    assert evaluate(args_for(tmp_path / "random", "random"), FakeSuite()) == 0
    assert evaluate(args_for(tmp_path / "again", "random", batch=3), FakeSuite()) == 0
    assert core(tmp_path / "random") == core(tmp_path / "again")
    rewards = [r.total_reward for r in read_results(tmp_path / "random")]
    assert len(set(rewards)) == len(rewards)


@pytest.mark.usefixtures("inline")
def test_actions_out_of_range_are_clipped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    wide = "fake_policies:Wide"
    args = args_for(tmp_path / "wide", wide, tasks=("reach",), stop="limit")
    assert evaluate(args, FakeSuite()) == 0
    warning = (
        "Warning: 50.0 % of the actions of fake_policies:Wide were outside [-1, 1] and "
        "clipped; "
        "largest absolute values: vacuum 1.03."
    )
    assert warning in " ".join(capsys.readouterr().out.split())
    for one in read_results(tmp_path / "wide"):
        assert one.clipped == 0.5 and one.greatest["vacuum"] == 1.03 > one.greatest["x"] > 0
        assert [*one.greatest] == [*find_interface(FakeSuite()).labels]
    assert read_run(tmp_path / "wide").clip
    assert report(ReportArgs(runs=(tmp_path / "wide",))) == 0
    assert warning in capsys.readouterr().out
    for name in ("tables.md", "report.html"):
        assert warning in (tmp_path / "wide" / "report" / name).read_text()
    args = args_for(tmp_path / "near", wide, policy_arg=("beyond=1.008",))  # rounded
    assert evaluate(args, FakeSuite()) == 0 and "Warning" not in capsys.readouterr().out
    assert {one.clipped for one in read_results(tmp_path / "near")} == {0.0}
    args = args_for(tmp_path / "strict", wide, strict_actions=True)
    with pytest.raises(ClevrSkillsError, match=r"entry 6 of an action is -1.03; allowed: -1 to 1"):
        evaluate(args, FakeSuite())  # of the first three episodes, too


@pytest.mark.usefixtures("inline")
def test_chunks(tmp_path: Path) -> None:
    """Executing one action of each chunk is like giving one; executing all is not."""
    arguments = ("chunk=5",)
    for name, chunk in (("one", 1), ("two", 2), ("all", None), ("five", 5)):
        args = args_for(tmp_path / name, policy_arg=arguments, chunk=chunk)
        assert evaluate(args, FakeSuite()) == 0
    assert evaluate(args_for(tmp_path / "none"), FakeSuite()) == 0
    assert core(tmp_path / "one") == core(tmp_path / "none")
    assert core(tmp_path / "five") == core(tmp_path / "all") != core(tmp_path / "two")
    assert read_run(tmp_path / "two").chunk == 2
    assert read_run(tmp_path / "two").policy_args == {"chunk": 5}


@pytest.mark.usefixtures("inline")
def test_drawn_episodes(tmp_path: Path) -> None:
    assert evaluate(args_for(tmp_path, seed=102, robot="panda"), FakeSuite()) == 0
    assert result(tmp_path, "visit_test_00000103").index == 1
    frozen = args_for(tmp_path / "frozen")
    assert evaluate(frozen, FakeSuite()) == 0
    ids = [{r.id for r in read_results(root)} for root in (tmp_path, frozen.out)]
    assert not ids[0] & ids[1], "a drawn episode is never named as a frozen one"
    run = read_run(tmp_path)
    assert (run.seed, run.robot, run.episodes) == (102, "panda", {})


@pytest.mark.usefixtures("inline")
def test_images_are_rendered_only_for_observations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are those of a runner that takes the images of every state."""
    taken, capture, step = list[str](), FakeEnv.capture, PolicyRollout.step

    def counted(env: FakeEnv) -> dict:
        taken.append(name)
        return capture(env)

    def looking(rollout: PolicyRollout, action: object) -> Turn:
        turn = step(rollout, action)
        if len(rollout._actions) >= rollout._history and not rollout.ended:
            rollout._look()
        return turn

    monkeypatch.setattr(FakeEnv, "capture", counted)
    for name in ("one", "chunks", "all"):
        chunk = 1 if name == "one" else 8
        args = args_for(
            tmp_path / name, "fake_policies:Onlooker", policy_arg=(f"chunk={chunk}",), size=8
        )
        if name == "all":
            monkeypatch.setattr(PolicyRollout, "step", looking)
        assert evaluate(args, FakeSuite()) == 0
    assert core(tmp_path / "chunks") == core(tmp_path / "all")
    assert taken.count("chunks") < 0.6 * taken.count("all")
    run = read_run(tmp_path / "one")
    assert run.observation == {
        "cameras": ["hand_camera"],
        "size_px": 8,
        "history": 3,
        "proprioception": True,
        "prompt": "multimodal",
        "views": None,
        "look": "soft",
        "prompt_images": None,
    }
    assert run.renderer == renderer("soft")


# --- the same whoever makes it


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("policy", ["Wanderer", "Crowd", "make_wanderer"])
@pytest.mark.parametrize("batch", [1, 3, 4])
def test_the_same_in_any_batch(tmp_path: Path, whole: list[dict], policy: str, batch: int) -> None:
    args = args_for(tmp_path, f"fake_policies:{policy}", batch=batch)
    assert evaluate(args, FakeSuite()) == 0
    assert core(tmp_path) == whole


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("shards", [2, 4])
def test_the_same_in_shards_and_another_order(
    tmp_path: Path, whole: list[dict], shards: int
) -> None:
    for shard in reversed(range(shards)):
        args = args_for(tmp_path, shard=f"{shard}/{shards}", batch=2, tasks=("visit", "reach"))
        assert evaluate(args, FakeSuite()) == 0
    assert core(tmp_path) == whole
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == [f"shard-{k}-of-{shards}.jsonl" for k in range(shards)]
    assert evaluate(args_for(tmp_path), FakeSuite()) == 0  # nothing is missing
    assert not (tmp_path / "results/local.jsonl").exists()


@pytest.mark.slow
def test_the_same_by_several_workers_of_which_one_is_killed(
    tmp_path: Path, whole: list[dict]
) -> None:
    arguments = (f'trouble="kill once {tmp_path / "killed"}"', 'at="visit_train_001"')
    args = args_for(
        tmp_path / "run", "fake_policies:Troubled", policy_arg=arguments, workers=3, batch=2
    )
    assert evaluate(args, FakeSuite()) == 0
    assert (tmp_path / "killed").exists()
    assert core(tmp_path / "run") == whole


@pytest.mark.slow
def test_the_same_on_ray(
    tmp_path: Path, whole: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    root = tmp_path / "run"
    assert evaluate(args_for(root, driver="ray", workers=2, batch=2), FakeSuite()) == 0
    assert core(root) == whole
    assert [path.name for path in (root / "results").iterdir()] == ["ray.jsonl"]


@pytest.mark.slow
def test_the_same_after_the_run_was_killed(tmp_path: Path, whole: list[dict]) -> None:
    root = tmp_path / "run"
    script = tmp_path / "script.py"
    script.write_text(
        f"import secrets, sys; sys.path[:0] = [{str(HERE)!r}, {str(HERE.parents[1])!r}]\n"
        "secrets.token_hex = lambda nbytes=None: ''\n"  # without a salt, as here
        "from pathlib import Path\n"
        "from fake_suite import FakeSuite\n"
        "from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate\n"
        "if __name__ == '__main__':\n"
        "    args = EvaluateArgs(policy='fake_policies:Wanderer', tasks=('reach', 'visit'),\n"
        f"        episodes=4, out=Path({str(root)!r}), workers=2)\n"
        "    evaluate(args, FakeSuite())\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.DEVNULL, start_new_session=True
    )
    while not (root / "results").exists() or len(list(read_results(root))) < 5:
        assert process.poll() is None, "ended too early"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    made = {r.id: r.ended for r in read_results(root)}
    assert 5 <= len(made)
    assert evaluate(args_for(root), FakeSuite()) == 0
    assert core(root) == whole
    ended = {r.id: r.ended for r in read_results(root)}
    assert {name: ended[name] for name in made} == made  # none is done twice


@pytest.mark.usefixtures("inline")
def test_continuing(tmp_path: Path, whole: list[dict]) -> None:
    assert evaluate(args_for(tmp_path, episodes=2, tasks=("visit",)), FakeSuite()) == 0
    before = {r.id: r.ended for r in read_results(tmp_path)}
    assert len(before) == 4
    assert evaluate(args_for(tmp_path, split=("test",)), FakeSuite()) == 0
    assert evaluate(args_for(tmp_path), FakeSuite()) == 0
    assert core(tmp_path) == whole
    after = {r.id: r.ended for r in read_results(tmp_path)}
    assert {name: after[name] for name in before} == before
    assert len(read_run(tmp_path).episodes) == 4


# --- errors


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(
    ("kind", "message", "batch"),
    [
        ("raise", "ValueError: a bug in the policy (fake_policies.py:", 1),
        ("deep", "JSONDecodeError: Expecting property name", 1),
        ("exit", "it exits the process", 1),
        ("size", "an action of shape (6,); allowed: (7,) or (H, 7)", 2),
        ("chunk", "an action of shape (2, 3, 7); allowed: (7,) or (H, 7)", 1),
        ("empty", "no action: the chunk is empty", 1),
        ("nan", "entry 0 of an action is nan, not a number", 2),
        ("large", "of an action is ", 1),
        ("words", "an action of type str; allowed: numbers (7,) or (H, 7)", 1),
        ("odd", "an action that cannot be read: RuntimeError: no array (fake_policies.py:", 1),
        ("late", "no action within 60 s", 1),
    ],
)
def test_errors_of_the_policy_are_failures(
    tmp_path: Path,
    whole: list[dict],
    capsys: pytest.CaptureFixture,
    kind: str,
    message: str,
    batch: int,
) -> None:
    arguments = (f'trouble="{kind}"', 'at="reach_train_002"')
    args = args_for(tmp_path, "fake_policies:Troubled", policy_arg=arguments, batch=batch)
    args.strict_actions = kind == "large"
    assert evaluate(args, FakeSuite()) == 0
    printed, trace = capsys.readouterr(), tmp_path / "errors/reach_train_002.txt"
    bad = result(tmp_path, "reach_train_002")
    assert (bad.cause, bad.starts, bad.counts, bad.success_once) == ("policy error", 1, True, False)
    assert message in bad.error and bad.steps == 2 and bad.episode
    if kind in ("raise", "deep", "odd", "late"):
        assert kind == "late" or "(fake_policies.py:" in bad.error  # not where the library raised
        line = f"policy fake_policies:Troubled, episode reach_train_002: {bad.error}; traceback in"
        assert f"{line} {trace}\n" in printed.err
        assert "fake_policies.py" in trace.read_text()
    assert "policy errors" in printed.out and "restarts" not in printed.out
    good = [r for r in core(tmp_path) if r["cause"] != "policy error"]
    assert good == [
        r for r in whole if (r["task"], r["split"], r["index"]) != ("reach", "train", 2)
    ]
    assert evaluate(args, FakeSuite()) == 0  # it is not done again
    assert len((tmp_path / "results/local.jsonl").read_text().splitlines()) == 16


@pytest.mark.usefixtures("inline")
def test_an_error_after_the_goal_held_is_a_failure(tmp_path: Path) -> None:
    arguments = ('trouble="raise"', "after=35")
    args = args_for(tmp_path, "fake_policies:Troubled", policy_arg=arguments, stop="limit")
    with pytest.raises(ClevrSkillsError, match="^3 consecutive episodes ended in errors"):
        evaluate(args, FakeSuite())
    assert evaluate(args, FakeSuite()) == 0
    assert {r.success_once for r in read_results(tmp_path)} == {False}


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("kind", ["raise", "missing", "nan", "lost"])
def test_errors_in_a_batch(tmp_path: Path, whole: list[dict], kind: str) -> None:
    """What the policy raises fails all episodes in which it was acting; a bad action, its own."""
    from fake_suite import FakeEpisode

    from clevrskills.evaluation.rollout import policy_seed

    seed = policy_seed(FakeEpisode("reach", "test", 1, 101))  # type: ignore[arg-type]
    arguments = (f"trouble={kind}", f"at_seed={seed}")
    args = args_for(tmp_path, "fake_policies:Crowd", policy_arg=arguments, batch=2)
    if kind == "lost":  # whoever acted for them, their connection was lost for good
        with pytest.raises(ClevrSkillsError, match="3 starts had no result, and only 2 second"):
            evaluate(args, FakeSuite())
        assert {r.cause for r in read_results(tmp_path) if not r.counts} == {"error"}
        return
    assert evaluate(args, FakeSuite()) == 0
    messages = {"raise": "ValueError: a bug", "missing": "no action for slot", "nan": "is nan"}
    bad = [r for r in read_results(tmp_path) if r.cause == "policy error"]
    assert all(messages[kind] in r.error for r in bad)
    expected = [0, 1] if kind == "raise" else [1]
    assert [(r.task, r.split, r.index) for r in bad] == [("reach", "test", k) for k in expected]
    good = [r for r in core(tmp_path) if r["cause"] != "policy error"]
    assert all(r in whole for r in good) and len(good) == 16 - len(expected)


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(("policy", "batch"), [("Troubled", 1), ("Crowd", 3)])
def test_a_policy_that_always_breaks_down_stops_the_run(
    tmp_path: Path, policy: str, batch: int
) -> None:
    if policy == "Crowd":
        arguments: tuple[str, ...] = ('trouble="raise"', "at_seed=null")
        path = "fake_policies:AngryCrowd"
    else:
        arguments, path = ('trouble="raise"',), "fake_policies:Troubled"
    args = args_for(tmp_path, path, policy_arg=arguments, batch=batch, episodes=8)
    with pytest.raises(ClevrSkillsError) as error:
        evaluate(args, FakeSuite())
    assert "3 consecutive episodes ended in errors, the last one: policy fake_p" in str(error.value)
    assert ", episode " in str(error.value) and "ValueError: a bug" in str(error.value)
    assert len(list(read_results(tmp_path))) == 3
    assert evaluate(args, FakeSuite()) == 0  # the three stay, and the others follow
    assert {(r.cause, r.starts) for r in read_results(tmp_path)} == {("policy error", 1)}
    assert len((tmp_path / "results/local.jsonl").read_text().splitlines()) == 32


@pytest.mark.usefixtures("inline")
def test_giving_up_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    arguments = ('trouble="give up"', 'at="reach_train_002"')
    args = args_for(tmp_path, "fake_policies:Troubled", policy_arg=arguments)
    assert evaluate(args, FakeSuite()) == 0
    bad = result(tmp_path, "reach_train_002")
    assert (bad.cause, bad.reason, bad.error, bad.steps) == ("gave up", "too far", "", 2)
    assert bad.counts and not bad.success_once


@pytest.mark.usefixtures("inline")
def test_an_environment_that_breaks_down(tmp_path: Path) -> None:
    for starts in (1, 2):
        with pytest.raises(ClevrSkillsError, match="^1 of 16 episodes ended without a result"):
            evaluate(args_for(tmp_path), FakeSuite(("visit_test_001",)))
        bad = result(tmp_path, "visit_test_001")
        assert bad.error.startswith("the environment failed: RuntimeError: device lost (")
        assert (bad.cause, bad.starts, bad.counts) == ("error", starts, False)
    assert sum(r.counts for r in read_results(tmp_path)) == 15
    assert evaluate(args_for(tmp_path), FakeSuite()) == 0
    assert result(tmp_path, "visit_test_001").starts == 3


@pytest.mark.slow
def test_a_worker_that_dies_and_one_that_does_not_come_back(
    tmp_path: Path, whole: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watchdog ends a call that never returns to Python, and the parent counts a failure."""
    monkeypatch.setattr("clevrskills.evaluation.request.LEAST_LIMIT_S", 1)
    others = [r for r in whole if (r["task"], r["split"], r["index"]) != ("reach", "train", 2)]
    arguments = ('trouble="hard exit"', 'at="reach_train_002"')
    root = tmp_path / "die"
    args = args_for(root, "fake_policies:Troubled", policy_arg=arguments, workers=2)
    with pytest.raises(ClevrSkillsError, match="^3 starts had no result, and only 2 second"):
        evaluate(args, FakeSuite())
    bad = result(root, "reach_train_002")
    assert (bad.cause, bad.error, bad.starts) == ("error", "worker died (exit code 3)", 3)
    arguments = ('trouble="stuck"', 'at="reach_train_002"')
    root = tmp_path / "stuck"
    args = args_for(root, "fake_policies:Stuck", policy_arg=arguments, workers=2, timeout=5)
    assert evaluate(args, FakeSuite()) == 0
    bad = result(root, "reach_train_002")
    assert (bad.cause, bad.error, bad.starts) == ("policy error", "no action within 5 s", 1)
    assert bad.episode and bad.seed == 102
    assert "fake_policies.py" in (root / "errors/reach_train_002.txt").read_text()
    assert [r for r in core(root) if r["cause"] != "policy error"] == others


# --- videos


@pytest.mark.usefixtures("inline")
def test_videos(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    from clevrskills.sim.render.video import frame_count

    args = args_for(tmp_path, tasks=("reach",), batch=4, video=("1", "reach_test_002"))
    assert evaluate(args, FakeSuite()) == 0
    videos = {path.stem: path for path in (tmp_path / "videos").iterdir()}
    assert sorted(videos) == ["reach_test_000", "reach_test_002", "reach_train_000"]
    for name, path in videos.items():
        assert frame_count(path) == result(tmp_path, name).steps + 1
    assert [path.name for path in tmp_path.glob(".partial*")] == []
    before = core(tmp_path)
    args = args_for(tmp_path, tasks=("reach",), video=("reach_train_003",))
    assert evaluate(args, FakeSuite()) == 0
    assert (tmp_path / "videos/reach_train_003.mp4").exists()
    assert core(tmp_path) == before
    assert "differed when" not in capsys.readouterr().err


@pytest.mark.usefixtures("inline")
def test_a_filmed_episode_that_goes_otherwise_changes_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    args = args_for(tmp_path / "run", "fake_policies:Fickle", tasks=("reach",))
    args.policy_arg = (f'marker="{tmp_path / "marker"}"',)
    assert evaluate(args, FakeSuite()) == 0
    before = core(tmp_path / "run")
    args.video = ("reach_train_001",)
    assert evaluate(args, FakeSuite()) == 0
    assert core(tmp_path / "run") == before
    assert "reach_train_001 differed when it was recorded" in capsys.readouterr().err


# --- arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": ("juggle",)}, "unknown task 'juggle'; allowed: reach, visit, follow_order"),
        ({"level": ("L7",)}, "unknown level 'L7'; allowed: L0, L1"),
        ({"split": ("dev",)}, "unknown split 'dev'; allowed: train, test"),
        ({"robot": "ur5"}, "unknown robot 'ur5'; allowed: xarm6, panda"),
        (
            {"robot": "panda"},
            "the frozen episodes are for xarm6, not panda; use --seed to sample others",
        ),
        ({"criteria": "mine"}, "unknown criteria 'mine'; allowed: paper, released"),
        ({"cameras": ("top",)}, "unknown camera 'top'; allowed: base_camera, hand_camera"),
        ({"driver": "slurm"}, "unknown driver 'slurm'; allowed: local, ray"),
        ({"episodes": 9}, "--episodes 9: reach, split train, has 8 frozen episodes"),
        ({"episodes": 0}, "--episodes must be at least 1, not 0"),
        ({"seed": -1}, "--seed must be at least 0, not -1"),
        ({"workers": 0}, "--workers must be at least 1, not 0"),
        ({"batch": 0}, "--batch must be at least 1, not 0"),
        ({"size": 0}, "--size must be at least 1, not 0"),
        ({"history": 0}, "--history must be at least 1, not 0"),
        ({"chunk": 0}, "--chunk must be at least 1, not 0"),
        ({"timeout": 59.0}, "--timeout must be at least 60, not 59.0"),
        ({"shard": "3/3"}, "--shard 3/3: allowed is i/n with i from 0 to n - 1"),
        ({"shard": "0/3", "driver": "ray"}, "--shard needs --driver local"),
        ({"shard": "0/3", "driver": "ray:auto"}, "--shard needs --driver local"),
        ({"cameras": ("none",), "view": ("map",)}, "--view and --cameras exclude each other"),
        ({"seed": 1, "frozen": Path("x")}, "--seed and --frozen exclude each other"),
        ({"tasks": ()}, "nothing to evaluate: name tasks, or a level with --level"),
        ({"video": ("reach_test_009",)}, "unknown episode 'reach_test_009'; allowed: reach_train_"),
        ({"policy_arg": ("a",)}, "'a' is not an argument; allowed: NAME=VALUE, each name once"),
        (
            {"policy": "oracel"},
            "unknown policy 'oracel'; did you mean oracle? allowed: oracle, zero",
        ),
        (
            {"policy": "replay:"},
            "unknown policy 'replay:'; did you mean replay:DATASET? allowed: o",
        ),
        ({"policy": "replay:x"}, "{cwd}/x is not a dataset: it has no dataset.json"),
    ],
)
def test_bad_arguments(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError) as error:
        evaluate(args_for(tmp_path / "out", **change), FakeSuite())
    assert str(error.value).startswith(message.format(cwd=os.getcwd()))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_more_episodes_of_a_task_of_ones_own_are_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("reach", "mine.tasks:Reach", "clevrskills.tasks")
    monkeypatch.setattr(modes, "additions", lambda kind: (entry,))
    with pytest.raises(ClevrSkillsError) as error:
        evaluate(args_for(tmp_path / "out", episodes=9), FakeSuite())
    assert str(error.value) == (
        "--episodes 9: reach, split train, has 8 frozen episodes; use --seed to sample others, "
        "or freeze more: `clevrskills freeze reach --package DIR --episodes 9`"
    )


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("nothing_like_it:Policy", "policy nothing_like_it:Policy: there is no module nothing_li"),
        ("fake_policies:Nobody", "unknown attribute of fake_policies 'Nobody'; allowed: Wanderer"),
        ("fake_policies:INSTANCE", "fake_policies:INSTANCE is of type Wanderer; give a class, or"),
        ("fake_policies:SEES", "fake_policies:SEES is of type ObservationOptions; give a class"),
        ("fake_policies:Dumb", "fake_policies:Dumb is not a policy: it has no method 'reset'"),
        ("fake_policies:WrongFrame", "policy fake_policies:WrongFrame has other actions than the"),
        (
            "fake_policies:Wanderer",
            "cannot make the policy fake_policies:Wanderer: got an unexpected key",
        ),
    ],
)
def test_policies_that_cannot_be_made(tmp_path: Path, policy: str, message: str) -> None:
    arguments = ("speed=3",) if "cannot make" in message else ()
    with pytest.raises(ClevrSkillsError) as error:
        evaluate(args_for(tmp_path, policy, policy_arg=arguments), FakeSuite())
    assert str(error.value).startswith(message) and "\n" not in str(error.value)
    assert not (tmp_path / "run.json").exists()


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": "zero"}, "policy fake_policies:Wanderer, not zero"),
        ({"policy_arg": ("chunk=2",)}, "policy_args {}, not {'chunk': 2}"),
        ({"criteria": "released"}, "criteria paper, not released"),
        ({"stop": "limit"}, "stop_on_success on, not off"),
        ({"chunk": 3}, "chunk unset, not 3"),
        ({"strict_actions": True}, "clip on, not off"),
        ({"seed": 3}, "seed unset, not 3"),
        ({"label": "other"}, "label fake_policies:Wanderer, not other"),
        ({"history": 2}, "history 1, not 2"),
        ({"cameras": ("base_camera",)}, "cameras none, not base_camera"),
    ],
)
def test_a_folder_of_other_options_is_refused(tmp_path: Path, change: dict, message: str) -> None:
    args = args_for(tmp_path, episodes=1, tasks=("reach",))
    assert evaluate(args, FakeSuite()) == 0
    before = sorted(path.name for path in tmp_path.rglob("*"))
    for name, value in change.items():
        setattr(args, name, value)
    for episodes in (1, 2):  # whether anything is left to do or not
        args.episodes = episodes
        with pytest.raises(ClevrSkillsError) as error:
            evaluate(args, FakeSuite())
        assert str(error.value) == f"{tmp_path} was made with {message}; give another folder"
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("inline")
def test_other_folders_and_other_frozen_episodes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClevrSkillsError, match="is no run of .* and not empty"):
        evaluate(args_for(tmp_path), FakeSuite())
    with pytest.raises(ClevrSkillsError, match="is a file; give a folder"):
        evaluate(args_for(tmp_path / "file"), FakeSuite())
    root = tmp_path / "run"
    evaluate(args_for(root, episodes=1, tasks=("reach",)), FakeSuite())
    with pytest.raises(ClevrSkillsError, match="with other frozen episodes of reach_test; give"):
        evaluate(args_for(root, episodes=2, tasks=("reach",)), FakeSuite(version="2"))


@pytest.mark.usefixtures("inline")
def test_words_alone_leave_out_the_tasks_of_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    args = args_for(tmp_path / "a", tasks=("reach",), level=("L1",), prompt="language")
    for _ in range(2):
        assert evaluate(args, FakeSuite()) == 0
        shown = "Skipped with language prompts, as in the paper: follow_order."
        assert shown in capsys.readouterr().out
    assert {r.task for r in read_results(tmp_path / "a")} == {"reach", "visit"}
    args = args_for(tmp_path / "b", tasks=("follow_order",), prompt="language")
    assert evaluate(args, FakeSuite()) == 0  # named, and its prompt can be said
    assert {r.task for r in read_results(tmp_path / "b")} == {"follow_order"}


def test_command_line() -> None:
    words = (
        "reach --policy my:P --level L0 --level L1 --split test --episodes 3 --out out --batch 4 "
        "--cameras hand_camera --policy-arg a=1 --policy-arg b=[2] --stop limit --json "
        "--shard 0/8 --video reach_test_001 --video reach_test_002 --prompt language --chunk 5"
    )
    args = parse(EvaluateArgs, words.split())
    assert args == EvaluateArgs(
        policy="my:P",
        tasks=("reach",),
        level=("L0", "L1"),
        split=("test",),
        episodes=3,
        out=Path("out"),
        batch=4,
        cameras=("hand_camera",),
        policy_arg=("a=1", "b=[2]"),
        stop="limit",
        json=True,
        shard="0/8",
        video=("reach_test_001", "reach_test_002"),
        prompt="language",
        chunk=5,
    )
