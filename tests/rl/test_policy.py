"""Trained agents act in the evaluation as in training, on real tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from clevrskills.core.policy import PolicyError, PromptInput
from clevrskills.core.policy_loader import PolicySource
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.rl.agent import to_tensors
from clevrskills.rl.checkpoint import load_agent
from clevrskills.rl.command import RLArgs, rl
from clevrskills.rl.policy import RLPolicy
from clevrskills.rl.run import PPOConfig, read_run
from clevrskills.rl.train import read_progress

CONFIG = PPOConfig(rollout_steps=4, minibatch=8, epochs=1, hidden=(16,), initial_std=1.0)


class Episode:
    task, robot = "trace", "xarm6"


def learn(out: Path, **changes) -> Path:
    given = {"task": "trace", "num_envs": 2, "total_steps": 16, "ppo": CONFIG}
    assert rl(RLArgs(out=out, **{**given, **changes})) == 0
    return out


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    return learn(tmp_path_factory.mktemp("rl") / "run")


def same_actions(root: Path, **options) -> None:
    """It does in an environment what its networks say of the rows of the vector environment."""
    run = read_run(root)
    agent, envs = load_agent(root, run), run.make_envs(1)
    seen, _ = envs.reset(seed=40)
    env = ClevrSkillsEnv("trace", **options)
    env.reset(seed=40)
    policy = RLPolicy(str(root))
    policy.reset(PromptInput("", {}), env=env, episode=Episode)
    for _ in range(3):
        size = policy.observation.size_px
        images = env.capture() if run.cameras else {}
        assert {image.shape for image in images.values()} <= {(size, size, 3)}
        action = policy.act({"images": images})
        with torch.no_grad():
            expected = agent.act(to_tensors(seen)).numpy()
        assert action.shape == (7,) and np.abs(action).max() <= 1.0
        assert np.allclose(action, expected[0], atol=1e-4)
        seen = envs.step(np.repeat(action[None], 2, axis=0))[0]
        env.step(action)
    envs.close()
    env.close()


def test_states(learned) -> None:
    lines = read_progress(learned)
    assert [line["steps"] for line in lines] == [16]
    assert "reward_terms/order/0.traced" in lines[0]
    same_actions(learned, obs_mode="none")


@pytest.mark.slow
@pytest.mark.render
def test_images(tmp_path) -> None:
    root = learn(tmp_path / "run", obs="rgb", size=40)
    sensors = {"width": 40, "height": 40}
    same_actions(root, obs_mode="none", sensor_configs=sensors, render_backend="cpu")


@pytest.mark.slow
def test_processes_make_no_difference(learned, tmp_path) -> None:
    other = learn(tmp_path / "run", workers=2)
    mine, theirs = (load_agent(root, read_run(root)).state_dict() for root in (learned, other))
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.slow
def test_it_is_evaluated(learned, tmp_path) -> None:
    args = EvaluateArgs(
        policy=f"rl:{learned}",
        tasks=("trace",),
        split=("test",),
        episodes=1,
        out=tmp_path / "results",
    )
    assert evaluate(args) == 0
    (result,) = read_results(tmp_path / "results")
    assert result.cause == "step limit" and result.steps == 140


@pytest.mark.slow
def test_the_track_names_what_training_began_with() -> None:
    assert RLPolicy("zoo/place").track == "open (reinforcement learning, 1501184 steps)"
    begun = RLPolicy("zoo/rotate").track
    assert begun == "open (reinforcement learning, 301056 steps, begun with rotate-1)"


def test_other_tasks_and_robots_are_refused(learned, tmp_path) -> None:
    policy = RLPolicy(str(learned))
    for changes, words in (
        ({"task": "pick"}, "task trace, not pick"),
        ({"robot": "panda"}, "robot xarm6, not panda"),
    ):
        episode = type("Other", (Episode,), changes)
        with pytest.raises(PolicyError, match=words):
            policy.reset(PromptInput("", {}), env=None, episode=episode)
    assert policy.only_task == "trace"
    args = EvaluateArgs(policy=f"rl:{learned}", tasks=("trace", "pick"), out=tmp_path / "out")
    with pytest.raises(ClevrSkillsError, match="was trained on trace only, not on pick"):
        evaluate(args)
    assert not (tmp_path / "out" / "run.json").exists()
    source = PolicySource(f"rl:{tmp_path}")
    with pytest.raises(ClevrSkillsError, match="is not a training run of `clevrskills rl`"):
        source.make()
