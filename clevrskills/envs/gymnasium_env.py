"""Gymnasium environment of tasks with an arm: single episodes, numpy arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import read_from_shared_memory
from mani_skill.utils import common
from torch import Tensor

from clevrskills.core.env import LifeCycle
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import as_seed
from clevrskills.core.interface import (
    BoundedInterface,
    BoxInterface,
    Interface,
    as_numbers,
    turn_message,
)
from clevrskills.core.suite import DEFAULT, load_suite
from clevrskills.envs.environment import ClevrSkillsEnv, allowed_arguments
from clevrskills.errors import UnknownNameError, check_arguments
from clevrskills.jobs.arguments import check_names
from clevrskills.predicates import Predicate
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.render.shaders import ForkedError
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.tasks import Task

RENDER_MODES = ["rgb_array"]


class GymnasiumEnv(gym.Env[Any, np.ndarray]):
    """Environment of a task with numpy arrays and the prompt text in the observations.

    ``reset`` returns the multimodal :class:`~clevrskills.sim.prompt.Prompt` as ``info["prompt"]``.
    Copies by ``pickle`` or ``deepcopy`` are created from the arguments and must be reset.

    ``gym.make_vec`` makes vector environments. Asynchronous ones with images need
    ``vector_kwargs={"context": "spawn"}``.

    Args:
        task: Key of the task.
        suite: Name of its suite, or ``module:Class``.
        robot: Name of the robot; empty: the first robot of the task.
        criteria: Name of the success criteria; empty: the first of the suite.
        noise: Name of the noise of images and actions in the suite; empty: none.
        interface: Action interface, such as ``pick_place``: each step is then a turn, and ``info``
            has ``ok``, ``code`` and ``message``; empty: control steps.
        options: Other arguments of :class:`~clevrskills.envs.environment.ClevrSkillsEnv`.

    Attributes:
        base_env: Underlying batched ManiSkill environment with torch tensors.

    Raises:
        ClevrSkillsError: A name is unknown, or the machine does not support an option.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": CONTROL_HZ}  # noqa: RUF012
    PROMPT_LENGTH, COMMAND_LENGTH = 1024, 400

    def __init__(
        self,
        task: str,
        suite: str = DEFAULT,
        *,
        robot: str = "",
        criteria: str = "",
        noise: str = "",
        interface: str = "",
        **options: Any,
    ) -> None:
        own = {"task": task, "suite": suite, "robot": robot, "criteria": criteria, "noise": noise}
        own["interface"] = interface
        inner = allowed_arguments() - {"task_key", "robot_name", "criteria_name"}
        check_arguments(options, own.keys() | inner)
        self.render_mode = options.get("render_mode")
        if self.render_mode not in (None, *RENDER_MODES):
            raise UnknownNameError("render_mode", self.render_mode, RENDER_MODES)
        self._arguments, self._truncates = {**own, **options}, True
        self._life = LifeCycle()
        config = EnvConfig(task, robot=robot, criteria=criteria, noise=noise)
        defaults = {"obs_mode": "rgb", "cameras": None, "render_backend": None}
        made: Any = load_suite(suite)
        check_names(task=((task,), made.tasks))
        known = made.tasks[task].interfaces
        if interface:
            check_names(**{f"interface of {task}": ((interface,), known)})
        turns = interface and not isinstance(known[interface], BoxInterface)
        self._interface: Interface | None = known[interface] if turns else None
        self.base_env: ClevrSkillsEnv
        name = repr(self._arguments)
        try:
            self.base_env = made.make(config, **{**defaults, **options})
        except ForkedError as error:
            if name not in _SPACES:
                raise
            self.base_env = cast(ClevrSkillsEnv, _ForkedEnv(error))
            self.observation_space, self.action_space = _SPACES[name]
            return
        self.action_space = self._action_space()
        space = self.base_env.single_observation_space
        if isinstance(space, gym.spaces.Dict):
            text = PromptText(self.PROMPT_LENGTH, charset=_PRINTABLE)
            space = gym.spaces.Dict({**space.spaces, "prompt": text})
        self.observation_space = space
        _SPACES[name] = self.observation_space, self.action_space

    def _action_space(self) -> gym.Space[Any]:
        if isinstance(self._interface, BoundedInterface):
            low, high = self._interface.bounds
            return gym.spaces.Box(low, high, dtype=low.dtype.type)
        if self._interface is not None:
            return gym.spaces.Text(self.COMMAND_LENGTH, min_length=0, charset=_PRINTABLE)
        return self.base_env.single_action_space

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._arguments), (), {"spec": self.spec}

    @property
    def task(self) -> Task:
        """Task of the environment."""
        return self.base_env.task

    @property
    def prompt(self) -> Prompt:
        """Prompt of the episode."""
        return self.base_env.prompt

    @property
    def goal(self) -> Predicate:
        """Goal tree of the episode."""
        return self.base_env.goal

    @property
    def action_spec(self) -> Mapping[str, Any]:
        """Specification of an action as data."""
        return self.base_env.action_spec

    def _observation(self, obs: Any) -> Any:
        single = _single(obs)
        if isinstance(single, dict):
            single["prompt"] = self.prompt.text
        return single

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start the episode of a seed; without a seed, a random one based on the previous seed.

        Args:
            seed: Seed of the episode.
            options: See :meth:`~clevrskills.envs.environment.ClevrSkillsEnv.reset`.

        Raises:
            ClevrSkillsError: The seed or an option is not allowed.
            ClosedError: The environment is closed.
        """
        with self._life.reset():
            seed = None if seed is None else as_seed(seed)
            super().reset(seed=seed)
            obs, info = self.base_env.reset_inference(seed, options)
            # if the id has a step limit, Gymnasium's TimeLimit truncates episodes
            registered = None if self.spec is None else gym.registry.get(self.spec.id)
            self._truncates = registered is None or registered.max_episode_steps is None
            if self._interface is not None:
                self._actuator = self._interface.begin(self.base_env)
        return self._observation(obs), {**self._single_info(info), "prompt": self.prompt}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Run one control step with an action (7,), or one turn of another interface.

        Raises:
            ActionError: The action is invalid for the interface.
            ResetNeededError: No episode is running.
            ClosedError: The environment is closed.
        """
        self._life.check_step()
        step = self._control_step if self._interface is None else self._turn
        obs, reward, terminated, truncated, info = step(action)
        if terminated or truncated:
            self._life.end()
        return self._observation(obs), reward, terminated, truncated, info

    def _control_step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        step = self.base_env.step_inference(as_numbers(action))
        obs, reward, terminated, truncated, info = step
        cut_off = self._truncates and bool(truncated)
        return obs, float(reward), bool(terminated), cut_off, self._single_info(info)

    def _turn(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self._interface is not None
        (asked,) = self._interface.read(action)
        turn = self._actuator.act(asked)
        info = self.base_env.get_info()
        message = turn_message(self._interface, turn)
        outcome = {"ok": turn.ok, "code": turn.code, "message": message}
        return (
            self.base_env.get_obs(info),
            turn.reward,
            turn.terminated or bool(turn.ended),
            turn.truncated,
            {**self._single_info(info), **outcome},
        )

    def _single_info(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return the info of the environment in numpy."""
        single = _single(info)
        reason = single["unsolvable"] and self.base_env.reasons[single["unsolvable"]]
        return {**single, "is_success": single["success"], "unsolvable": reason or ""}

    def render(self) -> Any:
        """Return an image of the render camera, (512, 512, 3) uint8."""
        frame = self.base_env.render()
        return None if frame is None else _single(frame)

    def close(self) -> None:
        """Release the environment."""
        self._life.close()
        self.base_env.close()


_SPACES: dict[str, tuple[gym.Space[Any], gym.Space[Any]]] = {}
"""Observation and action spaces of created environments, by their arguments."""


class _ForkedEnv:
    """Environment of a forked process, which cannot render and raises an error at reset.

    Gymnasium's asynchronous environments do not report errors raised before.
    """

    def __init__(self, error: ForkedError) -> None:
        self._error = error

    def reset_inference(self, *_: Any) -> None:
        raise self._error

    def close(self) -> None: ...


def _single(found: Any) -> Any:
    """Return a copy of a batch of one as numpy; a single number as a scalar."""
    if isinstance(found, Tensor):
        return found.item() if found.shape == (1,) else found.numpy()[0].copy()
    if isinstance(found, dict):
        return {name: _single(value) for name, value in found.items()}
    return common.unbatch(common.to_numpy(found))


_PRINTABLE = frozenset(chr(c) for c in range(32, 127))


class PromptText(gym.spaces.Text):
    """Space of prompt texts, which asynchronous vector environments update."""


class _SharedTexts(Sequence[str]):
    """Current texts in shared memory.

    Gymnasium would read them only once, before the first episode.
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
