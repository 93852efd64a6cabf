"""The environment: Gymnasium's rules, observations, names, states, determinism."""

import gc
import hashlib
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.seeding import np_random

import clevrskills
from clevrskills import BATCHED, env_id, make_vec
from clevrskills.core.goal.tree import outcomes
from clevrskills.core.policy import ActionError
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.gymnasium_env import GymnasiumEnv
from clevrskills.envs.state_observation import observe
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates import Order, Picked, from_json, predicate_types
from clevrskills.predicates.touched import SPOILED
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.suction import pose_in_gripper
from clevrskills.solvers.oracle import Oracle
from clevrskills.tasks import Task, tasks
from tests.support.envs import act, base, go_to, make_env, random_actions, stay
from tests.tasks.scenes import SPARING

ROOT = Path(__file__).parents[2]
PROPRIOCEPTION = {"qpos", "qvel", "ee_pose", "ee_velocity", "vacuum_on", "holding"}
IMAGE_MODE = pytest.param("rgb", marks=pytest.mark.render)


@pytest.fixture(scope="module")
def place():
    """Starts with something in the gripper."""
    made = make_env("place", "state")
    yield made
    made.close()


@pytest.fixture(scope="module")
def sort():
    made = make_env("sort", "state")
    yield made
    made.close()


@pytest.fixture(scope="module")
def images():
    made = make_env("sort", "rgb")
    yield made
    made.close()


def flat(observation, name=""):
    """The arrays of a nested observation by their path."""
    if not isinstance(observation, dict):
        return {name: observation}
    return {
        k: v for key, part in observation.items() for k, v in flat(part, f"{name}/{key}").items()
    }


def same(a, b) -> bool:
    a, b = flat(a), flat(b)
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


# ---- Gymnasium ----


@pytest.mark.parametrize(
    ("key", "obs_mode"),
    [*((key, "state") for key in ("place", "sort", "follow_order", "balance")), ("trace", "none")],
)
def test_gymnasium_checks_it_without_images(key, obs_mode):
    env = make_env(key, obs_mode)
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("key", ["match_pose", "sort", "swap_push"])
def test_gymnasium_checks_it_with_images(key):
    """Rendering too: every mode that it lists must work here, without a display."""
    env = make_env(key, "rgb")
    check_env(env)
    env.close()


def test_a_seed_starts_the_episode_of_that_seed_and_none_the_next(sort):
    first = sort.reset(seed=5)[0]
    others = [sort.reset()[0] for _ in range(3)]
    again = sort.reset(seed=5)[0]
    assert same(first, again)
    assert same(others[0], sort.reset()[0])  # the ones after it are determined by it
    assert not same(first, others[0]) and not same(others[0], others[1])


def test_the_batched_environment_has_the_generator_of_its_seed(sort):
    inner = base(sort)
    for seed in (5, 6):
        sort.reset(seed=seed)
        assert inner.np_random_seed == seed
        assert inner.np_random.random() == np_random(seed)[0].random()
    inner.np_random = own = np.random.default_rng(0)
    assert inner.np_random is own


def test_changes_to_an_episode_do_not_reach_the_next(monkeypatch):
    env = ClevrSkillsEnv("pick", obs_mode="none", render_backend="none")
    actions = random_actions(8)

    def run():
        env.reset(seed=4)
        return [env.get_state(), *(env.step(action) and env.get_state() for action in actions)]

    def last():
        arm, bodies = env.agent.robot._objs[0], env.simulation.components
        return [*arm.links, *filter(None, bodies)]

    untouched, masses = run(), [one.mass for one in last()]
    for one in last():
        one.mass = 3.0 * one.mass
    assert all(map(torch.equal, run(), untouched))
    assert [one.mass for one in last()] == masses
    with pytest.raises(ClevrSkillsError, match="head_start"):
        env.reset(seed=4, options={"head_start": 2.0})
    monkeypatch.setattr(type(env.task), "goal", lambda *_: 1 / 0)  # with half a scene
    with pytest.raises(ZeroDivisionError):
        env.reset(seed=4)
    monkeypatch.undo()
    assert all(map(torch.equal, run(), untouched))
    env.close()


