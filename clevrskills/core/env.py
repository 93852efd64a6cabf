"""Interfaces of environments, episodes and prompts for evaluation and recording."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:  # torch takes two seconds to import
    from clevrskills.core.goal.predicate import Leaf, Outcome, Predicate
    from clevrskills.core.policy import TextAction


NOTHING: Mapping[str, Any] = MappingProxyType({})
CLOSED = "the environment is closed; make a new one"


class ResetNeededError(ClevrSkillsError, ResetNeeded):  # type: ignore[misc]
    """Error of a step before the first reset or after the end of an episode."""


class ClosedError(ClevrSkillsError, ClosedEnvironmentError):  # type: ignore[misc]
    """Error of using a closed environment."""


class LifeCycle:
    """Life cycle of a Gymnasium environment: checks before steps and resets."""

    _phase = "new"

    @contextmanager
    def reset(self) -> Iterator[None]:
        """Begin an episode in a ``with`` block; if the block raises, no episode is running.

        Raises:
            ClosedError: The environment is closed.
        """
        self._check_open()
        self._phase = "new"
        yield
        self._phase = "running"

    def check_step(self) -> None:
        """Check that a step is allowed.

        Raises:
            ResetNeededError: No episode is running.
            ClosedError: The environment is closed.
        """
        self._check_open()
        if self._phase != "running":
            why = "the episode is over" if self._phase == "over" else "no episode has begun"
            raise ResetNeededError(f"{why}: call reset before step")

    def end(self) -> None:
        """Mark the episode as over."""
        self._phase = "over"

    def close(self) -> None:
        """Mark the environment as closed."""
        self._phase = "closed"

    def _check_open(self) -> None:
        if self._phase == "closed":
            raise ClosedError(CLOSED)


def as_autoreset_mode(mode: Any) -> AutoresetMode:
    """Return the autoreset mode of a vector environment, given as Gymnasium's enum or its value.

    Raises:
        UnknownNameError: The mode is neither ``SAME_STEP`` nor ``NEXT_STEP``.
    """
    allowed = (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)
    for known in allowed:
        if mode in (known, known.value):
            return known
    name, names = getattr(mode, "value", mode), [known.value for known in allowed]
    raise UnknownNameError("autoreset_mode", name, names)


class Prompt(ABC):
    """Prompt of an episode: text with placeholders for images.

    Attributes:
        text: The text.
        others: Alternative wordings of the same request.
        about: Public facts about the episode, such as the size of a board.
        wording: ``index``, ``style`` and ``held_out`` of the wording; empty if there is only one.
    """

    text: str
    others: Sequence[str] = ()
    about: Mapping[str, Any] = NOTHING
    wording: Mapping[str, Any] = NOTHING

    @abstractmethod
    def plain(self, text: str | None = None) -> str:
        """Return the text, or another one with the same placeholders, with names for images."""

    @abstractmethod
    def images(self) -> Mapping[str, NDArray[Any]]:
        """Return the images, (H, W, 3) uint8, by placeholder."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the prompt as JSON data."""


class Episode(ABC):
    """Frozen or sampled episode as data, from which an environment reproduces its start.

    Attributes:
        task: Key of the task.
        split: Name of the split.
        index: Number of the episode within its task and split.
        seed: Seed of the episode.
        robot: Name of the robot; ``none`` if no arm acts.
        task_args: Arguments of the task.
        prompt: The prompt.
        limit: Maximum number of turns; 0 if the step limit of the task applies.
        tags: Values by which result tables group episodes, by name.
    """

    task: str
    split: str
    index: int
    seed: int
    robot: str
    task_args: Mapping[str, Any]
    prompt: Prompt
    limit: int = 0
    tags: Mapping[str, Any] = NOTHING

    @property
    @abstractmethod
    def content_hash(self) -> str:
        """SHA-256, in hexadecimal, of everything except the index."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the episode as JSON data."""

    @property
    def axes(self) -> Mapping[str, int]:
        """Levels of the perturbation axes, by name."""
        return NOTHING

    @property
    def twin(self) -> str:
        """Content hash of the unperturbed episode; empty if this is one."""
        return ""

    @property
    def planned_turns(self) -> tuple[int, int] | None:
        """Number of turns of the plan found while sampling, and its limit; ``None`` without one."""
        return None

    def pack(self) -> Mapping[str, Any]:
        """Return the episode as JSON data for a file of frozen episodes."""
        return self.to_json()


