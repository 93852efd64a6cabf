"""Several tasks side by side."""

from __future__ import annotations

import numpy as np
import pytest

from clevrskills.core.suite import all_levels, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.vector import make_vec
from clevrskills.vector.env import VectorEnv
from clevrskills.vector.mixed import MixedSpec, tasks_of
from clevrskills.vector.spec import VectorSpec

KEYS = ("match_pose", "touch_push")
OPTIONS = {"episode_steps": 6}


@pytest.fixture(scope="module")
def spec() -> MixedSpec:
    return MixedSpec.of(KEYS, **OPTIONS)


def play(envs: VectorEnv, seeds: list[int], actions: np.ndarray) -> list[tuple]:
    """Observations, rewards, ends and infos of a rollout."""
    seen, _ = envs.reset(seed=seeds)
    found = [(seen, np.zeros(len(seeds)), np.zeros(len(seeds), bool), {})]
    for action in actions:
        seen, reward, _, truncated, infos = envs.step(action)
        found.append((seen, reward, truncated, infos))
    envs.close()
    return found


@pytest.mark.slow
def test_each_is_as_it_is_alone(spec: MixedSpec) -> None:
    """Numbers of a task are those of its own environments, in their places; others are zeros."""
    actions = np.random.default_rng(0).uniform(-0.4, 0.4, (14, 5, 7)).astype(np.float32)
    envs = VectorEnv(spec, 5)
    layout = {entry["name"]: entry for entry in envs.layout}
    assert envs.single_observation_space.shape == (envs.layout[-1]["stop"],)
    seeds = [4, 5, 6, 7, 8]
    mixed = play(envs, seeds, actions)
    for task, (key, rows) in enumerate(zip(KEYS, (slice(0, 3), slice(3, 5)), strict=True)):
        single = VectorEnv(VectorSpec(task=key, **OPTIONS), rows.stop - rows.start)
        own = {entry["name"]: entry for entry in single.layout}
        alone = play(single, seeds[rows], actions[:, rows])
        for (seen, reward, ended, infos), (expected, paid, stopped, told) in zip(
            mixed, alone, strict=True
        ):
            left = np.ones(seen.shape[1], bool)
            for name, entry in own.items():
                place = slice(layout[name]["start"], layout[name]["start"])
                place = slice(place.start, place.start + entry["stop"] - entry["start"])
                values = expected[:, entry["start"] : entry["stop"]]
                np.testing.assert_array_equal(seen[rows, place], values)
                left[place] = False
            which = seen[rows, : len(KEYS)]
            assert (which == np.eye(len(KEYS))[task]).all()
            left[: len(KEYS)] = False
            assert not seen[rows][:, left].any()
            np.testing.assert_array_equal(reward[rows], paid)
            np.testing.assert_array_equal(ended[rows], stopped)
            if not infos:
                continue
            assert (infos["task"][rows] == key).all() and infos["reward_terms"] == {}
            assert infos["unsolvable"][rows].tolist() == told["unsolvable"].tolist()
            np.testing.assert_array_equal(infos["progress"][rows], told["progress"])
            assert ("final_info" in infos) == ("final_info" in told)
            if "final_info" in infos:
                for name, values in told["final_info"]["episode"].items():
                    np.testing.assert_array_equal(
                        infos["final_info"]["episode"][name][rows], values
                    )
                first = infos["final_obs"][rows, len(KEYS) : len(KEYS) + 6]
                np.testing.assert_array_equal(first, told["final_obs"][:, :6])


def test_entries_have_one_place(spec: MixedSpec) -> None:
    names = [entry["name"] for entry in spec.layout]
    assert names[0] == "task" and len(set(names)) == len(names)
    assert [entry["start"] for entry in spec.layout[1:]] == [
        entry["stop"] for entry in spec.layout[:-1]
    ]
    for number, layout in enumerate(spec.layouts):
        places = spec.places(number)
        assert len(set(places)) == len(places) == layout[-1]["stop"]
        assert places.min() >= len(KEYS)


def test_tasks_are_spread_evenly(spec: MixedSpec) -> None:
    assert spec.task_of(5).tolist() == [0, 0, 0, 1, 1]
    assert spec.task_of(2).tolist() == [0, 1]
    with pytest.raises(ClevrSkillsError, match="num_envs=1; allowed: 2 and more"):
        spec.task_of(1)


def test_a_level_is_its_tasks() -> None:
    expected = [key for key, level in all_levels(load_suite()).items() if level == "L0"]
    assert tasks_of("L0") == expected and len(expected) == 12


def test_what_is_of_a_single_task() -> None:
    with pytest.raises(ClevrSkillsError, match="task_args; allowed with a single task"):
        make_vec("L0", 12, task_args={"num_objects": 1})


@pytest.mark.slow
def test_the_twelve_skills_in_two_processes() -> None:
    """What comes out does not depend on the number of processes."""
    actions = np.random.default_rng(0).uniform(-0.4, 0.4, (10, 24, 7)).astype(np.float32)
    one, two = (
        play(make_vec("L0", 24, workers=workers, episode_steps=6), list(range(24)), actions)
        for workers in (1, 2)
    )
    for (seen, reward, ended, _), (other, paid, stopped, _) in zip(one, two, strict=True):
        np.testing.assert_array_equal(seen, other)
        np.testing.assert_array_equal(reward, paid)
        np.testing.assert_array_equal(ended, stopped)