def test_scenes_are_freed_without_collecting_garbage():
    gc.disable()
    try:
        for key in ("pick", "balance"):  # which has hinges
            env = ClevrSkillsEnv(key, obs_mode="none", render_backend="none")
            env.reset(seed=0)
            scenes = [weakref.ref(scene) for scene in (env.scene, env.scene.sub_scenes[0])]
            env.reset(seed=1)
            assert [scene() for scene in scenes] == [None, None]
            env.close()
    finally:
        gc.enable()


def test_types_of_the_results_of_a_step(sort):
    observation, info = sort.reset(seed=0)
    assert sort.observation_space.contains(observation)
    assert isinstance(info["prompt"], Prompt)
    observation, reward, terminated, truncated, info = sort.step(sort.action_space.sample())
    assert type(reward) is float and type(terminated) is bool and type(truncated) is bool
    assert info["success"] == info["is_success"] == terminated and 0.0 <= info["progress"] < 1.0
    assert observation.dtype == np.float32


def test_the_batched_environment_has_the_batch_first(sort):
    sort.reset(seed=0)
    inner = base(sort)
    assert isinstance(inner, ClevrSkillsEnv) and inner.num_envs == 1
    observation, reward, terminated, truncated, info = inner.step(np.zeros((1, 7), np.float32))
    assert observation.shape[0] == 1
    assert reward.shape == terminated.shape == truncated.shape == info["success"].shape == (1,)
    assert info["progress"].shape == (1,)
    assert len(inner.prompts) == len(inner.layouts) == 1


def test_actions_are_described_as_data(sort):
    spec, space = json.loads(json.dumps(base(sort).action_spec)), sort.action_space
    assert spec["shape"] == list(space.shape) == [7] and space.dtype == np.float32
    assert (space.low == spec["low"]).all() and (space.high == spec["high"]).all()
    assert spec["rate_hz"] == base(sort).control_freq == 20
    assert sorted(i for p in spec["parts"] for i in range(p["start"], p["stop"])) == list(range(7))


def test_actions_out_of_range_are_clipped(sort):
    wild = np.array([7.0, -3.0, 0.5, 0.1, -0.1, 0.05, 2.0], np.float32)
    states = []
    for action in (wild, np.clip(wild, -1.0, 1.0)):
        sort.reset(seed=2)
        sort.step(action)
        states.append(base(sort).get_state())
    assert torch.equal(*states)


@pytest.mark.parametrize(
    "action", [np.full(7, np.nan), *(np.zeros(shape) for shape in ((6,), (8,), (), (2, 7)))]
)
def test_invalid_actions_raise_and_change_nothing(sort, action):
    sort.reset(seed=2)
    before = base(sort).get_state()
    with pytest.raises(ActionError):
        sort.step(action.astype(np.float32))
    assert torch.equal(base(sort).get_state(), before)


def test_success_ends_the_episode(sort):
    sort.reset(seed=0)
    for step in base(sort).goal.steps():
        step.realize(base(sort).world)
    for _ in range(40):
        before = float(base(sort).outcome.progress)
        _, reward, terminated, truncated, info = sort.step(act())
        if terminated:
            break
    assert terminated and not truncated and info["is_success"] and info["progress"] == 1.0
    assert reward == pytest.approx(1.0 - before, abs=1e-6)


def test_an_episode_is_cut_off_at_its_limit(monkeypatch):
    env = GymnasiumEnv("pick", obs_mode="none", render_backend="none")
    monkeypatch.setattr(type(env.task), "max_steps", 5)
    for seed in (0, 1):
        env.reset(seed=seed)
        ends = [env.step(act())[2:4] for _ in range(5)]
        assert ends == [(False, False)] * 4 + [(False, True)]
    env.close()


