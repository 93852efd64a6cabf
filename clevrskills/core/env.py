"""Environments, episodes and prompts: what evaluation and recording need of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from clevrskills.core.episode import episode_name
from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:  # torch takes two seconds to import
    from clevrskills.core.goal.predicate import Leaf, Outcome, Predicate
    from clevrskills.core.policy import TextAction


NOTHING: Mapping[str, Any] = MappingProxyType({})


CLOSED = "the environment is closed; make another one"


class ResetNeededError(ClevrSkillsError, ResetNeeded):  # type: ignore[misc]
    """Step of an environment whose episode has not begun, or is over."""


class ClosedError(ClevrSkillsError, ClosedEnvironmentError):  # type: ignore[misc]
    """Use of an environment that is closed."""


class LifeCycle:
    """Phases of an environment of Gymnasium, for checks before its steps and resets."""

    _phase = "new"

    @contextmanager
    def reset(self) -> Iterator[None]:
        """Begin an episode within a ``with`` block; none is running if that raises.

        Raises:
            ClosedError: The environment is closed.
        """
        self._check_open()
        self._phase = "new"
        yield
        self._phase = "running"

    def check_step(self) -> None:
        """Check that a step may be made.

        Raises:
            ResetNeededError: No episode is running.
            ClosedError: The environment is closed.
        """
        self._check_open()
        if self._phase != "running":
            why = "the episode is over" if self._phase == "over" else "no episode has begun"
            raise ResetNeededError(f"{why}: call reset before step")

    def end(self) -> None:
        """Note that the episode is over."""
        self._phase = "over"

    def close(self) -> None:
        """Note that the environment is closed."""
        self._phase = "closed"

    def _check_open(self) -> None:
        if self._phase == "closed":
            raise ClosedError(CLOSED)


def as_autoreset_mode(mode: Any) -> AutoresetMode:
    """Return the autoreset mode of vector environments that is meant: one of Gymnasium's, or its
    value.

    Raises:
        UnknownNameError: It is neither ``SAME_STEP`` nor ``NEXT_STEP``.
    """
    allowed = (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)
    for known in allowed:
        if mode in (known, known.value):
            return known
    name, names = getattr(mode, "value", mode), [known.value for known in allowed]
    raise UnknownNameError("autoreset_mode", name, names)


class Prompt(ABC):
    """The description of a task that a policy is given: text with placeholders for images.

    Attributes:
        text: The text.
        others: Other texts that ask for the same.
        about: Facts about the episode that every policy is given, such as the size of a board.
        wording: The wording that the text has: ``index``, ``style`` and ``held_out``; empty: the
            task has only one.
    """

    text: str
    others: Sequence[str] = ()
    about: Mapping[str, Any] = NOTHING
    wording: Mapping[str, Any] = NOTHING

    @abstractmethod
    def plain(self, text: str | None = None) -> str:
        """Return the text, or another one with the same placeholders, in words."""

    @abstractmethod
    def images(self) -> Mapping[str, NDArray[Any]]:
        """Return the images, (H, W, 3) uint8, by placeholder."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the prompt as JSON data."""


class Episode(ABC):
    """A frozen or drawn episode, as data; an environment starts it again anywhere.

    Attributes:
        task: Key of the task.
        split: Name of the split.
        index: Its number among those of the task and split.
        seed: Seed that it was drawn from.
        robot: Name of the robot; ``none``: no arm acts.
        task_args: Arguments of the task.
        prompt: The prompt.
        limit: Turns after which it ends; 0: control steps, as the task says.
        tags: Groups of tables that it belongs to, by name.
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
    def id(self) -> str:
        """Name of the episode, e.g. ``sort_test_007``."""
        return episode_name(self.task, self.split, self.index)

    @property
    @abstractmethod
    def content_hash(self) -> str:
        """SHA-256, in hexadecimal, of all of it but its index."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the episode as JSON data."""

    @property
    def axes(self) -> Mapping[str, int]:
        """Level of each axis that perturbs it."""
        return NOTHING

    @property
    def twin(self) -> str:
        """Content hash of the clean episode that it was perturbed from; empty: it is clean."""
        return ""

    @property
    def planned_turns(self) -> tuple[int, int] | None:
        """Turns of a plan that was found when it was drawn, and their limit; ``None``: no plan is
        known without acting.
        """
        return None

    def pack(self) -> Mapping[str, Any]:
        """Return JSON data for a frozen file, from which the suite reads the same episode."""
        return self.to_json()


