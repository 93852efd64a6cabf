"""Policies: their protocol, what they declare about themselves, and what they observe.

The simplest one is a class with two methods::

    class MyPolicy:
        def reset(self, prompt): ...
        def act(self, observation): ...  # -> (n,) or, several actions at once, (H, n)

Class attributes may set the fields of :class:`PolicyInfo`; nothing else is read from a policy. A
constructor that has parameters ``suite`` and ``interface`` is given what the policy acts in and by.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from clevrskills.core.env_config import LOOKS
from clevrskills.errors import ClevrSkillsError, UnknownNameError

__all__ = ["Observation", "ObservationOptions", "PolicyError", "PolicyInfo", "PromptInput"]

Observation = Mapping[str, Any]
"""Observation of a policy at a control step.

=================== ============================================================================
images              by camera, (H, W, 3) uint8; with a history of T steps (T, H, W, 3), the latest
                    last, the first repeated where the episode is younger
proprioception      by name, as in ``agent`` of the environment's observation, each (n,) float32;
                    with a history (T, n)
prompt              text: with placeholders, or in plain words
step                number of control steps made so far
views               if some were asked for, by name: an image as above, or text
interface           where commands are in words: the spec of the interface
turn, turns         where commands are in words: how many were taken, and for each its ``index``,
                    ``action`` and ``message``, the feedback
feedback            where commands are in words: how much feedback there is: ``none``, ``simple`` or
                    ``detailed``
=================== ============================================================================
"""

FORMS = ("multimodal", "language")
DEFAULT_CAMERAS = "default"


@dataclass(frozen=True)
class PromptInput:
    """Prompt of an episode, as a policy is given it.

    Attributes:
        text: The task, with placeholders such as ``{obj:object_0}`` or all in words.
        images: Placeholder -> (256, 256, 3) uint8; empty if all is in words, or without
            ``prompt_images``.
        seed: Seed of what the policy draws at random; it follows from the episode and from the salt
            of the run, so that it does not tell which frozen episode it is.
        about: Public facts of the episode, by the suite, such as the size of a board.
    """

    text: str
    images: Mapping[str, NDArray[Any]]
    seed: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ImagePart:
    """An image in a message."""

    name: str  # what it shows, e.g. ``goal``; no two in a request have the same
    pixels: NDArray[Any]  # (H, W, 3) uint8


@dataclass(frozen=True)
class Message:
    """A message to a language model, or one of its replies."""

    role: Literal["system", "user", "assistant"]  # who speaks
    parts: tuple[str | ImagePart, ...]  # texts and images, in order


@dataclass(frozen=True)
class TextAction:
    """An action in words, and how a policy came to it."""

    action: str  # the command
    reply: str = ""  # the whole reply of the model
    # whether the policy declares that it is done; it counts with ``--stop declared``
    stop: bool = False
    # cost: ``requests``, ``prompt_tokens``, ``completion_tokens``, ``images``, ``cost``
    usage: Mapping[str, float] = field(default_factory=dict)
    # the request, as the transcript of the episode keeps it, as JSON data
    record: Mapping[str, Any] = field(default_factory=dict)
    plan: tuple[str, ...] = ()  # the actions that are planned, where a plan is asked for
    memory: str = ""  # A note to itself for the next turn, where one is asked for


@dataclass(frozen=True)
class ObservationOptions:
    """Options of a policy's observations.

    Attributes:
        cameras: Names of cameras; ``default`` stands for the default ones of the suite.
        size_px: Width and height of the images; ``None``: each camera's own (256).
        look: Look of the images, one of :data:`~clevrskills.core.env_config.LOOKS`.
        history: Number of control steps in each observation.
        proprioception: Whether the robot's own state is observed.
        prompt: ``multimodal``, with images, or ``language``, all in words.
        views: Names of views of the suite, of which cameras are some; ``None``: no ``views``.
        prompt_images: Whether the images of a multimodal prompt are shown; ``None``: if any camera
            is.

    Raises:
        ClevrSkillsError: A value is not allowed.
    """

    cameras: tuple[str, ...] = (DEFAULT_CAMERAS,)
    size_px: int | None = None
    history: int = 1
    proprioception: bool = True
    prompt: Literal["multimodal", "language"] = "multimodal"
    views: tuple[str, ...] | None = None
    look: str = LOOKS[0]
    prompt_images: bool | None = None

    def __post_init__(self) -> None:
        if self.look not in LOOKS:
            raise UnknownNameError("look", self.look, LOOKS)
        for name in ("size_px", "history"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ClevrSkillsError(f"{name} must be at least 1, not {value}")
        if self.prompt not in FORMS:
            raise UnknownNameError("form of the prompt", self.prompt, FORMS)

    @property
    def shows_prompt_images(self) -> bool:
        """Return whether images of the prompt are shown."""
        shown = bool(self.cameras) if self.prompt_images is None else self.prompt_images
        return shown and self.prompt != "language"

    @property
    def draws(self) -> bool:
        """Return whether anything is drawn."""
        return bool(self.cameras) or self.shows_prompt_images


@dataclass(frozen=True)
class PolicyInfo:
    """Declaration of a policy about itself. Its class, or the object, sets what differs.

    Attributes:
        observation: What it is to observe; ``None``: it does not say, and observes the default.
        action_spec: What its actions mean, compared with the spec of the
            :class:`~clevrskills.core.interface.Interface`, or a part of it; ``None``: no claim.
        concurrency: How it acts in several episodes at once: an object for each, asked one after
            the other (``none``) or in ``threads``, for an ``act`` that waits for something else; or
            one object for all (``batched``, a :class:`BatchedPolicy`).
        privileged: Whether ``reset`` is given the keywords ``env``, the environment, and
            ``episode``, what it is made from.
        env_optional: Whether a privileged policy does without these two, as behind a server.
        extra_views: Views and cameras that it observes besides those that are asked for.
        required_cameras: Cameras without which it cannot act.
        track: What it has learned from, in words; empty: it does not say.
        only_task: The one task that it has learned; empty: it does not say.

    Raises:
        ClevrSkillsError: A value is of a wrong type, or not allowed.
    """

    observation: ObservationOptions | None = None
    action_spec: Mapping[str, Any] | None = None
    concurrency: Literal["none", "threads", "batched"] = "none"
    privileged: bool = False
    env_optional: bool = False
    extra_views: tuple[str, ...] = ()
    required_cameras: tuple[str, ...] = ()
    track: str = ""
    only_task: str = ""

    def __post_init__(self) -> None:
        for name, (kind, allowed) in _TYPES.items():
            if not isinstance(value := getattr(self, name), kind):
                raise ClevrSkillsError(
                    f"{name} is of type {type(value).__name__}; allowed: {allowed}"
                )
            for entry in value if kind is tuple else ():
                if not isinstance(entry, str):
                    raise ClevrSkillsError(f"{name} is {allowed}, not of {type(entry).__name__}")
        if self.concurrency not in CONCURRENCY:
            raise UnknownNameError("concurrency", self.concurrency, CONCURRENCY)
        if self.concurrency == "batched" and self.privileged:
            raise ClevrSkillsError("a batched policy cannot be privileged")


CONCURRENCY = ("none", "threads", "batched")
_TYPES: Mapping[str, tuple[Any, str]] = {
    "observation": (ObservationOptions | None, "ObservationOptions"),
    "action_spec": (Mapping | None, "a mapping such as the `spec` of an interface"),
    **dict.fromkeys(("privileged", "env_optional"), (bool, "bool")),
    **dict.fromkeys(("extra_views", "required_cameras"), (tuple, "a tuple of names")),
    **dict.fromkeys(("concurrency", "track", "only_task"), (str, "str")),
}


def check_cameras(names: Iterable[str], known: Sequence[str]) -> None:
    """Check names of cameras.

    Raises:
        UnknownNameError: There is no such camera.
    """
    for name in names:
        if name not in (*known, DEFAULT_CAMERAS):
            raise UnknownNameError("camera", name, tuple(known))


class Policy(Protocol):
    """A policy that acts in one episode after the other."""

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode. Privileged policies get the keywords ``env`` (the environment) and
        ``episode`` (what it is made from), too.
        """

    def act(self, observation: Observation) -> NDArray[Any]:
        """Return the next action (n,), or the next H actions (H, n), as the interface reads them.

        In words, an action is a string or a :class:`TextAction`.
        """