def test_ids_state_the_limits_of_their_tasks():
    table = json.loads((ROOT / "clevrskills" / "tasks" / "step_limits.json").read_text())
    assert table == {key: task.max_steps for key, task in tasks().items()}, (
        "run `python docs/build.py limits`"
    )
    for key, limit in table.items():
        assert gym.spec(env_id(key)).max_episode_steps == limit
        assert gym.spec(env_id(key, BATCHED)).max_episode_steps == limit


@pytest.mark.parametrize("asked, steps", [({}, 80), ({"max_episode_steps": 3}, 3)])
def test_a_spec_makes_the_same_environment_again(asked, steps):
    env = make_env("pick", **asked)
    for made in (env, gym.make(env.spec)):
        assert made.spec.max_episode_steps == steps
        assert type(made.unwrapped) is GymnasiumEnv
        made.close()


@pytest.mark.parametrize("batched", [False, True])
def test_episodes_may_last_longer_than_the_limit(batched):
    id_ = env_id("pick", BATCHED if batched else "ClevrSkills")
    env = gym.make(id_, obs_mode="none", render_backend="none", max_episode_steps=85)
    env.reset(seed=0)
    cut = [env.step(act())[3] for _ in range(85)]
    assert [bool(end) for end in cut] == [False] * 84 + [True]
    assert isinstance(cut[-1], torch.Tensor if batched else bool)
    env.close()
    vector = gym.make_vec(env_id("pick"), 1, max_episode_steps=85)
    assert vector.spec_of_all.step_limit == 85
    vector.close()


@pytest.mark.parametrize(
    "make, wrong, said",
    [
        (make_env, {"foo": 1}, "unknown argument 'foo'; allowed: cameras, "),
        (make_env, {"robot_name": "panda"}, "did you mean robot"),
        (make_env, {"reconfiguration_freq": 0}, "reconfiguration_freq=0; allowed: 1"),
        (make_env, {"render_mode": "ansi"}, "unknown render_mode 'ansi'; allowed: rgb_array"),
        (ClevrSkillsEnv, {"obs_mod": "state"}, "unknown argument 'obs_mod'.*did you mean obs_mode"),
        (make_vec, {"num_envs": 1, "splitt": "test"}, "unknown argument 'splitt'.*mean split"),
    ],
)
def test_wrong_arguments_are_named(make, wrong, said):
    with pytest.raises(ClevrSkillsError, match=said):
        make("pick", **wrong)


def test_wrong_options_of_a_reset_are_named(sort):
    with pytest.raises(UnknownNameError, match="reset option 'epsiode'.*did you mean episode"):
        sort.reset(options={"epsiode": 1})
    assert sort.reset(seed=0, options={"reconfigure": True})[1]["is_success"] is False


# ---- rewards ----


@pytest.mark.parametrize(
    ("reward_mode", "scale"),
    [("dense", "reward"), ("normalized_dense", "progress"), ("sparse", "holds")],
)
def test_rewards_are_those_of_the_goal(reward_mode, scale):
    env = make_env("sort", reward_mode=reward_mode)
    env.reset(seed=1)
    for action in random_actions(5):
        _, reward, _, _, info = env.step(action)
        outcome = base(env).outcome
        assert reward == pytest.approx(float(getattr(outcome, scale)))
        parts = {f"set/{i}.inside": float(o.reward) for i, o in enumerate(outcome.children)}
        assert info["reward_terms"] == pytest.approx({"set": float(outcome.reward), **parts})
    for step in base(env).goal.steps():
        step.realize(base(env).world)
    assert max(env.step(act())[1] for _ in range(30)) >= 1.0
    env.close()


def test_the_default_reward_is_the_increase_of_progress(sort):
    """Rewards add up to the progress at the end less that at the start, also after a restore."""
    info = sort.reset(seed=1)[1]
    first, total = info["progress"], 0.0
    for action in random_actions(8):
        _, reward, _, _, info = sort.step(action)
        total += reward
    assert total == pytest.approx(info["progress"] - first, abs=1e-6)
    state, before = base(sort).get_state(), info["progress"]
    for action in random_actions(3, seed=1):
        sort.step(action)
    base(sort).set_state(state)
    _, reward, _, _, info = sort.step(act())
    assert reward == pytest.approx(info["progress"] - before, abs=1e-6)


