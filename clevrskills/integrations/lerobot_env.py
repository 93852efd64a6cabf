"""ClevrSkills as LeRobot's evaluation wants environments; LeRobot itself is not needed here.

Images, state and actions are those of data sets that ``clevrskills export --to lerobot`` writes,
so what was trained on them can be evaluated as it is.
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
"""Option by which LeRobot tells a new rollout from what vector environments reset by themselves."""
SUCCESS = "is_success"
MULTIMODAL = "`clevrskills evaluate --prompt multimodal`"
"""Remedy for tasks that must be shown: LeRobot's policies read theirs in words."""


def state_size(robot: str | None = None) -> int:
    """Return numbers in ``agent_pos`` of a robot, by default of the suite's first one."""
    return sum(part.size for part in state_parts(robot or "").values())


class LeRobotEnv(gym.Env):
    """One task on its frozen episodes, the prompt in words.

    Seed s starts episode s modulo their number. Without a seed, each new rollout starts the next
    one, and any other reset the same one again; so which episodes are run does not depend on how
    others ended. The simulation is made by the first reset.

    Args:
        task: Key of the task.
        split: Name of the split; ``None``: the suite's first one.
        robot: Name of the robot; ``None``: the suite's first one.
        cameras: Names of cameras, the first of which is what :meth:`render` shows; ``None``: those
            that the suite names.
        size_px: Width and height of the images.
        episodes: How many of the frozen episodes are run; ``None``: all.
        first: Which is the first one without seeds.
        stride: From one to the next without seeds.
        frozen: Where the frozen episodes are; ``None``: those of the package.

    Attributes:
        task: Key of the task.
        task_description: What is asked for in the present episode.

    Raises:
        ClevrSkillsError: A name or value is not allowed, or the task can't be said in words.
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
        ObservationOptions(cameras, size_px)  # which checks them
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
            ClosedError: The environment is closed.
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
        """Run one control step with an action (A,), rewarded by the progress made; it ends when the
        goal is reached.

        Raises:
            ActionError: The action is none of the arm's.
            ResetNeededError: No episode is running.
            ClosedError: The environment is closed.
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
        """Release the simulation."""
        self._life.close()
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
    """A vector environment that is made when it is first used: many tasks can be made ready, and
    only those that run have processes.

    Args:
        make: Makes it.
        num_envs: How many environments it will have.
        example: One of them, which is only asked for its spaces.
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
        """End the processes; using it again makes them anew."""
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
    """Return the vector environments of some tasks as LeRobot wants them: task key -> 0 ->
    environment.

    Args:
        tasks: Keys of tasks; none: those of the levels.
        level: One or several of L0, L1, L2; none: all. Tasks that show their goal in key-steps are
            left out.
        n_envs: How many environments each has.
        use_async_envs: Whether each runs in a process of its own, if there are several.
        around: Puts a wrapper around what makes an environment.
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
