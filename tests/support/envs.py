"""Environments and policies that tests share."""

from types import SimpleNamespace
from unittest.mock import patch

import gymnasium as gym
import numpy as np
import torch

from clevrskills import env_id
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.environment import make_env as build_env
from clevrskills.envs.gymnasium_env import GymnasiumEnv
from clevrskills.predicates import Picked
from clevrskills.sim.body import Body
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.tasks import Layout, Task
from tests.support.worlds import BodySpec
from tests.support.worlds import pose as stand

torch.set_num_threads(1)


def make_env(key: str, obs_mode: str = "none", **kwargs) -> GymnasiumEnv:
    """An environment without images, unless asked for, that may be stepped after success."""
    if obs_mode in ("none", "state", "state_dict"):
        kwargs.setdefault("render_backend", "none")
    return endless(gym.make(env_id(key), obs_mode=obs_mode, **kwargs))


def endless(env: GymnasiumEnv) -> GymnasiumEnv:
    """Let an environment be stepped after the end of an episode."""
    env.unwrapped._life.end = lambda: None
    return env


def act(x=0.0, y=0.0, z=0.0, turn=(0.0, 0.0, 0.0), on=False) -> np.ndarray:
    """An action (7,)."""
    return np.array([x, y, z, *turn, 1.0 if on else -1.0], dtype=np.float32)


def stay(env: GymnasiumEnv, steps: int, on: bool | None = None) -> dict:
    """Keep still with the vacuum on by default; return the last info."""
    held = int(base(env).world.held[0]) >= 0
    info: dict = {}
    for _ in range(steps):
        info = env.step(act(on=held if on is None else on))[-1]
    return info


def base(env: GymnasiumEnv) -> ClevrSkillsEnv:
    return env.unwrapped.base_env


def random_actions(count: int, seed: int = 0) -> np.ndarray:
    """Actions (count, 7) that wander about, with the vacuum now on, now off."""
    generator = np.random.default_rng(seed)
    actions = generator.uniform(-0.35, 0.35, (count, 7)).astype(np.float32)
    actions[:, 6] = np.where(generator.random(count) < 0.7, 1.0, -1.0)
    return actions


def go_to(
    env: GymnasiumEnv, position, on: bool = False, steps: int = 60, speed_m: float = 0.03
) -> None:
    """Move the tool center point to a world position, cups down, in small steps."""
    controller = base(env).agent.controller
    for _ in range(steps):
        target = controller.target_pose
        offset = np.asarray(position, dtype=np.float64) - target.p
        if np.linalg.norm(offset) < 1e-5:
            break
        offset *= min(1.0, speed_m / np.linalg.norm(offset))
        local = target.to_transformation_matrix()[:3, :3].T @ offset / 0.1
        env.step(act(*local, on=on))


def put(env: GymnasiumEnv, slot: int, x: float, y: float, bottom_z: float = 0.0) -> None:
    """Stand a body upright at a place and let it come to rest."""
    world = base(env).world
    body = torch.tensor([slot])
    pose = world.pose(body).clone()
    pose[0, :2] = torch.tensor([x, y])
    pose[0, 3:] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    world.set_body_pose(body, pose)
    pose[0, 2] += bottom_z - world.bottom(body)[0]
    world.set_body_pose(body, pose)


def positions(env: GymnasiumEnv) -> torch.Tensor:
    """World positions of all bodies, (K, 3)."""
    return base(env).world.body_pose[0, :, :3].clone()


class Bench(Task):
    """Known bodies at known places, for tests; not registered."""

    level = "L0"
    robots = tuple(ROBOTS)
    sentence = "Pick up the first body"
    max_steps = 1000

    def __init__(self, bodies: tuple[Body, ...]) -> None:
        self.bodies = bodies
        self.slots = tuple(body.key for body in bodies)

    def layout(self, draw):
        return Layout(self.bodies, {"object": np.array(0)})

    def goal(self, roles):
        return Picked(roles["object"])

    def prompts(self, layout):
        return ["Pick up {obj:" + self.bodies[0].key + "}"]


Bench.key = "bench"  # set here, so that the class is not registered as a task


def body(spec: BodySpec, x: float, y: float, yaw_rad: float = 0.0, bottom_z: float = 0.0) -> Body:
    """A body that stands upright."""
    pose = tuple(stand(spec, x, y, yaw_rad, bottom_z).tolist())
    return Body(spec.key, spec.shape, "red", pose, spec.size, spec.static)


def bench(*bodies: Body, **kwargs) -> GymnasiumEnv:
    """An environment with some bodies; the goal is to pick the first."""
    made = {"obs_mode": "none", "render_backend": "none", **kwargs}
    with (
        patch("clevrskills.envs.environment.task", lambda key: Bench(bodies)),
        patch(
            "clevrskills.envs.gymnasium_env.load_suite",
            lambda name: SimpleNamespace(
                make=build_env, tasks={"bench": SimpleNamespace(interfaces={})}
            ),
        ),
    ):
        env = endless(GymnasiumEnv("bench", **made))
    env.reset(seed=0)
    return env
