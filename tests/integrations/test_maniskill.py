"""The environments in ManiSkill's own wrappers, as its baselines put them together."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from mani_skill.utils.gym_utils import find_max_episode_steps_value
from mani_skill.utils.wrappers import CPUGymWrapper, FlattenRGBDObservationWrapper, FrameStack
from mani_skill.vector.wrappers.gymnasium import ManiSkillVectorEnv

from clevrskills.errors import UnknownNameError

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
def test_cameras_are_the_same_as_with_depth():
    given = []
    for obs_mode in ("rgb", "rgb+depth"):
        env = gym.make(ID, obs_mode=obs_mode)
        given.append(env.reset(seed=0)[0]["sensor_param"])
        env.close()
    for camera, parameters in given[0].items():
        assert {*parameters} == {"extrinsic_cv", "cam2world_gl", "intrinsic_cv"}
        for name, values in parameters.items():
            torch.testing.assert_close(values, given[1][camera][name])


@pytest.mark.render
@pytest.mark.parametrize(
    ("obs_mode", "same"), [("rgbd", "rgb+depth"), ("state_dict+rgb", "rgb+state_dict")]
)
def test_modes_by_their_names(obs_mode, same):
    shown = []
    for mode in (obs_mode, same):
        env = gym.make(ID, obs_mode=mode)
        shown.append(env.reset(seed=0)[0])
        env.close()
    images = shown[0]["sensor_data"]["base_camera"]
    assert {*images} == ({"rgb", "depth"} if obs_mode == "rgbd" else {"rgb"})
    assert ("bodies/object_0" in shown[0]["extra"]) == (obs_mode != "rgbd")
    for name, image in images.items():
        torch.testing.assert_close(image, shown[1]["sensor_data"]["base_camera"][name])


@pytest.mark.render
def test_point_clouds_lie_on_the_table():
    env = gym.make(ID, obs_mode="pointcloud")
    cloud = env.reset(seed=0)[0]["pointcloud"]
    points = cloud["xyzw"][0][cloud["xyzw"][0, :, 3] == 1][:, :3]
    x, y, z = points.T
    near = points[(x > -0.4) & (x < 0.05) & (y.abs() < 0.3) & (z < 0.02)]
    assert len(near) > 10_000 and near[:, 2].median().abs() < 0.002
    assert cloud["rgb"].shape[1] == cloud["segmentation"].shape[1] == len(cloud["xyzw"][0])
    env.close()


def test_robots_and_control_modes_by_their_names():
    options = {"obs_mode": "state", "render_backend": "none"}
    env = gym.make(ID, robot_uids="panda", control_mode="pd_ee_delta_pose", **options)
    assert env.unwrapped.robot_name == "panda" and env.reset(seed=0)[0].shape[0] == 1
    env.close()
    for wrong in ({"robot_uids": "fetch"}, {"control_mode": "pd_joint_pos"}):
        with pytest.raises(UnknownNameError, match="allowed: (xarm6|pd_ee_delta_pose)"):
            gym.make(ID, **wrong, **options)


def test_infos_are_tensors():
    env = gym.make(ID, obs_mode="state", render_backend="none")
    for info in (env.reset(seed=0)[1], env.step(np.zeros(7))[4]):
        assert info["unsolvable"].tolist() == [0]
        assert all(isinstance(value, torch.Tensor) for value in info["reward_terms"].values())
    assert env.unwrapped.reasons[0] == ""
    env.close()


@pytest.mark.render
def test_a_restored_state_gives_the_same_observation():
    env = gym.make(ID, obs_mode="rgb")
    inner, generator = env.unwrapped, np.random.default_rng(0)
    env.reset(seed=1000)
    for _ in range(5):
        env.step(generator.uniform(-1, 1, 7))
    nested, flat, before = inner.get_state_dict(), inner.get_state(), inner.get_obs()
    for restore in (lambda: inner.set_state_dict(nested), lambda: inner.set_state(flat)):
        for _ in range(10):
            env.step(generator.uniform(-1, 1, 7))
        restore()
        torch.testing.assert_close(inner.get_state(), flat, rtol=0, atol=0)
        after = inner.get_obs()
        for name, value in before["agent"].items():
            torch.testing.assert_close(after["agent"][name], value, rtol=0, atol=1e-6)
        for camera, images in before["sensor_data"].items():
            seen = after["sensor_data"][camera]["rgb"].int()
            assert (seen - images["rgb"].int()).abs().max() <= 1
    env.close()