def test_an_unsolvable_goal_is_reported():
    env = make_env("swap_push")
    _, info = env.reset(seed=1)
    assert info["unsolvable"] == "" and env.step(act())[-1]["unsolvable"] == ""
    world, state = base(env).world, base(env).get_state()
    progress = env.step(act())[-1]["progress"]
    body = base(env).goal.children[2].object
    world.hold(body, pose_in_gripper(world, body))
    info = env.step(act(on=True))[-1]
    assert info["unsolvable"] == SPOILED and info["progress"] == 0.0 < progress
    assert env.step(act())[-1]["unsolvable"] == SPOILED
    base(env).set_state(state)
    assert env.step(act())[-1]["unsolvable"] == ""
    env.close()


def test_states_of_another_size_are_refused():
    env = make_env("sort")
    env.reset(seed=1)
    with pytest.raises(ClevrSkillsError, match="the state has 3 entries"):
        base(env).set_state(base(env).get_state()[:, :3])
    env.close()


def test_the_goal_is_evaluated_once_per_step(sort, monkeypatch):
    sort.reset(seed=1)
    calls = []
    original = type(base(sort).goal).evaluate

    def counting(self, world, state):
        calls.append(1)
        return original(self, world, state)

    monkeypatch.setattr(type(base(sort).goal), "evaluate", counting)
    sort.step(act())
    assert len(calls) == 1


# ---- observations ----


@pytest.mark.parametrize("robot", Task.robots)
@pytest.mark.parametrize("obs_mode", ["state", "state_dict", "none", IMAGE_MODE])
def test_observations_are_in_their_space(obs_mode, robot):
    env = make_env("place", obs_mode, robot=robot)
    observation, _ = env.reset(seed=0)
    for action in random_actions(10):
        assert env.observation_space.contains(observation)
        observation = env.step(action)[0]
    assert env.observation_space.contains(observation)
    env.close()


@pytest.mark.render
def test_images_come_with_nothing_privileged(images):
    """Only what a robot has: cameras, its own joints and gripper, the prompt."""
    observation, _ = images.reset(seed=0)
    assert set(observation) == {"agent", "extra", "sensor_param", "sensor_data", "prompt"}
    assert same(observation["extra"], {"tcp_pose": observation["agent"]["ee_pose"]})
    assert set(observation["agent"]) == PROPRIOCEPTION
    assert set(observation["sensor_data"]) == {"base_camera", "hand_camera"}
    for camera in observation["sensor_data"].values():
        assert set(camera) == {"rgb"}
        assert camera["rgb"].shape == (256, 256, 3) and camera["rgb"].dtype == np.uint8
        assert camera["rgb"].std() > 5
    assert observation["prompt"] == base(images).prompt.text
    assert set(images.observation_space.spaces) == set(observation)


@pytest.mark.render
def test_cameras_can_be_chosen():
    env = make_env("pick", "rgb", cameras=("render_camera", "base_camera"))
    observation, _ = env.reset(seed=0)
    shapes = {name: part["rgb"].shape for name, part in observation["sensor_data"].items()}
    assert shapes == {"render_camera": (512, 512, 3), "base_camera": (256, 256, 3)}
    assert {n: p.shape for n, p in base(env).capture().items()} == shapes
    env.close()


@pytest.mark.render
def test_images_follow_the_scene(images):
    first = images.reset(seed=0)[0]["sensor_data"]
    again = images.reset(seed=0)[0]["sensor_data"]
    other = images.reset(seed=1)[0]["sensor_data"]
    assert same(first, again)
    images.reset(seed=0)
    for _ in range(5):
        moved = images.step(act(y=0.3))[0]["sensor_data"]
    for name in first:
        for changed in (other, moved):
            assert (first[name]["rgb"] != changed[name]["rgb"]).any(-1).mean() > 0.005