class BatchedPolicy(Protocol):
    """A policy that acts in several episodes at once; each runs in a slot, a number from 0."""

    concurrency: Literal["batched"]

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        """Begin episodes in these slots; the other slots go on."""

    def act(self, observations: Mapping[int, Observation]) -> Mapping[int, NDArray[Any]]:
        """Return the next action (n,) or actions (H, n) of each of these slots."""


class PolicyError(ClevrSkillsError):
    """Failure of a policy to give a valid action: the episode counts as failed."""


class ActionError(PolicyError, ValueError):
    """Action of the wrong type or shape, or with entries that are not numbers."""


class ConnectionLost(PolicyError):  # noqa: N818 (nobody is to blame)
    """End of the connection to a policy: the episode may be started again."""


class GaveUp(ClevrSkillsError):  # noqa: N818 (nothing is in error)
    """End of the attempts of a policy or a skill: a failure at the task, with its reason. Batched
    policies cannot raise it.
    """

    kind = "skill"


class Prompter(Protocol):
    """Prompts of language models, and the reading of their replies.

    Attributes:
        views: Names of the views that prompts show unless others are asked for.
        history: How many past turns prompts show, at most.
        reply_tokens: Tokens of a typical reply without reasoning, for estimates of costs.
    """

    views: Sequence[str]
    history: int
    reply_tokens: int

    def begin(self, prompt: PromptInput) -> None:
        """Begin an episode."""

    def messages(
        self, observation: Observation, history: Sequence[tuple[Observation, TextAction]]
    ) -> list[Message]:
        """Return the messages of a turn.

        Args:
            observation: The present observation.
            history: Observations and actions of past turns, the latest last; they may be more than
                are shown.
        """

    def parse(self, reply: str) -> TextAction:
        """Read a reply; the action of one that cannot be read is empty."""

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        """Write the reply of an action, in the format that is asked for.

        Args:
            action: The action.
            plan: All commands that are left, that action first, where they are known.
        """

    def random(self, generator: np.random.Generator) -> str:
        """Draw an action."""
