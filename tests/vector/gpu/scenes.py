"""The simulation of several scenes on the CPU, asked as the one on a GPU is asked."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import sapien
import torch
from sapien.physx import PhysxCpuSystem

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.gymnasium_env import GymnasiumEnv
from clevrskills.envs.scene_sampling import scene_of
from clevrskills.sim.body import Body
from clevrskills.sim.simulation import SIM_HZ
from clevrskills.tasks import Layout
from clevrskills.vector import VectorSpec
from clevrskills.vector.gpu.env import GpuVectorEnv
from clevrskills.vector.gpu.physics import Physics
from clevrskills.vector.gpu.reset_states import ResetScenes
from clevrskills.vector.gpu.scenes import Scene, SceneBuilder
from clevrskills.vector.gpu.world import GpuWorld
from tests.support.envs import Bench

torch.set_num_threads(1)


class CpuPhysics(Physics):
    """Each scene in a PhysX scene of its own."""

    def __init__(self, scenes: Sequence[Scene], systems: Sequence[PhysxCpuSystem]):
        super().__init__(scenes, "cpu")
        self.systems = systems
        self.read()

    @classmethod
    def build(cls, layouts: Sequence[Layout], robot_name: str = "xarm6"):
        builder = SceneBuilder(robot_name)
        systems = [PhysxCpuSystem() for _ in layouts]
        for system in systems:
            system.timestep = 1.0 / SIM_HZ
        parts = zip(systems, layouts, strict=True)
        return cls([builder.build(*part, np.zeros(3)) for part in parts], systems)

    @classmethod
    def of(cls, env: ClevrSkillsEnv):
        """The simulation of an environment, to be looked at."""
        simulation, robot = env.simulation, env.agent.robot._objs[0]
        links = [link for link in robot.links if link in env.agent.gripper_links]
        solids = simulation._solid[: simulation.table + 1]
        tcp = env.agent.tcp._objs[0]
        return cls([Scene(None, solids[:-1], solids[-1], robot, links, tcp)], [env.scene.px])

    def read(self):
        bodies = self._still.clone()
        for env, slot in self._dynamic.nonzero().tolist():
            body = self.scenes[env].bodies[slot]
            bodies[env, slot] = state(body, body.entity.pose)
        self.bodies = bodies
        self.tcp = torch.stack([state(s.tcp, s.tcp.entity_pose) for s in self.scenes])
        self.qpos = torch.tensor(np.array([s.robot.qpos for s in self.scenes]))
        self.qvel = torch.tensor(np.array([s.robot.qvel for s in self.scenes]))

    def place_bodies(self, where, state):
        for env, slot in (where & self._dynamic).nonzero().tolist():
            body, values = self.scenes[env].bodies[slot], state[env, slot].double().numpy()
            body.entity.pose = sapien.Pose(values[:3], values[3:7])
            body.linear_velocity, body.angular_velocity = values[7:10], values[10:]
        self.read()

    def place_arms(self, where, qpos):
        for env in where.nonzero()[:, 0].tolist():
            robot = self.scenes[env].robot
            robot.qpos, robot.qvel = qpos[env].numpy(), np.zeros(robot.dof)
        self.drive(torch.where(where[:, None], qpos, self.qpos), torch.zeros_like(qpos))
        self.read()

    def drive(self, qpos, qvel):
        for scene, angles, speeds in zip(self.scenes, qpos.tolist(), qvel.tolist(), strict=True):
            for joint, angle, speed in zip(scene.robot.active_joints, angles, speeds, strict=True):
                joint.set_drive_target(angle)
                joint.set_drive_velocity_target(speed)

    def push(self, body, pull, torques):
        for env, scene in enumerate(self.scenes):
            part = scene.bodies[int(body[env])]
            if pull[env].any():
                part.add_force_torque(pull[env, :3].numpy(), pull[env, 3:].numpy())
            scene.robot.qf = torques[env].numpy()

    def step(self):
        for system in self.systems:
            system.step()

    def impulses(self):
        out = torch.zeros(len(self._pairs), 3)
        for env, pairs in groupby(range(len(self._pairs)), key=lambda k: int(self.pairs[k, 0])):
            found = {}
            for contact in self.systems[env].get_contacts():
                one, two = (id(body) for body in contact.bodies)
                total = np.sum([point.impulse for point in contact.points] or [np.zeros(3)], axis=0)
                for key, sign in (((one, two), 1.0), ((two, one), -1.0)):
                    found[key] = found.get(key, 0.0) + sign * total
            for k in pairs:
                one, two = self._pairs[k]
                out[k] = torch.as_tensor(found.get((id(one), id(two)), np.zeros(3)))
        return out


class CpuVectorEnv(GpuVectorEnv):
    """The vector environment with scenes on the CPU."""

    def __init__(self, spec, num_envs, **options):
        super().__init__(spec, num_envs, device="cpu", **options)

    def _make_physics(self, layouts):
        return CpuPhysics.build(layouts, self._spec.robot_name)


def state(body, pose):
    values = (pose.p, pose.q, body.linear_velocity, body.angular_velocity)
    return torch.from_numpy(np.concatenate(values).astype(np.float32))


def spec(task: str, **options) -> VectorSpec:
    return VectorSpec(task=task, **options)


def bench_world(layouts: Sequence[tuple[Body, ...]], robot_name: str = "xarm6") -> GpuWorld:
    """Known bodies at known places, as :func:`tests.envs.bench` has them, one row for each."""
    task = Bench(layouts[0])
    scenes = [scene_of(task, Bench(b).layout(None), robot_name) for b in layouts]
    starts = ResetScenes.of([[scene] for scene in scenes], len(scenes), "cpu")
    world = GpuWorld(
        task.slots, starts.solids, CpuPhysics.build(starts.layouts, robot_name), robot_name
    )
    world.begin(starts.pose[:, 0], starts.held[:, 0])
    return world


def replay(world: GpuWorld, env: GymnasiumEnv, actions: Sequence[np.ndarray]) -> None:
    """Do the same in all rows of a world and in an environment."""
    for action in actions:
        env.step(action)
        world.step(torch.from_numpy(action).expand(world.num_envs, 7))
