"""The vector environment of scenes that are simulated together, beside the one on the CPU."""

import traceback
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from torch.overrides import TorchFunctionMode

import clevrskills
from clevrskills.core.episode import TRAINING
from clevrskills.errors import ClevrSkillsError
from clevrskills.tasks import tasks
from clevrskills.vector import make_vec
from clevrskills.vector.gpu import GpuVectorEnv
from tests.support.envs import random_actions
from tests.vector.gpu.scenes import CpuVectorEnv, spec

COUNT = 3


def seeds(seed: int = 0) -> list[int]:
    """Of the scenes of as many environments, each with one scene."""
    return np.random.default_rng(seed).integers(TRAINING.stop, size=(COUNT, 1))[:, 0].tolist()


def actions(step: int) -> np.ndarray:
    return np.stack([random_actions(step + 1, seed)[step] for seed in range(COUNT)])


def run(task: str, steps: int, **options):
    """What both environments tell, step by step."""
    ours = CpuVectorEnv(spec(task, **options), COUNT, starts=1)
    theirs = make_vec(task, COUNT, **options)
    told = [(ours.reset(), theirs.reset(seed=seeds()))]
    for step in range(steps):
        action = 0.3 * actions(step)  # in the air; where bodies are hit, courses part
        told.append((ours.step(torch.from_numpy(action)), theirs.step(action)))
    theirs.close()
    return ours, theirs, told


@pytest.mark.parametrize(
    ("task", "reward_mode"),
    [("place", "normalized_dense"), ("touch", "dense"), ("trace", "potential")],
)
def test_it_tells_what_the_one_on_the_cpu_tells(task, reward_mode):
    ours, theirs, told = run(task, 6, reward_mode=reward_mode)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.single_action_space == theirs.single_action_space
    assert ours.metadata == theirs.metadata and ours.terms == theirs.terms
    (first, infos), (same, said) = told[0]
    compare_infos(infos, said)
    assert np.abs(first.numpy() - same).max() < 5e-3
    for mine, yours in told[1:]:
        # the speeds of joints, and of what is not yet at rest, differ most
        assert np.quantile(np.abs(mine[0].numpy() - yours[0]), 0.9) < 5e-3
        np.testing.assert_allclose(mine[1].numpy(), yours[1], atol=5e-3)
        assert mine[2].tolist() == yours[2].tolist() and mine[3].tolist() == yours[3].tolist()
        compare_infos(mine[4], yours[4])


def compare_infos(mine, yours):
    assert mine.keys() == yours.keys()
    assert mine["success"].tolist() == yours["success"].tolist()
    np.testing.assert_allclose(mine["progress"].numpy(), yours["progress"], atol=5e-3)
    assert mine["reward_terms"].keys() == yours["reward_terms"].keys()
    for name, values in mine["reward_terms"].items():
        np.testing.assert_allclose(values.numpy(), yours["reward_terms"][name], atol=0.03)


@pytest.fixture(scope="module")
def env():
    return CpuVectorEnv(spec("touch"), COUNT, seed=1, sets=2, starts=2)


def test_spaces_and_autoreset(env):
    assert env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert env.action_space.shape == (COUNT, 7)
    observation, _ = env.reset()
    assert observation.numpy() in env.observation_space


def test_only_what_ended_begins_anew(env, monkeypatch):
    monkeypatch.setattr(env, "max_episode_steps", 5)
    env.reset(seed=1)
    for step in range(3):
        env.step(actions(step))
    env._steps[1] = 4  # its episode ends before the others'
    state = {key: value.clone() for key, value in env._state.items()}
    before = env._world.body_pose.clone()
    observation, _, terminated, truncated, infos = env.step(actions(3))
    assert truncated.tolist() == [False, True, False] and not terminated.any()
    assert infos["_final_obs"].tolist() == [False, True, False] == infos["_final_info"].tolist()
    assert infos["final_observation"] is infos["final_obs"]
    changed = (infos["final_obs"] != observation).any(-1)
    assert changed.tolist() == [False, True, False]
    episode = infos["final_info"]["episode"]
    assert episode["length"].tolist() == [4, 5, 4]
    assert env._steps.tolist() == [4, 0, 4] and env._returns[1] == 0
    rows = torch.tensor([0, 2])
    torch.testing.assert_close(env._world.body_pose[rows], before[rows], atol=0.05, rtol=0)
    start = env._resets.choose(env._number).bodies[1, :, :7]
    torch.testing.assert_close(env._world.body_pose[1], start)
    for key, value in env._state.items():
        fresh = env._states[key][1, env._number[1]]
        torch.testing.assert_close(value[1], fresh)
        torch.testing.assert_close(value[rows].float(), state[key][rows].float(), atol=0.05, rtol=0)


def test_returns_and_lengths_add_up(env, monkeypatch):
    monkeypatch.setattr(env, "max_episode_steps", 3)
    env.reset(seed=1)
    rewards = []
    for step in range(6):
        _, reward, _, truncated, infos = env.step(actions(step))
        rewards.append(reward)
        assert bool(truncated.all()) == (step % 3 == 2) == ("final_info" in infos)
    episode = infos["final_info"]["episode"]
    torch.testing.assert_close(episode["return"], sum(rewards[3:]))
    assert episode["length"].tolist() == [3] * COUNT
    assert episode["success_at_end"].tolist() == infos["final_info"]["success"].tolist()


