"""Tabletop suites: tasks in which an arm acts on a table, drawn from seeds or frozen.

A suite derives from :class:`TabletopSuite` and says its tasks and its oracle. The simulator is
imported when it is first needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from clevrskills.core.env import Env, Episode
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import FrozenEpisodes
from clevrskills.core.suite import Axis, Suite
from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.envs.environment import ClevrSkillsEnv
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer
    from clevrskills.sim.setting import Setting

__all__ = ["TabletopSuite"]


@dataclass(frozen=True)
class TabletopSuite(Suite):
    """A suite of tasks on a table.

    Attributes:
        folder: Where the frozen episodes are; ``None``: those of the package.
        episodes_dir: Where those of the package are.
    """

    folder: Path | None = None
    episodes_dir: ClassVar[Path]

    def setting(self, task: str = "") -> Setting:
        """Cameras and table of a task; empty: of the suite."""
        raise NotImplementedError

    def episode_kind(self) -> type[EpisodeSpec]:
        """Class of the episodes."""
        from clevrskills.envs.episode import EpisodeSpec

        return EpisodeSpec

    def env_kind(self) -> type[ClevrSkillsEnv]:
        """Class of the environments."""
        from clevrskills.envs.environment import ClevrSkillsEnv

        return ClevrSkillsEnv

    def import_tasks(self) -> None:
        """Make the tasks known by their keys."""
        self.levels()

    def frozen_folder(self, task: str) -> Path:
        """Where the frozen episodes of a task are."""
        del task
        return self.folder or self.episodes_dir

    def cameras(self) -> Sequence[str]:
        return self.setting().camera_names()

    def default_cameras(self) -> Sequence[str]:
        return self.setting().watch

    def check(self, task: str, task_args: Mapping[str, Any]) -> None:
        from clevrskills.tasks import task as make_task

        self.import_tasks()
        make_task(task, **task_args)

    def env_options(self, config: EnvConfig) -> Mapping[str, Any]:
        """Arguments of an environment that its class has beside the common ones.

        Raises:
            ClevrSkillsError: The suite knows no such noise.
        """
        self.check_noise(config.noise)
        return {}

    def make(self, config: EnvConfig, **options: Any) -> Env:
        from clevrskills.envs.environment import make_env

        self.import_tasks()
        env = make_env(config, self.env_kind(), **self.env_options(config), **options)
        if config.cameras and not env.can_draw:
            raise ClevrSkillsError("the policy is to be shown images, but rendering is off")
        return env

    def axes(self) -> Mapping[str, Axis]:
        from clevrskills.envs.axes import AXES

        single = ("embodiment",) if len(self.robots()) == 1 else ()
        return {name: axis for name, axis in AXES.items() if name not in single}

    def perturb(self, episode: Episode, axes: Mapping[str, int]) -> EpisodeSpec | str:
        from clevrskills.envs.axes import PerturbationError, perturb
        from clevrskills.envs.episode import EpisodeSpec

        assert isinstance(episode, EpisodeSpec)
        try:
            return perturb(episode, axes)
        except PerturbationError as error:
            return str(error)

    def draw_perturbed(
        self,
        task: str,
        split: str,
        seed: int,
        axes: Mapping[str, int],
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
    ) -> EpisodeSpec | str:
        self.import_tasks()
        robot = robot or self.robots()[0]
        made = self.episode_kind().draw(task, split, seed, 0, robot, task_args, wording=None)
        return self.perturb(made, axes)

    def hidden(self, episode: Episode) -> str:
        from clevrskills.envs.axes import AXES
        from clevrskills.envs.axes.visibility import hidden
        from clevrskills.envs.episode import EpisodeSpec

        assert isinstance(episode, EpisodeSpec)
        return hidden(episode) if any(AXES[name].seen for name in episode.axes) else ""

    def trajectory_renderer(self, config: EnvConfig) -> TrajectoryRenderer | None:
        from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer

        if not config.cameras:
            return None
        setting = replace(self.setting(config.task), look=config.look)
        robot = config.robot or self.robots()[0]
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
    ) -> EpisodeSpec:
        self.import_tasks()
        robot = robot or self.robots()[0]
        return self.episode_kind().draw(task, split, seed, index, robot, task_args)

    def read_episode(self, data: Mapping[str, Any]) -> EpisodeSpec:
        self.import_tasks()
        return self.episode_kind().from_json(data)
