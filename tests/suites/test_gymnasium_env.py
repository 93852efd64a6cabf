"""Gymnasium environments of symbolic suites: spaces, episodes, turns, rewards, bad input."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import clevrskills
from clevrskills.core.suite import NO_ROBOT, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.symbolic import SymbolicSuite


def test_every_task_of_every_symbolic_suite_has_an_id() -> None:
    for suite, tasks in clevrskills._SYMBOLIC.values():
        loaded = load_suite(suite)
        symbolic = {key for key in loaded.levels() if NO_ROBOT in loaded.robots_of(key)}
        assert isinstance(loaded, SymbolicSuite) and set(tasks) == symbolic


@pytest.mark.parametrize("arguments", [{}, {"interface": "index"}, {"views": ["schematic"]}])
def test_gymnasium_accepts_it(arguments: dict) -> None:
    for name in ("Geoms", "Tiles") if not arguments else ("Geoms",):
        check_env(gym.make(f"IVispar/{name}-v1", **arguments).unwrapped, skip_render_check=True)


def test_oracle_solves_a_frozen_episode_and_rewards_add_up() -> None:
    env = gym.make("IVispar/Geoms-v1", render_mode="rgb_array")
    observation, info = env.reset(options={"index": 3})
    assert info["episode_id"] == "geoms_base_003" and not info["is_success"]
    assert set(observation) == {"prompt", "message", "text", "text@goal"}
    assert env.render().dtype == np.uint8
    total, ended, text = 0.0, False, observation["text"]
    while not ended:
        observation, reward, ended, truncated, info = env.step(env.unwrapped.oracle_action())
        assert info["ok"] and not truncated and observation["message"] == "Success."
        total += reward
    assert info["is_success"] and total == pytest.approx(6.0)
    assert observation["text"] == observation["text@goal"] != text


def test_seeds_decide_episodes_and_a_listing_takes_one_turn() -> None:
    env = gym.make("IVispar/Listing-v1", split="val")
    first, again = (env.reset(seed=7)[0]["text"] for _ in range(2))
    assert first == again != env.reset(seed=8)[0]["text"]
    _, reward, ended, truncated, info = env.step("A1 red cube")
    assert truncated and not ended and info["code"] == "LISTED" and 0 <= reward < 6


def test_refused_turns_change_nothing_and_say_why() -> None:
    env = gym.make("IVispar/Geoms-v1", feedback="detailed")
    before = env.reset(seed=0)[0]["text"]
    observation, reward, *_, info = env.step("jump")
    assert (observation["text"], reward, info["code"]) == (before, 0.0, "UNPARSABLE")
    assert observation["message"] == "Failure. That is no command of this board."
    env = gym.make("IVispar/Geoms-v1", interface="index")
    env.reset(seed=0)
    assert env.step(env.action_space.n - 1)[-1] == {
        "ok": False, "code": "UNPARSABLE", "success": False, "is_success": False, "progress": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "options", "told"),
    [
        ({"split": "best"}, {}, "split"),
        ({"views": ["side"]}, {}, "view"),
        ({"interface": "delta"}, {}, "interface"),
        ({"feedback": "loud"}, {}, "feedback"),
        ({"render_mode": "human"}, {}, "render_mode"),
        ({}, {"index": 300}, "300 frozen episodes"),
        ({}, {"episdoe": 1}, "option"),
    ],
)
def test_bad_input_is_refused(arguments: dict, options: dict, told: str) -> None:
    with pytest.raises(ClevrSkillsError, match=told):
        env = gym.make("IVispar/Geoms-v1", disable_env_checker=True, **arguments)
        env.reset(options=options or {"episdoe": 1})
