"""Suite of the task with an arm, ``geoms_arm``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clevrskills import env_id
from clevrskills.core.env import Env
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface
from clevrskills.core.suite import EpisodeOracle, TaskInfo
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.ivispar import ARM
from clevrskills.suites.ivispar.interface import INDEX, TEXT
from clevrskills.suites.ivispar.symbol_boards import EPISODE_TAGS, TASKS
from clevrskills.suites.ivispar.views import VIEWS
from clevrskills.suites.tabletop import TabletopSuite

if TYPE_CHECKING:
    from clevrskills.tasks import Task


@dataclass(frozen=True)
class ArmBoards(TabletopSuite):
    """Suite of boards on the table, moved by an arm."""

    name = "ivispar"
    title = "iVISPAR on the table"

    def task_types(self) -> Mapping[str, type[Task]]:
        from clevrskills.suites.ivispar.arm.task import GeomsArm

        return {ARM: GeomsArm}

    def task_info(self, task: type[Task]) -> TaskInfo:
        info = super().task_info(task)
        return replace(
            info,
            splits={"train": 100, "val": 50, "base": 100, "interference": 100},
            interfaces={TEXT.name: TEXT, INDEX.name: INDEX, **info.interfaces},
            limit="the turns of its board, by delta 60 control steps for each",
            views={**info.views, **TASKS["geoms"].info("geoms").views},
            details={**info.details, "id": env_id(ARM, "IVispar"), "episode_tags": EPISODE_TAGS},
        )

    def make(self, config: EnvConfig, **options: Any) -> Env:
        from clevrskills.envs.environment import make_env
        from clevrskills.suites.ivispar.arm.env import GeomsArmEnv

        drawn = tuple(name for name in config.cameras if name in VIEWS)
        cameras = tuple(name for name in config.cameras if name not in VIEWS)
        filmed = replace(config, cameras=cameras)
        env = make_env(filmed, GeomsArmEnv, board_views=drawn, **options)
        if cameras and not env.can_draw:
            raise ClevrSkillsError("images need rendering, which is off; set render_backend")
        return env

    def oracle(self, env: Env, interface: Interface | None = None) -> EpisodeOracle:
        from clevrskills.sim.robots.delta_action import DELTA
        from clevrskills.suites.ivispar.arm.env import GeomsArmEnv
        from clevrskills.suites.ivispar.arm.oracle import BoardCommander, BoardOracle

        assert isinstance(env, GeomsArmEnv)
        return BoardOracle(env) if interface is DELTA else BoardCommander(env, interface or TEXT)