def test_success_ends_an_episode_only_if_asked_for(monkeypatch):
    env = CpuVectorEnv(spec("touch", terminate_on_success=True), COUNT, starts=1)
    evaluate = type(env._goal).evaluate
    holds = torch.tensor([True, False, False])

    def succeed(self, world, state):
        outcome = evaluate(self, world, state)
        object.__setattr__(outcome, "holds", holds)
        return outcome

    monkeypatch.setattr(type(env._goal), "evaluate", succeed)
    _, _, terminated, truncated, infos = env.step(actions(0))
    assert terminated.tolist() == holds.tolist() and not truncated.any()
    assert infos["final_info"]["episode"]["success_once"].tolist() == holds.tolist()
    object.__setattr__(env._spec, "terminate_on_success", False)
    assert not env.step(actions(1))[2].any()


def test_one_seed_one_course(env):
    courses = []
    for _ in range(2):
        course = [env.reset(seed=1)[0]]
        course += [env.step(actions(step))[0] for step in range(3)]
        courses.append(torch.stack(course))
    torch.testing.assert_close(*courses, atol=2e-2, rtol=0)
    numbers = []
    for _ in range(8):
        env.reset()
        numbers.append(env._number.tolist())
    assert len(set(map(tuple, numbers))) > 1


def test_another_seed_builds_other_scenes():
    env = CpuVectorEnv(spec("touch"), 2, starts=1)
    layouts = [env._drawn.layouts]
    for seed in (0, 7):
        env.reset(seed=seed)
        layouts.append(env._drawn.layouts)
    assert layouts[0] is layouts[1] and layouts[0] != layouts[2]


def test_all_is_built_anew_after_so_many_episodes(monkeypatch):
    env = CpuVectorEnv(spec("touch"), 2, starts=1, rebuild_every=2)
    monkeypatch.setattr(env, "max_episode_steps", 1)
    drawn = [env._drawn]
    for step in range(4):
        env.step(actions(step)[:2])
        drawn.append(env._drawn)
    assert [drawn[k] is drawn[k + 1] for k in range(4)] == [True, False, True, False]


def test_closed_it_gives_up_its_scenes():
    env = CpuVectorEnv(spec("touch"), 1, starts=1)
    system = weakref.ref(env._world._physics)
    env.close()
    assert system() is None


def test_environments_share_sets_of_bodies(env):
    masses = env._world.solids.mass
    assert torch.equal(masses[0], masses[2]) and not torch.equal(masses[0], masses[1])


def test_bad_input_is_one_line(env):
    for wrong in (torch.zeros(2, 7), torch.zeros(COUNT, 6)):
        with pytest.raises(ClevrSkillsError, match=r"actions of shape .*; allowed: \(3, 7\)"):
            env.step(wrong)
    with pytest.raises(ClevrSkillsError, match="not a number"):
        env.step(torch.full((COUNT, 7), torch.nan))
    for options in ({"sets": 0}, {"starts": 0}):
        with pytest.raises(ClevrSkillsError, match="=0; allowed: 1 and more"):
            CpuVectorEnv(spec("touch"), 2, **options)
    for options in ({"obs_mode": "rgb"}, {"head_starts": 0.5}):
        with pytest.raises(ClevrSkillsError, match="obs_mode 'state' and head_starts 0 only"):
            CpuVectorEnv(spec("touch", **options), 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_one_line_tells():
    with pytest.raises(ClevrSkillsError, match="needs an NVIDIA GPU"):
        GpuVectorEnv(spec("touch"), 2)
    with pytest.raises(ClevrSkillsError, match="needs an NVIDIA GPU"):
        make_vec("touch", 2, backend="gpu")


MAKES = (
    *(torch.tensor, torch.zeros, torch.ones, torch.full, torch.arange, torch.linspace, torch.eye),
    *(torch.empty, torch.rand, torch.randint, torch.as_tensor, torch.from_numpy),
)
HERE = Path(__file__), Path(clevrskills.__file__).parent


class Watch(TorchFunctionMode):
    """Notes where the package makes tensors without saying on which device."""

    def __init__(self):
        super().__init__()
        self.found: set[str] = set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = bool(args) and isinstance(args[0], torch.Tensor)
        if function in MAKES and kwargs.get("device") is None and not given:
            frames = [f for f in traceback.extract_stack() if f.filename != str(HERE[0])]
            place = next(f for f in reversed(frames) if "site-packages" not in f.filename)
            if HERE[1] in Path(place.filename).parents:
                self.found.add(f"{place.filename}:{place.lineno} {place.line}")
        return function(*args, **kwargs)


QUICK = ("place", "follow_order")


@pytest.mark.parametrize(
    "task", [key if key in QUICK else pytest.param(key, marks=pytest.mark.slow) for key in tasks()]
)
def test_all_tensors_are_made_where_the_simulation_is(task, monkeypatch):
    """When episodes begin, go on and end; here, on the CPU, they would be in any case."""
    env = CpuVectorEnv(spec(task), 2, starts=1)
    monkeypatch.setattr(env, "max_episode_steps", 1)
    with Watch() as watch:
        env._world.begin(env._drawn.pose[:, 0], env._drawn.held[:, 0])
        env._goal.initial_state(env._world)
        env.step(torch.ones(2, 7))
    assert not watch.found
