"""Base of policies behind a server."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from weakref import finalize

import numpy as np

from clevrskills.core.policy import (
    GaveUp,
    Observation,
    ObservationOptions,
    PolicyError,
    PromptInput,
    check_cameras,
)
from clevrskills.core.suite import all_cameras, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.serving.codecs import CodecError
from clevrskills.serving.connection import Wire
from clevrskills.serving.message_fields import COMPRESSIONS, identity, unclipped

PROMPT_IMAGES = ("first", "always")


class RemotePolicy(ABC):
    """Policy behind a server, see :func:`clevrskills.serving.connect`.

    Attributes:
        url: Address of the server.
        action_spec: Action spec declared by the server, if it is that of an interface.
        observation: Observation options requested by the server; ``None`` if not declared.
        privileged: Whether the server needs the identity of episodes.
        greeting: The server's greeting.

    Raises:
        PolicyError: The server cannot be reached, or uses another dialect; raised by all methods.
            The next :meth:`reset` reopens a broken connection.
        ClevrSkillsError: An argument is invalid, or the server has other actions.
    """

    env_optional = True

    def __init__(self, wire: Wire, compress: str = "none", prompt_images: str = "first") -> None:
        check_names(
            compression=((compress,), COMPRESSIONS),
            **{"value of prompt_images": ((prompt_images,), PROMPT_IMAGES)},
        )
        self.url = wire.url
        self.action_spec: Mapping[str, Any] | None = None
        self.observation: ObservationOptions | None = None
        self.privileged = False
        self.greeting: Mapping[str, Any] = {}
        self._identity: Mapping[str, str] = {}
        self._compress = compress
        self._always_shown = prompt_images == "always"
        self._wire = wire
        finalize(self, wire.close)  # otherwise the server would keep its policy
        self._prompt = PromptInput("", {})
        self._starts = True
        self._open()

    def reset(self, prompt: PromptInput, *, env: Any = None, episode: Any = None) -> None:
        """Begin an episode and reopen a broken connection; only privileged servers are sent the
        episode.
        """
        if not self._wire.is_open:
            before = self.observation
            self._open()
            if self.observation != before:
                raise self._wire.failure("another policy is served there now")
        self._prompt, self._starts = prompt, True
        self._identity = identity(episode) if self.privileged and episode is not None else {}
        self._begin()

    def act(self, observation: Observation) -> np.ndarray:
        """Return the actions of the server, (A,) or (H, A) float32.

        Raises:
            GaveUp: The policy gave up.
        """
        self.ask(observation)
        return self.answer()

    def ask(self, observation: Observation) -> None:
        """Send the observation, the first half of :meth:`act`.

        Asking several policies before receiving their answers lets a batched server act for all of
        them at once.
        """
        sent = self._starts or self._always_shown
        prompt = self._prompt if sent else replace(self._prompt, images={})
        self._send_observation(observation, prompt)
        self._starts = False

    def answer(self) -> np.ndarray:
        """Receive the actions, the second half of :meth:`act`."""
        try:
            answer = self._receive_answer()
        except CodecError as error:
            raise self._wire.failure(str(error)) from error
        if isinstance(answer, Mapping) and "gave_up" in answer:
            raise GaveUp(str(answer["gave_up"]))
        if not isinstance(answer, Mapping) or "actions" not in answer:
            raise self._wire.failure(f"the answer has no actions: {_brief(answer)}")
        try:
            return unclipped(answer["actions"])
        except PolicyError as error:
            raise self._wire.failure(str(error)) from error

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def _open(self) -> None:
        self._wire.open()
        try:
            greeting = self._greet()
            if not isinstance(greeting, Mapping):
                raise CodecError(_brief(greeting))
            self._check_action_spec(greeting.get("action_spec"))
        except CodecError as error:
            raise self._wire.failure(f"uses another dialect: {error}") from error
        except ClevrSkillsError:
            self.close()
            raise
        try:
            self.observation = options_from_json(greeting.get("observation_options"))
        except (ClevrSkillsError, TypeError, ValueError) as error:
            raise self._wire.failure(f"requests invalid observations: {error}") from error
        self.greeting, self.privileged = greeting, bool(greeting.get("privileged"))

    def _greet(self) -> Any:
        """Receive the greeting of the server."""
        return self._receive_answer()

    @abstractmethod
    def _check_action_spec(self, declared: Any) -> None:
        """Refuse a server with other actions."""

    def _begin(self) -> None:  # noqa: B027 (not all dialects have such a message)
        """Notify the server of a new episode."""

    @abstractmethod
    def _send_observation(self, observation: Observation, prompt: PromptInput) -> None:
        """Send an observation and a prompt."""

    @abstractmethod
    def _receive_answer(self) -> Any:
        """Receive the answer of the server."""


def options_from_json(data: Mapping[str, Any] | None) -> ObservationOptions | None:
    """Return observation options from the data of ``asdict``."""
    if data is None:
        return None
    values = dict(data)
    if "cameras" in values:
        values["cameras"] = tuple(values["cameras"])
    options = ObservationOptions(**values)
    check_cameras(options.cameras, all_cameras(load_suite()))
    return options


def _brief(answer: Any) -> str:
    if isinstance(answer, Mapping):
        return f"keys {', '.join(map(str, answer)) or 'none'}"[:200]
    return f"{type(answer).__name__} {answer!r}"[:200]
