"""Frozen episodes: as data they start what the seed starts, whatever went before."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from clevrskills.assets import pools
from clevrskills.envs import environment as env
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.requirements import planner_obstacle
from tests.support.envs import base, make_env, random_actions
from tests.tasks.scenes import SPLITS, TASKS

SEED = 1_000_000_007
VARIED = ("place", "match_pose", "rearrange", "novel_adjective_noun", "balance")
"""Something in the gripper; the arm in key-steps; key-steps; words and examples; hinges."""

needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


def read_again(spec: EpisodeSpec) -> EpisodeSpec:
    return EpisodeSpec.from_json(json.loads(json.dumps(spec.to_json())))


def started(env: ClevrSkillsEnv) -> tuple[bytes, str, str]:
    """All that an episode starts from, bit for bit."""
    state = env.get_state().numpy().tobytes()
    return state, json.dumps(env.prompt.to_json()), json.dumps(env.goal.to_json())


def bare_env(key: str, **kwargs) -> ClevrSkillsEnv:
    """An environment that says what episodes of a file say: wording 0."""
    return ClevrSkillsEnv(key, obs_mode="none", render_backend="none", prompt_index=0, **kwargs)


@pytest.fixture(scope="module")
def place():
    made = bare_env("place")
    yield made
    made.close()


@pytest.fixture(scope="module")
def spec():
    return EpisodeSpec.draw("place", "train", SEED, index=7)


def check_equal_start(key: str, split: str) -> None:
    made = bare_env(key, split=split)
    for seed in (SEED, SEED + 1):
        made.reset(seed=seed)
        expected, number = started(made), made._batched_episode_rng.randint(2**31).tolist()
        spec = read_again(EpisodeSpec.draw(key, split, seed))
        made.reset(seed=3)
        made.reset(options={"episode": spec})
        assert started(made) == expected
        assert made._batched_episode_rng.randint(2**31).tolist() == number
        assert made._episode_seed.tolist() == [seed]
    made.close()


@pytest.mark.parametrize("key", VARIED)
def test_an_episode_read_again_starts_as_its_seed_does(key):
    check_equal_start(key, "test")


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("key", TASKS)
def test_every_episode_read_again_starts_as_its_seed_does(key, split):
    check_equal_start(key, split)


@pytest.mark.parametrize("key", VARIED)
def test_nothing_is_lost_in_json(key):
    one = EpisodeSpec.draw(key, "test", SEED)
    other = read_again(one)
    for name in ("bodies", "in_gripper", "examples", "picture_radius_m", "words"):
        assert getattr(other.layout, name) == getattr(one.layout, name)
    assert other.prompt == one.prompt
    assert other.content_hash == one.content_hash
    assert list(other.layout.roles) == list(one.layout.roles)
    for name, value in one.layout.roles.items():
        array = np.asarray(value)
        assert other.layout.roles[name].dtype == array.dtype
        np.testing.assert_array_equal(other.layout.roles[name], array, strict=True)


def test_earlier_episodes_do_not_matter(place, spec):
    fresh = bare_env("place")
    fresh.reset(options={"episode": spec})
    place.reset(seed=11)
    for action in random_actions(30, seed=1):
        place.step(action)
    place.reset(options={"episode": spec})
    assert started(place) == started(fresh)
    for action in random_actions(30, seed=2):
        place.step(action)
        fresh.step(action)
        assert torch.equal(place.get_state(), fresh.get_state())
    fresh.close()


def test_nothing_is_drawn(place, spec, monkeypatch):
    monkeypatch.setattr(env, "draw_scene", None)
    place.reset(options={"episode": spec})
    assert place.layouts[0] is spec.layout and place.prompt == spec.prompt


def test_later_random_numbers_follow_from_the_seed(place, spec):
    place.reset(seed=spec.seed)
    place.reset()
    expected = started(place)
    place.reset(options={"episode": spec})
    place.reset()
    assert started(place) == expected


@needs_oracle
def test_the_oracle_does_the_same(place, spec):
    def actions(**kwargs) -> np.ndarray:
        place.reset(**kwargs)
        oracle, made = Oracle(place), []
        for _ in range(40):
            made.append(oracle.act())
            place.step(made[-1])
        return np.stack(made)

    from_seed = actions(seed=spec.seed)
    np.testing.assert_array_equal(actions(options={"episode": read_again(spec)}), from_seed)


def test_arguments_of_the_task():
    spec = EpisodeSpec.draw("sort", "train", SEED, task_args={"num_objects": 2})
    assert spec.content_hash == read_again(spec).content_hash
    same = EpisodeSpec.draw("sort", "train", SEED, task_args={"num_objects": (2, 2)})
    assert spec.content_hash == same.content_hash
    made = bare_env("sort", task_args={"num_objects": [2, 2]})
    made.reset(seed=SEED)
    expected = started(made)
    made.reset(options={"episode": read_again(spec)})
    assert started(made) == expected
    with pytest.raises(ClevrSkillsError, match=r"the episode is for the arguments .*but the env"):
        made.reset(options={"episode": EpisodeSpec.draw("sort", "train", SEED)})
    made.close()


def test_an_episode_of_something_else_is_refused(place, spec):
    for wrong, message in (
        (replace(spec, task="pick"), "the episode is for task pick, but the environment has pl"),
        (
            replace(spec, split="test"),
            "the episode is for split test, but the environment has t",
        ),
        (replace(spec, robot="panda"), "is for robot panda, but the environment has xarm6"),
        (spec.to_json(), r"options\['episode'\] is of type dict; allowed: EpisodeSpec"),
    ):
        with pytest.raises(ClevrSkillsError, match=message):
            place.reset(options={"episode": wrong})
    with pytest.raises(ClevrSkillsError, match=f"has seed {SEED}, not 4; leave the seed out"):
        place.reset(seed=4, options={"episode": spec})
    place.reset(seed=SEED, options={"episode": spec})


def test_drawing_refuses_unknown_names():
    for kwargs in ({"task": "juggle"}, {"split": "dev"}, {"task_args": {"size": 1}}):
        with pytest.raises(UnknownNameError):
            EpisodeSpec.draw(**{"task": "pick", "split": "train", "seed": 0, **kwargs})


def test_gymnasium_passes_it_on(spec):
    made = make_env("place")
    _, info = made.reset(options={"episode": spec})
    assert info["prompt"] == spec.prompt
    expected = started(base(made))
    made.reset(seed=1)
    made.reset(options={"episode": spec})
    assert started(base(made)) == expected
    made.close()


def test_the_hash_is_of_the_content_alone(spec):
    assert len(spec.content_hash) == 64
    assert replace(spec, index=3).content_hash == spec.content_hash
    body = replace(spec.layout.bodies[0], texture=pools("test").texture_1[0])
    layout = replace(spec.layout, bodies=(body, *spec.layout.bodies[1:]))
    prompt = replace(spec.prompt, bodies=(body, *spec.prompt.bodies[1:]))
    others = (
        replace(spec, seed=SEED + 1),
        replace(spec, split="test"),
        replace(spec, robot="panda"),
        replace(spec, task_args={"variant": 0}),
        replace(spec, prompt=replace(spec.prompt, text="Do it")),
        replace(spec, layout=layout, prompt=prompt),
        replace(spec, layout=replace(spec.layout, in_gripper=-1)),
    )
    assert len({spec.content_hash, *(other.content_hash for other in others)}) == 1 + len(others)


def test_a_prompt_about_other_bodies_is_not_written(spec):
    odd = replace(spec, prompt=replace(spec.prompt, picture_radius_m=0.5))
    with pytest.raises(ClevrSkillsError, match="bodies of the prompt differ from those"):
        odd.to_json()
