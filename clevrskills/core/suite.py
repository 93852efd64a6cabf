"""Suites of tasks: the contract behind which all tools find environments, oracles and episodes.

A suite is found by its name, so that no tool imports one.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.predicate import Outcome, Predicate
from clevrskills.core.interface import Interface
from clevrskills.core.registry import load, others
from clevrskills.errors import UnknownNameError

SUITES = {"clevrskills": "clevrskills.suites.clevrskills.suite:ClevrSkillsSuite"}
"""Class of each suite of the package, by name."""
DEFAULT = "clevrskills"


class Prompt(Protocol):
    """A task as it is told: text with placeholders, and what they stand for."""

    @property
    def text(self) -> str: ...
    @property
    def others(self) -> Sequence[str]: ...
    def plain(self, text: str | None = None) -> str: ...
    def images(self) -> Mapping[str, np.ndarray]: ...
    def to_json(self) -> dict[str, Any]: ...


class Episode(Protocol):
    """A frozen or drawn episode, as data; an environment starts it again anywhere."""

    @property
    def task(self) -> str: ...
    @property
    def split(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def robot(self) -> str: ...
    @property
    def task_args(self) -> Mapping[str, Any]: ...
    @property
    def content_hash(self) -> str: ...
    @property
    def prompt(self) -> Prompt: ...


class Environment(Protocol):
    """The part of an environment (``gym.make(...).unwrapped``) that tools use."""

    task: Any
    goal: Predicate
    outcome: Outcome

    @property
    def limit(self) -> int:
        """Turns after which the episode ends."""

    @property
    def prompt(self) -> Prompt: ...
    @property
    def elapsed_steps(self) -> Any: ...
    @property
    def action_spec(self) -> Mapping[str, Any]: ...
    @property
    def state_layout(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def nodes(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def textures(self) -> Mapping[str, str]: ...
    def reset(self, *, seed: int = ..., options: dict[str, Any] = ...) -> Any: ...
    def step(self, action: Any) -> Any: ...
    def capture(self) -> Mapping[str, np.ndarray]: ...
    def get_state(self) -> Any: ...
    def goal_status(self) -> tuple[np.ndarray, np.ndarray]: ...
    def object_poses(self) -> np.ndarray: ...
    def proprioception(self) -> Mapping[str, np.ndarray]: ...
    def scene_description(self) -> Mapping[str, Any]: ...
    def close(self) -> None: ...


class Oracle(Protocol):
    """What solves a task in an environment; labels are those of the action just returned."""

    subtask: str
    step: str
    subgoal: int
    predicate: str
    skill: str
    action_class: str
    attempt: int

    @property
    def failed(self) -> Sequence[tuple[int, int]]: ...
    def reset(self) -> None: ...
    def act(self) -> np.ndarray: ...


class Film(Protocol):
    """Draws recorded moments as cameras see them."""

    @property
    def cameras(self) -> Mapping[str, Any]:
        """The cameras by name."""

    @property
    def renderer(self) -> str:
        """Name and driver of the device that draws."""

    def open(self, scene: Mapping[str, Any]) -> Sequence[Any]:
        """Start an episode, from its description of the scene; returns the objects' meshes."""

    def shoot(
        self, qpos: np.ndarray, body_poses: np.ndarray, textures: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """What each camera sees of a moment: joint angles (n,), poses (K, 7), textures by key."""

    def prompt_images(self, prompt: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
        """The images of a prompt given as JSON data, by placeholder."""


class Suite(Protocol):
    """A set of tasks with their environments and episodes; picklable, for worker processes."""

    def levels(self) -> Mapping[str, str]:
        """Level of every task, by task key."""

    def robots(self) -> Sequence[str]:
        """Names of the robots."""

    def criteria(self) -> Sequence[str]:
        """Names of the success criteria."""

    def cameras(self) -> Sequence[str]:
        """Names of the cameras."""

    def interface(self) -> Interface:
        """What policies act by."""

    def unspeakable(self) -> Sequence[str]:
        """Keys of the tasks that are left out where prompts are in words alone."""

    def check(self, task: str, task_args: Mapping[str, Any]) -> None:
        """Check the arguments of a task.

        Raises:
            ClevrSkillsError: One is not allowed.
        """

    def make(self, config: EnvConfig) -> Environment:
        """Build an environment; it draws images only if there are cameras.

        Raises:
            ClevrSkillsError: It cannot be built.
        """

    def oracle(self, env: Environment) -> Oracle:
        """What acts in an environment to show how its task is done."""

    def film(self, config: EnvConfig) -> Film | None:
        """Build what films the episodes of a configuration; ``None`` if it has no cameras."""

    def header(self, task: str, split: str) -> Any:
        """What is said of all frozen episodes of a task and split.

        Raises:
            ClevrSkillsError: There are none.
        """

    def file_hash(self, task: str, split: str) -> str:
        """Content hash of the file of frozen episodes of a task and split."""

    def frozen(self, task: str, split: str) -> Sequence[Episode]:
        """The frozen episodes of a task and split."""

    def draw(
        self,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "xarm6",
        task_args: Mapping[str, Any] | None = None,
    ) -> Episode:
        """The episode of a seed."""

    def renderer(self) -> str:
        """Name and driver of what draws."""


def suite_names() -> tuple[str, ...]:
    """Names of all suites, those of the package first.

    Raises:
        NameTakenError: Two have the same name.
    """
    return (*SUITES, *others("suites", SUITES))


def load_suite(name: str = DEFAULT, **arguments: Any) -> Suite:
    """Make a suite.

    Args:
        name: Name of a suite, or ``module:Class``.
        arguments: Arguments of its class.

    Raises:
        UnknownNameError: There is no such suite.
        ClevrSkillsError: That of another distribution cannot be imported.
    """
    foreign = {} if name in SUITES else others("suites", SUITES)
    module, colon, attribute = SUITES.get(name, name).partition(":")
    if name in foreign:
        kind = load(foreign[name])
    elif colon:
        kind = getattr(importlib.import_module(module), attribute)
    else:
        raise UnknownNameError("suite", name, suite_names())
    suite: Suite = kind(**arguments)
    return suite
