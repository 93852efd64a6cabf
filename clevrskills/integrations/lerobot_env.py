"""Environments for LeRobot's evaluation; LeRobot itself is not required here.

Images, state and actions match datasets of ``clevrskills export --to lerobot``, so policies trained
on them can be evaluated without changes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from clevrskills.core.env import Env, LifeCycle
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import as_seed
from clevrskills.core.interface import as_numbers, make_step
from clevrskills.core.observer import text_of
from clevrskills.core.policy import ObservationOptions
from clevrskills.core.suite import (
    Suite,
    all_cameras,
    all_robots,
    all_splits,
    default_cameras,
    find_interface,
    load_suite,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.selection import check_in_words, choose_tasks, count_episodes
from clevrskills.jobs.arguments import check_names
from clevrskills.serving.message_fields import state_vector
from clevrskills.sim.state_vector import state_parts

__all__ = ["LeRobotEnv", "make_vector_envs", "state_size"]

NEW_ROLLOUT = "lerobot_new_rollout"
"""Option by which LeRobot marks the reset of a new rollout, unlike automatic resets."""
SUCCESS = "is_success"
MULTIMODAL = "`clevrskills evaluate --prompt multimodal`"
"""Alternative for tasks that need images in the prompt, which LeRobot's policies do not read."""


def state_size(robot: str | None = None) -> int:
    """Return the size of a robot's ``agent_pos``, by default of the suite's first robot."""
    return sum(part.size for part in state_parts(robot or "").values())


class LeRobotEnv(gym.Env):
    """Environment of one task on its frozen episodes, with text-only prompts.

    Seed s starts episode s modulo their number. Without a seed, each new rollout starts the next
    episode and any other reset repeats the current one, so that the choice does not depend on how
    others ended. The simulation is created by the first reset.

    Args:
        task: Key of the task.
        split: Name of the split; ``None``: the first one of the suite.
        robot: Name of the robot; ``None``: the first one of the suite.
        cameras: Names of cameras, of which :meth:`render` shows the first; ``None``: those of the
            suite.
        size_px: Width and height of the images.
        episodes: Number of frozen episodes; ``None``: all.
        first: Index of the first episode without seeds.
        stride: Increment of the index without seeds.
        frozen: Folder of the frozen episodes; ``None``: those of the package.

    Attributes:
        task: Key of the task.
        task_description: Prompt of the current episode.

    Raises:
        ClevrSkillsError: A name or value is not allowed, or the task has no text-only prompts.
    """

    render_mode = "rgb_array"

    def __init__(
        self,
        task: str,
        split: str | None = None,
        robot: str | None = None,
        cameras: Sequence[str] | None = None,
        size_px: int = 256,
        episodes: int | None = None,
        first: int = 0,
        stride: int = 1,
        frozen: str | None = None,
    ) -> None:
        self.task, self.task_description = task, ""
        self._suite = suite = _suite(frozen)
        check_names(task=((task,), suite.tasks))
        self._max_episode_steps = suite.tasks[task].details["max_steps"]
        split, robot = split or all_splits(suite)[0], robot or all_robots(suite)[0]
        cameras = tuple(default_cameras(suite) if cameras is None else cameras)
        check_names(camera=(cameras, all_cameras(suite)))
        if not cameras:
            raise ClevrSkillsError("LeRobot needs at least one camera")
        ObservationOptions(cameras, size_px)  # checks them
        self._config = EnvConfig(task, split, robot, suite.criteria()[0], cameras, size_px)
        self._first, self._stride = first, stride
        self._episodes = count_episodes(suite, task, split, robot, episodes)
        check_in_words(suite, task, split, range(self._episodes), MULTIMODAL)
        self._index: int | None = None
        self._env: Env | None = None
        self._life = LifeCycle()
        image = spaces.Box(0, 255, (size_px, size_px, 3), np.uint8)
        state = spaces.Box(-np.inf, np.inf, (state_size(robot),), np.float32)
        images = spaces.Dict(dict.fromkeys(cameras, image))
        self.observation_space = spaces.Dict({"pixels": images, "agent_pos": state})
        spec = find_interface(suite).spec
        self.action_space = spaces.Box(spec["low"], spec["high"], (*spec["shape"],), np.float32)
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": spec["rate_hz"]}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode.

        Raises:
            ClevrSkillsError: The seed is not allowed.
        """
        with self._life.reset():
            seed = None if seed is None else as_seed(seed)
            super().reset(seed=seed)
            self._index = self._choose(seed, options or {})
            if self._env is None:
                self._frozen = self._suite.frozen(self.task, self._config.split)
                self._env = self._suite.make(self._config)
            self._env.reset(options={"episode": self._frozen[self._index]})
        self.task_description = text_of(self._env.prompt)
        return self._look(), {SUCCESS: False, "episode": self._index}

    def _choose(self, seed: int | None, options: Mapping[str, Any]) -> int:
        if seed is not None:
            return seed % self._episodes
        if self._index is None:
            return self._first % self._episodes
        return (self._index + self._stride * bool(options.get(NEW_ROLLOUT))) % self._episodes

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Run one control step with an action (A,); the reward is the gain in progress, and success
        ends the episode.

        Raises:
            ActionError: The action is invalid.
            ResetNeededError: No episode is running.
        """
        self._life.check_step()
        env = self._simulation
        before = float(env.outcome.progress[0])
        step = make_step(env, as_numbers(action))
        if step.success or step.truncated:
            self._life.end()
        info = {
            SUCCESS: step.success,
            "progress": step.progress,
            "clipped": step.clipped,
            "episode": self._index,
        }
        return self._look(), step.progress - before, step.success, step.truncated, info

    def render(self) -> np.ndarray:
        """Return the last image of the first camera, (H, W, 3) uint8."""
        return self._images[self._config.cameras[0]]

    def close(self) -> None:
        """Release the simulation. A reset makes it again, since LeRobot closes its environments
        after each evaluation of a training run.
        """
        self._life = LifeCycle()
        env, self._env = self._env, None
        if env is not None:
            env.close()

    @property
    def _simulation(self) -> Env:
        assert self._env is not None  # once an episode has begun
        return self._env

    def _look(self) -> dict[str, Any]:
        env = self._simulation
        self._images = env.capture()
        return {
            "pixels": {name: self._images[name] for name in self._config.cameras},
            "agent_pos": state_vector({"proprioception": env.proprioception()}),
        }


