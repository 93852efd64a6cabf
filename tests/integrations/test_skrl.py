"""skrl learns in our vector environments."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from skrl.agents.torch.ppo import PPO
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.trainers.torch import SequentialTrainer
from torch import nn

from clevrskills.integrations.skrl import FinalObservations, SkrlEnv
from clevrskills.vector import make_vec
from tests.rl.toy import ToyVec


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Policy(GaussianMixin, Model):
    def __init__(self, envs: SkrlEnv) -> None:
        Model.__init__(
            self,
            observation_space=envs.observation_space,
            action_space=envs.action_space,
            device=envs.device,
        )
        GaussianMixin.__init__(self)
        self.net = nn.Sequential(
            nn.Linear(self.num_observations, 32), nn.Tanh(), nn.Linear(32, self.num_actions)
        )
        self.log_std = nn.Parameter(torch.full((self.num_actions,), -0.7))

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Value(DeterministicMixin, Model):
    def __init__(self, envs: SkrlEnv) -> None:
        Model.__init__(
            self,
            observation_space=envs.observation_space,
            action_space=envs.action_space,
            device=envs.device,
        )
        DeterministicMixin.__init__(self)
        self.net = nn.Sequential(nn.Linear(self.num_observations, 32), nn.Tanh(), nn.Linear(32, 1))

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {}


class Learner(FinalObservations, PPO):
    """PPO that records its transitions."""

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        self.given: dict[str, list[float]] = {}

    def track_data(self, tag, value):
        self.given.setdefault(tag, []).append(value)


def learner(envs: SkrlEnv) -> Learner:
    cfg = {
        "rollouts": 50, "mini_batches": 4, "discount_factor": 0.9, "learning_rate": 2e-3,
        "time_limit_bootstrap": True, "value_loss_scale": 0.5,
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},
    }  # fmt: skip
    return Learner(
        models={"policy": Policy(envs), "value": Value(envs)},
        memory=RandomMemory(memory_size=50, num_envs=envs.num_envs, device=envs.device),
        cfg=cfg,
        observation_space=envs.observation_space,
        action_space=envs.action_space,
        device=envs.device,
    )


def test_steps_and_ends():
    plain, wrapped = ToyVec(3, max_steps=4), SkrlEnv(ToyVec(3, max_steps=4))
    seen, _ = wrapped.reset()
    assert seen.shape == (3, 7)
    plain.reset(seed=0)
    wrapped._env.reset(seed=0)
    for step in range(4):
        action = np.full((3, 7), 5.0, np.float32)  # cut to 1
        expected = plain.step(np.ones((3, 7), np.float32))
        seen, reward, terminated, truncated, infos = wrapped.step(torch.as_tensor(action))
        assert np.array_equal(seen.numpy(), expected[0])
        assert np.allclose(reward[:, 0].numpy(), expected[1])
        assert not terminated.any() and bool(truncated.all()) == (step == 3)
        assert ("episode" in infos) == (step == 3)
    assert np.array_equal(infos["final_obs"].numpy(), expected[4]["final_obs"])
    returns = expected[4]["final_info"]["episode"]["return"]
    assert infos["episode"]["return"].item() == pytest.approx(returns.mean())


def test_the_end_of_an_episode_is_learned_from_its_last_observation():
    envs = SkrlEnv(ToyVec(3, max_steps=4))
    agent = learner(envs)
    agent.init()
    agent.enable_training_mode(True)
    seen, _ = envs.reset()
    for step in range(4):
        with torch.no_grad():
            actions, _ = agent.act(seen, None, timestep=step, timesteps=9)
            later, reward, terminated, truncated, infos = envs.step(actions)
            agent.record_transition(
                observations=seen, states=None, actions=actions, rewards=reward,
                next_observations=later, next_states=None, terminated=terminated,
                truncated=truncated, infos=infos, timestep=step, timesteps=9,
            )  # fmt: skip
        kept = agent._current_next_observations
        assert torch.equal(kept, infos["final_obs"] if step == 3 else later)
        assert torch.equal(kept, later) == (step < 3)
        seen = later


@pytest.mark.slow
def test_it_learns():
    torch.manual_seed(0)
    envs = SkrlEnv(ToyVec(16))
    agent = learner(envs)
    cfg = {"timesteps": 750, "disable_progressbar": True, "close_environment_at_exit": False}
    SequentialTrainer(env=envs, agents=agent, cfg=cfg).train()
    returns = agent.given["Info / return"]
    assert len(returns) == 30 == len(agent.given["Info / success_once"])
    assert np.mean(returns[-3:]) > 1.4 * np.mean(returns[:3])


def test_images_are_flattened():
    envs = SkrlEnv(ToyVec(2, images=True, max_steps=1))
    assert envs.reset()[0].shape == (2, 2 * 48 * 48 * 3 + 4)
    infos = envs.step(torch.zeros(2, 7))[-1]
    assert infos["final_obs"].shape == (2, 2 * 48 * 48 * 3 + 4)


@pytest.mark.slow
def test_a_real_task():
    envs = SkrlEnv(make_vec("trace", 2, episode_steps=20))
    agent = learner(envs)
    cfg = {"timesteps": 100, "disable_progressbar": True, "close_environment_at_exit": False}
    SequentialTrainer(env=envs, agents=agent, cfg=cfg).train()
    assert agent.given["Info / length"] == [20.0] * 5
    assert len(agent.given["Loss / Policy loss"]) == 2
    envs.close()
