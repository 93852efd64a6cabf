"""The environments as LeRobot wants them, without LeRobot."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from clevrskills.core.env import ResetNeededError
from clevrskills.core.observer import text_of
from clevrskills.errors import ClevrSkillsError
from clevrskills.integrations.lerobot_env import (
    NEW_ROLLOUT,
    LazyVectorEnv,
    LeRobotEnv,
    make_vector_envs,
)
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS, ClevrSkillsSuite
from clevrskills.tasks import tasks

STILL = np.array([0, 0, 0, 0, 0, 0, -1], dtype=np.float32)


@pytest.fixture
def pick(frozen_folder):
    env = LeRobotEnv("pick", "test", frozen=str(frozen_folder))
    yield env
    env.close()


@pytest.mark.render
def test_shows_images_state_and_words(pick, frozen_folder):
    assert pick._env is None  # making many costs nothing
    observation, info = pick.reset(seed=1)
    assert observation in pick.observation_space
    assert observation["agent_pos"].shape == (15,)
    assert info == {"is_success": False, "episode": 1}
    spec = ClevrSkillsSuite(frozen_folder).frozen("pick", "test")[1]
    assert (pick.task, pick.task_description) == ("pick", text_of(spec.prompt))
    np.testing.assert_array_equal(pick.render(), observation["pixels"]["base_camera"])
    observation, reward, terminated, truncated, info = pick.step(STILL)
    assert observation in pick.observation_space
    assert abs(reward) < 0.1 and not (terminated or truncated or info["is_success"])


@pytest.mark.slow
@pytest.mark.render
def test_episodes_follow_the_seed_and_nothing_else(pick):
    def episode(**kwargs):
        return pick.reset(**kwargs)[1]["episode"]

    assert [episode(seed=seed) for seed in (2, 3, 1000)] == [2, 0, 1]
    assert episode() == 1  # as vector environments reset by themselves
    assert [episode(options={NEW_ROLLOUT: True}) for _ in range(3)] == [2, 0, 1]
    first, _ = pick.reset(seed=0)
    for _ in range(3):
        pick.step(STILL)
    again, _ = pick.reset(seed=0)
    np.testing.assert_array_equal(first["agent_pos"], again["agent_pos"])
    for camera, image in first["pixels"].items():
        np.testing.assert_array_equal(image, again["pixels"][camera])


@pytest.mark.slow
@pytest.mark.render
def test_success_ends_the_episode(pick, solution):
    pick.reset(seed=0)
    for action in solution[:-1]:
        _, _, terminated, truncated, info = pick.step(np.array(action))
        assert not (terminated or truncated or info["is_success"])
    _, _, terminated, truncated, info = pick.step(np.array(solution[-1]))
    assert terminated and not truncated and info["is_success"]
    with pytest.raises(ResetNeededError, match="the episode is over"):
        pick.step(STILL)


@pytest.mark.render
def test_a_step_needs_an_episode(frozen_folder):
    env = LeRobotEnv("pick", "test", cameras=["base_camera"], size_px=32, frozen=str(frozen_folder))
    for _ in range(2):  # LeRobot closes it after each evaluation
        with pytest.raises(ResetNeededError):
            env.step(STILL)
        env.reset(seed=1)
        assert env.step(STILL)[4]["episode"] == 1
        env.close()


def test_tasks_become_vector_environments(frozen_folder):
    envs = make_vector_envs(["pick", "touch"], n_envs=2, frozen=str(frozen_folder))
    assert {suite: list(group) for suite, group in envs.items()} == {"pick": [0], "touch": [0]}
    for group in envs.values():
        env = group[0]
        assert isinstance(env, SyncVectorEnv) and env.num_envs == 2
        assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        assert env.metadata["render_fps"] == 20
        assert [e._choose(None, {}) for e in env.envs] == [0, 1]
    assert envs["touch"][0].call("_max_episode_steps") == (200, 200)


def test_shipped_episodes_are_the_default():
    envs = make_vector_envs(level="L0", split="test")
    wanted = [key for key, task in tasks().items() if task.level == "L0"]
    assert list(envs) == [key for key in wanted if key not in KEYSTEP_TASKS]
    assert {env._episodes for group in envs.values() for env in group[0].envs} == {100}


@pytest.mark.parametrize("make", [LeRobotEnv, lambda task: make_vector_envs([task])])
def test_tasks_without_text_prompts_are_refused_at_once(make):
    line = "match_pose cannot be stated in words alone: leave it out, or use `clevrskills evaluate "
    with pytest.raises(ClevrSkillsError, match=line):
        make("match_pose")


def test_processes_start_when_they_are_needed(frozen_folder):
    options = {"n_envs": 2, "use_async_envs": True, "frozen": str(frozen_folder)}
    env = make_vector_envs(["pick"], **options)["pick"][0]
    assert isinstance(env, LazyVectorEnv) and env._made is None
    assert env.num_envs == 2 and env.single_action_space.shape == (7,)
    assert env.observation_space["agent_pos"].shape == (2, 15)
    assert env.unwrapped.metadata["render_fps"] == 20
    env.close()
    assert env._made is None


class Counter(gym.Env):
    """Counts its steps."""

    observation_space = gym.spaces.Box(0, 9, (1,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (7,), np.float32)
    metadata = {"render_modes": ["rgb_array"]}
    render_mode = "rgb_array"
    steps = 0

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.full(1, self.steps, np.float32), 0.0, False, False, {}

    def render(self):
        return np.zeros((2, 2, 3), np.uint8)


def test_lazy_vector_environment_hands_everything_on():
    env = LazyVectorEnv(lambda: SyncVectorEnv([Counter, Counter]), 2, Counter())
    env.reset(seed=[1, 2])
    observation = env.step(env.action_space.sample())[0]
    assert observation.tolist() == [[1.0], [1.0]]
    env.set_attr("steps", [5, 6])
    assert env.get_attr("steps") == env.call("steps") == (5, 6)
    assert len(env.render()) == 2
    made = env.made
    env.close()
    assert made.closed
    assert env.made is not made
    env.close()


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"tasks": ["fly"]}, "unknown task 'fly'"),
        ({"level": "L7"}, "unknown level 'L7'; allowed: L0, L1, L2"),
        ({"split": "dev"}, "unknown split of pick 'dev'"),
        ({"robot": "ur5"}, "robot=ur5: the frozen episodes of pick are for xarm6"),
        ({"cameras": ()}, "LeRobot needs at least one camera"),
        ({"cameras": ("front",)}, "unknown camera 'front'"),
        ({"episodes": 4}, "episodes=4 of pick; allowed: 1 to 3"),
        ({"n_envs": 0}, "n_envs must be at least 1, not 0"),
    ],
)
def test_bad_arguments_are_named(frozen_folder, wrong, said):
    given = {} if "level" in wrong else {"tasks": ["pick"]}
    with pytest.raises(ClevrSkillsError, match=said):
        make_vector_envs(**{**given, "frozen": str(frozen_folder), **wrong})
