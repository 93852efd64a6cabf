"""Vector environments: the same as single ones, in one process and in several."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates.touched import SPOILED
from clevrskills.vector import VectorEnv, make_vec
from tests.support.envs import make_env, random_actions
from tests.tasks.scenes import COVERING

SEED = 11


def actions(steps: int, num_envs: int) -> np.ndarray:
    """Actions (steps, num_envs, 7)."""
    return np.stack([random_actions(steps, seed) for seed in range(num_envs)], axis=1)


def roll(envs: VectorEnv, moves: np.ndarray) -> list:
    """Everything that a vector environment gives along actions (steps, B, 7)."""
    return [envs.reset(seed=SEED), *(envs.step(move) for move in moves)]


def leaves(value) -> list[np.ndarray]:
    """All arrays in nested results, in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value)]


@pytest.fixture(scope="module")
def trace():
    envs = make_vec("trace", 3)
    yield envs
    envs.close()


@pytest.mark.parametrize(
    "key", [*COVERING[:6], *(pytest.param(key, marks=pytest.mark.slow) for key in COVERING[6:])]
)
def test_each_environment_is_as_it_would_be_alone(key):
    """To the last bit: nothing depends on how many are looked at together."""
    envs, alone = make_vec(key, 2), make_env(key, "state")
    moves = actions(6, 2)
    found = roll(envs, moves)
    for row in range(2):
        state, _ = alone.reset(seed=SEED + row)
        np.testing.assert_array_equal(found[0][0][row], state)
        for move, step in zip(moves, found[1:], strict=True):
            state, reward, _, _, info = alone.step(move[row])
            np.testing.assert_array_equal(step[0][row], state)
            assert step[1][row] == np.float32(reward)
            assert step[4]["success"][row] == info["success"]
            assert step[4]["progress"][row] == info["progress"]
            assert step[4]["unsolvable"][row] == info["unsolvable"]
            for path, value in info["reward_terms"].items():
                assert step[4]["reward_terms"][path][row] == value
    envs.close()
    alone.close()


def test_spaces_contain_observations_and_actions(trace):
    observations, _ = trace.reset(seed=0)
    assert trace.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert observations in trace.observation_space and observations.dtype == np.float32
    assert trace.single_action_space.shape == (7,)
    assert trace.step(trace.action_space.sample())[0] in trace.observation_space


def test_one_seed_counts_up_and_none_continues(trace):
    by_one, _ = trace.reset(seed=SEED)
    by_each, _ = trace.reset(seed=[SEED, SEED + 1, SEED + 2])
    np.testing.assert_array_equal(by_one, by_each)
    following, _ = trace.reset()
    assert (following != by_one).any(axis=1).all()
    trace.reset(seed=SEED)
    np.testing.assert_array_equal(following, trace.reset()[0])


def test_an_episode_that_ends_is_followed_by_the_next():
    envs = make_vec("pick", 2, episode_steps=3)
    assert envs.max_episode_steps == 3
    first, _ = envs.reset(seed=SEED)
    steps = [envs.step(move) for move in actions(4, 2)]
    for step in steps[:2]:
        assert not step[2].any() and not step[3].any() and "final_obs" not in step[4]
    observation, _, terminated, truncated, infos = steps[2]
    assert truncated.all() and not terminated.any() and infos["_final_obs"].all()
    assert infos["final_observation"] is infos["final_obs"]
    episode = infos["final_info"]["episode"]
    assert episode["length"].tolist() == [3, 3] and not episode["success_once"].any()
    np.testing.assert_allclose(episode["return"], sum(step[1] for step in steps[:3]), rtol=1e-6)
    assert (infos["final_obs"] != observation).any(axis=1).all()
    assert (observation != first).any(axis=1).all()
    assert not steps[3][3].any()  # the next one has just begun
    envs.close()


def test_one_ends_while_the_other_continues():
    """The goal, what it remembers and the observation of the other one stay as they are."""
    moves = actions(8, 2)
    envs, apart = make_vec("touch", 2), make_vec("touch", 2)
    envs.reset(seed=SEED), apart.reset(seed=SEED)
    envs._shards[0]._batch._steps[0] = envs.max_episode_steps - 4
    for step, move in enumerate(moves):
        ours, theirs = envs.step(move), apart.step(move)
        assert ours[3].tolist() == [step == 3, False]
        for one, other in zip(leaves(ours[:4]), leaves(theirs[:4]), strict=True):
            np.testing.assert_array_equal(one[1], other[1])
    envs.close(), apart.close()


def test_with_termination_success_ends_an_episode():
    def solved(**kwargs):
        envs = make_vec("pick", 1, reward_mode="sparse", **kwargs)
        envs.reset(seed=SEED)
        world = envs._shards[0]._batch._world
        envs._shards[0]._batch._goal.realize(world)
        step = envs.step(np.array([[0, 0, 0, 0, 0, 0, 1.0]], np.float32))
        envs.close()
        return step

    for kwargs, ends in (({}, False), ({"terminate_on_success": True}, True)):
        step = solved(**kwargs)
        assert step[4]["success"].tolist() == [True] or step[4]["final_info"]["success"].all()
        assert step[2].tolist() == [ends] and step[1].tolist() == [1.0]
        if ends:
            episode = step[4]["final_info"]["episode"]
            assert episode["success_once"].all() and episode["success_at_end"].all()