@pytest.mark.render
def test_rendering_for_people():
    env = make_env("pick", "none", render_mode="rgb_array", render_backend=None)
    env.reset(seed=0)
    image = env.render()
    assert image.shape == (512, 512, 3) and image.dtype == np.uint8 and image.std() > 5
    env.close()


def test_the_state_observation_is_complete(sort):
    """Unlike the images it is privileged: where bodies are, and which of them matter."""
    other, one = sort.reset(seed=1)[0], sort.reset(seed=0)[0]
    assert one.shape == other.shape
    body = int(next(k for k, b in enumerate(base(sort).layouts[0].bodies) if b and not b.static))
    pose = base(sort).world.pose(torch.tensor([body])).clone()
    pose[0, 0] += 0.01
    base(sort).world.set_body_pose(torch.tensor([body]), pose)
    assert not np.array_equal(base(sort).get_obs(base(sort).get_info())[0].numpy(), one)
    assert np.isfinite(one).all() and one.ndim == 1


def test_the_state_dict_observation_has_the_same_numbers_by_name():
    by_name, in_a_row = make_env("sort", "state_dict"), make_env("sort", "state")
    observation, row = by_name.reset(seed=0)[0], in_a_row.reset(seed=0)[0]
    assert {"agent", "extra", "prompt"} == observation.keys() and "qpos" in observation["agent"]
    parts = [v.ravel() for k, v in flat(observation).items() if k != "/prompt"]
    assert np.allclose(np.concatenate(parts), row)
    by_name.close()
    in_a_row.close()


def test_proprioception(place):
    place.reset(seed=0)
    own = base(place).proprioception()
    assert {name: value.shape for name, value in own.items()} == {
        "qpos": (6,),
        "qvel": (6,),
        "ee_pose": (7,),
        "ee_velocity": (6,),
        "vacuum_on": (1,),
        "holding": (1,),
    }
    assert own["vacuum_on"] == own["holding"] == 1.0  # it starts with an object in hand
    stay(place, 1, on=False)
    own = base(place).proprioception()
    assert own["vacuum_on"] == own["holding"] == 0.0
    tip = base(place).world.end_effector_pose[0].numpy()
    assert np.allclose(own["ee_pose"], tip, atol=1e-6)


def test_without_rendering_there_are_no_images(sort):
    sort.reset(seed=0)
    with pytest.raises(ClevrSkillsError, match="rendering is off"):
        base(sort).capture()


# ---- names ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "juggle"}, "unknown task 'juggle'; allowed: .*pick"),
        ({"split": "dev"}, "unknown split of sort 'dev'; allowed: train, val, test, "),
        ({"robot": "ur5"}, "unknown robot 'ur5'; allowed: xarm6, panda"),
        ({"criteria": "lenient"}, "unknown criteria 'lenient'; allowed: paper, released"),
        ({"cameras": ("side_camera",)}, "'side_camera'; allowed: base_camera, hand_camera, "),
        ({"prompt_index": 99}, "prompt 99 of sort; allowed: 0 to 2"),
        ({"prompt_index": -1}, "prompt -1 of sort; allowed: 0 to 2"),
        ({"obs_mode": "images"}, "'images'.*none.*state.*rgb"),
        ({"reward_mode": "shaped"}, "'shaped'.*dense.*normalized_dense.*sparse"),
        ({"render_backend": "vulkan"}, "'vulkan'.*cpu.*gpu.*none"),
        ({"num_envs": 4}, "num_envs=4"),
        ({"obs_mode": "rgb"}, "needs images, but render_backend is 'none'"),
    ],
)
def test_unknown_names_raise_and_list_the_known_ones(options, message):
    options = {"obs_mode": "state", "render_backend": "none"} | options
    with pytest.raises(ClevrSkillsError, match=message) as error:
        gym.make("ClevrSkills/Sort-v1", **options)
    assert "\n" not in str(error.value)


def test_a_prompt_can_be_chosen():
    texts = set()
    for prompt_index in range(3):
        env = make_env("place", prompt_index=prompt_index)
        _, info = env.reset(seed=0)
        texts.add(info["prompt"].text)
        env.close()
    assert len(texts) == 3


