"""Interfaces: action spaces of policies, with parsing and checks of their actions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from clevrskills.core.policy import ActionError, TextAction
from clevrskills.core.replies import Grammar, clean_command
from clevrskills.errors import ClevrSkillsError, UnknownNameError

if TYPE_CHECKING:  # torch takes two seconds to import
    from clevrskills.core.goal.predicate import Outcome

__all__ = ["TextInterface"]

Codes = Mapping[str, tuple[str, str]]
"""Result codes of turns, stored in results and datasets. Each has a sentence, with ``{name}`` for
an argument of the turn, and the category that reports count it under; empty for none."""

TOLERANCE = 0.01
"""Tolerance beyond 1 of an entry; half precision rounds by up to 0.008 there."""

STATE_MODALITIES = {
    "qpos": {"joint_position": slice(None)},
    "ee_pose": {"end_effector_position": slice(0, 3), "end_effector_rotation": slice(3, None)},
}
"""GR00T's names of the parts of a measurement, with their indices; others keep their name."""
ACTION_MODALITIES = {
    "translation": "end_effector_position_delta",
    "rotation": "end_effector_rotation_delta",
}
"""GR00T's names of the parts of an action; others keep their name."""
Mode = Literal["none", "simple", "detailed"]
"""Levels of feedback on a turn."""
MODES: tuple[Mode, ...] = get_args(Mode)


def in_range(actions: Any, clip: bool = True) -> tuple[Any, Any]:
    """Clip actions to [-1, 1].

    Args:
        actions: Actions (..., n), an array or a tensor.
        clip: Whether to clip; otherwise entries out of range are an error.

    Returns:
        The actions, and which of them (...,) had an entry out of range.

    Raises:
        ActionError: An entry is not finite, or out of range without ``clip``.
    """
    size = abs(actions)
    if not (size < math.inf).all():
        entry, value = _first(actions, lambda value: not math.isfinite(value))
        raise ActionError(
            f"entry {entry} of an action is {value}, not a number; actions are numbers in [-1, 1]"
        )
    outside = (size > 1.0 + TOLERANCE).any(-1)
    if not clip and outside.any():
        most = float(size.max())
        entry, value = _first(actions, lambda value: abs(value) == most)
        raise ActionError(
            f"entry {entry} of an action is {value:.4g}; allowed: -1 to 1 (without "
            "--strict-actions it is clipped)"
        )
    return actions.clip(-1.0, 1.0), outside


def as_numbers(
    answer: Any, dtype: type[np.floating[Any]] = np.float32, shapes: str = ""
) -> NDArray[Any]:
    """Convert one or several actions to an array.

    Args:
        answer: Integers or floats in lists, an array or a tensor of any precision and device.
        dtype: Type of the result.
        shapes: Allowed shapes, for error messages.

    Raises:
        ActionError: The answer is not numeric.
    """
    if hasattr(answer, "detach"):
        answer = (answer.float() if answer.is_floating_point() else answer).detach().cpu()
    try:
        found = np.asarray(answer)
    except (TypeError, ValueError):
        found = np.asarray(None)
    if found.dtype.kind not in "iuf":
        allowed = f"numbers {shapes}".rstrip()
        raise ActionError(f"an action of type {type(answer).__name__}; allowed: {allowed}")
    return found.astype(dtype, copy=False)


def _first(actions: Any, which: Callable[[float], bool]) -> tuple[int, float]:
    """Return entry and value of the first number that satisfies a condition."""
    numbers = actions.reshape(-1).tolist()
    index = next(k for k, value in enumerate(numbers) if which(value))
    return index % actions.shape[-1], numbers[index]


