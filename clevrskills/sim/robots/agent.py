"""ManiSkill agents of the arms."""

from typing import Any

import numpy as np
import sapien
import torch
from mani_skill.agents.base_agent import BaseAgent, Keyframe
from mani_skill.agents.registration import REGISTERED_AGENTS, register_agent
from mani_skill.envs.scene import ManiSkillScene
from mani_skill.sensors.camera import CameraConfig
from mani_skill.utils.building import ArticulationBuilder, URDFLoader

from clevrskills.sim.cameras import FAR_M, NEAR_M
from clevrskills.sim.robots.controller import EndEffectorDeltaConfig, kinematics
from clevrskills.sim.robots.description import RobotDescription, robot

CONTROL_MODE = "pd_ee_delta_pose"


class VacuumAgent(BaseAgent):
    """Arm with the vacuum gripper; :func:`agent_uid` creates a subclass per robot."""

    description: RobotDescription
    scene: ManiSkillScene
    shader_pack = "minimal"
    disable_self_collisions = True

    def __init__(self, scene: Any, *args: Any, **kwargs: Any) -> None:
        self.urdf_path = str(self.description.urdf(visual=scene.can_render()))
        super().__init__(scene, *args, **kwargs)

    def _load_articulation(self, initial_pose: Any = None) -> None:
        builder = _builders.get(self.urdf_path) or _articulation_builder(self)
        builder.scene, builder.initial_pose = self.scene, initial_pose
        self.robot = builder.build()
        builder.scene = None  # would keep the scene in memory
        self.robot_link_names = [link.name for link in self.robot.get_links()]

    def move_to(self, scene: ManiSkillScene, pose: sapien.Pose) -> None:
        """Rebuild the arm in another scene, several times faster than a new agent."""
        builder, robot = _builders[self.urdf_path], self.robot
        builder.scene = scene
        name = f"{robot.name}_"
        entities = builder._build_entities(name_prefix=f"scene-0-{name}", initial_pose=pose)
        builder.scene = None
        built = entities[0].components[0].articulation
        built.pose = pose
        for entity in entities:
            scene.sub_scenes[0].add_entity(entity)
        built.name = f"scene-0_{robot.name}"
        for wrapper, component in (
            (robot, built),
            *zip(robot.links, built.links, strict=True),
            *zip(robot.joints, built.joints, strict=True),
        ):
            wrapper._objs[0] = component  # joints share the list of the robot
        self._enter(scene)
        self.controller.move_to(scene)
        for link in built.links:
            link.disable_gravity = True

    def traits(self) -> list[Any]:
        """Return properties of the arm that a user can change permanently, such as masses."""
        links = self.robot._objs[0].links
        return [
            (link.mass, link.disable_gravity, [s.physical_material for s in link.collision_shapes])
            for link in links
        ]

    def take_out(self) -> None:
        """Remove the arm without visuals from its scene, at rest and awake like a new one."""
        built = self.robot._objs[0]
        built.qvel = np.zeros(built.dof, np.float32)
        built.links[0].wake_up()
        self._entities = [link.entity for link in built.links]  # links do not reference them
        for entity in self._entities:
            entity.remove_from_scene()

    def put_back(self, scene: ManiSkillScene) -> None:
        """Add the arm that was removed from another scene, five times faster than `move_to`."""
        for entity in self._entities:
            scene.sub_scenes[0].add_entity(entity)
        self._enter(scene)
        self.controller.put_back(scene)

    def _enter(self, scene: ManiSkillScene) -> None:
        """Register the arm in another scene."""
        self.scene, robot = scene, self.robot
        for wrapper in (robot, *robot.links, *robot.joints):
            wrapper.scene = scene
            for known in ("__maniskill_hash__", "per_scene_id"):
                vars(wrapper).pop(known, None)
        scene.articulations[robot.name] = robot
        scene.add_to_state_dict_registry(robot)

    @property
    def _controller_configs(self) -> dict[str, Any]:
        description = self.description
        config = EndEffectorDeltaConfig(
            list(description.joint_names),
            robot_name=description.name,
            stiffness=description.stiffness,
            damping=description.damping,
        )
        return {CONTROL_MODE: config}

    @property
    def _sensor_configs(self) -> list[CameraConfig]:
        camera = self.description.hand_camera
        return [
            CameraConfig(
                "hand_camera",
                pose=sapien.Pose(camera.position_m, camera.quaternion),
                width=camera.size_px,
                height=camera.size_px,
                fov=camera.fov_rad,
                near=NEAR_M,
                far=FAR_M,
                mount=self.robot.links_map[self.description.gripper_link],
                shader_pack=self.shader_pack,
            )
        ]

    def _after_init(self) -> None:
        self.tcp = self.robot.links_map[self.description.tcp_link]
        self.gripper = self.robot.links_map[self.description.gripper_link]

    def place(self, tcp: sapien.Pose) -> None:
        """Move the tool center point to a world pose.

        Raises:
            ValueError: The pose is unreachable.
        """
        qpos = kinematics(self.description.name).reach_in_world(tcp)
        if qpos is None:
            raise ValueError(f"the arm does not reach {np.round(tcp.p, 3).tolist()}")
        self.robot.set_qpos(torch.as_tensor(qpos, dtype=torch.float32)[None])
        self.controller.reset()

    def get_proprioception(self) -> dict[str, torch.Tensor]:
        """Return joint angles and speeds, end-effector pose and velocity, each (B, ...)."""
        robot, tcp = self.robot._objs[0], self.tcp._objs[0]
        pose = tcp.entity_pose
        read = {
            "qpos": robot.qpos,
            "qvel": robot.qvel,
            "ee_pose": np.concatenate((pose.p, pose.q)),
            "ee_velocity": np.concatenate((tcp.linear_velocity, tcp.angular_velocity)),
        }
        return {name: torch.from_numpy(values)[None] for name, values in read.items()}


_builders: dict[str, ArticulationBuilder] = {}
"""Parsed URDF files by path, as parsing takes a third of a reset."""


def _articulation_builder(agent: VacuumAgent) -> ArticulationBuilder:
    """Parse and cache the URDF file of an agent."""
    loader: URDFLoader = agent.scene.create_urdf_loader()
    loader.name, loader.fix_root_link = agent.uid, agent.fix_root_link
    loader.disable_self_collisions = agent.disable_self_collisions
    _builders[agent.urdf_path] = loader.parse(agent.urdf_path)["articulation_builders"][0]
    return _builders[agent.urdf_path]


def agent_uid(robot_name: str) -> str:
    """Register a robot with ManiSkill; return its uid."""
    description = robot(robot_name)
    uid = f"clevrskills_{robot_name}"
    if uid not in REGISTERED_AGENTS:
        neutral = Keyframe(
            pose=sapien.Pose(description.base_position),
            qpos=np.asarray(description.neutral_qpos, dtype=np.float32),
        )
        register_agent()(
            type(
                f"{robot_name.capitalize()}Vacuum",
                (VacuumAgent,),
                {"uid": uid, "description": description, "keyframes": {"neutral": neutral}},
            )
        )
    return uid
