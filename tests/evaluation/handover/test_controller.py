"""Controller that executes the commands of a planner in words."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_controllers import Attentive, Restless

from clevrskills.core.policy import ObservationOptions
from clevrskills.core.policy_loader import PolicySource
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.dialogue.reverify import ReverifyArgs, reverify
from clevrskills.evaluation.env_pool import EnvPool, EpisodeRef, WorkerConfig
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.handover.parts import limit_alone
from clevrskills.evaluation.results import EpisodeResult, Run, read_results, read_run
from clevrskills.evaluation.rollout import PolicyRollout
from clevrskills.evaluation.worker import Describe, Evaluator, PolicyDescription, joined
from clevrskills.jobs.pool import InlinePool
from clevrskills.solvers.requirements import planner_obstacle

HERE = "fake_controllers"
BLIND = ObservationOptions(cameras=(), proprioception=False)
pytestmark = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


def started(
    controller: str, task: str = "pick", options: ObservationOptions = BLIND
) -> PolicyRollout:
    """An episode whose commands a policy carries out."""
    run = Run("zero", "zero", "xarm6", "paper", clip=True, interface="skills")
    config = WorkerConfig(
        *(Path(), load_suite(), PolicySource("zero"), run), controller=PolicySource(controller)
    )
    pool = EnvPool(config, options)
    return pool.start(0, EpisodeRef(task, "test", 0))


def test_the_oracle_executes_commands_and_a_still_policy_does_not() -> None:
    rollout = started("zero")
    rollout.go_on("pick up object_0")
    assert rollout.last_turn is not None
    assert (rollout.last_turn.code, rollout.last_turn.steps) == ("NOT_ACHIEVED", 80)
    assert rollout.last_turn.steps == limit_alone(load_suite(), "picked")
    rollout.go_on("pick up the teapot")
    assert (rollout.last_turn.code, rollout.last_turn.steps) == ("UNKNOWN_OBJECT", 0)
    assert not rollout.ended and rollout.result().controller == "zero"
    rollout.env.close()
    rollout = started("oracle", "simple_manipulation")
    commanded = load_suite().oracle(rollout.env, find_interface(load_suite(), "skills"))
    rollout.go_on(commanded.act())
    result = rollout.result()
    assert (result.cause, result.turns, result.codes) == ("success", 1, {"DONE": 1})
    assert result.steps < 100 and result.greatest["vacuum"] > 0.0
    rollout.env.close()


@pytest.mark.render
def test_the_controller_gets_each_command_as_prompt_and_its_own_images() -> None:
    planner = ObservationOptions(cameras=("base_camera",), size_px=64, proprioception=False)
    Attentive.given.clear(), Attentive.shown.clear()
    rollout = started(f"{HERE}:Attentive", options=planner)
    assert rollout.observation["images"]["base_camera"].shape == (64, 64, 3)
    before = rollout.observation["images"]["base_camera"]
    for key in ("object_0", "object_1"):
        rollout.go_on(f"pick up {key}")
    one, other = Attentive.given
    assert one.text == "Pick up {obj:object_0}." and [*one.images] == ["{obj:object_0}"]
    assert other.text == "Pick up {obj:object_1}." and one.seed != other.seed
    assert [o["images"]["hand_camera"].shape for o in Attentive.shown] == [(2, 32, 32, 3)] * 4
    assert {o["prompt"] for o in Attentive.shown[:2]} == {one.text}
    after = rollout.observation["images"]["base_camera"]
    assert np.abs(after.astype(int) - before).mean() < 1.0  # nothing was moved
    rollout.env.close()


def run(root: Path, **more: Any) -> list[dict[str, Any]]:
    given: dict[str, Any] = {
        **{"tasks": ("pick",), "split": ("test",), "preset": "words", "episodes": 2},
        **{"policy": "chat:fixed:action: touch object_0", "controller": f"{HERE}:Restless"},
    }
    evaluate(EvaluateArgs(**{**given, "out": root, **more}))
    return [plain(result) for result in read_results(root)]


def plain(result: EpisodeResult) -> dict[str, Any]:
    passing = dict.fromkeys(("policy_s", "env_s", "wall_s"), 0.0)
    return asdict(replace(result, worker="", ended="", **passing))


def test_a_run_records_it_and_is_the_same_in_batches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run(tmp_path / "one")
    assert done == run(tmp_path / "two", batch=2)
    assert len({result["total_reward"] for result in done}) == 2
    for result in done:
        assert result["codes"] == {"FAILED": 4} and result["steps"] == 12
        assert result["controller"] == f"{HERE}:Restless"
        assert 0.5 < result["clipped"] <= 1.0 and result["greatest"]["x"] > 1.0
    printed = read_run(tmp_path / "one")
    assert (printed.controller, printed.track) == (f"{HERE}:Restless", "made up")
    assert printed.label == f"chat:fixed:action: touch object_0 + {HERE}:Restless"
    run(tmp_path / "along", split=("train",), axis=("clutter:3",), episodes=1)
    for name in ("one", "along"):
        assert reverify(ReverifyArgs(tmp_path / name)) == 0
    with pytest.raises(ClevrSkillsError, match="was made with controller"):
        run(tmp_path / "one", controller="zero")
    with pytest.raises(ClevrSkillsError, match=f"controller {HERE}:Broken: RuntimeError: out of"):
        run(tmp_path / "broken", controller=f"{HERE}:Broken", episodes=3)
    capsys.readouterr()


class OfOneTask(Restless):
    """Learned one task."""

    only_task = "pick"


def test_a_run_knows_what_its_controller_was_trained_on() -> None:
    run = Run("zero", "zero", "xarm6", "paper", interface="skills")
    controller = PolicySource(f"{__name__}:OfOneTask")
    evaluator = Evaluator(
        WorkerConfig(Path(), load_suite(), PolicySource("zero"), run, controller=controller)
    )
    about = evaluator(Describe())
    assert isinstance(about, PolicyDescription)
    assert (about.trained_tasks, about.track, about.task) == (("pick",), "made up", "")


def test_joined_tracks() -> None:
    assert joined("none", "none") == "none"
    assert joined("none", "standard-100") == joined("standard-100", "none") == "standard-100"
    assert joined("web", "standard-100") == "web and standard-100"
    assert joined("", "standard-100") == joined("web", "") == ""


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"preset": None}, "commands of --interface skills; delta has none"),
        (
            {"suite": "ivispar", "tasks": ("tiles",), "split": ("base",), "preset": None},
            "commands of other suites",
        ),
        ({"controller": "onecle"}, "unknown controller 'onecle'; did you mean oracle?"),
        ({"controller": "chat:oracle"}, "--controller chat:oracle: a language model or"),
        ({"controller": None, "controller_arg": ("a=1",)}, "--controller-arg needs --controller"),
        ({"controller": "checkpoint:nowhere", "dry_run": True}, "there is no folder"),
    ],
)
def test_bad_input(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match=re.escape(message)):
        run(tmp_path / "run", **more)
    assert not (tmp_path / "run" / "run.json").exists()