@dataclass(frozen=True)
class Step:
    """Result of a control step; success and progress are those of the state after it."""

    reward: float
    success: bool
    progress: float
    terminated: bool
    truncated: bool
    clipped: bool = field(default=False, kw_only=True)
    """True if an entry of the action was out of range."""
    action: Any = field(default=None, kw_only=True, compare=False, repr=False)
    """The action of the control step, (7,)."""
    doing: str = field(default="", kw_only=True, compare=False, repr=False)
    """Sentence that describes the motion of the skill, with placeholders."""
    action_class: str = field(default="", kw_only=True, compare=False, repr=False)
    """Class of the motion, in one word."""


@dataclass(frozen=True)
class Turn(Step):
    """Result of a turn: one action of a policy, executed or refused by the environment."""

    ok: bool = True  # whether the action was executed, helpful or not
    code: str = ""  # result code of the interface; empty for none
    args: Mapping[str, str] = field(default_factory=dict)  # arguments of the code's sentence
    steps: int = 1  # number of control steps; 0 in symbolic environments
    ended: str = ""  # why the environment itself ended the episode; empty if it did not

    @classmethod
    def after(cls, outcome: Outcome, last: bool, reward: float, **facts: Any) -> Turn:
        """Return the turn that led to an outcome of the goal.

        Args:
            outcome: The outcome in one environment.
            last: Whether the turn limit is reached.
            reward: Reward of the turn.
            facts: Other attributes.
        """
        success = bool(outcome.holds[0])
        progress = float(outcome.progress[0])
        return cls(reward, success, progress, success, last and not success, **facts)