def test_options_reach_the_episode():
    env = make_env("sort", split="test", criteria="released", robot="panda")
    env.reset(seed=0)
    inner = base(env)
    described = json.loads(json.dumps(inner.scene_description()))
    assert (described["split"], described["criteria"], described["robot"]) == (
        "test",
        "released",
        "panda",
    )
    assert all(leaf.criteria.name == "released" for leaf in inner.goal.leaves())
    assert inner.agent.description.name == "panda"
    env.close()


def test_the_description_of_a_scene(place):
    place.reset(seed=3)
    data = json.loads(json.dumps(base(place).scene_description()))
    bodies = [b for b in base(place).layouts[0].bodies if b]
    assert data["task"] == "place" and data["in_gripper"] == 3
    assert [b["key"] for b in data["bodies"]] == [b.key for b in bodies]
    assert [b["name"] for b in data["bodies"]] == [b.name for b in bodies]
    assert data["sim_hz"] / data["control_hz"] == base(place).sim_freq / base(place).control_freq


def test_the_goal_of_an_episode_as_data(sort):
    sort.reset(seed=3)
    inner = base(sort)
    copy = from_json(json.loads(json.dumps(inner.goal.to_json())), predicate_types())
    outcome = copy.evaluate(inner.world, copy.initial_state(inner.world))
    assert float(outcome.reward) == float(inner.outcome.reward)


# ---- states ----


def test_the_layout_covers_the_flat_state(place):
    place.reset(seed=0)
    state, layout = base(place).get_state(), base(place).state_layout
    assert layout[0]["start"] == 0 and layout[-1]["stop"] == state.shape[1]
    assert all(a["stop"] == b["start"] for a, b in zip(layout, layout[1:], strict=False))
    names = [entry["name"] for entry in layout]
    assert len(set(names)) == len(names) and "vacuum" in names
    by_name = {e["name"]: state[0, e["start"] : e["stop"]] for e in layout}
    assert by_name["vacuum"][0] == base(place).layouts[0].in_gripper
    assert torch.isfinite(state).all()
    json.dumps(layout)


def test_the_flat_state_is_the_nested_one_number_for_number(place):
    """Nothing is rounded: what the controller has in double precision stays so."""
    place.reset(seed=0)
    for action in random_actions(5):
        place.step(np.concatenate((action[:6], [1.0])))
    state, nested = base(place).get_state()[0], base(place).get_state_dict()
    for entry in base(place).state_layout:
        group, _, key = entry["name"].partition("/")
        values = nested[group][key] if key else nested[group]
        assert torch.equal(state[entry["start"] : entry["stop"]], values[0].double()), entry
    assert not torch.equal(state, state.float().double())


def outline(env):
    """Everything about an environment that a policy or a test can see."""
    inner = base(env)
    return {
        "pose": inner.world.body_pose.clone(),
        "velocity": inner.world.body_velocity.clone(),
        "held": inner.world.held.clone(),
        **{k: torch.as_tensor(v) for k, v in inner.proprioception().items()},
        **{f"goal/{k}": v.clone() for k, v in inner.goal_state.items()},
    }


def close(a, b, tolerance):
    """The speed of the end effector is derived from the joints', so it is less exact."""
    assert a.keys() == b.keys()
    slack = {"ee_velocity": 0.01}
    return all(
        torch.allclose(a[k].float(), b[k].float(), atol=max(tolerance, slack.get(k, 0.0)))
        for k in a
    )


@pytest.mark.parametrize("flat_state", [True, False])
def test_a_state_in_the_middle_of_an_episode_is_restored(place, flat_state):
    place.reset(seed=1)
    inner = base(place)
    for action in random_actions(8):
        place.step(np.concatenate((action[:6], [1.0])))  # the object stays in hand
    assert int(inner.world.held[0]) == inner.layouts[0].in_gripper
    save, restore = (
        (inner.get_state, inner.set_state)
        if flat_state
        else (inner.get_state_dict, inner.set_state_dict)
    )
    saved, seen = save(), outline(place)
    kept = saved.clone() if flat_state else None
    for action in random_actions(10, seed=1):
        place.step(np.concatenate((action[:6], [-1.0])))
    assert int(inner.world.held[0]) == -1 and not close(seen, outline(place), 1e-3)
    restore(saved)
    assert close(seen, outline(place), 1e-5)
    if flat_state:
        assert torch.equal(saved, kept) and torch.allclose(inner.get_state(), saved, atol=1e-6)


