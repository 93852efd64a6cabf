"""Freezing: the same files however they came about; every rejection has its reason."""

import json
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from fake_screening import FakeScreener, Make

from clevrskills.cli import main
from clevrskills.core.episode import DAGGER, FROZEN
from clevrskills.core.goal.predicate import Outcome
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.freeze import freeze_queue, screening
from clevrskills.evaluation.freeze.candidates import Candidate, ScreeningResult
from clevrskills.evaluation.freeze.command import FreezeArgs, freeze
from clevrskills.evaluation.freeze.freeze_queue import JOURNAL_DIR
from clevrskills.evaluation.freeze.screening import STILL_STEPS, Screener, succeeds_blindly
from clevrskills.jobs.journal import read_lines
from clevrskills.jobs.pool import InlinePool
from clevrskills.sim.body import Body
from clevrskills.solvers.requirements import planner_obstacle
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite
from tests.support.envs import base, bench

SUITE = ClevrSkillsSuite()
needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


def args(out: Path, **kwargs) -> FreezeArgs:
    return FreezeArgs(
        **{"tasks": ("pick",), "split": ("test",), "episodes": 5, "out": out, **kwargs}
    )


def freeze_here(out: Path, screener: FakeScreener = FakeScreener(), **kwargs) -> int:  # noqa: B008
    """Without worker processes."""
    with mock.patch("clevrskills.jobs.work.open_pool", lambda _, make, *__: InlinePool(make)):
        return freeze(args(out, **kwargs), Make(screener))


def files(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.glob("*.jsonl.gz")}


