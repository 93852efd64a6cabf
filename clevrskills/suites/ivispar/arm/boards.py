"""Boards on the table as a suite: what the suite asks for its task ``geoms_arm``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clevrskills.core.env import Env
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface
from clevrskills.core.suite import Oracle
from clevrskills.envs.environment import make_env
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots.delta_action import DELTA
from clevrskills.sim.setting import Setting
from clevrskills.suites.ivispar.arm.env import GeomsArmEnv
from clevrskills.suites.ivispar.arm.field import SETTING
from clevrskills.suites.ivispar.arm.oracle import BoardCommander, BoardOracle
from clevrskills.suites.ivispar.arm.task import KEY, SPLITS, GeomsArm
from clevrskills.suites.ivispar.views import VIEWS
from clevrskills.suites.tabletop import TabletopSuite


@dataclass(frozen=True)
class ArmBoards(TabletopSuite):
    """The part of the suite in which an arm acts."""

    name = "ivispar"
    title = "iVISPAR on the table"
    episodes_dir = Path(__file__).parent.parent / "episodes"

    def setting(self, task: str = "") -> Setting:
        del task
        return SETTING

    def levels(self) -> Mapping[str, str]:
        return {KEY: GeomsArm.level}

    def describe(self, task: str) -> Mapping[str, Any]:
        del task
        return GeomsArm().describe()

    def splits(self) -> Sequence[str]:
        return SPLITS

    def robots(self) -> Sequence[str]:
        return GeomsArm.robots

    def interfaces(self) -> Mapping[str, Interface]:
        return {DELTA.name: DELTA}

    def make(self, config: EnvConfig, **options: Any) -> Env:
        drawn = tuple(name for name in config.cameras if name in VIEWS)
        cameras = tuple(name for name in config.cameras if name not in VIEWS)
        filmed = replace(config, cameras=cameras)
        env = make_env(filmed, GeomsArmEnv, board_views=drawn, **options)
        if cameras and not env.can_draw:
            raise ClevrSkillsError("images are asked for, but rendering is off")
        return env

    def oracle(self, env: Env, interface: Interface | None = None) -> Oracle:
        assert isinstance(env, GeomsArmEnv)
        if interface is None or interface is DELTA:
            return BoardOracle(env)
        return BoardCommander(env, interface)
