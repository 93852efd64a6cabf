"""Dialect of openpi: metadata on connecting, then actions for each observation.

An error is a text message, after which the server closes the connection. The start of an episode is
a field of the observation, which only clients of this package send.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode

from clevrskills.core.policy import GaveUp, Observation, PromptInput
from clevrskills.core.policy_loader import LoadedPolicy
from clevrskills.core.suite import all_cameras, find_interface, load_suite
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.jobs.arguments import check_names
from clevrskills.serving.client import RemotePolicy
from clevrskills.serving.codecs import OPENPI
from clevrskills.serving.connection import Wire
from clevrskills.serving.message_fields import common, identified, image_encoder, read, state_vector
from clevrskills.serving.sessions import Session

_log = logging.getLogger(__name__)
_IMAGES = "observation/"
_STATE = "observation/state"
_KEYS = ("prompt", "episode_start", "step", "seed", "proprioception", "prompt_images")


class OpenPiPolicy(RemotePolicy):
    """Policy behind a server such as openpi's.

    Args:
        wire: Connection to the server.
        compress: Encoding of images.
        prompt_images: When the images of the prompt are sent.
        rename: The server's names of keys, or of cameras and ``state`` without prefix.

    Raises:
        UnknownNameError: A renamed key is not sent.
    """

    def __init__(
        self, wire: Wire, compress: str, prompt_images: str, rename: Mapping[str, str]
    ) -> None:
        cameras = [*all_cameras(load_suite()), "state"]
        known = (*cameras, *(_IMAGES + name for name in cameras), *_KEYS)
        check_names(**{"name in rename": (tuple(rename), known)})
        self._rename = rename
        super().__init__(wire, compress, prompt_images)

    def _check_action_spec(self, declared: Any) -> None:
        if declared is not None:
            find_interface(load_suite()).check(declared, self.url)
        self.action_spec = declared

    def _send_observation(self, observation: Observation, prompt: PromptInput) -> None:
        message = to_message(observation, prompt, self._starts, self._compress)
        data = {**message, **self._identity}
        self._wire.send(OPENPI.pack(renamed(data, self._rename)))

    def _receive_answer(self) -> Any:
        message = self._wire.receive()
        if isinstance(message, str):
            lines = message.strip().splitlines() or ["an empty text"]
            raise self._wire.failure(f"the server failed: {lines[-1]}")
        return OPENPI.unpack(message)


def to_message(
    observation: Observation, prompt: PromptInput, starts: bool, compress: str = "none"
) -> dict[str, Any]:
    """Return the message of an observation.

    Args:
        observation: The observation.
        prompt: The prompt, with the images to send.
        starts: Whether an episode begins.
        compress: Encoding of images; files of a history are in lists.
    """
    sent = image_encoder(compress)
    data = {_IMAGES + name: sent(image) for name, image in observation["images"].items()}
    state = state_vector(observation)
    if state is not None:
        data[_STATE] = state
    return {
        **data,
        "prompt": observation["prompt"],
        "episode_start": starts,
        **common(observation, prompt, sent),
    }


def renamed(data: Mapping[str, Any], rename: Mapping[str, str]) -> dict[str, Any]:
    """Rename the keys of a message.

    Args:
        data: The message.
        rename: New names by key; without the prefix ``observation/`` it is kept.

    Raises:
        ClevrSkillsError: Two keys would have the same name.
    """
    sent: dict[str, Any] = {}
    for key, value in data.items():
        short = key.removeprefix(_IMAGES)
        if key in rename:
            key = rename[key]
        elif short in rename:
            key = _IMAGES + rename[short]
        if key in sent:
            raise ClevrSkillsError(f"rename: two keys would be called {key!r}")
        sent[key] = value
    return sent


def from_message(data: Any) -> tuple[dict[str, Any], PromptInput]:
    """Return the observation and prompt of a message.

    Raises:
        ValueError: A field is invalid.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"not an observation: {type(data).__name__}")
    images = {
        name.removeprefix(_IMAGES): image
        for name, image in data.items()
        if isinstance(name, str) and name.startswith(_IMAGES) and name != _STATE
    }
    return read(data, images, data.get(_STATE), data.get("prompt", ""))


async def talk(connection: ServerConnection, session: Session, policy: LoadedPolicy) -> None:
    """Serve one client until it disconnects."""
    await connection.send(OPENPI.pack(_greeting(policy)))
    text: str | None = None
    answered = 0  # actions of this episode
    async for message in connection:
        try:
            data = OPENPI.unpack(message)
            observation, prompt = from_message(data)
            # other clients begin an episode by connecting or with a new prompt
            if data.get("episode_start", prompt.text != text) or text is None:
                text, answered = prompt.text, 0
                await session.reset(prompt, identified(data))
            begun = time.perf_counter()
            actions = np.atleast_2d(await session.act({"step": answered, **observation}))
            timing = {"infer_ms": 1e3 * (time.perf_counter() - begun)}
            answered += len(actions)
            answer: dict[str, Any] = {"actions": actions, "server_timing": timing}
        except GaveUp as end:
            answer = {"gave_up": str(end)}
        except Exception as error:  # of the client or of the policy
            _log.warning("no actions for a client of %s", policy.name, exc_info=error)
            await connection.send(one_line(error))
            await connection.close(CloseCode.INTERNAL_ERROR, "an error, see the message before")
            return
        await connection.send(OPENPI.pack(answer))


def _greeting(policy: LoadedPolicy) -> dict[str, Any]:
    greeting = {"policy": policy.name, "observation_options": asdict(policy.options)}
    if policy.info.action_spec is not None:
        greeting["action_spec"] = dict(policy.info.action_spec)
    return greeting | ({"privileged": True} if policy.info.privileged else {})