def screened(root: Path, name: str = "pick_test") -> list[int]:
    """Numbers of the seeds in the journal, in the order in which they were screened."""
    path = root / JOURNAL_DIR / f"{name}.jsonl"
    return [result.seed - FROZEN.start for result in read_lines(path, ScreeningResult.from_json)]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What one worker makes of it."""
    root = tmp_path_factory.mktemp("plain")
    assert freeze_here(root, tasks=("pick", "sort"), split=("train", "test")) == 0
    return root


def test_the_first_seeds_that_pass_are_the_episodes(plain, capsys):
    assert sorted(files(plain)) == [
        f"{task}_{split}.jsonl.gz" for task in ("pick", "sort") for split in ("test", "train")
    ]
    made = ClevrSkillsSuite(plain).frozen("pick", "test")
    assert [spec.seed - FROZEN.start for spec in made] == [1, 2, 4, 5, 7]
    assert [spec.index for spec in made] == [0, 1, 2, 3, 4]
    head = ClevrSkillsSuite(plain).frozen("pick", "test").header
    assert head.oracle_steps == (11, 12, 14, 15, 17)
    assert (head.oracle_median_steps, head.oracle_most_steps) == (14, 17)
    assert [(r.seed - FROZEN.start, r.reason) for r in head.rejected] == [
        (number, f"oracle: {number}") for number in (0, 3, 6)
    ]
    assert (head.episodes, head.max_steps, head.robot) == (5, 80, "xarm6")
    assert head.versions["mani_skill"]


def test_any_number_of_workers_makes_the_same_files(plain, tmp_path):
    wanted = args(tmp_path, tasks=("sort", "pick"), workers=3, split=("test", "train"))
    assert freeze(wanted, Make()) == 0
    assert files(tmp_path) == files(plain)
    assert sorted(screened(tmp_path)) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_it_continues_where_it_stopped(plain, tmp_path):
    with pytest.raises(ClevrSkillsError, match="no planner"):
        freeze_here(tmp_path, FakeScreener(stops_at=4))
    assert files(tmp_path) == {} and screened(tmp_path) == [0, 1, 2, 3]
    freeze_here(tmp_path)
    assert files(tmp_path) == {name: files(plain)[name] for name in ("pick_test.jsonl.gz",)}
    assert screened(tmp_path) == [0, 1, 2, 3, 4, 5, 6, 7]
    freeze_here(tmp_path, FakeScreener(stops_at=0))  # nothing is left to do


def test_the_number_of_episodes_may_change_later(plain, tmp_path):
    freeze_here(tmp_path, episodes=2)
    assert screened(tmp_path) == [0, 1, 2]
    freeze_here(tmp_path)
    assert files(tmp_path)["pick_test.jsonl.gz"] == files(plain)["pick_test.jsonl.gz"]
    freeze_here(tmp_path, episodes=2)
    assert ClevrSkillsSuite(tmp_path).frozen("pick", "test").header.episodes == 2
    assert len(ClevrSkillsSuite(tmp_path).frozen("pick", "test").header.rejected) == 1


def test_a_seed_that_ends_its_workers_is_rejected(tmp_path):
    freeze(args(tmp_path, episodes=2), Make(FakeScreener(rejects=100, exits_at=1)))
    head = ClevrSkillsSuite(tmp_path).frozen("pick", "test").header
    assert [r.reason for r in head.rejected] == ["oracle: 0", "worker died (exit code 3)"]


@pytest.mark.slow
def test_workers_killed_from_outside_do_not_reject_the_seed(tmp_path, monkeypatch):
    for module in ("jobs.work", "evaluation.freeze.freeze_queue"):
        monkeypatch.setattr(f"clevrskills.{module}.KILLS", 4)
    with pytest.raises(
        ClevrSkillsError,
        match=r"pick, split test, seed 1000000001: worker died \(killed by SIGKILL\), 4 times",
    ):
        freeze(args(tmp_path), Make(FakeScreener(kills_at=1)))
    assert screened(tmp_path) == [0]


def test_a_task_that_keeps_failing_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(freeze_queue, "MIN_REJECTED", 5)
    with pytest.raises(
        ClevrSkillsError,
        match="gave up on pick, split test: 6 of 6 seeds are rejected, the last: oracle: 5",
    ):
        freeze_here(tmp_path, FakeScreener(rejects=1))
    assert files(tmp_path) == {}


def test_demonstrations_never_start_as_an_episode_that_is_evaluated_on():
    assert FROZEN.start >= DAGGER.stop


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tasks": ("juggle",)}, "unknown task 'juggle'; allowed: match_pose, "),
        ({"level": ("L3",)}, "unknown level 'L3'; allowed: L0, L1, L2"),
        ({"split": ("dev",)}, "unknown split 'dev'; allowed: train, val, test, "),
        ({"robot": "ur5"}, "unknown robot 'ur5'; allowed: xarm6, panda"),
        ({"tasks": ()}, "nothing to freeze: name tasks, or a level with --level"),
        ({"tasks": ()}, "nothing to freeze"),
        ({"episodes": 0}, "--episodes must be at least 1, not 0"),
        ({"workers": 0}, "--workers must be at least 1, not 0"),
        ({"timeout": 0.0}, "--timeout must be positive, not 0.0"),
    ],
)
def test_bad_arguments(tmp_path, wrong, message):
    with pytest.raises(ClevrSkillsError) as caught:
        freeze_here(tmp_path / "out", **wrong)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_conditions_is_refused(tmp_path):
    freeze_here(tmp_path, episodes=1)
    with pytest.raises(ClevrSkillsError, match="begun with another robot or other versions"):
        freeze_here(tmp_path, episodes=1, robot="panda")


def test_the_summary(tmp_path, capsys):
    freeze_here(tmp_path, FakeScreener(rejects=4), json=True)
    (head,) = json.loads(capsys.readouterr().out)
    assert (head["task"], head["episodes"], len(head["rejected"])) == ("pick", 5, 2)
    freeze_here(tmp_path, episodes=2)
    printed = capsys.readouterr()
    assert "2 frozen episodes" in printed.out and "step limit" not in printed.out
    assert printed.err == "pick test: 2 episodes of 3 seeds\n"
    freeze_here(tmp_path, episodes=50, tasks=("sort", "pick"))
    assert capsys.readouterr().out.splitlines()[-1] == (
        "The step limit is less than 1.5 times the longest of: pick (test)"
    )


def test_the_command(tmp_path, capsys):
    assert main(["freeze", "juggle", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("clevrskills: unknown task 'juggle'; allowed: ")


# --- screening


def cube(key: str, x: float, y: float, z: float = 0.025) -> Body:
    return Body(key, "cube", "red", (x, y, z, 1.0, 0.0, 0.0, 0.0), (0.05, 0.05, 0.05))


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ([cube("a", -0.2, 0.0), cube("b", -0.1, 0.1)], set()),
        ([cube("a", -0.2, 0.0), cube("b", -0.2, 0.046)], {"moved while settling"}),
        ([cube("a", -0.2, 0.0, 0.035)], {"moved while settling"}),
        ([cube("a", -0.2, 0.0), cube("b", 0.9, 0.9)], {"out of view"}),
    ],
)
def test_faults_of_starts(bodies, expected):
    env = bench(*bodies)
    assert {name for name, is_there in base(env).faults().items() if is_there} == expected
    env.close()


def test_faults_that_settling_seldom_leaves(monkeypatch):
    env = bench(cube("a", -0.2, 0.0))
    contacts = base(env).world.contacts()
    assert contacts and not base(env).faults()["overlap"]
    deep = [(one, other, -0.0011) for one, other, _ in contacts]
    monkeypatch.setattr(base(env).world, "contacts", lambda: deep)
    with torch.inference_mode():
        base(env).outcome.holds[:] = True
    found = {name for name, is_there in base(env).faults().items() if is_there}
    assert found == {"overlap", "goal holds"}
    env.close()


class Still:
    """Changes in its first steps, and reaches its goal at one."""

    limit = 100

    def __init__(self, goal_at: int, changes: int) -> None:
        self.goal_at, self.changes, self.steps = goal_at, changes, 0

    def step(self, action):
        self.steps += 1
        done, nothing = torch.tensor([self.steps == self.goal_at]), torch.zeros(1)
        self.outcome = Outcome(done, nothing, nothing, {})
        return None, 0.0, done, False, {}

    def get_state(self):
        return torch.tensor([float(min(self.steps, self.changes))])


def test_doing_nothing_is_cut_short_once_all_is_still():
    def run(goal_at: int, changes: int, steady: bool) -> tuple[bool, int]:
        env = Still(goal_at, changes)
        return succeeds_blindly(env, lambda: np.zeros(7), steady), env.steps  # type: ignore[arg-type]

    assert run(30, 3, True) == (True, 30)
    assert run(90, 3, True) == (False, 3 + STILL_STEPS)
    assert run(90, 3, False) == (True, 90)
    assert run(200, 3, False) == (False, 100)
    assert run(90, 80, True) == (True, 90)


@needs_oracle
def test_screening(monkeypatch):
    screen = Screener()
    candidate = Candidate("pick", "paper_test", "xarm6", FROZEN.start)
    result = screen(candidate)
    assert result.reason == "" and 0 < result.oracle_steps < 80
    spec = EpisodeSpec.from_json(result.episode or {})
    assert spec.content_hash == EpisodeSpec.draw("pick", "paper_test", FROZEN.start).content_hash
    assert ScreeningResult.from_json(result.to_json()) == result

    with monkeypatch.context() as patch:
        patch.setattr(screening, "succeeds_blindly", lambda *_, **__: True)
        assert screen(candidate) == ScreeningResult(FROZEN.start, "solved by doing nothing")
    with monkeypatch.context() as patch:
        assert screen._made is not None
        patch.setattr(type(screen._made[1].task), "max_steps", 5)
        assert screen(candidate) == ScreeningResult(FROZEN.start, "oracle: step limit")
    with monkeypatch.context() as patch:
        found = {"overlap": True, "a": False, "b": True}
        patch.setattr(type(screen._made[1]), "faults", lambda *_: found)
        assert screen(candidate) == ScreeningResult(FROZEN.start, "start: overlap, b")
    with monkeypatch.context() as patch:
        patch.setattr("clevrskills.envs.scene_sampling.ATTEMPTS", 0)
        reason = f"pick, seed {FROZEN.start}, split paper_test: no valid scene in 0 attempts"
        assert screen(candidate) == ScreeningResult(FROZEN.start, reason)


@pytest.mark.parametrize("split", ["dev"])
def test_unknown_splits_are_no_rejections(split):
    with pytest.raises(UnknownNameError):
        Screener()(Candidate("pick", split, "xarm6", FROZEN.start))


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("wind:1", "suite clevrskills has the axes"),
        ("camera:6", "from 0 to 5"),
        ("embodiment:1", "name the other arm with --robot"),
    ],
)
def test_axes_that_cannot_be_frozen(tmp_path, axis, message):
    with pytest.raises(ClevrSkillsError, match=message):
        freeze_here(tmp_path, axis=(axis,))


@needs_oracle
@pytest.mark.slow
def test_perturbed_episodes_are_frozen(tmp_path):
    with mock.patch("clevrskills.jobs.work.open_pool", lambda _, make, *__: InlinePool(make)):
        assert freeze(args(tmp_path, episodes=2, axis=("layout:3", "robot_start:2"))) == 0
    for one in ClevrSkillsSuite(tmp_path).frozen("pick", "test"):
        assert one.axes == {"layout": 3, "robot_start": 2} and one.twin != one.content_hash
    with pytest.raises(ClevrSkillsError, match="other versions or axes"):
        freeze_here(tmp_path)
