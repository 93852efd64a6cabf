"""Recorder's view of an environment: camera images, proprioception, poses, goal tree, scene."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from mani_skill.envs.sapien_env import BaseEnv

from clevrskills.core.env import RecordableEnv
from clevrskills.core.goal.tree import Node, outcomes
from clevrskills.envs.scene_sampling import DrawnScene
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates import Criteria, Leaf, Outcome, Predicate
from clevrskills.sim.cameras import FixedCamera, orthographic_depth_m, perspective_depth_m
from clevrskills.sim.conditions import Conditions
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.render.image_noise import NoisyCamera
from clevrskills.sim.robots.delta_action import CONTROL_HZ
from clevrskills.sim.setting import Setting
from clevrskills.sim.simulation import SIM_HZ, Simulation, SimWorld
from clevrskills.tasks import Layout, Task

OVERLAP_M, DRIFT_M = 1e-3, 5e-4
"""Largest overlap of bodies, and drift while they settle, at the start."""


class RecorderView(BaseEnv, RecordableEnv):
    """View of an environment for recorders, evaluators and policies, beside its observations.

    Attributes:
        task: The task.
        split: Objects and textures.
        robot_name: Key of the robot.
        criteria: Tolerances of success.
        can_draw: Whether images can be taken.
        scenes: The scene of each environment.
        layouts: Their layouts.
        world: Where everything is.
        goal: The goal tree.
        outcome: What it says of the world now.
        conditions: How the episode differs from its clean twin.
        setting: Table, cameras and light.
        simulation: The simulated bodies.
        after_step: Functions that are called after each control step of the episode.
    """

    task: Task
    split: str
    robot_name: str
    criteria: Criteria
    can_draw: bool
    scenes: list[DrawnScene]
    layouts: list[Layout]
    world: SimWorld
    goal: Predicate
    outcome: Outcome
    _nodes: list[Node]
    _camera_names: tuple[str, ...]
    _fixed_cameras: dict[str, FixedCamera]
    conditions: Conditions
    setting: Setting
    simulation: Simulation
    after_step: list[Callable[[], None]]
    _spoil: NoisyCamera | None

    @property
    def episode_seed(self) -> int:
        """Seed of the episode of the first environment."""
        return int(self._episode_seed[0])

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts of all environments."""
        return [scene.prompt for scene in self.scenes]

    @property
    def prompt(self) -> Prompt:
        """The prompt of the first environment."""
        return self.scenes[0].prompt

    def subgoal_prompt(self, leaf: Leaf) -> Prompt:
        """Return the prompt that asks for one leaf of the goal, or of a command, alone."""
        text, _, _ = leaf.describe(self.world).partition(" after ")
        bodies = tuple(body for body in self.layouts[0].bodies if body)
        radius_m, setting = self.prompt.picture_radius_m, self.prompt.setting
        return Prompt(f"{text}.", bodies, picture_radius_m=radius_m, setting=setting)

    def faults(self) -> Mapping[str, bool]:
        world, layout = self.world, self.layouts[0]
        gaps = [gap for _, _, gap in world.contacts()]
        present = [(k, body) for k, body in enumerate(layout.bodies) if body]
        points = torch.cat([world.world_points(torch.tensor([k]))[0] for k, _ in present])
        free = [(k, body) for k, body in present if k != layout.in_gripper]
        laid = torch.tensor([body.pose[:3] for _, body in free])
        drift_m = (world.body_pose[0, [k for k, _ in free], :3] - laid).norm(dim=-1)
        return {
            **super().faults(),
            "overlap": bool(gaps) and min(gaps) < -OVERLAP_M,
            "out of view": not self.task.setting.main_camera.sees(points.numpy(), margin=0.0),
            "moved while settling": bool((drift_m > DRIFT_M).any()),
        }

    def capture(self) -> dict[str, np.ndarray]:
        """Take an image with every camera.

        Returns:
            Camera name -> (H, W, 3) uint8.

        Raises:
            ClevrSkillsError: Rendering is off.
        """
        if not self.can_draw:
            raise ClevrSkillsError(
                "images were asked for, but rendering is off: set render_backend"
            )
        self.scene.update_render(update_sensors=True, update_human_render_cameras=False)
        images = {}
        for name in self._camera_names:
            sensor = self._sensors[name]
            sensor.capture()
            # ManiSkill's own read-out copies through torch, at twice the cost of the image
            color = sensor.camera._render_cameras[0].get_picture("Color")
            # by channel, at a third of the cost of copying the slice
            images[name] = np.stack([color[..., i] for i in range(3)], axis=-1)
        return self._spoil(images, int(self.elapsed_steps[0])) if self._spoil else images

    def height_map(self, name: str) -> np.ndarray:
        """Return heights over the table of what an orthographic camera that looks straight down
        shows.

        Args:
            name: Its name.

        Returns:
            (H, W) float32 in metres, rounded to micrometres.

        Raises:
            UnknownNameError: The environment has no such camera.
            ClevrSkillsError: It is no such camera, or rendering is off.
        """
        if name not in self._fixed_cameras:
            raise UnknownNameError("camera", name, tuple(self._fixed_cameras))
        camera = self._fixed_cameras[name]
        if camera.orthographic_m is None or camera.eye_m[:2] != camera.target_m[:2]:
            raise ClevrSkillsError(f"{name} is no orthographic camera that looks straight down")
        heights = camera.eye_m[2] - self.depth_map(name)
        return np.round(heights, 6).astype(np.float32) + np.float32(0.0)

    def depth_map(self, name: str) -> np.ndarray:
        """Return depths along the axis of a camera that stands still, (H, W) float64 in metres.

        Args:
            name: Its name.

        Raises:
            UnknownNameError: The environment has no such camera.
            ClevrSkillsError: Rendering is off.
        """
        if name not in self._fixed_cameras:
            raise UnknownNameError("camera", name, tuple(self._fixed_cameras))
        if not self.can_draw:
            raise ClevrSkillsError(
                "a depth map was asked for, but rendering is off: set render_backend"
            )
        self.scene.update_render(update_sensors=True, update_human_render_cameras=False)
        sensor = self._sensors[name]
        sensor.capture()
        buffer = sensor.camera._render_cameras[0].get_picture("GbufferDepth").astype(np.float64)
        is_flat = self._fixed_cameras[name].orthographic_m is not None
        return orthographic_depth_m(buffer) if is_flat else perspective_depth_m(buffer)

    def proprioception(self) -> dict[str, np.ndarray]:
        """Return qpos, qvel, ee_pose (7,), ee_velocity (6,), vacuum_on (1,), holding (1,)."""
        return {name: value[0].numpy() for name, value in self._get_obs_agent().items()}

    def object_poses(self) -> np.ndarray:
        """Return world poses of the bodies, (K, 7) float32 as :meth:`scene_description` orders
        them.
        """
        slots = [slot for slot, body in enumerate(self.layouts[0].bodies) if body]
        return self.world.body_pose[0, slots].numpy()

    @property
    def textures(self) -> Mapping[str, str]:
        """Textures that bodies show now in place of their own, by key."""
        return self.task.textures(self.layouts[0], self.outcome)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The goal tree as a list, each node before its parts: path, predicate, depth, leaf (its
        index among the leaves, ``None`` for what has parts), text with placeholders.
        """
        return [
            {
                "path": node.path,
                "predicate": node.predicate.name,
                "depth": node.depth,
                "leaf": node.leaf,
                "text": node.predicate.describe(self.world),
            }
            for node in self._nodes
            if node.active
        ]

    def goal_status(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the :attr:`nodes` hold, (G,) bool, and their rewards, (G,) float32."""
        found = zip(self._nodes, outcomes(self.goal, self.outcome), strict=True)
        used = [(bool(o.holds[0]), float(o.reward[0])) for node, o in found if node.active]
        holds, rewards = zip(*used, strict=True)
        return np.array(holds), np.array(rewards, dtype=np.float32)

    def scene_description(self) -> dict[str, Any]:
        """Return the scene as JSON data."""
        return {
            "task": self.task.key,
            "split": self.split,
            "robot": self.robot_name,
            "criteria": self.criteria.name,
            "bodies": [body.to_json() for body in self.layouts[0].bodies if body],
            "in_gripper": self.layouts[0].in_gripper,
            "table": {"top_z": 0.0},
            "sim_hz": SIM_HZ,
            "control_hz": CONTROL_HZ,
            **({"conditions": self.conditions.to_json()} if self.conditions else {}),
        }
