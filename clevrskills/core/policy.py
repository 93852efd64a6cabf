"""Policies: protocol, declarations and observations.

A minimal policy is a class with two methods::

    class MyPolicy:
        def reset(self, prompt): ...
        def act(self, observation): ...  # -> one action (n,) or a chunk (H, n)

Class attributes may set the fields of :class:`PolicyInfo`; nothing else is read from a policy. A
constructor with parameters ``suite`` and ``interface`` receives the suite and the action interface.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
                    last, padded with the first at the start of an episode
proprioception      by name, as in ``agent`` of the environment's observation, each (n,) float32;
                    with a history (T, n)
prompt              text, with placeholders or with names only
step                number of control steps so far
views               requested views by name: an image as above, or text
interface           text interfaces only: spec of the interface
turn, turns         text interfaces only: number of turns so far, and for each its ``index``,
                    ``action`` and feedback ``message``
feedback            text interfaces only: level of feedback, ``none``, ``simple`` or ``detailed``
=================== ============================================================================
"""

FORMS = ("multimodal", "language")
DEFAULT_CAMERAS = "default"


@dataclass(frozen=True)
class PromptInput:
    """Prompt of an episode, as passed to a policy.

    Attributes:
        text: The task, with placeholders such as ``{obj:object_0}`` or with names only.
        images: Placeholder -> (256, 256, 3) uint8; empty without placeholders or
            ``prompt_images``.
        seed: Seed of the policy's random choices. It is derived from the episode and from a salt of
            the run, so that it does not identify the frozen episode.
        about: Public facts about the episode, such as the size of a board.
    """

    text: str
    images: Mapping[str, NDArray[Any]]
    seed: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)


class ImagesOnDemand(Mapping[str, NDArray[Any]]):
    """Images by camera, rendered when the first one is read.

    Args:
        cameras: Names of the cameras.
        capture: Function that returns the images.

    Raises:
        PolicyError: An image is read for the first time after `act` has returned.
    """

    def __init__(
        self, cameras: Iterable[str], capture: Callable[[], Mapping[str, NDArray[Any]]]
    ) -> None:
        self._cameras, self._capture = tuple(cameras), capture
        self._images: Mapping[str, NDArray[Any]] | None = None
        self._expired = False

    def __getitem__(self, camera: str) -> NDArray[Any]:
        if camera not in self._cameras:
            raise KeyError(camera)
        if self._images is None:
            if self._expired:
                raise PolicyError("images on demand must be read before act returns")
            self._images = self._capture()
        return self._images[camera]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cameras)

    def __len__(self) -> int:
        return len(self._cameras)

    def expire(self) -> None:
        """Refuse to render from now on, as the state changes."""
        self._expired = True


@dataclass(frozen=True)
class ImagePart:
    """An image in a message."""

    name: str  # content, e.g. ``goal``; unique within a request
    pixels: NDArray[Any]  # (H, W, 3) uint8


@dataclass(frozen=True)
class Message:
    """A message to or from a language model."""

    role: Literal["system", "user", "assistant"]  # role of the sender
    parts: tuple[str | ImagePart, ...]  # texts and images in order


@dataclass(frozen=True)
class TextAction:
    """A command, with the model's reply it was read from."""

    action: str  # the command
    reply: str = ""  # the whole reply of the model
    stop: bool = False  # whether the policy declares success, see ``--stop declared``
    # cost: ``requests``, ``prompt_tokens``, ``completion_tokens``, ``images``, ``cost``
    usage: Mapping[str, float] = field(default_factory=dict)
    # the request for the transcript of the episode, as JSON data
    record: Mapping[str, Any] = field(default_factory=dict)
    plan: tuple[str, ...] = ()  # planned actions, if a plan is requested
    memory: str = ""  # note to itself for the next turn, if one is requested


