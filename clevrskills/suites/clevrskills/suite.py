"""Where the environments and episodes of an evaluation come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from clevrskills.core.suite import Setup
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.messages import Case

if TYPE_CHECKING:
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.evaluation.freeze.frozen import Header
    from clevrskills.predicates import Outcome, Predicate
    from clevrskills.sim.prompt import Prompt
    from clevrskills.sim.render.film import Film


class Environment(Protocol):
    """The part of ``ClevrSkillsEnv`` that an evaluation uses."""

    task: Any
    goal: Predicate
    outcome: Outcome

    @property
    def prompt(self) -> Prompt: ...  # noqa: D102
    @property
    def elapsed_steps(self) -> Any: ...  # noqa: D102
    @property
    def textures(self) -> Mapping[str, str]: ...  # noqa: D102
    def reset(self, *, options: dict[str, Any]) -> Any: ...  # noqa: D102
    def step(self, action: Any) -> Any: ...  # noqa: D102
    def capture(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    def proprioception(self) -> Mapping[str, np.ndarray]: ...  # noqa: D102
    def object_poses(self) -> np.ndarray: ...  # noqa: D102
    def scene_description(self) -> Mapping[str, Any]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class Suite(Protocol):
    """A set of tasks with their episodes; picklable, for worker processes."""

    def levels(self) -> Mapping[str, str]:
        """Level of every task, by task key."""

    def robots(self) -> Sequence[str]:
        """Names of the robots."""

    def criteria(self) -> Sequence[str]:
        """Names of the success criteria."""

    def header(self, task: str, split: str) -> Header:
        """What is said of all frozen episodes of a task and split.

        Raises:
            ClevrSkillsError: There are none.
        """

    def file_hash(self, task: str, split: str) -> str:
        """Content hash of the file of frozen episodes of a task and split."""

    def frozen(self, task: str, split: str) -> Sequence[EpisodeSpec]:
        """The frozen episodes of a task and split."""

    def draw(self, case: Case, robot: str) -> EpisodeSpec:
        """The episode of a seed."""

    def make(self, setup: Setup) -> Environment:
        """Build an environment; it draws pictures only if there are cameras.

        Raises:
            ClevrSkillsError: It cannot be built.
        """

    def film(self, camera: str, robot: str) -> Film:
        """Build what films episodes."""

    def renderer(self) -> str:
        """Name and driver of what draws."""


@dataclass(frozen=True)
class ClevrSkillsSuite:
    """The tasks of this package and their frozen episodes.

    Attributes:
        folder: Where the frozen episodes are; ``None``: those of the package.
    """

    folder: Path | None = None

    def levels(self) -> Mapping[str, str]:  # noqa: D102
        from clevrskills.tasks import tasks

        return {key: task.level for key, task in tasks().items()}

    def robots(self) -> Sequence[str]:  # noqa: D102
        from clevrskills.sim.robots.description import ROBOTS

        return tuple(ROBOTS)

    def criteria(self) -> Sequence[str]:  # noqa: D102
        from clevrskills.predicates.criteria import CRITERIA

        return tuple(CRITERIA)

    def header(self, task: str, split: str) -> Header:  # noqa: D102
        from clevrskills.evaluation.freeze import frozen

        return frozen.header(task, split, self.folder or frozen.SHIPPED)

    def file_hash(self, task: str, split: str) -> str:  # noqa: D102
        from clevrskills.evaluation.freeze import frozen

        return frozen.file_hash(task, split, self.folder or frozen.SHIPPED)

    def frozen(self, task: str, split: str) -> Sequence[EpisodeSpec]:  # noqa: D102
        from clevrskills.evaluation.freeze import frozen

        return frozen.episodes(task, split, folder=self.folder or frozen.SHIPPED)

    def draw(self, case: Case, robot: str) -> EpisodeSpec:  # noqa: D102
        from clevrskills.envs.episode import EpisodeSpec

        assert case.seed is not None
        return EpisodeSpec.draw(case.task, case.split, case.seed, case.index, robot, case.task_args)

    def make(self, setup: Setup) -> Environment:  # noqa: D102
        from clevrskills.envs.environment import ClevrSkillsEnv
        from clevrskills.sim.render import rendering

        size = {} if setup.size_px is None else {"width": setup.size_px, "height": setup.size_px}
        env = ClevrSkillsEnv(
            setup.task,
            split=setup.split,
            robot_name=setup.robot,
            criteria_name=setup.criteria,
            task_args=setup.task_args,
            obs_mode="none",  # pictures are taken when the policy is to be shown some
            cameras=setup.cameras,
            sensor_configs=size,
            render_backend=rendering.default_backend() if setup.cameras else "none",
        )
        if setup.cameras and not env.can_draw:
            raise ClevrSkillsError("the policy is to be shown pictures, but rendering is off")
        return env

    def film(self, camera: str, robot: str) -> Film:  # noqa: D102
        from clevrskills.sim.render.film import Film

        return Film((camera,), robot)

    def renderer(self) -> str:  # noqa: D102
        from clevrskills.sim.render.vulkan import renderer

        return renderer()
