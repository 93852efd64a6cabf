"""What the dataset tools need of an environment and an oracle, and how they get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clevrskills.cameras import BASE_CAMERA, RENDER_CAMERA
from clevrskills.robots.description import robot

SPLITS = ("train", "test")
FIXED_CAMERAS = {"base_camera": BASE_CAMERA, "render_camera": RENDER_CAMERA}


@dataclass(frozen=True)
class Setup:
    """What an environment is made from; episodes of one setup differ in their seed."""

    task: str
    split: str = "train"
    robot: str = "xarm6"
    criteria: str = "paper"
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")


class Environment(Protocol):
    """The part of ``ClevrSkillsEnv`` (``gym.make(...).unwrapped``) that is recorded."""

    task: Any
    prompt: Any
    goal: Any
    action_spec: Mapping[str, Any]
    state_layout: Sequence[Mapping[str, Any]]

    def reset(self, *, seed: int) -> Any: ...  # noqa: D102
    def step(self, action: Any) -> Any: ...  # noqa: D102
    def get_state(self) -> Any: ...  # noqa: D102
    def capture(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    def proprioception(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    def scene_description(self) -> Mapping[str, Any]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class Oracle(Protocol):
    """The part of the oracle that a rollout uses; labels are those of the action just returned."""

    subtask: str
    step: str
    subgoal: int

    def reset(self) -> None: ...  # noqa: D102
    def act(self) -> np.ndarray: ...  # noqa: D102


class Source(Protocol):
    """A source of environments with their oracles; picklable, for worker processes."""

    def levels(self) -> Mapping[str, str]:
        """Level of every task, by task key."""

    def robots(self) -> Sequence[str]:
        """Names of the robots."""

    def criteria(self) -> Sequence[str]:
        """Names of the success criteria."""

    def make(self, setup: Setup) -> tuple[Environment, Oracle]:
        """Build an environment and the oracle that acts in it."""


def camera_mounting(camera: str, robot_name: str) -> dict[str, Any]:
    """Where a camera is, in the world or on a link of the robot, and how wide it sees."""
    if camera in FIXED_CAMERAS:
        fixed = FIXED_CAMERAS[camera]
        return {
            "eye_m": list(fixed.eye_m),
            "target_m": list(fixed.target_m),
            "fov_rad": fixed.fov_rad,
        }
    description = robot(robot_name)
    hand = description.hand_camera
    return {
        "link": description.gripper_link,
        "position_m": list(hand.position_m),
        "quaternion_wxyz": list(hand.quaternion),
        "fov_rad": hand.fov_rad,
    }


class ClevrSkillsSource:
    """The tasks of this package and their oracle."""

    def levels(self) -> Mapping[str, str]:  # noqa: D102
        from clevrskills.tasks import tasks

        return {key: task.level for key, task in tasks().items()}

    def robots(self) -> Sequence[str]:  # noqa: D102
        from clevrskills.robots.description import ROBOTS

        return tuple(ROBOTS)

    def criteria(self) -> Sequence[str]:  # noqa: D102
        from clevrskills.predicates.criteria import CRITERIA

        return tuple(CRITERIA)

    def make(self, setup: Setup) -> tuple[Environment, Oracle]:  # noqa: D102
        import torch

        from clevrskills.env import ClevrSkillsEnv
        from clevrskills.rendering import default_backend
        from clevrskills.solvers.oracle import Oracle

        torch.set_num_threads(1)
        env = ClevrSkillsEnv(
            setup.task,
            split=setup.split,
            robot_name=setup.robot,
            criteria_name=setup.criteria,
            obs_mode="none",
            cameras=setup.cameras,
            render_backend=default_backend() if setup.cameras else "none",
        )
        return env, Oracle(env)
