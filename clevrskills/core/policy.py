"""Policies: their protocol, and what they are shown.

The simplest one is a class with two methods::

    class MyPolicy:
        def reset(self, prompt): ...
        def act(self, observation): ...  # -> (n,) or, several actions at once, (H, n)

It may say more by class attributes: ``action_spec``, what it believes its actions to mean, compared
with the spec of the :class:`~clevrskills.core.interface.Interface`; ``observation``, the
:class:`ObservationOptions` it was made for; ``own_views``, views that it is shown whatever else is
asked for; ``track``, what it has learned from, in words; ``only_task``, the one task that it has
learned, so that no other one is asked of it;
``batched = True`` if one object acts in several episodes at once, see :class:`BatchedPolicy`;
``concurrent = True`` if ``act`` waits for something else, so that the objects of several episodes
are asked at the same time, in threads;
``privileged = True`` if ``reset`` is to be given the environment and the episode as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from clevrskills.core.env_config import LOOKS
from clevrskills.errors import ClevrSkillsError, UnknownNameError

__all__ = [
    "BatchedPolicy",
    "GaveUp",
    "ImagePart",
    "Message",
    "Observation",
    "ObservationOptions",
    "Policy",
    "PolicyError",
    "PromptInput",
    "TextAction",
]

Observation = Mapping[str, Any]
"""What a policy is shown at a control step.

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
                    ``action`` and the ``message`` that it told of itself
feedback            where commands are in words: how much turns tell of themselves: ``none``,
                    ``simple`` or ``detailed``
=================== ============================================================================
"""

FORMS = ("multimodal", "language")
DEFAULT_CAMERAS = "default"


@dataclass(frozen=True)
class PromptInput:
    """The task as a policy is given it.

    Attributes:
        text: With placeholders such as ``{obj:object_0}``, or all in words.
        images: Placeholder -> (256, 256, 3) uint8; nothing if all is in words, or if the policy is
            shown no images.
        seed: For what the policy draws at random, so that the episode can be repeated; it follows
            from the episode.
        about: What the suite says of the episode to every policy, such as the size of a board.
    """

    text: str
    images: Mapping[str, NDArray[Any]]
    seed: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ImagePart:
    """An image in a message.

    Attributes:
        name: What it shows, e.g. ``goal``; no two in a request have the same.
        pixels: (H, W, 3) uint8.
    """

    name: str
    pixels: NDArray[Any]


@dataclass(frozen=True)
class Message:
    """A message to a language model, or one that it is said to have written.

    Attributes:
        role: Who speaks.
        parts: Texts and images, in order.
    """

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | ImagePart, ...]


@dataclass(frozen=True)
class TextAction:
    """An answer in words, and how a policy came to it.

    Attributes:
        action: The command.
        reply: All that the model wrote.
        stop: Whether it says that it is done, which counts where that must be told.
        plan: All that it means to do, an action each, where that is asked for.
        memory: What it wants to be told again at the next turn, where that is asked for.
        usage: What it cost: ``requests``, ``prompt_tokens``, ``completion_tokens``, ``images``,
            ``cost``.
        record: What the transcript of the episode keeps of the request, as JSON data.
    """

    action: str
    reply: str = ""
    stop: bool = False
    usage: Mapping[str, float] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    plan: tuple[str, ...] = ()
    memory: str = ""


@dataclass(frozen=True)
class ObservationOptions:
    """What a policy wants to see.

    Attributes:
        cameras: Names of cameras; ``default`` stands for those that the suite shows by default.
        size_px: Width and height of the images; ``None``: each camera's own (256).
        look: How they look, one of :data:`~clevrskills.core.env_config.LOOKS`.
        history: Number of control steps in each observation.
        proprioception: Whether the robot's own state is shown.
        prompt: ``multimodal``, with images, or ``language``, all in words.
        views: Names of views of the suite, of which cameras are some; ``None``: no ``views``.

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

    def __post_init__(self) -> None:
        if self.look not in LOOKS:
            raise UnknownNameError("look", self.look, LOOKS)
        for name in ("size_px", "history"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ClevrSkillsError(f"{name} must be at least 1, not {value}")
        if self.prompt not in FORMS:
            raise UnknownNameError("form of the prompt", self.prompt, FORMS)


def check_cameras(names: Iterable[str], known: Sequence[str]) -> None:
    """Check names of cameras.

    Raises:
        UnknownNameError: There is no such camera.
    """
    for name in names:
        if name not in (*known, DEFAULT_CAMERAS):
            raise UnknownNameError("camera", name, tuple(known))


class Policy(Protocol):
    """Acts in one episode after the other."""

    def reset(self, prompt: PromptInput) -> None:
        """An episode begins. Privileged policies get the keywords ``env`` (the environment) and
        ``episode`` (what it is made from) too.
        """

    def act(self, observation: Observation) -> NDArray[Any]:
        """The next action (n,), or the next H actions (H, n), as the interface reads them."""


class BatchedPolicy(Protocol):
    """Acts in several episodes at once; each runs in a slot, a number from 0."""

    batched: bool

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        """Episodes begin in these slots; the other slots go on."""

    def act(self, observations: Mapping[int, Observation]) -> Mapping[int, NDArray[Any]]:
        """The next action (n,) or actions (H, n) of these slots."""


class PolicyError(ClevrSkillsError):
    """A policy, or the way to it, broke down: this is no failure at the task."""


class GaveUp(ClevrSkillsError):  # noqa: N818 (nothing is in error)
    """A policy or a skill stops trying: a failure at the task, with its reason. Batched policies
    cannot.
    """

    kind = "skill"
