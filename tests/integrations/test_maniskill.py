"""The environments in ManiSkill's own wrappers, as its baselines put them together."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from mani_skill.utils.gym_utils import find_max_episode_steps_value
from mani_skill.utils.wrappers import CPUGymWrapper, FlattenRGBDObservationWrapper, FrameStack
from mani_skill.vector.wrappers.gymnasium import ManiSkillVectorEnv

ID = "clevrskills:ClevrSkillsBatched/Pick-v1"
OPTIONS = {
    "control_mode": "pd_ee_delta_pose",
    "reward_mode": "sparse",
    "reconfiguration_freq": 1,
}


def single(wrappers, **options) -> gym.Env:
    """An environment as those are that are stepped on a CPU."""
    env = gym.make(ID, **OPTIONS, **options)
    for wrap in wrappers:
        env = wrap(env)
    return CPUGymWrapper(env, ignore_terminations=True, record_metrics=True)


def steps_of(env, action, most: int = 200) -> tuple[int, dict]:
    """How many steps an episode has, and the last infos."""
    env.reset(seed=0)
    for step in range(1, most):
        _, _, _, truncated, info = env.step(action)
        if np.any(np.asarray(truncated)):
            return step, info
    raise AssertionError("it never ends")


def test_evaluation_on_a_cpu():
    options = {"obs_mode": "state", "render_backend": "none", "max_episode_steps": 5}
    envs = gym.vector.SyncVectorEnv([partial(single, (), **options)] * 2)
    steps, info = steps_of(envs, np.zeros((2, 7), np.float32))
    assert steps == 5 and info["episode"]["episode_len"].tolist() == [5, 5]
    envs.close()


def test_evaluation_of_a_batch():
    env = gym.make(
        ID, num_envs=1, sim_backend="physx_cpu", obs_mode="state", render_backend="none", **OPTIONS
    )
    assert find_max_episode_steps_value(env) == 80
    env = ManiSkillVectorEnv(env, ignore_terminations=True, record_metrics=True)
    steps, info = steps_of(env, torch.zeros((1, 7)))
    assert steps == 80 and info["final_info"]["episode"]["success_at_end"].tolist() == [False]
    env.close()


@pytest.mark.render
def test_pictures_are_flattened():
    flatten = partial(FlattenRGBDObservationWrapper, rgb=True, depth=False, state=True)
    env = single((flatten, partial(FrameStack, num_stack=2)), obs_mode="rgb")
    observation, _ = env.reset(seed=0)
    assert observation["rgb"].shape == (2, 256, 256, 6) and observation["state"].shape == (2, 34)
    assert env.step(np.zeros(7, np.float32))[0]["rgb"].std() > 5
    env.close()


@pytest.mark.render
def test_cameras_are_told_as_with_depth():
    told = []
    for obs_mode in ("rgb", "rgb+depth"):
        env = gym.make(ID, obs_mode=obs_mode)
        told.append(env.reset(seed=0)[0]["sensor_param"])
        env.close()
    for camera, parameters in told[0].items():
        assert {*parameters} == {"extrinsic_cv", "cam2world_gl", "intrinsic_cv"}
        for name, values in parameters.items():
            torch.testing.assert_close(values, told[1][camera][name])
