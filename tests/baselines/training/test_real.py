"""From demonstrations of a real task to a policy that is evaluated, and a round of DAgger."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from learned_policies import policy_and_windows, read_log

from clevrskills.baselines.training.dagger import DaggerArgs, dagger
from clevrskills.baselines.training.train import TrainArgs, train
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.check.command import CheckArgs, check
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.dataset_tools.layout import POLICY
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.pool import InlinePool
from clevrskills.solvers.requirements import planner_obstacle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.render,
    pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle())),
]
PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts")


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


@pytest.fixture(scope="module")
def touches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("real") / "demos"
    assert generate(GenerateArgs(tasks=("touch",), episodes=3, size=64, out=out)) == 0
    return out


@pytest.fixture(scope="module")
def trained(touches: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("real") / "run"
    args = TrainArgs(
        policy="bc", configuration="tiny", data=(touches,), out=out, steps=20, workers=0, cpu=True
    )
    assert train(args) == 0
    return out


def core(root: Path) -> list[dict]:
    return [{k: v for k, v in asdict(r).items() if k not in PASSING} for r in read_results(root)]


def test_evaluation(trained: Path, tmp_path: Path) -> None:
    for name, batch in (("one", 1), ("two", 2)):
        args = EvaluateArgs(
            policy=f"checkpoint:{trained}",
            tasks=("touch",),
            split=("test",),
            episodes=2,
            out=tmp_path / name,
            batch=batch,
        )
        assert evaluate(args) == 0
    assert core(tmp_path / "one") == core(tmp_path / "two")
    assert len(core(tmp_path / "one")) == 2


def test_training_and_evaluation_have_equal_inputs(touches: Path, trained: Path) -> None:
    """The start of a recorded episode, once from its files and once from the environment."""
    from clevrskills.baselines import load
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.core.observer import Observer
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

    policy = load(trained, "cpu")
    _, windows = policy_and_windows("bc", touches)
    batch = windows[[0]]
    info = Dataset(touches)[0].info
    shown = policy.observation
    env = ClevrSkillsSuite().make(EnvConfig("touch", cameras=shown.cameras, size_px=shown.size_px))
    env.reset(options={"episode": EpisodeSpec.draw("touch", "train", info["seed"], 0)})
    observer = Observer(env, shown)
    policy.reset({0: observer.begin()})
    seen = policy._observations([observer.look()], [0])
    recorded = policy._normalized(batch.observations)
    for camera in shown.cameras:
        difference = (seen.images[camera][0, 0] - recorded.images[camera][0, 0]).abs()
        assert difference.mean() < 0.02  # the video's loss
    np.testing.assert_allclose(seen.state[0, 0], recorded.state[0, 0], atol=1e-3)
    env.close()


def test_a_round_of_dagger(touches: Path, trained: Path, tmp_path: Path) -> None:
    args = DaggerArgs(
        from_=trained, data=(touches,), out=tmp_path, episodes=2, steps=2, cpu=True, load_workers=0
    )
    assert dagger(args) == 0
    root = tmp_path / "round_1/demos"
    for episode in Dataset(root):
        mine = (episode.steps["skill"] == POLICY).to_numpy()
        assert mine[0] and episode.steps["failed"].to_numpy()[mine].all()
    assert check(CheckArgs(dataset=root, replay=2, decode=True)) == 0
    assert np.isfinite(read_log(tmp_path / "round_1/training")[2]["loss"])
