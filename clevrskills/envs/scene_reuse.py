"""Reuse of arm, table and bodies by successive scenes of an environment.

Without visuals, they move to the new scene unless a user changed them. With visuals, only the arm
is rebuilt from its cached description.
"""

from typing import Any

import sapien
from mani_skill.envs.sapien_env import BaseEnv
from mani_skill.utils.structs import Actor

from clevrskills.sim.actors import give_back, put_back, take_out, traits
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.robots.agent import VacuumAgent
from clevrskills.sim.robots.description import robot
from clevrskills.sim.robots.vacuum import Vacuum
from clevrskills.sim.setting import Setting
from clevrskills.tasks import Layout


class SceneReuse(BaseEnv):
    """Environment that reuses arm, table and bodies in new scenes.

    Attributes:
        table: Table of the scene.
        can_draw: Whether the scene has visuals.
    """

    agent: VacuumAgent
    vacuum: Vacuum
    table: Actor
    can_draw: bool
    layouts: list[Layout]
    setting: Setting
    robot_name: str
    _actors: list[Any]
    _shader_pack: str
    _arm: VacuumAgent | None = None
    _table: Actor | None = None

    def _clear(self) -> None:
        whole = "world" in self.__dict__  # missing after an error
        apart = whole and self._arm is not None and not self.can_draw
        if apart:
            self._take_apart()
        elif not whole:
            self._arm = self._table = None
        # remaining references would keep the old scene in memory
        worked_out = ("observer", "_nodes", "outcome")
        for name in ("world", "simulation", "vacuum", "table", "_actors", *worked_out):
            self.__dict__.pop(name, None)
        if not apart:
            super()._clear()
            return
        for name in ("agent", "scene"):
            setattr(self, name, None)
        self._sensors: dict[str, Any] = {}
        self._human_render_cameras: dict[str, Any] = {}
        self._hidden_objects: list[Any] = []

    def _take_apart(self) -> None:
        """Remove reusable actors and references from a scene without visuals, so that it is freed
        at once.
        """
        self.vacuum.release()
        give_back(self.layouts[0].bodies, self._actors)
        self._table = None
        if traits(self.table._bodies) == self._table_traits:
            take_out(self.table)
            self._table = self.table
        if self.agent.traits() == self._arm_traits:
            self.agent.take_out()
        else:
            self._arm = None
        for register in (self.scene, self.scene.state_dict_registry):
            register.actors.clear()
            register.articulations.clear()

    def close(self) -> None:
        """Release the scene."""
        self._arm = self._table = None
        super().close()

    def _reconfigure(self, options: dict[str, Any]) -> None:
        if self._arm is None or self.can_draw:
            super()._reconfigure(options)
            return
        self._clear()
        self._setup_scene()
        self._load_agent(options)
        self._load_scene(options)
        self.__dict__.pop("segmentation_id_map", None)

    def _load_agent(self, options: dict, *args: Any, **kwargs: Any) -> None:
        pose = sapien.Pose(robot(self.robot_name).base_position)
        if self._arm is None:
            super()._load_agent(options, pose)
            self._arm, self._arm_traits = self.agent, self.agent.traits()
        else:
            self.agent = self._arm
            if self.scene.can_render():
                self.agent.move_to(self.scene, pose)
            else:
                self.agent.put_back(self.scene)
        self.agent.shader_pack = self._shader_pack

    def _load_table(self) -> None:
        if self._table is None:
            self.table = scene_visuals.load_table(self.scene, self.can_draw, self.setting)
            self._table_traits = traits(self.table._bodies)
        else:
            self.table = self._table
            put_back(self.scene, self.table, "table")
