"""Gymnasium environments of all suites: ids, spaces, episodes, turns, copies, bad input."""

import copy
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from clevrskills import env_id
from clevrskills.core.suite import SUITES, load_suite
from clevrskills.envs.gymnasium_env import GymnasiumEnv
from clevrskills.errors import ClevrSkillsError
from clevrskills.vector import VectorEnv

TOY = Path(__file__).parent / "toy_suite"
ARM = {"obs_mode": "state", "render_backend": "none"}
BOARDS = [{}, {"interface": "index"}, {"views": ["schematic"]}]
MADE = [
    *(("IVispar/Geoms-v1", arguments) for arguments in BOARDS),
    ("IVispar/Tiles-v1", {}),
    ("AsgardBench/Coffee-v1", {}),
    ("IVispar/GeomsArm-v1", ARM),
    ("LoHoRavens/MoveArea-v1", ARM),
    ("ClevrSkills/Pick-v1", ARM),
]


@pytest.mark.parametrize("name", SUITES)
def test_every_task_of_every_suite_is_listed_and_has_an_id(name: str) -> None:
    listed = import_module(f"clevrskills.suites.{name}").TASKS
    suite = load_suite(name)
    assert set(listed) == set(suite.tasks) and len(set(listed)) == len(listed)
    namespace = type(suite).__name__.removesuffix("Suite")
    for task in listed:
        spec = gym.spec(env_id(task, namespace))
        assert (spec.kwargs["suite"], spec.kwargs["task"]) == (name, task)


@pytest.mark.parametrize(("name", "arguments"), MADE)
def test_gymnasium_accepts_it(name: str, arguments: dict) -> None:
    check_env(gym.make(name, **arguments).unwrapped, skip_render_check=True)


@pytest.mark.parametrize(("name", "arguments"), [MADE[2], *MADE[4:]])
def test_copies_start_the_same_episodes(name: str, arguments: dict) -> None:
    env = gym.make(name, **arguments)
    first, _ = env.reset(seed=3)
    for again in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert again.spec == env.spec and again.unwrapped is not env.unwrapped
        again.action_space.seed(0)
        found, _ = again.reset(seed=3)
        assert str(found) == str(first) and again.step(again.action_space.sample())
        again.close()
    env.close()


def test_all_images_of_an_episode_are_collected() -> None:
    env = gym.make("IVispar/Geoms-v1", render_mode="rgb_array_list")
    env.reset(seed=0)
    env.step("jump")
    assert [image.dtype for image in env.render()] == [np.uint8] * 2


def test_a_window_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gym.make("IVispar/Geoms-v1", render_mode="human")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pygame", None)
        with pytest.raises(gym.error.DependencyNotInstalled, match="pygame is not installed"):
            env.reset(seed=0)
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env.reset(seed=0)
    env.step("jump")
    env.close()


PROJECT = """[clevrskills.suites]
lamps = lamps:Lamps
"""
BY_MODULE = """
import gymnasium, clevrskills, sys
assert "lamps" not in sys.modules and "Lamps/LampsOne-v1" not in gymnasium.registry
env = gymnasium.make("lamps:Lamps/LampsOne-v1")
print(env.reset(seed=0)[0]["prompt"], *env.spec.kwargs.values())
"""
BY_SUITE = """
import gymnasium
from clevrskills.core.suite import load_suite
load_suite("lamps")
print(*(name for name in gymnasium.registry if name.startswith("Lamps/")))
"""


@pytest.mark.slow
def test_a_suite_of_another_distribution_has_ids(tmp_path: Path) -> None:
    info = tmp_path / "lamps-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lamps\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(PROJECT)
    source = (TOY / "lamps.py").read_text()
    last = "\n\nregister_envs(Lamps())\n"
    assert source.endswith(last)
    for code, text, printed in (
        (BY_MODULE, source, "lamps lamps_one"),
        (BY_SUITE, source.removesuffix(last), "Lamps/LampsOne-v1 Lamps/LampsTwo-v1"),
    ):
        (tmp_path / "lamps.py").write_text(text)
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": f"{tmp_path}:{Path.cwd()}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip().endswith(printed)


@pytest.mark.parametrize("name", ["IVispar/GeomsArm-v1", "LoHoRavens/MoveArea-v1"])
def test_many_environments_are_those_of_the_package(name: str) -> None:
    envs = gym.make_vec(name, num_envs=2)
    assert isinstance(envs, VectorEnv)
    envs.reset(seed=0)
    assert envs.step(np.zeros((2, 7), np.float32))[1].shape == (2,)
    envs.close()


def test_episodes_of_an_arm_end_at_their_own_limit() -> None:
    env = gym.make("LoHoRavens/PickPlaceArea-v1", **ARM)
    assert isinstance(env, GymnasiumEnv) and env.spec.max_episode_steps is None
    env.reset(seed=0)
    env.base_env.limit = 2
    ends = [env.step(np.zeros(7))[3] for _ in range(2)]
    assert ends == [False, True]
    env.close()


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


@pytest.mark.parametrize("name", ["IVispar/Geoms-v1", "AsgardBench/Coffee-v1"])
def test_episodes_are_named_after_their_task(name: str) -> None:
    env = gym.make(name)

    def named(**arguments: object) -> str:
        return str(env.reset(**arguments)[1]["episode_id"])

    drawn = [named(seed=0), named(seed=1), named(), named()]
    assert len(set(drawn)) == 4 and drawn[0] == named(seed=0) and drawn[0].endswith("_00000000")
    frozen = named(options={"index": 0})
    assert frozen.endswith("_000") and frozen not in drawn and "/" not in frozen
    (episode,) = (env.unwrapped.base_env.episode,)
    assert named(options={"episode": episode}) == frozen


def test_refused_turns_change_nothing_and_have_a_reason() -> None:
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
    ("arguments", "options", "message"),
    [
        ({"split": "best"}, {}, "split"),
        ({"views": ["side"]}, {}, "view"),
        ({"interface": "delta"}, {}, "interface"),
        ({"feedback": "loud"}, {}, "feedback"),
        ({"render_mode": "ansi"}, {}, "render_mode"),
        ({}, {"index": 300}, "index=300; allowed: whole numbers from 0 to 299"),
        ({}, {"episdoe": 1}, "option"),
    ],
)
def test_bad_input_is_refused(arguments: dict, options: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        env = gym.make("IVispar/Geoms-v1", disable_env_checker=True, **arguments)
        env.reset(options=options or {"episdoe": 1})
