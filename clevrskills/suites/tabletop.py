"""Base class of suites in which an arm acts on a table; imports the simulator lazily."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills import env_id
from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.interface import Interface
from clevrskills.core.suite import Axis, EpisodeOracle, Suite, TaskInfo, TaskTable, all_robots
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names

if TYPE_CHECKING:
    from clevrskills.envs.environment import ClevrSkillsEnv
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer
    from clevrskills.tasks import Task

__all__ = ["TabletopSuite"]


@dataclass(frozen=True)
class TabletopSuite(Suite):
    """A suite of tasks on a table.

    Attributes:
        folder: Folder of the frozen episodes; ``None``: ``episodes`` beside the suite's module.
    """

    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.folder is not None:
            object.__setattr__(self, "folder", self.folder.absolute())

    @abstractmethod
    def task_types(self) -> Mapping[str, type[Task]]:
        """Return the task classes by key."""

    def task_info(self, task: type[Task]) -> TaskInfo:
        """Return the description of a task."""
        from clevrskills.sim.robots.delta_action import DELTA

        made, setting = task(), task.setting
        listed = ("key", "level", "sentence", "splits", "robots")
        return TaskInfo(
            task.level,
            task.sentence,
            splits=dict.fromkeys(task.splits(), 100),
            interfaces={DELTA.name: DELTA},
            limit=f"{task.max_steps} control steps",
            robots=made.all_robots,
            cameras=setting.watch,
            views=dict.fromkeys(setting.camera_names(), "image"),
            details={
                **{k: v for k, v in made.describe().items() if k not in listed},
                "id": env_id(task.key, type(self).__name__.removesuffix("Suite")),
            },
        )

    @property
    def tasks(self) -> Mapping[str, TaskInfo]:
        types = self.task_types()
        return TaskTable(types, lambda key: _described(self, types[key]))

    def episode_type(self) -> type[EpisodeSpec]:
        """Return the class of the episodes."""
        from clevrskills.envs.episode import EpisodeSpec

        return EpisodeSpec

    def env_type(self) -> type[ClevrSkillsEnv]:
        """Return the class of the environments."""
        from clevrskills.envs.environment import ClevrSkillsEnv

        return ClevrSkillsEnv

    def frozen_folder(self, task: str) -> Path:
        """Return the folder of the frozen episodes of a task."""
        del task
        return self.folder or Path(inspect.getfile(type(self))).with_name("episodes")

    def check(self, config: EnvConfig) -> None:
        from clevrskills.tasks import task as make_task

        check_names(task=((config.task,), self.tasks))
        make_task(config.task, **config.task_args)
        super().check(replace(config, task_args={}))

    def env_options(self, config: EnvConfig) -> Mapping[str, Any]:
        """Return the class-specific arguments of an environment."""
        del config
        return {}

    def make(self, config: EnvConfig, **options: Any) -> Env:
        from clevrskills.envs.environment import make_env

        self.check(config)
        env = make_env(config, self.env_type(), **self.env_options(config), **options)
        if config.cameras and not env.can_draw:
            raise ClevrSkillsError("the policy needs images, but rendering is off")
        return env

    def oracle(self, env: Env, interface: Interface | None = None) -> EpisodeOracle:
        from clevrskills.envs.environment import ClevrSkillsEnv
        from clevrskills.solvers.oracle import Oracle

        del interface
        assert isinstance(env, ClevrSkillsEnv)
        return Oracle(env)

    def axes(self) -> Mapping[str, Axis]:
        from clevrskills.envs.perturbations import AXES

        single = ("embodiment",) if len(all_robots(self)) == 1 else ()
        return {name: axis for name, axis in AXES.items() if name not in single}

    def perturb(self, episode: Episode, axes: Mapping[str, int]) -> EpisodeSpec | str:
        from clevrskills.envs.episode import EpisodeSpec
        from clevrskills.envs.perturbations import PerturbationError, perturb

        assert isinstance(episode, EpisodeSpec)
        try:
            return perturb(episode, axes)
        except PerturbationError as error:
            return str(error)

    def visibility_fault(self, episode: Episode) -> str:
        from clevrskills.envs.episode import EpisodeSpec
        from clevrskills.envs.perturbations import AXES
        from clevrskills.envs.perturbations.visibility import hidden

        assert isinstance(episode, EpisodeSpec)
        return hidden(episode) if any(AXES[name].visual for name in episode.axes) else ""

    def trajectory_renderer(self, config: EnvConfig) -> TrajectoryRenderer | None:
        from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer

        if not config.cameras:
            return None
        setting = replace(self.task_types()[config.task].setting, look=config.look)
        robot = config.robot or self.tasks[config.task].robots[0]
        return TrajectoryRenderer(config.cameras, robot, config.size_px, setting=setting)

    def frozen(self, task: str, split: str) -> FrozenEpisodes[EpisodeSpec]:
        return FrozenEpisodes(self.frozen_folder(task), task, split, self.read_episode)

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
        wording: int | None = 0,
    ) -> EpisodeSpec:
        check_names(task=((task,), self.tasks))
        robot = robot or self.tasks[task].robots[0]
        return self.episode_type().draw(task, split, seed, index, robot, task_args, wording)

    def read_episode(self, data: Mapping[str, Any]) -> EpisodeSpec:
        self.task_types()  # registers the tasks
        return self.episode_type().from_json(data)


@cache
def _described(suite: TabletopSuite, task: type[Task]) -> TaskInfo:
    return suite.task_info(task)
