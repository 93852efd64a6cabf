"""What the dataset tools need of an environment and an oracle, and how they get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

SPLITS = ("train", "test")


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
        import gymnasium as gym
        import torch

        from clevrskills.solvers.oracle import Oracle
        from clevrskills.tasks import task

        torch.set_num_threads(1)
        env = gym.make(
            task(setup.task).env_id(),
            split=setup.split,
            robot=setup.robot,
            criteria=setup.criteria,
            obs_mode="none",
            render_backend=None if setup.cameras else "none",
        ).unwrapped
        return env, Oracle(env)
