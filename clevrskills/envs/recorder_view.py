"""View of an environment for recorders: images, proprioception, poses, goal tree, scene."""

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
"""Largest overlap of bodies at the start, and largest drift while they settle."""


class RecorderView(BaseEnv, RecordableEnv):
    """Environment with access for recorders, evaluators and policies beyond observations.

    Attributes:
        task: The task.
        split: Name of the split.
        robot_name: Key of the robot.
        criteria: Tolerances of success.
        can_draw: Whether images can be rendered.
        scenes: Scene of each environment.
        layouts: Layout of each environment.
        world: The world.
        goal: The goal tree.
        outcome: Current outcome of the goal.
        conditions: Conditions of a perturbed episode.
        setting: Table, cameras and light.
        simulation: The simulation.
        after_step: Functions called after each control step of the episode.
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
    _image_noise: NoisyCamera | None

    @property
    def episode_seed(self) -> int:
        """Seed of the episode in the first environment."""
        return int(self._episode_seed[0])

    @property
    def prompts(self) -> list[Prompt]:
        """Prompts of all environments."""
        return [scene.prompt for scene in self.scenes]

    @property
    def prompt(self) -> Prompt:
        """Prompt of the first environment."""
        return self.scenes[0].prompt

    def subgoal_prompt(self, leaf: Leaf) -> Prompt:
        """Return a prompt for a single leaf of the goal or of a command."""
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
        """Return an image of every camera by name, (H, W, 3) uint8.

        Raises:
            ClevrSkillsError: Rendering is off.
        """
        self._update_render()
        images = {}
        for name in self._camera_names:
            sensor = self._sensors[name]
            sensor.capture()
            # ManiSkill copies through torch, at twice the cost of the image
            color = sensor.camera._render_cameras[0].get_picture("Color")
            # copying channels takes a third of the time of copying the slice
            images[name] = np.stack([color[..., i] for i in range(3)], axis=-1)
        noise = self._image_noise
        return noise(images, int(self.elapsed_steps[0])) if noise else images

    def height_map(self, name: str) -> np.ndarray:
        """Return heights above the table from an orthographic camera that looks straight down, (H,
        W) float32 in meters, rounded to micrometers.

        Raises:
            UnknownNameError: The camera is unknown.
            ClevrSkillsError: The camera is of another kind, or rendering is off.
        """
        camera = self._fixed_camera(name)
        if camera.orthographic_m is None or camera.eye_m[:2] != camera.target_m[:2]:
            raise ClevrSkillsError(f"{name} is not an orthographic camera that looks straight down")
        heights = camera.eye_m[2] - self.depth_map(name)
        return np.round(heights, 6).astype(np.float32) + np.float32(0.0)

    def depth_map(self, name: str) -> np.ndarray:
        """Return depths along the optical axis of a fixed camera, (H, W) float64 in meters.

        Raises:
            UnknownNameError: The camera is unknown.
            ClevrSkillsError: Rendering is off.
        """
        is_flat = self._fixed_camera(name).orthographic_m is not None
        self._update_render()
        sensor = self._sensors[name]
        sensor.capture()
        buffer = sensor.camera._render_cameras[0].get_picture("GbufferDepth").astype(np.float64)
        return orthographic_depth_m(buffer) if is_flat else perspective_depth_m(buffer)

    def _fixed_camera(self, name: str) -> FixedCamera:
        if name not in self._fixed_cameras:
            raise UnknownNameError("camera", name, tuple(self._fixed_cameras))
        return self._fixed_cameras[name]

    def _update_render(self) -> None:
        if not self.can_draw:
            raise ClevrSkillsError("cannot render images: rendering is off; set render_backend")
        self.scene.update_render(update_sensors=True, update_human_render_cameras=False)

    def proprioception(self) -> dict[str, np.ndarray]:
        """Return qpos, qvel, ee_pose (7,), ee_velocity (6,), vacuum_on (1,), holding (1,)."""
        return {name: value[0].numpy() for name, value in self._get_obs_agent().items()}

    def object_poses(self) -> np.ndarray:
        """Return the world poses of the bodies in the order of :meth:`scene_description`, (K, 7)
        float32.
        """
        slots = [slot for slot, body in enumerate(self.layouts[0].bodies) if body]
        return self.world.body_pose[0, slots].numpy()

    @property
    def textures(self) -> Mapping[str, str]:
        """Currently replaced textures by body key."""
        return self.task.textures(self.layouts[0], self.outcome)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Goal tree as a list in preorder: path, predicate, depth, leaf (index among the leaves,
        ``None`` for inner nodes), text with placeholders.
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
        """Return the scene in JSON data."""
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
