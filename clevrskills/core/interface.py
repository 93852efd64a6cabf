"""Interfaces: what an answer of a policy means, and how it is read and checked."""

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
"""Codes of turns, which results and datasets keep: of each its sentence, with ``{name}`` for an
argument of the turn, and the category under which reports count it; empty: they do not."""

TOLERANCE = 0.01
"""Tolerance beyond 1 of an entry: numbers of half precision are rounded by up to 0.008 there."""

STATE_MODALITIES = {
    "qpos": {"joint_position": slice(None)},
    "ee_pose": {"end_effector_position": slice(0, 3), "end_effector_rotation": slice(3, None)},
}
"""Names of parts of measurements in GR00T's data and servers, and their numbers; other
measurements keep their name."""
ACTION_MODALITIES = {
    "translation": "end_effector_position_delta",
    "rotation": "end_effector_rotation_delta",
}
"""Their names of parts of an action; others keep theirs."""
Mode = Literal["none", "simple", "detailed"]
"""Levels of feedback on a turn."""
MODES: tuple[Mode, ...] = get_args(Mode)


def in_range(actions: Any, clip: bool = True) -> tuple[Any, Any]:
    """Clip actions to [-1, 1]; the one rule for all that take actions.

    Args:
        actions: Actions (..., n), an array or a tensor.
        clip: Whether to clip them; else it is an error if an entry is out of range.

    Returns:
        The actions, and which of them (...,) had an entry out of range.

    Raises:
        ActionError: An entry is not a number, or out of range without ``clip``.
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
    """Return the numbers of an action or of several, as an array of some precision; the one rule
    for all that take actions.

    Args:
        answer: Integers or floating-point numbers, in lists, an array, or a tensor of any
            precision, on any device, with or without gradients.
        dtype: The precision.
        shapes: What errors say of the shapes that are allowed.

    Raises:
        ActionError: It is something else, such as texts or truth values.
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
    """Return the first number of some kind, and the entry of an action that it is."""
    numbers = actions.reshape(-1).tolist()
    place = next(k for k, value in enumerate(numbers) if which(value))
    return place % actions.shape[-1], numbers[place]


@dataclass(frozen=True)
class Step:
    """Result of an action; success and progress are those of the state after it."""

    reward: float
    success: bool
    progress: float
    terminated: bool
    truncated: bool
    clipped: bool = field(default=False, kw_only=True)
    """True if an entry of the action was out of range."""
    action: Any = field(default=None, kw_only=True, compare=False, repr=False)
    """The numbers of the control step, (7,); of a turn of one control step those of the turn."""
    doing: str = field(default="", kw_only=True, compare=False, repr=False)
    """Sentence of what a skill that carries out a turn does in it, with placeholders."""
    action_class: str = field(default="", kw_only=True, compare=False, repr=False)
    """Class of that action, in one word."""


@dataclass(frozen=True)
class Turn(Step):
    """Result of a turn: one action of a policy, taken or refused by the environment."""

    ok: bool = True  # whether the environment did what was asked, helpful or not
    code: str = ""  # what happened, one of the interface's codes; empty: nothing to be told
    args: Mapping[str, str] = field(default_factory=dict)  # what the sentence of the code names
    steps: int = 1  # control steps that it took; 0 in worlds of symbols
    ended: str = ""  # why the environment itself ended the episode; empty: it did not

    @classmethod
    def after(cls, outcome: Outcome, last: bool, reward: float, **facts: Any) -> Turn:
        """Return the turn that led to an outcome of the goal.

        Args:
            outcome: The outcome, of one environment.
            last: Whether it was the last turn within the limit.
            reward: Reward of the turn.
            facts: Other attributes.
        """
        success = bool(outcome.holds[0])
        progress = float(outcome.progress[0])
        return cls(reward, success, progress, success, last and not success, **facts)


