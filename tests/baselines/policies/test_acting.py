"""Learned policies as the evaluation runs them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learned_policies import observation, policy_and_windows, prompt, read_log
from point_suite import PointSuite

from clevrskills.baselines import checkpoint
from clevrskills.baselines.batch import Observations
from clevrskills.baselines.policy import LEAST_STD, LearnedPolicy
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.baselines.training import train as train_module
from clevrskills.baselines.training.train import TrainArgs, train
from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results, read_run
from clevrskills.jobs.pool import InlinePool

PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts")


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


@pytest.fixture(scope="module")
def policy(demos: Path) -> LearnedPolicy:
    return policy_and_windows("bc", demos)[0]


@pytest.fixture(scope="module")
def saved(policy: LearnedPolicy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("checkpoint")
    about = checkpoint.CheckpointDescription("bc", policy.config, policy.spec, {})
    checkpoint.write(folder, policy, about)
    return folder


def core(root: Path) -> list[dict]:
    return [{k: v for k, v in asdict(r).items() if k not in PASSING} for r in read_results(root)]


def args_for(saved: Path, out: Path, **more: object) -> EvaluateArgs:
    given = {"tasks": ("reach", "visit"), "split": ("test",), "episodes": 3, **more}
    return EvaluateArgs(policy=f"checkpoint:{saved}", out=out, **given)  # type: ignore[arg-type]


def test_a_checkpoint_is_evaluated(saved: Path, tmp_path: Path) -> None:
    assert evaluate(args_for(saved, tmp_path / "one"), PointSuite()) == 0
    results = list(read_results(tmp_path / "one"))
    assert len(results) == 6 and all(r.counts and r.steps > 1 for r in results)
    shown = read_run(tmp_path / "one").observation
    assert shown["cameras"] == ["base_camera", "hand_camera"]
    assert (shown["size_px"], shown["history"], shown["prompt"]) == (64, 1, "multimodal")
    assert evaluate(args_for(saved, tmp_path / "batch", batch=3), PointSuite()) == 0
    assert core(tmp_path / "one") == core(tmp_path / "batch")


def test_a_policy_by_its_folder(saved: Path, tmp_path: Path) -> None:
    made = PolicySource(f"checkpoint:{saved}").make()
    assert made.options == made.policy.spec.observation
    assert made.info.concurrency == "batched"
    with pytest.raises(ClevrSkillsError, match="is not a checkpoint"):
        PolicySource(f"checkpoint:{tmp_path}").make()
    with pytest.raises(ClevrSkillsError, match="unknown policy 'checkpoint'.* allowed: .*DIR"):
        PolicySource("checkpoint")


def test_a_new_episode_in_one_slot_leaves_the_others(policy: LearnedPolicy) -> None:
    policy.reset({0: prompt(1), 1: prompt(2)})
    before = policy.act({1: observation(policy, 4)})[1]
    policy.reset({0: prompt(3)})
    np.testing.assert_array_equal(policy.act({1: observation(policy, 4)})[1], before)


def test_another_robot(policy: LearnedPolicy) -> None:
    policy.reset({0: prompt()})
    shown = observation(policy, 0)
    shown["proprioception"]["qpos"] = np.zeros(7, np.float32)
    with pytest.raises(ClevrSkillsError, match="trained with 3 numbers of qpos, not 7"):
        policy.act({0: shown})
    del shown["proprioception"]["qpos"]
    with pytest.raises(
        ClevrSkillsError, match="the policy was trained with qpos, which is not observed"
    ):
        policy.act({0: shown})


class Spy(LearnedPolicy[PolicyConfig]):
    """Takes note of what it is given."""

    config_type = PolicyConfig
    configurations: dict[str, PolicyConfig] = {}

    def begin(self, prompts, seeds):  # type: ignore[no-untyped-def]
        self.seeds = seeds
        return [0] * len(seeds)

    def step(self, observations, memories):  # type: ignore[no-untyped-def]
        self.seen = observations
        return torch.zeros(len(memories), 3, 7), [m + 1 for m in memories]

    def loss(self, batch):  # type: ignore[no-untyped-def]
        self.batch = batch
        return {"loss": batch.actions.mean()}


@pytest.fixture
def spy(demos: Path, policy: LearnedPolicy) -> Spy:
    from clevrskills.baselines.data.sources import open_source
    from clevrskills.baselines.data.windows import DemonstrationFilter, make_spec

    config = PolicyConfig(image_size=32, steps=3, proprioception=True, cameras=("hand_camera",))
    spied = Spy(
        config, make_spec([open_source(demos, config.cameras)], config, DemonstrationFilter())
    )
    spied.tokenizer = policy.tokenizer
    return spied


def test_inputs_of_a_policy(spy: Spy) -> None:
    spy.reset({0: prompt(5)})
    for step, mask in ((0, [False, False, True]), (1, [False, True, True]), (7, [True] * 3)):
        shown = observation(spy, 1, step)
        action = spy.act({0: shown})[0]
        assert spy.seen.mask.tolist() == [mask]
    assert spy.seeds == [5] and spy._memories == {0: 3}
    assert list(spy.seen.images) == ["hand_camera"]
    images = spy.seen.images["hand_camera"]
    assert images.shape == (1, 3, 3, 32, 32)
    means = shown["images"]["hand_camera"].reshape(3, 32, 2, 32, 2, 3).mean((2, 4)) / 255
    assert np.abs(images[0].permute(0, 2, 3, 1).numpy() - means).mean() < 0.1
    proprio = np.concatenate([shown["proprioception"][n] for n in spy.spec.state_parts], -1)
    std = np.maximum(spy.spec.statistics["state"]["std"], LEAST_STD)
    expected = (proprio - spy.spec.statistics["state"]["mean"]) / std
    np.testing.assert_allclose(spy.seen.state[0], expected, rtol=1e-4, atol=1e-5)
    # a normalized zero is the mean action
    mean = np.clip(spy.spec.statistics["action"]["mean"], -1, 1)
    np.testing.assert_allclose(action, np.tile(mean, (3, 1)), atol=1e-6)


def test_training_data_of_a_policy(spy: Spy, demos: Path) -> None:
    from clevrskills.baselines.data.sources import open_source
    from clevrskills.baselines.data.windows import DemonstrationFilter, Windows

    windows = Windows(
        [open_source(demos, spy.config.cameras)], spy.config, DemonstrationFilter(), spy.tokenizer
    )
    raw = windows[range(len(windows))]
    spy(raw)
    learned = spy.batch.actions[:, -1, 0]
    std = torch.tensor(spy.spec.statistics["action"]["std"]).clamp(min=LEAST_STD)
    assert learned.mean(0).abs().max() < 1e-4
    assert (
        learned.std(0) - torch.tensor(spy.spec.statistics["action"]["std"]) / std
    ).abs().max() < 0.01
    assert 0 <= spy.batch.observations.images["hand_camera"].min() < 0.1
    assert 0.9 < spy.batch.observations.images["hand_camera"].max() <= 1
    assert spy.batch.prompts.images.max() <= 1 and spy.batch.prompts.images.dtype == torch.float32
    torch.testing.assert_close(spy.normalize_action.inverse(spy.batch.actions), raw.actions)


def test_a_policy_without_the_robots_state(demos: Path) -> None:
    policy, _ = policy_and_windows("bc", demos, proprioception=False)
    assert policy.state_size == 0 and not policy.observation.proprioception
    policy.reset({0: prompt()})
    shown = {**observation(policy, 0), "proprioception": {}}
    assert policy.act({0: shown})[0].shape[-1] == 7


def untimed(log: dict[int, dict[str, float]]) -> dict[int, dict[str, float]]:
    """A log without how long anything took."""
    return {step: {k: v for k, v in line.items() if k != "seconds"} for step, line in log.items()}


def test_evaluations_in_the_course_of_a_training(demos: Path, tmp_path: Path) -> None:
    args = TrainArgs(
        policy="bc",
        configuration="tiny",
        set=("batch_size=2",),
        data=(demos,),
        out=tmp_path / "run",
        steps=3,
        workers=0,
        cpu=True,
        evaluate_every=2,
        evaluate_split="train",
        evaluate_episodes=2,
    )
    assert train(args, PointSuite()) == 0
    log = read_log(args.out)
    for step in (2, 3):
        assert {"success", "success/reach", "success/visit"} <= set(log[step])
        results = list(read_results(args.out / f"evaluations/{step:08d}"))
        assert [r.id for r in results] == [
            f"{t}_train_00{k}" for t in ("reach", "visit") for k in (0, 1)
        ]
        assert log[step]["success"] == sum(r.success_once for r in results) / 4
    assert train(args, PointSuite()) == 0
    assert untimed(read_log(args.out)) == untimed(log)


def test_an_interrupted_evaluation_is_made_up_for(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = TrainArgs(
        policy="bc",
        configuration="tiny",
        set=("batch_size=2",),
        data=(demos,),
        out=tmp_path / "run",
        steps=1,
        workers=0,
        cpu=True,
        evaluate_every=1,
        evaluate_split="train",
        evaluate_episodes=1,
    )

    def stopped(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train_module, "evaluate_checkpoint", stopped)
        assert train(args, PointSuite()) == 130
    assert "success" not in read_log(args.out)[1]
    assert train(args, PointSuite()) == 0
    assert "success" in read_log(args.out)[1]


def test_without_its_cameras_it_is_refused_before_the_first_episode(
    saved: Path, tmp_path: Path
) -> None:
    with pytest.raises(ClevrSkillsError, match="needs base_camera, which is not shown"):
        evaluate(args_for(saved, tmp_path / "run", cameras=()), PointSuite())
    assert not list(tmp_path.glob("run/results/*"))


def test_steps_before_a_handover_are_no_history(
    demos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, _ = policy_and_windows("bc", demos, steps=3, starts_every=None)
    masks = []

    def step(observations: Observations, memories: list[Any]) -> tuple[torch.Tensor, list[Any]]:
        masks.append(observations.mask[0].tolist())
        return torch.zeros(1, 7), memories

    monkeypatch.setattr(policy, "step", step)
    for steps in ((0, 1, 2), (50, 51, 54)):  # the second one is taken over at step 50
        policy.reset({4: prompt()})
        for at in steps:
            policy.act({4: observation(policy, 0, at)})
    begin = [[False, False, True], [False, True, True], [True, True, True]]
    assert masks == [*begin, *begin]
