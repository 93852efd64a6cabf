"""The LoHoRavens suite: its tasks, environments, interfaces and solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.feedback import Phrasebook
from clevrskills.core.interface import Interface
from clevrskills.core.suite import Environment, Oracle, StatePart, Suite, Watcher
from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.evaluation.freeze.frozen import Header
    from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer

EPISODES_DIR = Path(__file__).parent / "episodes"
"""Where frozen episodes will be."""


@dataclass(frozen=True)
class LoHoRavensSuite(Suite):
    """Long-horizon rearrangements of blocks, bowls and zones, asked for in one sentence.

    Attributes:
        folder: Where the frozen episodes are; ``None``: those of the package.
    """

    name = "lohoravens"
    title = "re-implementation of LoHoRavens"
    folder: Path | None = None

    def levels(self) -> Mapping[str, str]:
        from clevrskills.suites.lohoravens.tasks import tasks

        return {key: kind.level for key, kind in tasks().items()}

    def describe(self, task: str) -> Mapping[str, Any]:
        from clevrskills.suites.lohoravens.tasks import tasks

        return tasks()[task]().describe()

    def splits(self) -> Sequence[str]:
        from clevrskills.suites.lohoravens.tasks.base import SPLITS

        return SPLITS

    def default_splits(self) -> Sequence[str]:
        return ("train", "test")

    def groups(self) -> Mapping[str, Sequence[str]]:
        """The families of tasks."""
        from clevrskills.suites.lohoravens.tasks import tasks

        found: dict[str, list[str]] = {}
        for key, kind in tasks().items():
            if kind.family != kind.level:
                found.setdefault(kind.family, []).append(key)
        return found

    def robots(self) -> Sequence[str]:
        from clevrskills.suites.lohoravens.tasks import RavensTask

        return RavensTask.robots

    def cameras(self) -> Sequence[str]:
        from clevrskills.suites.lohoravens.setting import SETTING

        return SETTING.camera_names()

    def default_cameras(self) -> Sequence[str]:
        from clevrskills.suites.lohoravens.setting import SETTING

        return SETTING.watch

    def views(self) -> Mapping[str, str]:
        from clevrskills.suites.lohoravens.env import VIEWS

        return {**super().views(), **VIEWS}

    def state_parts(self, robot: str = "") -> Mapping[str, StatePart]:
        from clevrskills.sim.robots.description import robot as description

        joints = len(description(robot or self.robots()[0]).joint_names)
        return {
            "qpos": StatePart(joints, "joint positions (rad)"),
            "ee_pose": StatePart(
                7, "pose of the end effector in the world (m, quaternion w x y z)"
            ),
            "vacuum_on": StatePart(1, "whether the vacuum is on", flag=True),
            "holding": StatePart(1, "whether something is held", flag=True),
        }

    def interfaces(self) -> Mapping[str, Interface]:
        from clevrskills.sim.robots.delta_action import DELTA
        from clevrskills.suites.lohoravens.interfaces.numbers import PICK_PLACE, PICK_PLACE_PIXELS
        from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT

        known: Sequence[Interface] = (PICK_PLACE, PICK_PLACE_PIXELS, PICK_PLACE_TEXT, DELTA)
        return {interface.name: interface for interface in known}

    def phrasebook(self) -> Phrasebook:
        from clevrskills.suites.lohoravens.interfaces.actuator import CODES

        return CODES

    def check(self, task: str, task_args: Mapping[str, Any]) -> None:
        from clevrskills.tasks import task as make_task

        self.levels()  # imports the tasks
        make_task(task, **task_args)

    def make(self, config: EnvConfig) -> Environment:
        from clevrskills.envs.environment import make_env
        from clevrskills.suites.lohoravens.env import LoHoRavensEnv

        self.levels()
        env = make_env(config, kind=LoHoRavensEnv)
        if config.cameras and not env.can_draw:
            raise ClevrSkillsError("the policy is to be shown images, but rendering is off")
        return env

    def watcher(self, env: Environment) -> Watcher | None:
        from clevrskills.envs.environment import ClevrSkillsEnv
        from clevrskills.envs.events.tabletop import TabletopWatcher

        assert isinstance(env, ClevrSkillsEnv)
        return TabletopWatcher(env)

    def require_oracle(self) -> None:
        from clevrskills.solvers.requirements import require_planner

        require_planner()

    def oracle(self, env: Environment) -> Oracle:
        return self.solver(env, self.interface())

    def solver(self, env: Environment, interface: Interface) -> Oracle:
        from clevrskills.suites.lohoravens.agents import MoveOracle
        from clevrskills.suites.lohoravens.env import LoHoRavensEnv

        assert isinstance(env, LoHoRavensEnv)
        self.require_oracle()
        return MoveOracle(env, interface)

    def trajectory_renderer(self, config: EnvConfig) -> TrajectoryRenderer | None:
        from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer
        from clevrskills.suites.lohoravens.setting import SETTING

        if not config.cameras:
            return None
        robot = config.robot or self.robots()[0]
        setting = replace(SETTING, look=config.look)
        return TrajectoryRenderer(config.cameras, robot, config.size_px, setting=setting)

    def header(self, task: str, split: str) -> Header:
        from clevrskills.evaluation.freeze import frozen

        return frozen.header(task, split, self.folder or EPISODES_DIR)

    def file_hash(self, task: str, split: str) -> str:
        from clevrskills.evaluation.freeze import frozen

        return frozen.file_hash(task, split, self.folder or EPISODES_DIR)

    def frozen(self, task: str, split: str) -> Sequence[EpisodeSpec]:
        from clevrskills.evaluation.freeze import frozen

        return frozen.episodes(task, split, self.folder or EPISODES_DIR, self.read_episode)

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "",
        task_args: Mapping[str, Any] | None = None,
    ) -> EpisodeSpec:
        from clevrskills.envs.episode import EpisodeSpec

        self.levels()
        return EpisodeSpec.draw(task, split, seed, index, robot or self.robots()[0], task_args)

    def read_episode(self, data: Mapping[str, Any]) -> EpisodeSpec:
        from clevrskills.envs.episode import EpisodeSpec

        self.levels()
        return EpisodeSpec.from_json(data)

    def renderer(self) -> str:
        from clevrskills.sim.render.vulkan import renderer

        return renderer()