class Actuator(Protocol):
    """Actuator of an interface's actions in one environment."""

    @property
    def limit(self) -> int:
        """Turns after which the episode ends."""

    def act(self, action: Any, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Take an action; ``on_step`` is called after each control step of it."""


class Controller(Protocol):
    """Controller that carries out commands by actions of numbers, in place of skills."""

    def achieve(self, leaf: Any) -> Iterator[NDArray[Any]]:
        """Yield the actions by which it tries what a command says, one each control step, up to its
        limit.

        Args:
            leaf: The leaf of a goal tree that the command says.

        Raises:
            GaveUp: It stops trying.
            PolicyError: It broke down.
        """


class Interface(Protocol):
    """Action space of policies, with its meaning; stateless and picklable."""

    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> Mapping[str, Any]:
        """Meaning of an action, as JSON data; policies may declare the same."""

    @property
    def sentence(self) -> str:
        """Meaning of an action, in words."""

    @property
    def labels(self) -> Sequence[str]:
        """Short names of the numbers of an action, if it has numbers."""

    @property
    def codes(self) -> Codes:
        """The codes that a turn may end with; empty: turns have none."""

    def read(self, answer: Any, clip: bool = True) -> Any:
        """Return the actions of an answer, in order; ``clip``: what is out of range is clipped,
        else an error.

        Raises:
            ActionError: It is something else.
        """

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Compare what a policy declares of its actions with :attr:`spec`, field by field.

        Raises:
            ClevrSkillsError: A field differs, or there is no such field.
        """

    def begin(self, env: Any) -> Actuator:
        """Return the actuator of an environment whose episode has just begun."""

    def none(self, after: Any = None) -> Any:
        """Return the action of a policy that does nothing, or nothing more after an action."""

    def random(self, generator: np.random.Generator) -> Any:
        """Return the action of a policy without skill."""


@runtime_checkable
class BoundedInterface(Interface, Protocol):
    """Interface whose actions are numbers within bounds that are known."""

    @property
    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Least and greatest numbers of an action, (n,) each, both allowed."""


@dataclass(frozen=True)
class BoxInterface:
    """Actions of n numbers in [-1, 1], alone or several at once."""

    name: str  # name of the interface
    spec: Mapping[str, Any]  # what they mean; ``shape`` is ``[n]``
    sentence: str = ""  # what they mean, in words
    labels: Sequence[str] = ()  # short names of the n numbers
    kept: Sequence[int] = ()  # which numbers stay as they are where nothing more is to be done
    codes: ClassVar[Codes] = {}

    def read(self, answer: Any, clip: bool = True) -> NDArray[Any]:
        """Return the actions of an answer, (H, n) float32 in [-1, 1], see :func:`in_range`.

        Args:
            answer: An action (n,) or several (H, n).
            clip: Whether to clip what is out of range instead of refusing it.

        Raises:
            ActionError: It is something else, not finite or, without ``clip``, out of range.
        """
        actions: NDArray[Any]
        actions, _ = in_range(self.numbers(answer), clip)
        return actions

    def numbers(self, answer: Any) -> NDArray[Any]:
        """Return the actions of an answer as they are, (H, n) float32.

        Raises:
            ActionError: It is something else.
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
        """Compare what a policy declares of its actions with :attr:`spec`, field by field."""
        check_spec(self.spec, theirs, policy_name)

    def begin(self, env: Any) -> StepActuator:
        """Return the actuator: an action is one control step."""
        return StepActuator(env)

    def none(self, after: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return zeros, (n,); of what is ``kept`` the numbers of the action before."""
        action = np.zeros(self.spec["shape"], np.float32)
        if after is not None:
            action[[*self.kept]] = after[[*self.kept]]
        return action

    def random(self, generator: np.random.Generator) -> NDArray[Any]:
        """Return every entry drawn evenly from -1 to 1, (n,)."""
        drawn: NDArray[Any] = generator.uniform(-1.0, 1.0, self.spec["shape"]).astype(np.float32)
        return drawn


@dataclass(frozen=True)
class StepActuator:
    """Actuator of actions that are one control step each."""

    env: Any  # the environment

    @property
    def limit(self) -> int:
        """The environment's own limit."""
        return int(self.env.limit)

    def act(self, action: NDArray[Any], on_step: Callable[[Step], None] | None = None) -> Turn:
        """Make one control step."""
        step = make_step(self.env, action)
        if on_step is not None:
            on_step(step)
        return Turn(**vars(step))


@dataclass(frozen=True)
class TextInterface:
    """Actions in words: one command each, read by the environment, whose method ``command`` takes
    it and returns the :class:`Turn`.

    Attributes:
        name: Name of the interface.
        spec: What commands there are, as JSON data; ``examples`` are some of them.
        sentence: What they are, in words.
        codes: What may come of a command.
        grammar: Returns a command as its environment writes it, and an empty text for what is none;
            ``None``: any text may be one.
    """

    name: str
    spec: Mapping[str, Any]
    sentence: str = ""
    labels: Sequence[str] = ()
    codes: Codes = field(default_factory=dict)
    grammar: Grammar | None = None
    takes_controller: ClassVar[bool] = False
    """True if a controller may carry out its commands, in place of skills."""

    def read(self, answer: Any, clip: bool = True) -> list[str]:
        """Return the command of an answer, as the environment writes it.

        Raises:
            ActionError: It is no text.
        """
        if isinstance(answer, TextAction):
            return [answer.action]
        if not isinstance(answer, str):
            raise ActionError(f"an action of type {type(answer).__name__}; allowed: str")
        command = clean_command(answer)
        return [(self.grammar and self.grammar(command)) or command]

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Compare what a policy declares of its actions with :attr:`spec`, field by field."""
        check_spec(self.spec, theirs, policy_name)

    def begin(self, env: Any) -> Actuator:
        """Return the actuator."""
        return TextActuator(env)

    def hand_to(self, controller: Controller, env: Any) -> Actuator:
        """Return the actuator whose commands a controller carries out.

        Raises:
            ClevrSkillsError: None can.
        """
        raise ClevrSkillsError(f"no controller carries out commands of {self.name}")

    def none(self, after: Any = None) -> str:
        """Return an empty command, which no environment can read."""
        return ""

    def random(self, generator: np.random.Generator) -> str:
        """Return one of the examples of :attr:`spec`."""
        return str(generator.choice(self.spec["examples"]))


@dataclass(frozen=True)
class TextActuator:
    """Actuator of commands."""

    env: Any  # the environment; it has a method ``command(text) -> Turn``

    @property
    def limit(self) -> int:
        """The environment's own limit."""
        return int(self.env.limit)

    def act(self, action: str, on_step: Callable[[Step], None] | None = None) -> Turn:
        """Give a command."""
        turn: Turn = self.env.command(action)
        return turn


def make_step(env: Any, action: Any, doing: str = "", action_class: str = "") -> Step:
    """Step a batch-of-one environment and return plain numbers; the reward is that of the goal on
    the published scale, whatever the environment's ``reward_mode`` is.

    Args:
        env: The environment.
        action: The action.
        doing: What a skill does by it, with placeholders.
        action_class: What kind of action that is.
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
    """Compare what a policy declares of its actions with what they mean, field by field.

    Args:
        ours: The spec of an interface.
        theirs: The same, as the policy has it; it may say less.
        policy_name: What the policy is called in the message.

    Raises:
        ClevrSkillsError: A field differs, or there is no such field.
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
                f"policy {policy_name}: its action_spec says {name}={value!r}; "
                f"known are {', '.join(known)}"
            )
        if not _equal(value, known[name]):
            raise ClevrSkillsError(
                f"policy {policy_name} does not act as the environments do: its {name} is "
                f"{value!r}, theirs {known[name]!r}"
            )


def _scalar(value: Any, kind: type) -> Any:
    """Return the one element of a number, array or tensor."""
    return kind(value.item() if hasattr(value, "item") else value)


def _fields(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and values; those of a part as ``rotation.scale``."""
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
    """Return the sentence of a turn's code; empty for a turn without a code.

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
        interface: The interface that the turn was taken by.
        turn: The turn.
        mode: ``none``: nothing; ``simple``: whether it was done; ``detailed``: its sentence too.
    """
    if mode == "none":
        return ""
    return feedback_text(turn.ok, turn_message(interface, turn) if mode == "detailed" else "")


def feedback_text(ok: bool, sentence: str) -> str:
    """Return whether a turn was done, with the sentence that says more, if there is one."""
    return f"{'Success' if ok else 'Failure'}. {sentence}".rstrip()