def test_after_restoring_the_episode_continues_as_before(place):
    place.reset(seed=1)
    inner = base(place)
    for action in random_actions(6):
        place.step(np.concatenate((action[:6], [1.0])))
    saved = inner.get_state()
    futures = []
    for _ in range(2):
        inner.set_state(saved)
        rewards = []
        for action in random_actions(10, seed=5):
            rewards.append(place.step(np.concatenate((action[:6], [1.0])))[1])
        futures.append((outline(place), rewards))
    assert close(futures[0][0], futures[1][0], 2e-3)
    assert np.allclose(futures[0][1], futures[1][1], atol=1e-2)


def test_goal_status_is_restored(sort):
    """The outcome afterwards, as read by the oracle, is that of the restored world."""
    sort.reset(seed=0)
    inner = base(sort)
    sort.step(act())
    before = inner.get_state()
    for step in inner.goal.steps():
        step.realize(inner.world)
    stay(sort, 25)
    assert inner.outcome.holds.all()
    after = inner.get_state()
    inner.set_state(before)
    assert not inner.outcome.holds.any()
    inner.set_state(after)
    assert inner.outcome.holds.all()


def ordered(monkeypatch):
    """The task pick, with the goal to pick the object twice over."""
    env = make_env("pick")
    cls = type(base(env).task)
    monkeypatch.setattr(
        cls, "goal", lambda self, roles: Order(tuple(Picked(roles["object"]) for _ in range(3)))
    )
    env.reset(seed=0)
    return env


def test_the_state_of_the_goal_is_saved_and_restored(monkeypatch):
    env = ordered(monkeypatch)
    inner = base(env)
    assert inner.goal_state["stage"].tolist() == [0]
    assert "goal/stage" in [entry["name"] for entry in inner.state_layout]
    start = inner.get_state()
    inner.goal_state["stage"] = torch.tensor([2])
    later = inner.get_state()
    for saved, stage, progress in ((start, 0, 0.0), (later, 2, 2 / 3)):
        inner.set_state(saved)
        assert inner.goal_state["stage"].tolist() == [stage]
        assert inner.goal_state["stage"].dtype == torch.long
        assert env.step(act())[-1]["progress"] >= progress
        assert inner.goal_state["stage"].tolist() == [stage]
    inner.set_state_dict({**inner.get_state_dict(), "goal": {"stage": torch.tensor([[1.0]])}})
    assert inner.goal_state["stage"].tolist() == [1]
    env.reset(seed=0)
    assert inner.goal_state["stage"].tolist() == [0]  # a new episode starts afresh
    env.close()


def look(inner) -> dict[str, torch.Tensor]:
    """All that the goal says now, and the state observation."""
    each = list(outcomes(inner.goal, inner.outcome))
    return {
        "holds": torch.stack([one.holds for one in each]),
        "reward": torch.stack([one.reward for one in each]),
        "progress": torch.stack([one.progress for one in each]),
        "observation": torch.as_tensor(observe(inner)),
        **inner.outcome.state,
    }


