"""Stable-Baselines3 learns in our vector environments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecFrameStack, VecTransposeImage

from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import read_results
from clevrskills.integrations.sb3 import SB3VecEnv
from clevrskills.vector import make_vec
from tests.rl.toy import ToyVec

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_steps_and_ends():
    plain, wrapped = ToyVec(3, max_steps=4), SB3VecEnv(ToyVec(3, max_steps=4))
    wrapped.seed(7)
    assert np.array_equal(wrapped.reset(), plain.reset(seed=7)[0])
    for step in range(6):
        action = np.full((3, 7), 0.1 * step, np.float32)
        seen, reward, terminated, truncated, infos = plain.step(action)
        got = wrapped.step(action)
        assert np.array_equal(got[0], seen) and np.allclose(got[1], reward)
        assert np.array_equal(got[2], terminated | truncated)
        for env, given in enumerate(got[3]):
            assert given["TimeLimit.truncated"] == (step == 3)
            assert given["success"] == infos["success"][env]
            assert ("episode" in given) == ("terminal_observation" in given) == (step == 3)
            if step == 3:
                assert np.array_equal(given["terminal_observation"], infos["final_obs"][env])
                assert not np.array_equal(given["terminal_observation"], seen[env])
                assert given["episode"]["l"] == 4 and given["is_success"] is False
                assert given["episode"]["r"] == infos["final_info"]["episode"]["return"][env]


def test_an_end_is_no_cut():
    envs = SB3VecEnv(ToyVec(2, max_steps=30, terminate=True))
    envs.reset()
    ended = []
    while not ended:
        goal, place = envs.envs._goal(), envs.envs.place
        action = np.zeros((2, 7))
        action[:, :3] = np.clip((goal - place) / 0.2, -1, 1)
        ended = [given for given in envs.step(action)[3] if "episode" in given]
    assert all(not given["TimeLimit.truncated"] and given["is_success"] for given in ended)


def test_attributes():
    envs = SB3VecEnv(ToyVec(3))
    assert envs.get_attr("max_steps") == [25] * 3 and envs.get_attr("num_envs", [1]) == [3]
    assert envs.env_is_wrapped(Monitor) == [True] * 3
    assert envs.env_is_wrapped(VecFrameStack, 0) == [False]
    with pytest.raises(ClevrSkillsError):
        envs.set_attr("max_steps", 3)
    with pytest.raises(ClevrSkillsError):
        envs.env_method("reset")
    envs.close()
    assert envs.envs.closed


def test_it_learns():
    envs = SB3VecEnv(ToyVec(16))
    learner = PPO(
        "MlpPolicy", envs, n_steps=50, batch_size=200, gamma=0.9, learning_rate=2e-3, seed=0,
        device="cpu", policy_kwargs={"net_arch": [32, 32], "log_std_init": -0.7},
    )  # fmt: skip
    before, _ = evaluate_policy(learner, SB3VecEnv(ToyVec(16)), n_eval_episodes=16)
    learner.learn(6_000)
    assert len(learner.ep_success_buffer) == 100  # what SB3 calls the success rate
    after, _ = evaluate_policy(learner, SB3VecEnv(ToyVec(16)), n_eval_episodes=16)
    assert after > 1.5 * before


def test_images():
    envs = SB3VecEnv(ToyVec(2, images=True))
    learner = PPO("MultiInputPolicy", envs, n_steps=8, batch_size=8, n_epochs=1, device="cpu")
    assert isinstance(learner.get_env(), VecTransposeImage)
    learner.learn(32)  # two updates
    final = envs.step(np.zeros((2, 7)))[3]
    assert "episode" not in final[0]
    envs.envs.age[:] = envs.envs.max_steps - 1
    final = envs.step(np.zeros((2, 7)))[3][0]["terminal_observation"]
    assert {name: entry.shape for name, entry in final.items()} == {
        name: space.shape for name, space in envs.observation_space.spaces.items()
    }


@pytest.mark.slow
def test_a_real_task():
    envs = SB3VecEnv(make_vec("trace", 2, episode_steps=6))
    learner = PPO("MlpPolicy", envs, n_steps=16, batch_size=16, n_epochs=1, device="cpu")
    learner.learn(64)
    assert [info["l"] for info in learner.ep_info_buffer] == [6] * 10  # of 32 steps in each
    assert len(learner.ep_success_buffer) == 10
    envs.close()


@pytest.mark.slow
def test_an_off_policy_learner_has_a_row(tmp_path):
    options = ["--total-steps", "320", "--seeds", "3", "--episodes", "1", "--out", "sac"]
    command = [sys.executable, EXAMPLES / "sac.py", "touch", *options]
    paths = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    subprocess.run(command, cwd=tmp_path, env=paths, check=True)
    results = list(read_results(tmp_path / "sac/touch-3/scores"))
    assert {result.split for result in results} == {"train", "test"}
