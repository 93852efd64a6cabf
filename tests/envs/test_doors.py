"""One rule for seeds, actions and the life of an environment, at every door to one."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from clevrskills import env_id, make_vec
from clevrskills.core.env import ClosedError, ResetNeededError
from clevrskills.core.policy import ActionError
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.errors import ClevrSkillsError

NUMBERS = (
    [0] * 7,
    np.zeros(7, np.float16),
    np.zeros(7, int),
    torch.zeros(7, dtype=torch.bfloat16),
    torch.zeros(7, requires_grad=True),
)
NO_NUMBERS = (["0"] * 7, [True] * 7, np.zeros(7, complex), [None] * 7, [0, [1], 2], None, {}, "up")
NO_MOVES = (np.array([0.5]), np.array(["0"]), np.full(7, True), np.full(7, 64), None)
NO_SEEDS = ("3", True, np.True_, 1.5, -1, 2**32, [1, "3"])


@dataclass(frozen=True)
class Door:
    """How an environment is made, and how it takes an action (7,), or a command."""

    make: Callable[[], Any]
    batch: int = 0
    command: Any = None

    def given(self, action: Any) -> Any:
        """As many actions as it takes."""
        if self.command is not None:
            return self.command
        if not self.batch or not hasattr(action, "__len__") or isinstance(action, dict):
            return action
        if isinstance(action, torch.Tensor):
            return torch.stack([action] * self.batch)
        return [action] * self.batch


def gym_env(name: str, **options: Any) -> Callable[[], Any]:
    return lambda: gym.make(name, **options).unwrapped


STATE = {"obs_mode": "state", "render_backend": "none"}
DOORS = {
    "single": Door(gym_env(env_id("pick"), **STATE)),
    "lohoravens": Door(gym_env("LoHoRavens/PickPlaceColor-v1", **STATE)),
    "batched": Door(gym_env(env_id("pick", "ClevrSkillsBatched"), **STATE), 1),
    "vector": Door(lambda: make_vec("pick", 2), 2),
    "ivispar": Door(gym_env("IVispar/Geoms-v1"), command="move red cube left"),
    "asgardbench": Door(gym_env("AsgardBench/Coffee-v1"), command="FIND Mug"),
    "boards": Door(lambda: gym.make_vec("IVispar/Geoms-v1", num_envs=7), 7, np.zeros(7, int)),
}


@pytest.fixture(scope="module", params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    return DOORS[request.param]


@pytest.fixture(scope="module")
def env(door: Door) -> Iterator[Any]:
    made = door.make()
    yield made
    made.close()


def plain(given: Any) -> Any:
    """The infos, with arrays in place of tensors."""
    if isinstance(given, dict):
        return {name: plain(value) for name, value in given.items()}
    if isinstance(given, list | tuple):
        return [plain(value) for value in given]
    return given.numpy() if isinstance(given, torch.Tensor) else given


def test_numpy_integers_are_seeds(door: Door, env: Any) -> None:
    shown = [env.reset(seed=seed)[0] for seed in (3, np.int64(3), np.uint8(3))]
    for other in shown[1:]:
        np.testing.assert_equal(plain(other), plain(shown[0]))


@pytest.mark.parametrize("seed", NO_SEEDS, ids=repr)
def test_invalid_seeds_are_refused(env: Any, seed: Any) -> None:
    with pytest.raises(ClevrSkillsError, match="seed"):
        env.reset(seed=seed)


@pytest.mark.parametrize("index", ["3", True, 1.5, -1, 10**6], ids=repr)
def test_invalid_indices_are_refused(door: Door, env: Any, index: Any) -> None:
    if not isinstance(door.command, str):
        pytest.skip("it has no numbers of frozen episodes")
    assert env.reset(options={"index": np.int64(2)})[1]["episode_id"].endswith("002")
    with pytest.raises(ClevrSkillsError, match="allowed: whole numbers from 0 to"):
        env.reset(options={"index": index})


def test_numbers_of_all_kinds_are_actions(door: Door, env: Any) -> None:
    if door.command is not None:
        pytest.skip("it takes no numbers of an arm")
    states = []
    for action in NUMBERS:
        env.reset(seed=1)
        states.append(env.step(door.given(action))[0])
    for other in states[1:]:
        np.testing.assert_equal(plain(other), plain(states[0]))


def test_actions_that_are_not_numbers_are_refused(door: Door, env: Any) -> None:
    env.reset(seed=1)
    wrong = NO_NUMBERS if door.command is None else NO_MOVES
    if isinstance(door.command, str):
        wrong = (None, 3, ["FIND"])
    for action in (*wrong, *([] if door.command is not None else [np.full(7, np.nan), [0] * 8])):
        with pytest.raises(ActionError) as caught:
            env.step(door.given(action) if door.command is None else action)
        assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


def test_interfaces_have_the_same_rule() -> None:
    read = find_interface(load_suite()).read
    assert all(read(action).shape == (1, 7) for action in NUMBERS)
    for action in NO_NUMBERS:
        with pytest.raises(ActionError):
            read(action)


def test_infos_stay_as_they_were(door: Door, env: Any) -> None:
    described = [env.reset(seed=2)]
    described += [env.step(door.given([0.1] * 7)) for _ in range(2)]
    kept = copy.deepcopy(described)
    env.step(door.given([-0.1] * 7))
    env.reset(seed=3)
    np.testing.assert_equal(plain(described), plain(kept))


def test_a_step_needs_an_episode(door: Door) -> None:
    env = door.make()
    action = door.given([0.0] * 7)
    if door != DOORS["batched"]:  # which resets itself, as ManiSkill's do
        with pytest.raises(ResetNeededError, match="call reset before step"):
            env.step(action)
    env.reset(seed=0)
    env.step(action)
    env.close()
    for call in (lambda: env.step(action), lambda: env.reset(seed=0)):
        if door == DOORS["batched"] and call.__code__.co_names[0] == "reset":
            continue
        with pytest.raises(ClosedError, match="the environment is closed"):
            call()


def test_a_reset_that_fails_leaves_no_episode(door: Door, env: Any) -> None:
    if door == DOORS["batched"]:
        pytest.skip("it resets itself, as ManiSkill's do")
    env.reset(seed=0)
    with pytest.raises(ClevrSkillsError):
        env.reset(options={"episod": 1})
    with pytest.raises(ResetNeededError, match="no episode has begun"):
        env.step(door.given([0.0] * 7))
    env.reset(seed=0)
    env.step(door.given([0.0] * 7))


@pytest.mark.parametrize("options", [{"num_envs": 7.0}, {"workers": 1.0}, {"seed": "0"}])
def test_vector_environments_are_made_of_whole_numbers(options: dict[str, Any]) -> None:
    for make in (partial(make_vec, "pick"), partial(gym.make_vec, "IVispar/Geoms-v1")):
        if make.func is make_vec or "workers" not in options:
            with pytest.raises(ClevrSkillsError, match="allowed: whole numbers"):
                make(**{"num_envs": 7, **options})


def test_an_episode_that_is_over_takes_no_step(door: Door, env: Any) -> None:
    if door.batch:
        pytest.skip("its episodes go on by themselves")
    env.reset(seed=0)
    if isinstance(door.command, str):
        over = False
        while not over:
            *_, terminated, truncated, _ = env.step(door.command)
            over = terminated or truncated
    else:
        for part in env.goal.steps():
            part.realize(env.base_env.world)
        assert any(env.step([0.0] * 6 + [1.0])[2] for _ in range(30))  # what is held stays held
    with pytest.raises(ResetNeededError, match="the episode is over"):
        env.step(door.given([0.0] * 7))
    env.reset(seed=0)
    env.step(door.given([0.0] * 7))
