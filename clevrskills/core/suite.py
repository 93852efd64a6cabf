"""What the dataset tools need of an environment, an oracle and a film, and how they get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from clevrskills.sim.render.film import Camera, View
    from clevrskills.sim.render.raster import Mesh

SPLITS = ("train", "test")


@dataclass(frozen=True)
class Setup:
    """What an environment is made from; episodes of one setup differ in their seed.

    Attributes:
        task: Key of the task.
        split: Objects and textures: ``train`` or ``test``.
        robot: Key of the robot.
        criteria: Name of the success criteria.
        cameras: Names of the cameras that film.
        size_px: Width and height of their pictures; ``None``: each camera's own.
        depth: Whether depth is filmed too.
        segmentation: Whether it is filmed what each pixel shows.
        task_args: Arguments of the task.
    """

    task: str
    split: str = "train"
    robot: str = "xarm6"
    criteria: str = "paper"
    cameras: tuple[str, ...] = ("base_camera", "hand_camera")
    size_px: int | None = None
    depth: bool = False
    segmentation: bool = False
    task_args: Mapping[str, Any] = field(default_factory=dict)


class Environment(Protocol):
    """The part of ``ClevrSkillsEnv`` (``gym.make(...).unwrapped``) that is recorded."""

    task: Any
    prompt: Any
    goal: Any

    @property
    def action_spec(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def state_layout(self) -> Sequence[Mapping[str, Any]]: ...  # noqa: D102
    @property
    def nodes(self) -> Sequence[Mapping[str, Any]]: ...  # noqa: D102
    @property
    def textures(self) -> Mapping[str, str]: ...  # noqa: D102
    def reset(self, *, seed: int) -> Any: ...  # noqa: D102
    def step(self, action: Any) -> Any: ...  # noqa: D102
    def get_state(self) -> Any: ...  # noqa: D102
    def goal_status(self) -> tuple[np.ndarray, np.ndarray]: ...  # noqa: D102
    def object_poses(self) -> np.ndarray: ...  # noqa: D102
    def proprioception(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    def scene_description(self) -> Mapping[str, Any]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class Oracle(Protocol):
    """The part of the oracle that a rollout uses; labels are those of the action just returned."""

    subtask: str
    step: str
    subgoal: int
    predicate: str
    skill: str
    action_class: str
    attempt: int

    @property
    def failed(self) -> Sequence[tuple[int, int]]: ...  # noqa: D102
    def reset(self) -> None: ...  # noqa: D102
    def act(self) -> np.ndarray: ...  # noqa: D102


class Film(Protocol):
    """Draws recorded moments as cameras see them; see :class:`clevrskills.sim.render.film.Film`."""

    @property
    def cameras(self) -> Mapping[str, Camera]:
        """The cameras by name."""

    @property
    def renderer(self) -> str:
        """Name and driver of the device that draws."""

    def open(self, scene: Mapping[str, Any]) -> Sequence[Mesh]:
        """Start an episode, from its description of the scene; returns the objects' meshes."""

    def shoot(
        self, qpos: np.ndarray, body_poses: np.ndarray, textures: Mapping[str, str]
    ) -> Mapping[str, View]:
        """What each camera sees of a moment: joint angles (n,), poses (K, 7), textures by key."""

    def prompt_images(self, prompt: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
        """The pictures of a prompt given as JSON data, by placeholder."""


class Source(Protocol):
    """A source of environments with their oracles; picklable, for worker processes."""

    def levels(self) -> Mapping[str, str]:
        """Level of every task, by task key."""

    def robots(self) -> Sequence[str]:
        """Names of the robots."""

    def criteria(self) -> Sequence[str]:
        """Names of the success criteria."""

    def check(self, task: str, task_args: Mapping[str, Any]) -> None:
        """Check the arguments of a task.

        Raises:
            ClevrSkillsError: One is not allowed.
        """

    def make(self, setup: Setup) -> tuple[Environment, Oracle]:
        """Build an environment, which draws nothing, and the oracle that acts in it."""

    def film(self, setup: Setup) -> Film | None:
        """Build what films for a setup; ``None`` if it has no cameras."""


class ClevrSkillsSource:
    """The tasks of this package and their oracle."""

    def levels(self) -> Mapping[str, str]:  # noqa: D102
        from clevrskills.tasks import tasks

        return {key: task.level for key, task in tasks().items()}

    def robots(self) -> Sequence[str]:  # noqa: D102
        from clevrskills.sim.robots.description import ROBOTS

        return tuple(ROBOTS)

    def criteria(self) -> Sequence[str]:  # noqa: D102
        from clevrskills.predicates.criteria import CRITERIA

        return tuple(CRITERIA)

    def check(self, task: str, task_args: Mapping[str, Any]) -> None:  # noqa: D102
        from clevrskills.tasks import task as make_task

        make_task(task, **task_args)

    def make(self, setup: Setup) -> tuple[Environment, Oracle]:  # noqa: D102
        import torch

        from clevrskills.envs.environment import ClevrSkillsEnv
        from clevrskills.solvers.oracle import Oracle

        torch.set_num_threads(1)
        env = ClevrSkillsEnv(
            setup.task,
            split=setup.split,
            robot_name=setup.robot,
            criteria_name=setup.criteria,
            task_args=setup.task_args,
            obs_mode="none",
            render_backend="none",
        )
        return env, Oracle(env)

    def film(self, setup: Setup) -> Film | None:  # noqa: D102
        return _film(setup) if setup.cameras else None


def _film(setup: Setup) -> Film:
    from clevrskills.sim.prompt import Prompt
    from clevrskills.sim.render import film

    class PromptedFilm(film.Film):
        def prompt_images(self, prompt: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
            return Prompt.from_json(prompt).images()

    return PromptedFilm(setup.cameras, setup.robot, setup.size_px)