class Actuator(Protocol):
    """Executor of an interface's actions in one environment."""

    @property
    def limit(self) -> int:
        """Maximum number of turns."""

    def act(self, action: Any, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Execute an action; ``on_step`` is called after each of its control steps."""


class Controller(Protocol):
    """Controller that executes commands with numeric actions, in place of skills."""

    def achieve(self, leaf: Any) -> Iterator[NDArray[Any]]:
        """Yield one action per control step to achieve the leaf of a goal tree.

        Raises:
            GaveUp: It stops trying.
            PolicyError: It failed.
        """


class Interface(Protocol):
    """Action space of policies and its meaning; stateless and picklable."""

    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> Mapping[str, Any]:
        """Meaning of an action as JSON data; policies may declare it too."""

    @property
    def sentence(self) -> str:
        """Meaning of an action in words."""

    @property
    def labels(self) -> Sequence[str]:
        """Short names of the entries of a numeric action."""

    @property
    def codes(self) -> Codes:
        """Result codes of turns; empty if they have none."""

    def read(self, answer: Any, clip: bool = True) -> Any:
        """Return the actions of an answer, in order, clipped to the allowed range.

        Raises:
            ActionError: The answer is invalid or, without ``clip``, out of range.
        """

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Compare the action spec of a policy with :attr:`spec`, field by field.

        Raises:
            ClevrSkillsError: A field differs or is unknown.
        """

    def begin(self, env: Any) -> Actuator:
        """Return the actuator of an environment that was just reset."""

    def none(self, after: Any = None) -> Any:
        """Return the action that does nothing, or that keeps the state after another action."""

    def random(self, generator: np.random.Generator) -> Any:
        """Return a random action."""


@runtime_checkable
class BoundedInterface(Interface, Protocol):
    """Interface of numeric actions within known bounds."""

    @property
    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Lower and upper bound of an action, (n,) each, inclusive."""


@dataclass(frozen=True)
class BoxInterface:
    """Actions of n numbers in [-1, 1], single or in chunks."""

    name: str  # name of the interface
    spec: Mapping[str, Any]  # meaning of an action; ``shape`` is ``[n]``
    sentence: str = ""  # meaning of an action in words
    labels: Sequence[str] = ()  # short names of the n entries
    kept: Sequence[int] = ()  # entries that :meth:`none` copies from the action before
    codes: ClassVar[Codes] = {}

    def read(self, answer: Any, clip: bool = True) -> NDArray[Any]:
        """Return the actions of an answer, (H, n) float32 in [-1, 1], see :func:`in_range`.

        Args:
            answer: An action (n,) or a chunk (H, n).
            clip: Whether to clip entries that are out of range instead of refusing them.

        Raises:
            ActionError: The answer is invalid, not finite or, without ``clip``, out of range.
        """
        actions: NDArray[Any]
        actions, _ = in_range(self.numbers(answer), clip)
        return actions

    def numbers(self, answer: Any) -> NDArray[Any]:
        """Return the actions of an answer without clipping, (H, n) float32.

        Raises:
            ActionError: The answer has another shape or type.
        """
        (size,) = self.spec["shape"]
        allowed = f"({size},) or (H, {size})"
        if answer is None:
            raise ActionError(f"no action: the policy returned None; allowed: {allowed}")
        actions = as_numbers(answer, shapes=allowed)
        if actions.shape != (size,) and (actions.ndim != 2 or actions.shape[1] != size):
            raise ActionError(f"an action of shape {actions.shape}; allowed: {allowed}")
        if not actions.size:
            raise ActionError("no action: the chunk is empty")
        return actions.reshape(-1, size)

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Compare the action spec of a policy with :attr:`spec`, field by field."""
        check_spec(self.spec, theirs, policy_name)

    def begin(self, env: Any) -> StepActuator:
        """Return the actuator of single control steps."""
        return StepActuator(env)

    def none(self, after: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return zeros, (n,), with the entries ``kept`` of the action before."""
        action = np.zeros(self.spec["shape"], np.float32)
        if after is not None:
            action[[*self.kept]] = after[[*self.kept]]
        return action

    def random(self, generator: np.random.Generator) -> NDArray[Any]:
        """Return an action with uniform entries in [-1, 1], (n,)."""
        drawn: NDArray[Any] = generator.uniform(-1.0, 1.0, self.spec["shape"]).astype(np.float32)
        return drawn


@dataclass(frozen=True)
class StepActuator:
    """Actuator of actions that are one control step each."""

    env: Any  # the environment

    @property
    def limit(self) -> int:
        """Limit of the environment."""
        return int(self.env.limit)

    def act(self, action: Any, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Run one control step."""
        step = make_step(self.env, action)
        if on_step is not None:
            on_step(step)
        return Turn(**vars(step))


@dataclass(frozen=True)
class TextInterface:
    """Actions in words: commands that the environment executes with its method ``command``.

    Attributes:
        name: Name of the interface.
        spec: The commands as JSON data, with some ``examples``.
        sentence: The commands in words.
        codes: Result codes of commands.
        grammar: Function that returns the canonical form of a command, empty for an invalid one;
            ``None``: any text may be a command.
    """

    name: str
    spec: Mapping[str, Any]
    sentence: str = ""
    labels: Sequence[str] = ()
    codes: Codes = field(default_factory=dict)
    grammar: Grammar | None = None
    takes_controller: ClassVar[bool] = False
    """True if a controller may execute its commands in place of skills."""

    def read(self, answer: Any, clip: bool = True) -> list[str]:
        """Return the command of an answer in its canonical form.

        Raises:
            ActionError: The answer is not text.
        """
        if isinstance(answer, TextAction):
            return [answer.action]
        if not isinstance(answer, str):
            raise ActionError(f"an action of type {type(answer).__name__}; allowed: str")
        command = clean_command(answer)
        return [(self.grammar and self.grammar(command)) or command]

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Compare the action spec of a policy with :attr:`spec`, field by field."""
        check_spec(self.spec, theirs, policy_name)

    def begin(self, env: Any) -> Actuator:
        """Return the actuator of commands."""
        return TextActuator(env)

    def hand_to(self, controller: Controller, env: Any) -> Actuator:
        """Return the actuator whose commands a controller executes.

        Raises:
            ClevrSkillsError: Controllers are not supported.
        """
        raise ClevrSkillsError(f"commands of {self.name} cannot be executed by a controller")

    def none(self, after: Any = None) -> str:
        """Return an empty command, which every environment refuses."""
        return ""

    def random(self, generator: np.random.Generator) -> str:
        """Return one of the examples of :attr:`spec`."""
        return str(generator.choice(self.spec["examples"]))


class TextActuator(StepActuator):
    """Actuator of commands, for environments with a method ``command(text) -> Turn``."""

    def act(self, action: Any, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Execute a command."""
        turn: Turn = self.env.command(action)
        return turn


def make_step(env: Any, action: Any, doing: str = "", action_class: str = "") -> Step:
    """Step an environment and return plain numbers, with the reward on the published scale.

    Args:
        env: The environment, of batch size one.
        action: The action.
        doing: Sentence that describes the motion, with placeholders.
        action_class: Class of the motion.
    """
    _, _, terminated, truncated, info = env.step(action)
    outcome: Outcome = env.outcome
    return Step(
        reward=outcome.reward.item(),
        success=bool(outcome.holds.item()),
        progress=outcome.progress.item(),
        terminated=_scalar(terminated, bool),
        truncated=_scalar(truncated, bool),
        clipped=_scalar(info.get("clipped", False), bool),
        action=action,
        doing=doing,
        action_class=action_class,
    )


def check_spec(ours: Mapping[str, Any], theirs: Mapping[str, Any], policy_name: str) -> None:
    """Compare the action spec of a policy with that of an interface, field by field.

    Args:
        ours: The spec of the interface.
        theirs: The spec of the policy, which may be partial.
        policy_name: Name of the policy in error messages.

    Raises:
        ClevrSkillsError: A field differs or is unknown.
    """
    if not isinstance(theirs, Mapping):
        raise ClevrSkillsError(
            f"policy {policy_name}: its action_spec is of type {type(theirs).__name__}; "
            "allowed: a mapping such as the `spec` of an interface"
        )
    known = dict(_fields(ours))
    for name, value in _fields(theirs):
        if name not in known:
            raise ClevrSkillsError(
                f"policy {policy_name}: unknown field {name}={value!r} of its action_spec; "
                f"allowed: {', '.join(known)}"
            )
        if not _equal(value, known[name]):
            raise ClevrSkillsError(
                f"policy {policy_name} has other actions than the environments: its {name} is "
                f"{value!r}, theirs {known[name]!r}"
            )


def _scalar(value: Any, kind: type) -> Any:
    """Return the one element of a number, array or tensor."""
    return kind(value.item() if hasattr(value, "item") else value)


def _fields(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and values; the names of a part's fields are like ``rotation.scale``."""
    for name, value in spec.items():
        if name != "parts":
            yield name, value
            continue
        for part in value:
            for key, entry in part.items():
                if key != "name":
                    yield f"{part.get('name')}.{key}", entry


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def turn_message(interface: Interface, turn: Turn) -> str:
    """Return the sentence of a turn's code; empty without a code.

    Raises:
        UnknownNameError: The interface has no such code.
    """
    if not turn.code:
        return ""
    if turn.code not in interface.codes:
        raise UnknownNameError("code", turn.code, tuple(interface.codes))
    return interface.codes[turn.code][0].format(**turn.args)


def turn_feedback(interface: Interface, turn: Turn, mode: Mode) -> str:
    """Return the feedback on a turn.

    Args:
        interface: The interface of the turn.
        turn: The turn.
        mode: ``none`` for nothing, ``simple`` for success or failure, ``detailed`` with the reason.
    """
    if mode == "none":
        return ""
    return feedback_text(turn.ok, turn_message(interface, turn) if mode == "detailed" else "")


def feedback_text(ok: bool, sentence: str) -> str:
    """Return success or failure of a turn in words, followed by a sentence if there is one."""
    return f"{'Success' if ok else 'Failure'}. {sentence}".rstrip()
