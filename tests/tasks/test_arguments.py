"""What may vary between episodes: arguments of tasks, and variants."""

import dataclasses
import inspect
import json
import re

import gymnasium as gym
import numpy as np
import pytest

from clevrskills import env_id
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.tasks import EpisodeRng, LayoutError, task
from clevrskills.tasks.arguments import Allowed, allowed_arguments, choice, count
from tests.tasks.scenes import TASKS

SEED = 3


@dataclasses.dataclass
class Example:
    num_objects: tuple = count(2, 4, most=6)
    angle_deg: tuple = choice(30, 60, 90)


def allowed(name):
    return allowed_arguments(Example)[name]


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("num_objects", 3, (3, 3)),
        ("num_objects", (2, 6), (2, 6)),
        ("num_objects", [4, 5], (4, 5)),
        ("angle_deg", 60, (60,)),
        ("angle_deg", [30, 90], (30, 90)),
    ],
)
def test_arguments_are_read(name, given, read):
    assert allowed(name).read(name, given) == read


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("num_objects", 1),
        ("num_objects", 7),
        ("num_objects", (4, 3)),
        ("num_objects", (2, 3, 4)),
        ("num_objects", "3"),
        ("num_objects", 2.0),
        ("num_objects", True),
        ("num_objects", ()),
        ("angle_deg", 45),
        ("angle_deg", []),
        ("angle_deg", None),
    ],
)
def test_unknown_values_raise_and_list_the_allowed_ones(name, given):
    with pytest.raises(ClevrSkillsError, match=f"{name}=.*allowed: .*[36]"):
        allowed(name).read(name, given)


def test_an_allowed_value_is_described_in_words():
    assert str(allowed("num_objects")) == "a number or a pair (least, most) from 2 to 6"
    assert str(Allowed(("a", "b"), False)) == "one or several of 'a', 'b'"


def test_tasks_refuse_unknown_arguments():
    with pytest.raises(
        UnknownNameError, match="unknown argument of sort 'num_cats'; allowed: .*num_areas"
    ):
        task("sort", num_cats=3)
    with pytest.raises(ClevrSkillsError, match="sort: num_areas=9; allowed: .* from 1 to 3"):
        task("sort", num_areas=9)
    with pytest.raises(ClevrSkillsError, match="variant=-1"):
        task("sort", variant=-1)


def test_an_environment_takes_them():
    env = gym.make(
        env_id("sort"),
        obs_mode="none",
        render_backend="none",
        task_args={"num_areas": 3, "num_objects": (3, 4)},
    )
    for seed in range(3):
        env.reset(seed=seed)
        keys = [body.key for body in env.unwrapped.base_env.layouts[0].bodies if body]
        assert sum(key.startswith("area") for key in keys) == 3
        assert 3 <= sum(key.startswith("object") for key in keys) <= 4
    env.close()


@pytest.mark.parametrize("key", TASKS)
def test_every_argument_is_documented_and_described(key):
    made = task(key)
    described = json.loads(json.dumps(made.describe()))["arguments"]
    assert set(described) == set(allowed_arguments(made))
    for name in described:
        classes = [each for each in type(made).__mro__ if dataclasses.is_dataclass(each)]
        beside = re.compile(rf"^    # .*\n    {name}: |^    {name}: .*# ", re.M)
        within = re.compile(rf"^        {name}: ", re.M)
        texts = [inspect.getsource(each) for each in classes]
        assert any(beside.search(text) or within.search(text) for text in texts), name


@pytest.mark.parametrize("key", TASKS)
def test_both_ends_of_every_range_can_be_drawn(key):
    for name, argument in allowed_arguments(task(key)).items():
        ends = argument.values[:: max(1, len(argument.values) - 1)]
        for value in ends:
            assert draw_scene(task(key, **{name: value}), SEED, "train").layout.bodies, (
                name,
                value,
            )


# ---- variants ----


def test_assignments_go_through_all_permutations():
    seen = [tuple(EpisodeRng(0, "sort", 0, "train", variant).assign(3)) for variant in range(6)]
    assert seen[0] == (0, 1, 2) and len(set(seen)) == 6
    assert all(sorted(order) == [0, 1, 2] for order in seen)


def test_several_assignments_share_the_variants():
    seen = set()
    for variant in range(12):
        rng = EpisodeRng(0, "sort", 0, "train", variant)
        seen.add((*rng.assign(2), *rng.assign(3)))
        assert rng.variants == 12
    assert len(seen) == 12


@pytest.mark.parametrize("key", TASKS)
def test_a_variant_is_the_same_scene_with_other_parts(key):
    """Where the scene has another variant: bodies, places and textures as they were."""
    for seed in range(20):
        rng = EpisodeRng(seed, key, 0, "train")
        try:
            layout = task(key).layout(rng)
        except LayoutError:
            continue
        if rng.variants == 1:
            continue
        try:
            other = task(key, variant=1).layout(EpisodeRng(seed, key, 0, "train", 1))
        except LayoutError:
            continue

        def looks(scene):
            return sorted(b.shape for b in scene.bodies if b)

        assert looks(other) == looks(layout)
        different = [k for k, v in layout.roles.items() if not np.array_equal(v, other.roles[k])]
        assert different or other.in_gripper != layout.in_gripper or other.bodies != layout.bodies
        return
    if any(argument.is_count for argument in allowed_arguments(task(key)).values()):
        pytest.skip("no scene of this task has interchangeable bodies")


def test_a_variant_that_does_not_exist_raises():
    with pytest.raises(ClevrSkillsError, match="variant 1000000 of sort, seed 0; allowed: 0 to"):
        draw_scene(task("sort", variant=1000000), 0, "train")
