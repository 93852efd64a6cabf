"""Vector environments of our ids: this package's own, and Gymnasium's around single ones."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

import clevrskills
import clevrskills.vector
from clevrskills import env_id
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.prompt import Prompt
from tests.support.envs import make_env, random_actions

SEEDS = [3, 4]


def make_vec(mode: str = "sync", obs_mode: str = "state", **kwargs) -> VectorEnv:
    return gym.make_vec(
        env_id("pick"), num_envs=2, vectorization_mode=mode, obs_mode=obs_mode, **kwargs
    )


@pytest.fixture(scope="module")
def pair():
    env = make_vec(max_episode_steps=2)
    yield env
    env.close()


@pytest.fixture(scope="module")
def single():
    env = make_env("pick", "state", max_episode_steps=2)
    yield env
    env.close()


def actions(step: int) -> np.ndarray:
    """The actions of both environments at a step, (2, 7)."""
    return np.stack([random_actions(step + 1, seed)[step] for seed in range(2)])


def test_each_is_as_it_would_be_alone(pair, single):
    assert pair.single_action_space.shape == (7,)
    states, infos = pair.reset(seed=SEEDS)
    assert states in pair.observation_space
    ours = pair.step(actions(0))
    for k, seed in enumerate(SEEDS):
        state, info = single.reset(seed=seed)
        np.testing.assert_array_equal(states[k], state)
        assert infos["prompt"][k] == info["prompt"]
        state, reward, terminated, truncated, info = single.step(actions(0)[k])
        np.testing.assert_array_equal(ours[0][k], state)
        assert (ours[1][k], ours[2][k], ours[3][k]) == (reward, terminated, truncated)
        assert ours[4]["progress"][k] == info["progress"]
        assert ours[4]["reward_terms"]["picked"][k] == info["reward_terms"]["picked"]
    assert "prompt" not in ours[4]  # it is said once


def test_one_seed_counts_up(pair):
    by_one, _ = pair.reset(seed=SEEDS[0])
    by_each, _ = pair.reset(seed=SEEDS)
    np.testing.assert_array_equal(by_one, by_each)


def test_next_episode_begins_by_itself(pair, single):
    pair.reset(seed=SEEDS)
    pair.step(actions(0))
    _, _, terminated, truncated, _ = pair.step(actions(1))
    assert truncated.all() and not terminated.any()
    states, rewards, _, truncated, infos = pair.step(actions(2))
    assert not truncated.any() and not rewards.any()
    assert infos["_prompt"].all()
    for k, seed in enumerate(SEEDS):
        single.reset(seed=seed)
        state, info = single.reset()
        np.testing.assert_array_equal(states[k], state)
        assert infos["prompt"][k] == info["prompt"]


def test_next_episode_begins_in_the_same_step():
    env = make_vec(max_episode_steps=1, vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
    first, info = env.reset(seed=SEEDS)
    states, _, _, truncated, infos = env.step(actions(0))
    env.close()
    assert truncated.all()
    assert all(isinstance(prompt, Prompt) for prompt in infos["prompt"])
    assert infos["final_info"]["success"].tolist() == [False, False]
    finals = np.stack(infos["final_obs"])
    assert (finals != states).any(axis=1).all() and (finals != first).any(axis=1).all()


def test_prompts_travel_between_processes(pair):
    _, infos = pair.reset(seed=SEEDS)
    for prompt in infos["prompt"]:
        data = pickle.dumps(prompt)
        assert pickle.loads(data) == prompt
        assert len(data) < 100_000  # data, no meshes


@pytest.mark.slow
def test_all_names_of_make_vec_are_one():
    made = [
        gym.make_vec(
            *(env_id("trace"), 2),
            **{"max_episode_steps": 3, "robot": "panda", "autoreset_mode": "SameStep"},
        ),
        clevrskills.make_vec("trace", 2, episode_steps=3, robot_name="panda"),
        clevrskills.vector.make_vec("trace", num_envs=2, episode_steps=3, robot_name="panda"),
    ]
    assert {type(envs) for envs in made} == {clevrskills.vector.VectorEnv}
    assert made[0].unwrapped.spec.id == env_id("trace")
    first, *others = [
        [envs.reset(seed=SEEDS[0])[:1], *(envs.step(actions(k))[:4] for k in range(4))]
        for envs in made
    ]
    for other in others:
        for mine, theirs in zip(first, other, strict=True):
            for values, expected in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(values, expected)
    assert first[3][3].all()  # the third step is the last one
    for envs in made:
        envs.close()


@pytest.fixture(scope="module")
def next_step() -> VectorEnv:
    env = gym.make_vec(env_id("pick"), num_envs=2, obs_mode="state", max_episode_steps=2)
    yield env
    env.close()


def test_the_next_step_begins_the_next_episode(next_step):
    """As with the same step, but for one step more, whose action is not used."""
    same = clevrskills.make_vec("pick", 2, episode_steps=2)
    np.testing.assert_array_equal(next_step.reset(seed=SEEDS)[0], same.reset(seed=SEEDS)[0])
    for episode in range(2):
        first, last = (same.step(actions(2 * episode + k)) for k in range(2))
        for values, expected in zip(next_step.step(actions(2 * episode))[:4], first, strict=False):
            np.testing.assert_array_equal(values, expected)
        observations, rewards, _, truncated, infos = next_step.step(actions(2 * episode + 1))
        np.testing.assert_array_equal(observations, last[4]["final_obs"])
        np.testing.assert_array_equal(rewards, last[1])
        assert truncated.all() and "final_obs" not in infos
        np.testing.assert_equal(infos["final_info"], last[4]["final_info"])
        observations, rewards, terminated, truncated, infos = next_step.step(actions(9))
        np.testing.assert_array_equal(observations, last[0])
        assert not (rewards.any() or terminated.any() or truncated.any())
    same.close()


def test_wrappers_of_observations_take_the_default(next_step):
    wrappers = gym.wrappers.vector
    wrapped = wrappers.RecordEpisodeStatistics(
        wrappers.DtypeObservation(wrappers.NormalizeObservation(next_step), np.float64)
    )
    wrapped.reset(seed=SEEDS)
    steps = [wrapped.step(actions(k)) for k in range(2)]
    assert steps[1][0].dtype == np.float64 and steps[1][4]["episode"]["l"].tolist() == [2, 2]


def test_other_autoreset_modes_are_refused():
    with pytest.raises(ClevrSkillsError, match="'Disabled'; allowed: SameStep, NextStep"):
        gym.make_vec(env_id("pick"), num_envs=1, obs_mode="state", autoreset_mode="Disabled")


@pytest.mark.render
def test_all_are_filmed():
    env = gym.make_vec(env_id("pick"), num_envs=2, obs_mode="state", render_mode="rgb_array")
    alone = make_env("pick", "state", render_mode="rgb_array", render_backend=None)
    env.reset(seed=SEEDS)
    alone.reset(seed=SEEDS[1])
    frames = env.render()
    assert [frame.shape for frame in frames] == [(512, 512, 3)] * 2
    np.testing.assert_array_equal(frames[1], alone.render())
    alone.close()
    env.close()


def test_unknown_attributes_of_the_package_raise():
    with pytest.raises(AttributeError, match="no attribute 'make_venv'"):
        clevrskills.make_venv  # noqa: B018


@pytest.mark.slow
def test_processes_give_the_same():
    together, apart = make_vec(max_episode_steps=2), make_vec("async", max_episode_steps=2)
    (ours, our_infos), (theirs, their_infos) = (e.reset(seed=SEEDS) for e in (together, apart))
    np.testing.assert_array_equal(ours, theirs)
    assert our_infos["prompt"].tolist() == their_infos["prompt"].tolist()
    for step in range(4):
        one, other = (env.step(actions(step)) for env in (together, apart))
        for values, others in zip(one[:4], other[:4], strict=True):
            np.testing.assert_array_equal(values, others)
    together.close()
    apart.close()


@pytest.mark.render
def test_images_and_text():
    env = make_vec(obs_mode="rgb")
    observations, infos = env.reset(seed=SEEDS)
    assert observations in env.observation_space
    assert observations["sensor_data"]["base_camera"]["rgb"].shape == (2, 256, 256, 3)
    assert observations["agent"]["ee_pose"].shape == (2, 7)
    assert observations["prompt"] == tuple(prompt.text for prompt in infos["prompt"])
    assert observations["prompt"] == env.step(actions(0))[0]["prompt"]
    env.close()


@pytest.mark.slow
@pytest.mark.render
def test_images_and_text_from_other_processes():
    together = make_vec(obs_mode="rgb")
    apart = make_vec("async", "rgb", vector_kwargs={"context": "spawn"})
    for seeds in (SEEDS, [5, 6]):  # the texts change with the episodes
        (ours, _), (theirs, _) = (env.reset(seed=seeds) for env in (together, apart))
        assert ours["prompt"] == theirs["prompt"]
        for camera in ("base_camera", "hand_camera"):
            np.testing.assert_array_equal(
                *(shown["sensor_data"][camera]["rgb"] for shown in (ours, theirs))
            )
    assert theirs in apart.observation_space
    together.close()
    apart.close()


@pytest.mark.render
def test_process_forked_from_one_that_draws_is_refused():
    """The renderer would wait for ever for threads that were not forked with it."""
    envs = make_vec("async", "rgb", vector_kwargs={"context": "fork"})
    with pytest.raises(ClevrSkillsError, match=r'vector_kwargs=\{"context": "spawn"\}'):
        envs.reset(seed=0)
    envs.close()