def _suite(folder: str | None) -> Suite:
    return load_suite(folder=Path(folder) if folder else None)


class LazyVectorEnv(VectorEnv):
    """Vector environment that is created on first use, so that only running tasks have processes.

    Args:
        make: Function that makes it.
        num_envs: Number of environments.
        example: One of them, for its spaces.
    """

    def __init__(self, make: Callable[[], VectorEnv], num_envs: int, example: gym.Env) -> None:
        self._make = make
        self._made: VectorEnv | None = None
        self.num_envs = num_envs
        self.metadata = {**example.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = example.render_mode
        self.single_observation_space = example.observation_space
        self.single_action_space = example.action_space
        batch = gym.vector.utils.batch_space
        self.observation_space = batch(example.observation_space, num_envs)
        self.action_space = batch(example.action_space, num_envs)

    @property
    def made(self) -> VectorEnv:
        """The environment itself."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def reset(self, **kwargs: Any) -> Any:
        return self.made.reset(**kwargs)

    def step(self, actions: Any) -> Any:
        return self.made.step(actions)

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self.made.call(name, *args, **kwargs)

    def get_attr(self, name: str) -> Any:
        return self.made.get_attr(name)

    def set_attr(self, name: str, values: Any) -> None:
        self.made.set_attr(name, values)

    def render(self) -> Any:
        return self.made.render()

    def close(self, **kwargs: Any) -> None:
        """End the processes; they are restarted on further use."""
        made, self._made = self._made, None
        if made is not None:
            made.close(**kwargs)


EnvMaker = Callable[[], gym.Env]


def make_vector_envs(
    tasks: Sequence[str] | None = None,
    level: str | Sequence[str] | None = None,
    n_envs: int = 1,
    use_async_envs: bool = False,
    around: Callable[[EnvMaker], EnvMaker] = lambda make: make,
    **options: Any,
) -> dict[str, dict[int, VectorEnv]]:
    """Return vector environments in LeRobot's layout: task key -> 0 -> environment.

    Args:
        tasks: Keys of tasks; ``None``: those of the levels.
        level: One or several of L0, L1, L2; ``None``: all. Tasks without text-only prompts are left
            out.
        n_envs: Number of environments of each task.
        use_async_envs: Whether several environments run in separate processes.
        around: Wrapper of functions that make an environment.
        options: Other arguments of :class:`LeRobotEnv`.

    Raises:
        ClevrSkillsError: A name or value is not allowed.
    """
    if n_envs < 1:
        raise ClevrSkillsError(f"n_envs must be at least 1, not {n_envs}")
    suite = _suite(options.get("frozen"))
    made: dict[str, dict[int, VectorEnv]] = {}
    for task in choose_tasks(suite, tasks, level, in_words=True):
        makers = [
            around(partial(LeRobotEnv, task, first=k, stride=n_envs, **options))
            for k in range(n_envs)
        ]
        if use_async_envs and n_envs > 1:
            start = partial(
                AsyncVectorEnv, makers, context="spawn", autoreset_mode=AutoresetMode.SAME_STEP
            )
            vector: VectorEnv = LazyVectorEnv(start, n_envs, makers[0]())
        else:
            vector = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
        made[task] = {0: vector}
    return made
