"""Building scenes that are simulated together, each as ``ClevrSkillsEnv`` would build it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sapien
from mani_skill.envs.scene import ManiSkillScene
from mani_skill.envs.utils.system.backend import parse_sim_and_render_backend
from mani_skill.utils.structs.types import SceneConfig
from sapien import physx

from clevrskills.sim.actors import attach_hinges, build_body
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.robots.controller import EndEffectorDeltaConfig
from clevrskills.sim.robots.description import robot
from clevrskills.tasks import Layout

Pair = tuple[int, int, physx.PhysxRigidBaseComponent, physx.PhysxRigidBaseComponent]


@dataclass(frozen=True)
class Scene:
    """One built scene."""

    scene: sapien.Scene  # SAPIEN's; what is in it lives as long as it does
    # the physical side of what is in the slots; `None`: nothing
    bodies: list[physx.PhysxRigidBaseComponent | None]
    table: physx.PhysxRigidStaticComponent  # that of the table
    robot: physx.PhysxArticulation  # the arm
    gripper: list[physx.PhysxArticulationLinkComponent]  # its links that count as the gripper
    tcp: physx.PhysxArticulationLinkComponent  # the tool centre point

    @property
    def dynamic(self) -> list[bool]:
        """Which slots hold bodies that move."""
        return [isinstance(body, physx.PhysxRigidDynamicComponent) for body in self.bodies]

    def pairs(self) -> Iterator[Pair]:
        """What may touch: slot, other (see :class:`.contacts.Contacts`), and the two bodies."""
        moves, table = self.dynamic, len(self.bodies)
        for one, body in enumerate(self.bodies):
            if body is None or not body.collision_shapes:
                continue
            for two, other in enumerate(self.bodies[one + 1 :], start=one + 1):
                if other and other.collision_shapes and (moves[one] or moves[two]):
                    yield one, two, body, other
            if moves[one]:
                yield one, table, body, self.table
            for link in self.robot.links:
                if link.collision_shapes:
                    yield one, table + (1 if link in self.gripper else 2), body, link


class SceneBuilder:
    """Builds scenes with a robot."""

    def __init__(self, robot_name: str) -> None:
        self._robot = robot(robot_name)
        self._arm: Any = None
        _set_defaults()

    def build(self, system: Any, layout: Layout, offset_m: np.ndarray) -> Scene:
        """Build a scene without looks; the offset (3,) in PhysX's scene is 0 but on a GPU."""
        own = sapien.Scene([system])
        if offset_m.any():
            system.set_scene_offset(own, offset_m.tolist())
        backend = parse_sim_and_render_backend("physx_cpu", "none")
        scene = ManiSkillScene([own], device=backend.device, backend=backend)
        table = scene_visuals.load_table(scene, with_visual=False)
        actors = [build_body(scene, body, drawn=False) if body else None for body in layout.bodies]
        attach_hinges(layout.bodies, actors)
        for actor in filter(None, actors):
            for part in actor._objs[0].components:
                if isinstance(part, physx.PhysxDriveComponent) and part.parent is None:
                    part.pose_in_parent = sapien.Pose(offset_m) * part.pose_in_parent
        arm = self._build_arm(scene)
        links = {link.name.removeprefix("scene-0-arm_"): link for link in arm.links}
        tcp = links[self._robot.tcp_link]
        return Scene(
            own,
            [actor._bodies[0] if actor else None for actor in actors],
            table._bodies[0],
            arm,
            [links[self._robot.gripper_link], tcp],
            tcp,
        )

    def _build_arm(self, scene: ManiSkillScene) -> physx.PhysxArticulation:
        if self._arm is None:
            loader = scene.create_urdf_loader()
            loader.name, loader.disable_self_collisions = "arm", True
            path = str(self._robot.urdf(visual=False))
            self._arm = loader.parse(path)["articulation_builders"][0]
            self._arm.initial_pose = sapien.Pose(self._robot.base_position)
        arm = self._arm.set_scene(scene).build(fix_root_link=True)._objs[0]
        force = EndEffectorDeltaConfig([]).force_limit
        for joint in arm.active_joints:
            joint.set_drive_properties(self._robot.stiffness, self._robot.damping, force, "force")
            joint.friction = 0.0
        for link in arm.links:
            link.disable_gravity = True
        return arm


def _set_defaults() -> None:
    """Set what PhysX gives to new scenes, bodies and shapes to what ``ClevrSkillsEnv`` uses."""
    config = SceneConfig(contact_offset=0.005).dict()
    for setter, names in (
        (physx.set_shape_config, ("contact_offset", "rest_offset")),
        (
            physx.set_body_config,
            ("solver_position_iterations", "solver_velocity_iterations", "sleep_threshold"),
        ),
    ):
        setter(**{name: config.pop(name) for name in names})
    physx.set_scene_config(**config)
    physx.set_default_material(1.0, 1.0, 0.0)