@runtime_checkable
class Composable(Protocol):
    """Episode whose goal is a sequence of subgoals."""

    def subgoals(self) -> Sequence[str]:
        """Return the names of the predicates of the subgoals, in order."""


class Watcher(Protocol):
    """Observer of one episode: failure events and measures of the arm's motion."""

    @property
    def events(self) -> Sequence[Any]:
        """Failure events, each with a ``to_json``; in order after :meth:`finish`."""

    def finish(self) -> None:
        """End the episode."""

    def trajectory(self) -> Mapping[str, float]:
        """Return measures of the motion by name."""


class Env(ABC):
    """Environment of one episode at a time, as evaluation needs it.

    Attributes:
        task: The task, with ``key``, ``level`` and ``max_steps``.
        world: The :class:`~clevrskills.core.goal.context.Context` of the goal; ``None`` if the goal
            needs none.
        goal: The goal tree.
        outcome: Evaluation of the goal in the current state.
        limit: Maximum number of turns or control steps.
        elapsed_steps: Number of turns or control steps so far, a number or (1,).
        goal_hidden: Whether goal and progress reveal state that must be observed; players and
            clients then receive them only after the episode.
    """

    goal_hidden = False
    task: Any
    world: Any = None
    goal: Predicate
    outcome: Outcome
    limit: int
    elapsed_steps: Any

    @property
    @abstractmethod
    def prompt(self) -> Prompt:
        """The prompt of the episode."""

    @abstractmethod
    def reset(self, *, options: dict[str, Any]) -> Any:
        """Start the episode ``options["episode"]``."""

    @abstractmethod
    def get_state(self) -> Any:
        """Return the state as numbers, (n,) or (1, n); different states give different numbers."""

    def faults(self) -> Mapping[str, bool]:
        """Return which faults the initial state has; call it right after a reset."""
        return {"goal holds": bool(self.outcome.holds[0])}

    def watcher(self) -> Watcher | None:
        """Return an observer of the episode from the current state on; ``None`` if unsupported."""
        return None

    def capture(self) -> Mapping[str, NDArray[Any]]:
        """Return the image of each camera, (H, W, 3) uint8."""
        return {}

    def look(self, views: Sequence[str]) -> Mapping[str, Any]:
        """Return views other than camera images, texts or arrays, by name."""
        return {}

    def proprioception(self) -> Mapping[str, NDArray[Any]]:
        """Return the measurements of the robot, each (n,)."""
        return {}

    def hear(self, answer: TextAction) -> None:  # noqa: B027 (most ignore it)
        """Receive the answer of a policy before its command is executed."""

    def measures(self) -> Mapping[str, float]:
        """Return the suite's own measures of the episode so far."""
        return {}

    def curves(self) -> Mapping[str, Sequence[float]]:
        """Return the suite's own curves: one value at the start and after each turn."""
        return {}

    def close(self) -> None:  # noqa: B027 (most hold nothing open)
        """Release the resources of the environment."""


@runtime_checkable
class SubgoalPrompting(Protocol):
    """Environment that can prompt for a single subgoal."""

    def subgoal_prompt(self, leaf: Leaf) -> Prompt:
        """Return the prompt for one leaf of the goal or of a command."""


class RecordableEnv(Env):
    """Environment of control steps, as recording needs it.

    Attributes:
        robot_name: Name of the robot.
    """

    robot_name: str

    @property
    @abstractmethod
    def action_spec(self) -> Mapping[str, Any]:
        """Meaning of an action, as JSON data."""

    @property
    @abstractmethod
    def state_layout(self) -> Sequence[Mapping[str, Any]]:
        """Parts of the state, each with ``name``, ``start`` and ``stop``."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[Mapping[str, Any]]:
        """Nodes of the goal tree in depth-first order, as JSON data."""

    @property
    @abstractmethod
    def textures(self) -> Mapping[str, str]:
        """Textures that currently replace those of bodies, by key."""

    @abstractmethod
    def step(self, action: Any) -> Any:
        """Run one control step and return what Gymnasium's ``step`` returns."""

    @abstractmethod
    def goal_status(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return which nodes of the goal hold, (G,) bool, and their rewards, (G,) float32."""

    @abstractmethod
    def object_poses(self) -> NDArray[Any]:
        """Return the world poses of the bodies, (K, 7) float32."""

    @abstractmethod
    def scene_description(self) -> Mapping[str, Any]:
        """Return the scene as JSON data."""