@runtime_checkable
class Composable(Protocol):
    """An episode whose goal is achieved one subgoal after the other."""

    def subgoals(self) -> Sequence[str]:
        """Return the names of the predicates that are achieved in turn."""


class Watcher(Protocol):
    """An observer of one episode: failure events, and how the arm moved."""

    @property
    def events(self) -> Sequence[Any]:
        """Failure events, each with a ``to_json``, in order after :meth:`finish`."""

    def finish(self) -> None:
        """End the episode."""

    def trajectory(self) -> Mapping[str, float]:
        """Return measures of the movement, by name."""


class Env(ABC):
    """An environment of one episode at a time, as evaluation needs it.

    Attributes:
        task: The task: ``key``, ``level`` and ``max_steps``.
        world: The :class:`~clevrskills.core.goal.context.Context` of the goal; ``None``: the goal
            describes itself without one.
        goal: The goal tree.
        outcome: The evaluation of the goal in the present state.
        limit: Turns or control steps after which the episode ends.
        elapsed_steps: Turns or control steps so far, a number or (1,).
        goal_hidden: Whether goal and progress tell of the state what is to be found out by looking;
            players and clients get them when the episode is over.
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
        """Return numbers, (n,) or (1, n), that differ where the state differs."""

    def faults(self) -> Mapping[str, bool]:
        """Return, just after a reset, which faults the start of the episode has."""
        return {"goal holds": bool(self.outcome.holds[0])}

    def watcher(self) -> Watcher | None:
        """Return an observer of the episode from the present state on; ``None``: there is none."""
        return None

    def capture(self) -> Mapping[str, NDArray[Any]]:
        """Return the image of each camera, (H, W, 3) uint8."""
        return {}

    def look(self, views: Sequence[str]) -> Mapping[str, Any]:
        """Return views other than camera images: texts or arrays, by name."""
        return {}

    def proprioception(self) -> Mapping[str, NDArray[Any]]:
        """Return the measurements of the robot, each (n,)."""
        return {}

    def hear(self, answer: TextAction) -> None:  # noqa: B027 (most ignore it)
        """Take note of the answer of a policy before its command is taken."""

    def measures(self) -> Mapping[str, float]:
        """Return the suite's measures of the episode so far."""
        return {}

    def curves(self) -> Mapping[str, Sequence[float]]:
        """Return the suite's curves: a number at the start and after each turn."""
        return {}

    def close(self) -> None:  # noqa: B027 (most hold nothing open)
        """Release what the environment holds."""


@runtime_checkable
class SubgoalPrompting(Protocol):
    """An environment that prompts for one subgoal at a time."""

    def subgoal_prompt(self, leaf: Leaf) -> Prompt:
        """Return the prompt that asks for one leaf of the goal, or of a command, alone."""


class RecordableEnv(Env):
    """An environment of control steps, as recording needs it.

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
        """Parts of the state: ``name``, ``start`` and ``stop`` of each."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[Mapping[str, Any]]:
        """Nodes of the goal tree, each before its parts, as JSON data."""

    @property
    @abstractmethod
    def textures(self) -> Mapping[str, str]:
        """Textures that bodies show now in place of their own, by key."""

    @abstractmethod
    def step(self, action: Any) -> Any:
        """Make a control step; returns what Gymnasium's ``step`` returns."""

    @abstractmethod
    def goal_status(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return which nodes hold, (G,) bool, and their rewards, (G,) float32."""

    @abstractmethod
    def object_poses(self) -> NDArray[Any]:
        """Return the poses of the bodies in the world, (K, 7) float32."""

    @abstractmethod
    def scene_description(self) -> Mapping[str, Any]:
        """Return the scene as JSON data."""
