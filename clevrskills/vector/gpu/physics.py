"""The simulation of many scenes as tensors: what is asked of it, and PhysX on a GPU.

Here, and nowhere else, a GPU is needed. It is written after the sources of SAPIEN 3.0 and
ManiSkill 3.0 and has not run on one yet.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import ceil, sqrt
from zipfile import BadZipFile

import numpy as np
import sapien
import torch
from mani_skill.utils.structs.types import GPUMemoryConfig
from sapien import physx
from torch import Tensor

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.simulation import PARKED, SIM_HZ
from clevrskills.tasks import Layout
from clevrskills.vector.gpu.scenes import Scene, SceneBuilder
from clevrskills.vector.gpu.vacuum import Inertia

SPACING_M = 5.0
"""Distance between scenes, which share one space of PhysX; the ground of each is 4 m wide."""
CONTACTS_PER_SCENE = 1024
"""Contacts, and a quarter as many patches of them, that there is room for."""


class Physics(ABC):
    """B scenes with K body slots that are stepped together.

    Args:
        scenes: The scenes.
        device: Where the tensors are.

    Attributes:
        bodies: Pose, linear velocity of the centre of mass and angular velocity of all bodies when
            they were last read, (B, K, 13).
        tcp: The same of the tool centre points, (B, 13).
        qpos: Joint angles, (B, n).
        qvel: Joint speeds, (B, n).
        filled: Which slots have a body, (B, K) bool.
        inertia: Of the bodies, each (B, K, ...).
        rest_m: By how much less bodies must move to be at rest, (B, K).
        pairs: Environment, slot and other of the pairs whose impulses are told, (P, 3); see
            :class:`~clevrskills.vector.gpu.contacts.Contacts`.
    """

    bodies: Tensor
    tcp: Tensor
    qpos: Tensor
    qvel: Tensor

    def __init__(self, scenes: Sequence[Scene], device: torch.device | str) -> None:
        self.scenes, self.device = list(scenes), torch.device(device)
        bodies = [[_body_numbers(body) for body in scene.bodies] for scene in scenes]
        numbers = torch.tensor(bodies, dtype=torch.float32, device=device)
        parts = numbers.split((13, 1, 3, 7, 1), dim=-1)
        self._still, mass, moments, axes, energy = parts
        self.inertia = Inertia(mass[..., 0], moments, axes)
        # PhysX sums up the speeds of all steps until half the square of the sum reaches the energy
        self.rest_m = (2.0 * energy[..., 0]).sqrt() / SIM_HZ
        for scene in scenes:
            for body, moves in zip(scene.bodies, scene.dynamic, strict=True):
                if body and moves:
                    body.sleep_threshold = 0.0  # no force would wake it
        self.filled = torch.tensor(
            [[body is not None for body in scene.bodies] for scene in scenes], device=device
        )
        self._dynamic = torch.tensor([scene.dynamic for scene in scenes], device=device)
        pairs = [(env, *pair) for env, scene in enumerate(scenes) for pair in scene.pairs()]
        self.pairs = torch.tensor([pair[:3] for pair in pairs], dtype=torch.long, device=device)
        self.pairs = self.pairs.reshape(-1, 3)
        self._pairs = [pair[3:] for pair in pairs]

    @abstractmethod
    def read(self) -> None:
        """Read where everything is now."""

    @abstractmethod
    def place_bodies(self, where: Tensor, state: Tensor) -> None:
        """Give bodies that move, ``where`` (B, K) is true, poses and velocities (B, K, 13)."""

    @abstractmethod
    def place_arms(self, where: Tensor, qpos: Tensor) -> None:
        """Give arms, ``where`` (B,) is true, joint angles (B, n), at rest, and drive them there."""

    @abstractmethod
    def drive(self, qpos: Tensor, qvel: Tensor) -> None:
        """Drive the joints to angles and at speeds, each (B, n)."""

    @abstractmethod
    def push(self, body: Tensor, pull: Tensor, torques: Tensor) -> None:
        """Act next step on bodies (B,) with wrenches (B, 6), on joints with torques (B, n)."""

    @abstractmethod
    def step(self) -> None:
        """Run one physics step."""

    @abstractmethod
    def impulses(self) -> Tensor:
        """Impulses in the last step on the first of each pair from the second, N s, (P, 3)."""


class CudaPhysics(Physics):
    """Scenes in PhysX on a GPU.

    Args:
        layouts: What is where in each scene.
        robot_name: Key of the robot.
        device: The GPU, such as ``cuda``.

    Raises:
        ClevrSkillsError: PhysX does not run on a GPU here.
    """

    def __init__(self, layouts: Sequence[Layout], robot_name: str, device: str = "cuda") -> None:
        enable_gpu()
        memory = GPUMemoryConfig()
        room = 1 << (CONTACTS_PER_SCENE * len(layouts) - 1).bit_length()
        memory.max_rigid_contact_count = max(memory.max_rigid_contact_count, room)
        memory.max_rigid_patch_count = max(memory.max_rigid_patch_count, room // 4)
        physx.set_gpu_memory_config(**memory.dict())
        builder = SceneBuilder(robot_name)
        self._px = px = physx.PhysxGpuSystem(device=sapien.Device(device))
        px.timestep = 1.0 / SIM_HZ
        side = ceil(sqrt(len(layouts)))
        scenes = [
            builder.build(
                px, layout, SPACING_M * np.array([k % side - side // 2, k // side - side // 2, 0.0])
            )
            for k, layout in enumerate(layouts)
        ]
        super().__init__(scenes, device)
        px.gpu_init()
        rows = [[getattr(body, "gpu_pose_index", 0) for body in s.bodies] for s in scenes]
        self._rows = torch.tensor(rows, device=device)
        self._tcp_rows = torch.tensor([s.tcp.gpu_pose_index for s in scenes], device=device)
        self._arms = torch.tensor([s.robot.gpu_index for s in scenes], device=device)
        self._joints = scenes[0].robot.dof
        self._query = px.gpu_create_contact_pair_impulse_query(self._pairs) if self._pairs else None
        self.place_bodies(self._dynamic, self._still)  # starting up took a step

    def read(self) -> None:
        px = self._px
        px.gpu_fetch_rigid_dynamic_data()
        px.gpu_fetch_articulation_link_pose()
        px.gpu_fetch_articulation_link_velocity()
        px.gpu_fetch_articulation_qpos()
        px.gpu_fetch_articulation_qvel()
        data = px.cuda_rigid_body_data.torch()
        self.bodies = torch.where(self._dynamic[..., None], data[self._rows], self._still)
        self.tcp = data[self._tcp_rows]
        self.qpos = px.cuda_articulation_qpos.torch()[self._arms, : self._joints]
        self.qvel = px.cuda_articulation_qvel.torch()[self._arms, : self._joints]

    def place_bodies(self, where: Tensor, state: Tensor) -> None:
        self._px.gpu_fetch_rigid_dynamic_data()  # all bodies are written back
        chosen = where & self._dynamic
        self._px.cuda_rigid_body_data.torch()[self._rows[chosen]] = state[chosen]
        self._px.gpu_apply_rigid_dynamic_data()
        self.read()

    def place_arms(self, where: Tensor, qpos: Tensor) -> None:
        px, arms, angles = self._px, self._arms[where], qpos[where]
        px.gpu_fetch_articulation_qpos()
        px.gpu_fetch_articulation_qvel()
        for buffer, values in (
            (px.cuda_articulation_qpos, angles),
            (px.cuda_articulation_qvel, torch.zeros_like(angles)),
            (px.cuda_articulation_target_qpos, angles),
            (px.cuda_articulation_target_qvel, torch.zeros_like(angles)),
        ):
            buffer.torch()[arms, : self._joints] = values
        px.gpu_apply_articulation_qpos()
        px.gpu_apply_articulation_qvel()
        px.gpu_apply_articulation_target_position()
        px.gpu_apply_articulation_target_velocity()
        px.gpu_update_articulation_kinematics()
        self.read()

    def drive(self, qpos: Tensor, qvel: Tensor) -> None:
        self._px.cuda_articulation_target_qpos.torch()[self._arms, : self._joints] = qpos
        self._px.cuda_articulation_target_qvel.torch()[self._arms, : self._joints] = qvel
        self._px.gpu_apply_articulation_target_position()
        self._px.gpu_apply_articulation_target_velocity()

    def push(self, body: Tensor, pull: Tensor, torques: Tensor) -> None:
        px, rows = self._px, self._rows.gather(1, body[:, None])[:, 0]
        for buffer, values in (
            (px.cuda_rigid_body_force.torch(), pull[:, :3]),
            (px.cuda_rigid_body_torque.torch(), pull[:, 3:]),
        ):
            buffer.zero_()
            buffer[:, :3].index_add_(0, rows, values)  # added: empty slots share a row
        px.cuda_articulation_qf.torch()[self._arms, : self._joints] = torques
        px.gpu_apply_rigid_dynamic_force()
        px.gpu_apply_rigid_dynamic_torque()
        px.gpu_apply_articulation_qf()

    def step(self) -> None:
        self._px.step()

    def impulses(self) -> Tensor:
        if self._query is None:
            return self._still.new_zeros(0, 3)
        self._px.gpu_query_contact_pair_impulses(self._query)
        return self._query.cuda_impulses.torch().clone()


def enable_gpu() -> None:
    """Load PhysX for GPUs, which SAPIEN downloads when it is used first.

    Raises:
        ClevrSkillsError: There is no GPU, or the library can be neither found nor downloaded.
    """
    if not torch.cuda.is_available():
        raise ClevrSkillsError("simulation on a GPU needs an NVIDIA GPU that torch can use")
    try:
        physx.enable_gpu()
    except (OSError, RuntimeError, BadZipFile) as error:  # requests' errors are OSErrors
        reason = str(error).split("\n")[0]
        raise ClevrSkillsError(
            f"PhysX for GPUs can be neither found nor downloaded: {reason}"
        ) from error


def _body_numbers(body: physx.PhysxRigidBaseComponent | None) -> list[float]:
    """Pose, velocity 0, mass, inertia, principal axes, sleep energy per kilogram: 25 numbers."""
    pose = body.entity.pose if body else sapien.Pose(PARKED[:3])
    mass, moments, axes, energy = 1.0, np.ones(3), sapien.Pose(), 1.0
    if isinstance(body, physx.PhysxRigidDynamicComponent):
        mass, moments, axes = body.mass, body.inertia, body.cmass_local_pose
        energy = body.sleep_threshold
    return [*pose.p, *pose.q, *[0.0] * 6, mass, *moments, *axes.p, *axes.q, energy]