@pytest.mark.parametrize("mode", ["dense", "normalized_dense", "potential", "sparse"])
def test_reward_modes(mode):
    envs = make_vec("trace", 2, reward_mode=mode)
    _, before = envs.reset(seed=SEED)
    for move in actions(5, 2):
        _, reward, _, _, infos = envs.step(move)
        expected = {
            "dense": infos["reward_terms"]["order"],
            "normalized_dense": infos["progress"],
            "potential": infos["progress"] - before["progress"],
            "sparse": infos["success"],
        }[mode]
        np.testing.assert_array_equal(reward, expected)
        before = infos
    envs.close()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_reason_of_an_unsolvable_goal_is_reported(workers):
    """A word for each environment; empty while the goal can be reached."""
    envs = make_vec("touch", 2, workers=workers)
    _, infos = envs.reset(seed=SEED)
    assert infos["unsolvable"].tolist() == ["", ""]
    batch = envs._shards[-1]._batch
    batch._state = {key: value.clone() for key, value in batch._state.items()}
    batch._state["0/spoiled"][-1] = True
    infos = envs.step(np.zeros((2, 7), np.float32))[4]
    assert infos["unsolvable"].tolist() == ["", SPOILED]
    assert envs.reset(seed=SEED)[1]["unsolvable"].tolist() == ["", ""]
    envs.close()


@pytest.mark.slow
def test_head_starts_have_a_part_of_the_goal_behind_them():
    envs = make_vec("trace", 12, head_starts=1.0, task_args={"num_goals": 4})
    _, infos = envs.reset(seed=0)
    stages = np.floor(infos["progress"] * 4 + 1e-6)
    assert set(stages) == {0.0, 1.0, 2.0, 3.0} and not infos["success"].any()
    envs.close()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_processes_give_the_same(workers):
    together, apart = make_vec("sort", 3), make_vec("sort", 3, workers=workers)
    moves = actions(5, 3)
    for one, other in zip(leaves(roll(together, moves)), leaves(roll(apart, moves)), strict=True):
        np.testing.assert_array_equal(one, other)
    together.close(), apart.close()


@pytest.mark.slow
def test_a_process_that_dies_is_reported():
    envs = make_vec("pick", 2, workers=2)
    envs.reset(seed=0)
    envs._shards[0]._worker.process.kill()
    with pytest.raises(ClevrSkillsError, match="died"):
        for _ in range(3):
            envs.step(np.zeros((2, 7), np.float32))
    envs.close()


@pytest.mark.slow
@pytest.mark.render
def test_images():
    envs = make_vec("pick", 2, obs_mode="rgb", size_px=64, cameras=("base_camera",))
    observations, _ = envs.reset(seed=SEED)
    assert observations in envs.observation_space and set(observations) == {"base_camera", "state"}
    assert observations["base_camera"].shape == (2, 64, 64, 3)
    assert observations["base_camera"].std() > 10
    assert (observations["base_camera"][0] != observations["base_camera"][1]).any()
    assert observations["state"].shape == (2, 29)  # only what the robot knows of itself
    envs.close()


@pytest.mark.parametrize(
    ("kwargs", "error", "said"),
    [
        ({"task": "fly"}, UnknownNameError, "fly"),
        ({"obs_mode": "smell"}, UnknownNameError, "state"),
        ({"reward_mode": "gold"}, UnknownNameError, "potential"),
        ({"num_envs": 0}, ClevrSkillsError, "1 and more"),
        ({"workers": 3}, ClevrSkillsError, "1 to num_envs"),
        ({"head_starts": 1.5}, ClevrSkillsError, "0 to 1"),
        ({"size_px": 0}, ClevrSkillsError, "1 and more"),
        ({"episode_steps": 0}, ClevrSkillsError, "1 and more"),
        ({"split": "all"}, UnknownNameError, "train"),
    ],
)
def test_bad_arguments_raise(kwargs, error, said):
    with pytest.raises(error, match=said):
        make_vec(**{"task": "pick", "num_envs": 2, **kwargs})


@pytest.mark.parametrize("moves", [np.zeros((2, 7)), np.zeros(7), np.full((3, 7), np.nan)])
def test_actions_that_are_none_raise(trace, moves):
    trace.reset(seed=0)
    with pytest.raises(ClevrSkillsError, match="actions"):
        trace.step(moves)
    assert np.isfinite(trace.step(np.zeros((3, 7), np.float32))[0]).all()


def test_wrong_number_of_seeds_raises(trace):
    with pytest.raises(ClevrSkillsError, match="2 seeds; allowed: 3"):
        trace.reset(seed=[1, 2])