@dataclass(frozen=True)
class ObservationOptions:
    """Options of a policy's observations.

    Attributes:
        cameras: Names of cameras; ``default`` stands for the default cameras of the suite.
        size_px: Width and height of the images; ``None``: the size of each camera (256).
        look: Look of the images, one of :data:`~clevrskills.core.env_config.LOOKS`.
        history: Number of control steps in each observation.
        proprioception: Whether proprioception is observed.
        prompt: ``multimodal`` with images, or ``language`` with text only.
        views: Names of views of the suite, including cameras; ``None`` for no ``views``.
        prompt_images: Whether the images of a multimodal prompt are shown; ``None``: if there is a
            camera.

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
        """``True`` if images of the prompt are shown."""
        shown = bool(self.cameras) if self.prompt_images is None else self.prompt_images
        return shown and self.prompt != "language"

    @property
    def draws(self) -> bool:
        """``True`` if anything must be rendered."""
        return bool(self.cameras) or self.shows_prompt_images


@dataclass(frozen=True)
class PolicyInfo:
    """Declaration of a policy: attributes of its class or object that differ from these defaults.

    Attributes:
        observation: Options of its observations; ``None``: the defaults.
        action_spec: Meaning of its actions, compared with the spec of the
            :class:`~clevrskills.core.interface.Interface`; may be partial; ``None``: not checked.
        concurrency: How several episodes run at once: with one object each, called in turn
            (``none``) or in ``threads``, for an ``act`` that waits for I/O; or with one object for
            all (``batched``, a :class:`BatchedPolicy`).
        privileged: Whether ``reset`` takes the keywords ``env`` (the environment) and ``episode``.
        env_optional: Whether a privileged policy also works without these, as behind a server.
        extra_views: Views and cameras that it observes in addition to the requested ones.
        required_cameras: Cameras without which it cannot act.
        track: Its training data, in words; empty if not declared.
        only_task: The single task it was trained on; empty if there are several.
        trained_tasks: Keys of all tasks it was trained on, checked against ``--trained-on``; empty
            if not declared.
        images_on_demand: Whether `act` gets images that are rendered when it reads them, for a
            policy that needs few. With a history, views, or noise they are always rendered.

    Raises:
        ClevrSkillsError: A value has the wrong type or is not allowed.
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
    trained_tasks: tuple[str, ...] = ()
    images_on_demand: bool = False

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
        if self.concurrency == "threads" and self.images_on_demand:
            raise ClevrSkillsError("a policy in threads cannot have images on demand")


CONCURRENCY = ("none", "threads", "batched")
_TYPES: Mapping[str, tuple[Any, str]] = {
    "observation": (ObservationOptions | None, "ObservationOptions"),
    "action_spec": (Mapping | None, "a mapping such as the `spec` of an interface"),
    **dict.fromkeys(("privileged", "env_optional", "images_on_demand"), (bool, "bool")),
    **dict.fromkeys(
        ("extra_views", "required_cameras", "trained_tasks"), (tuple, "a tuple of names")
    ),
    **dict.fromkeys(("concurrency", "track", "only_task"), (str, "str")),
}


def check_cameras(names: Iterable[str], known: Sequence[str]) -> None:
    """Check that cameras exist.

    Raises:
        UnknownNameError: There is no such camera.
    """
    for name in names:
        if name not in (*known, DEFAULT_CAMERAS):
            raise UnknownNameError("camera", name, tuple(known))


class Policy(Protocol):
    """Policy that acts in one episode at a time."""

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode; privileged policies also get the keywords ``env`` and ``episode``."""

    def act(self, observation: Observation) -> NDArray[Any]:
        """Return the next action (n,) or a chunk of actions (H, n), as the interface reads them.

        For text interfaces, an action is a string or a :class:`TextAction`.
        """


class BatchedPolicy(Protocol):
    """Policy that acts in several episodes at once, each in a slot numbered from 0."""

    concurrency: Literal["batched"]

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        """Begin episodes in these slots; other slots continue."""

    def act(self, observations: Mapping[int, Observation]) -> Mapping[int, NDArray[Any]]:
        """Return the next action (n,) or chunk of actions (H, n) for each of these slots."""


class PolicyError(ClevrSkillsError):
    """Failure of a policy to return a valid action; the episode counts as failed."""


class ActionError(PolicyError, ValueError):
    """Action of the wrong type or shape, or with entries that are not numbers."""


class ConnectionLost(PolicyError):  # noqa: N818 (not a fault of the policy)
    """Loss of the connection to a policy; the episode may be restarted."""


class GaveUp(ClevrSkillsError):  # noqa: N818 (a decision)
    """Decision of a policy or skill to stop trying, with its reason; the episode counts as failed.

    Batched policies cannot raise it.
    """

    kind = "skill"


class Prompter(Protocol):
    """Builder of a language model's messages and parser of its replies.

    Attributes:
        views: Names of the views shown by default.
        history: Maximum number of past turns shown.
        reply_tokens: Tokens of a typical reply without reasoning, for cost estimates.
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
            observation: The current observation.
            history: Observations and actions of all past turns, the latest last.
        """

    def parse(self, reply: str) -> TextAction:
        """Parse a reply; the action of an unreadable reply is empty."""

    def reply(self, action: str, plan: Sequence[str] = ()) -> str:
        """Return the reply that states an action in the requested format.

        Args:
            action: The action.
            plan: All remaining commands, starting with the action, if known.
        """

    def random(self, generator: np.random.Generator) -> str:
        """Return a random action."""
