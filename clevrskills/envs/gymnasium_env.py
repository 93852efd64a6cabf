"""The environments as Gymnasium defines them: one episode, numpy arrays."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector.utils import read_from_shared_memory
from gymnasium.wrappers import TimeLimit
from mani_skill.utils import common
from torch import Tensor

from clevrskills.envs.environment import ClevrSkillsEnv, allowed_arguments
from clevrskills.errors import UnknownNameError, check_arguments
from clevrskills.sim.robots.delta_action import CONTROL_HZ

__all__ = ["GymnasiumEnv", "make"]

RENDER_MODES = ["rgb_array"]


class UnwrappedEnv:
    """The batched environment below a single one, all of it but ``num_envs``: by that, libraries
    such as TorchRL tell environments whose observations have the batch first.
    """

    def __init__(self, env: ClevrSkillsEnv) -> None:
        vars(self)["_env"] = env

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return ClevrSkillsEnv

    def __getattr__(self, name: str) -> Any:
        if name == "num_envs":
            raise AttributeError("num_envs: for a single one; for ManiSkill's tools, batched=True")
        return getattr(vars(self)["_env"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_env"], name, value)


class GymnasiumEnv(gym.Wrapper):
    """The environment as Gymnasium defines one: a single episode, numpy arrays, the prompt among
    the observations.

    ``reset`` gives the multi-modal :class:`~clevrskills.sim.prompt.Prompt` as ``info["prompt"]``.

    Vector environments are made of it by ``gym.make_vec``. With images, the processes of
    asynchronous ones must be started afresh: ``vector_kwargs={"context": "spawn"}``.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": CONTROL_HZ}  # noqa: RUF012
    PROMPT_LENGTH = 1024

    def __init__(self, env: ClevrSkillsEnv) -> None:
        super().__init__(env)
        self._unwrapped = cast(ClevrSkillsEnv, UnwrappedEnv(env))
        self.action_space = env.single_action_space
        space = env.single_observation_space
        if isinstance(space, gym.spaces.Dict):
            text = PromptText(self.PROMPT_LENGTH, charset=_PRINTABLE)
            space = gym.spaces.Dict({**space.spaces, "prompt": text})
        self.observation_space = space

    @property
    def unwrapped(self) -> ClevrSkillsEnv:
        """The batched environment, but for its ``num_envs``."""
        return self._unwrapped

    @property
    def base_env(self) -> ClevrSkillsEnv:
        """The same."""
        return self._unwrapped

    @property
    def spec(self) -> EnvSpec | None:
        """How it is made again."""
        return self.env.spec

    def _observation(self, obs: Any) -> Any:
        single = _single(obs)
        if isinstance(single, dict):
            single["prompt"] = self.env.prompt.text
        return single

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        """Start the episode of a seed."""
        obs, info = self.env.reset(seed=seed, options=options)
        info = {**_single_info(info), "prompt": self.env.prompt}
        return self._observation(obs), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """Run one control step with an action (7,)."""
        action = np.asarray(action, np.float32)
        obs, reward, terminated, truncated, info = self.env.step_uncopied(action)
        return (
            self._observation(obs),
            float(reward),
            bool(terminated),
            bool(truncated),
            _single_info(info),
        )

    def render(self) -> Any:
        """The image of the render camera, (512, 512, 3) uint8."""
        frame = self.env.render()
        return None if frame is None else _single(frame)


def _single(found: Any) -> Any:
    """What a batch of one environment says, as numpy, copied; what is one number, as such."""
    if isinstance(found, Tensor):
        return found.item() if found.shape == (1,) else found.numpy()[0].copy()
    if isinstance(found, dict):
        return {name: _single(value) for name, value in found.items()}
    return common.unbatch(common.to_numpy(found))


def _single_info(info: dict[str, Any]) -> dict[str, Any]:
    """The info of the environment, as numpy."""
    (unsolvable,) = info.pop("unsolvable")
    single = _single(info)
    return {**single, "is_success": single["success"], "unsolvable": unsolvable}


_PRINTABLE = frozenset(chr(c) for c in range(32, 127))


class PromptText(gym.spaces.Text):
    """Texts of prompts, which asynchronous vector environments hand on as they change."""


class _SharedTexts(Sequence[str]):
    """The texts in memory that processes share, as they are when looked at.

    Gymnasium reads texts once, before the first episode, and would show those for ever.
    """

    def __init__(self, read: Callable[[], tuple[str, ...]]) -> None:
        self._read = read

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())

    def __deepcopy__(self, memo: Any) -> tuple[str, ...]:
        return self._read()


@read_from_shared_memory.register(PromptText)
def _read_prompts(space: PromptText, shared_memory: Any, n: int = 1) -> _SharedTexts:
    read = read_from_shared_memory.dispatch(gym.spaces.Text)
    return _SharedTexts(lambda: read(space, shared_memory, n))


def make(
    task: str,
    robot: str = "xarm6",
    criteria: str = "paper",
    batched: bool = False,
    kind: Callable[..., ClevrSkillsEnv] = ClevrSkillsEnv,
    **kwargs: Any,
) -> gym.Env:
    """What ``gym.make("ClevrSkills/…-v1", **kwargs)`` calls; see :class:`ClevrSkillsEnv` for the
    arguments. With ``batched`` it is that environment itself, as ManiSkill's tools want it: torch
    tensors, batch first. ``kind`` is the class of another suite's environments.

    Raises:
        ClevrSkillsError: A name is unknown (it tells the allowed ones) or the machine cannot do
            what is asked for.
    """
    here = signature(make).parameters.keys() - {"kwargs", "kind"}
    check_arguments(
        kwargs, here | allowed_arguments() - {"task_key", "robot_name", "criteria_name"}
    )
    if not batched and kwargs.get("render_mode") not in (None, *RENDER_MODES):
        raise UnknownNameError("render_mode", kwargs["render_mode"], RENDER_MODES)
    env = kind(task, robot_name=robot, criteria_name=criteria, **kwargs)
    return env if batched else GymnasiumEnv(env)


def limited(env: gym.Env) -> gym.Env:
    """What ``gym.make`` makes of an environment last: one that itself ends episodes at the step
    limit that was asked for, in place of a ``TimeLimit``, which knows no batches and would leave
    the task's limit as it is.
    """
    inner = env.unwrapped
    assert inner.spec is not None
    own = gym.spec(inner.spec.id)
    if isinstance(env, TimeLimit):
        if env._max_episode_steps != own.max_episode_steps:
            inner.limit = env._max_episode_steps
        env = env.env
    inner.spec.max_episode_steps = inner.limit
    inner.spec.additional_wrappers = own.additional_wrappers
    return env