@pytest.mark.parametrize(
    "key",
    [
        "place",
        "rotate",
        "touch",
        *(
            pytest.param(key, marks=pytest.mark.slow)
            for key in ("trace", "push", "throw", "sort", "neighbour", "swap_push", "stack_topple")
        ),
    ],
)
def test_goal_state_is_restored_with_the_state(key):
    """In the same environment and in a fresh one: contacts, and what the goal remembers."""
    env, fresh = make_env(key), make_env(key)
    env.reset(seed=3), fresh.reset(seed=3)
    inner, oracle, moments = base(env), Oracle(base(env)), []
    while not moments or not moments[-1][1]["holds"][0].all():
        env.step(oracle.act())
        moments.append((inner.get_state(), look(inner)))
    order = np.random.default_rng(0).permutation(len(moments))[-12:].tolist()
    for restored in (inner, base(fresh)):
        for k in (*order, -1):
            state, said = moments[k]
            restored.set_state(state)
            found = look(restored)
            assert found.keys() == said.keys()
            for name, values in said.items():
                assert torch.allclose(found[name].double(), values.double(), atol=1e-6), (k, name)
    env.close(), fresh.close()


def test_the_vacuum_that_is_on_is_restored_with_the_empty_hand(place):
    place.reset(seed=1)
    stay(place, 20, on=False)
    place.step(act(on=True))
    saved = base(place).get_state()
    place.step(act(on=False))
    base(place).set_state(saved)
    assert base(place).proprioception()["vacuum_on"] == 1.0


# ---- determinism ----


def rollout_hash(env, seed=4, steps=15) -> str:
    """A hash of the states of an episode of scripted actions, bit for bit."""
    digest = hashlib.sha256()
    env.reset(seed=seed)
    digest.update(base(env).get_state().numpy().tobytes())
    for action in random_actions(steps, seed):
        observation, reward, terminated, truncated, _ = env.step(action)
        assert env.observation_space.contains(observation)
        digest.update(base(env).get_state().numpy().tobytes())
        digest.update(np.array([reward, terminated, truncated]).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("key", SPARING)
def test_the_same_seed_gives_the_same_episode_bit_for_bit(key):
    env = make_env(key, "state")
    first = rollout_hash(env)
    assert rollout_hash(env, seed=5) != first
    # whatever happened in the episode before
    env.reset(seed=9)
    go_to(env, (-0.2, 0.1, 0.02), on=True)
    assert rollout_hash(env) == first
    env.close()
    other = make_env(key, "none")
    np.random.seed(3)
    torch.manual_seed(3)
    assert rollout_hash(other) == first
    other.close()


@pytest.mark.slow
def test_another_process_gives_the_same_episode(sort):
    code = (
        "from tests.envs.test_environment import *; print(rollout_hash(make_env('sort', 'state')))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "77"}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.split()[-1] == rollout_hash(sort)


@pytest.mark.render
def test_rendering_changes_nothing(images, sort):
    assert rollout_hash(images) == rollout_hash(sort)


def test_cameras_and_criteria_change_nothing_in_the_simulation(place):
    states = []
    for options in ({}, {"criteria": "released"}, {"prompt_index": 1}, {"reward_mode": "dense"}):
        env = make_env("place", **options)
        env.reset(seed=4)
        for action in random_actions(10, 4):
            env.step(action)
        states.append(base(env).get_state())
        env.close()
    assert all(torch.equal(states[0], state) for state in states[1:])


def test_two_environments_at_once_do_not_disturb_each_other(sort):
    alone = rollout_hash(sort, steps=10)
    other = make_env("place")
    sort.reset(seed=4)
    other.reset(seed=8)
    digest = hashlib.sha256(base(sort).get_state().numpy().tobytes())
    for action in random_actions(10, 4):
        other.step(-action)
        _, reward, terminated, truncated, _ = sort.step(action)
        digest.update(base(sort).get_state().numpy().tobytes())
        digest.update(np.array([reward, terminated, truncated]).tobytes())
    assert digest.hexdigest() == alone
    other.close()


def test_importing_the_package_and_its_commands_is_light():
    """Registration needs Gymnasium, not the simulator; help, reports and cards need no torch."""
    code = (
        "import sys, clevrskills; from clevrskills.cli import COMMANDS, find_command;"
        "[find_command(name) for commands in COMMANDS.values() for name in commands];"
        "heavy = {'torch', 'sapien', 'mani_skill', 'mplib', 'transformers', 'pandas', 'scipy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert run.stdout.strip() == "[]", run.stderr
    assert clevrskills.__version__
