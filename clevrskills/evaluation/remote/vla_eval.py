"""The vla-eval dialect: hello, then episodes that start and end, in envelopes with numbers.

An error is a message of its own, after which the client may go on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection

import clevrskills
from clevrskills.errors import one_line
from clevrskills.evaluation.policy import GaveUp, Observation, PromptInput
from clevrskills.evaluation.remote import dim_specs
from clevrskills.evaluation.remote.client import RemotePolicy
from clevrskills.evaluation.remote.codecs import (
    CodecError,
    pack_vla_eval,
    unpack_vla_eval,
    vla_eval_picture,
)
from clevrskills.evaluation.remote.layout import common, read, state_vector
from clevrskills.evaluation.remote.pictures import compressed, encode_file
from clevrskills.evaluation.remote.seats import About, Seat

_log = logging.getLogger(__name__)
PROTOCOL = 1


class VlaEvalPolicy(RemotePolicy):
    """A policy behind a server such as vla-eval's."""

    _number = 0
    _ends = False  # whether an episode is to be ended first

    def _greet(self) -> Any:
        self._number, self._ends = 0, False
        self._send("hello", _hello())
        greeting = self._receive("hello")
        if isinstance(greeting, Mapping) and greeting.get("protocol_version") != PROTOCOL:
            version = greeting.get("protocol_version")
            raise self._wire.failure(f"talks version {version} of vla-eval; allowed: {PROTOCOL}")
        return greeting

    def _check_action_spec(self, declared: Any) -> None:
        if declared is not None:
            dim_specs.check_action_dims(declared, self.url)

    def _begin(self) -> None:
        if self._ends:
            self._send("episode_end", {})
        self._send("episode_start", {"task": {"name": self._prompt.text}})
        self._ends = True

    def _send_observation(self, observation: Observation, prompt: PromptInput) -> None:
        self._send("observation", to_payload(observation, prompt, self._compress))

    def _receive_answer(self) -> Any:
        return self._receive("action")

    def _send(self, kind: str, payload: Mapping[str, Any]) -> None:
        self._number += 1
        self._wire.send(sealed(kind, payload, self._number))

    def _receive(self, wanted: str) -> Any:
        kind, payload, number = opened(self._wire.receive())
        if kind == "error":
            said = payload.get("error", payload) if isinstance(payload, Mapping) else payload
            raise self._wire.failure(f"the server failed: {said}")
        if kind != wanted or number != self._number:
            expected = f"expected {wanted} {self._number}"
            raise self._wire.failure(f"answers with {kind} {number}; {expected}")
        return payload


def sealed(kind: str, payload: Mapping[str, Any], number: int) -> bytes:
    """A message in its envelope."""
    stamped = {"type": kind, "payload": payload, "seq": number, "timestamp": time.time()}
    return pack_vla_eval(stamped)


def opened(message: bytes | str) -> tuple[str, Any, int]:
    """Kind, payload and number of a message.

    Raises:
        CodecError: It is damaged.
    """
    data = unpack_vla_eval(message)
    if not isinstance(data, Mapping) or not {"type", "payload", "seq"} <= data.keys():
        raise CodecError(f"not an envelope: {data!r:.80}")
    return data["type"], data["payload"], data["seq"]


def to_payload(
    observation: Observation, prompt: PromptInput, compress: str = "none"
) -> dict[str, Any]:
    """An observation as it is sent.

    Args:
        observation: What a policy is shown.
        prompt: The prompt, with the pictures that are to be sent.
        compress: ``jpeg`` or ``png``; with a history, pictures are in lists then.
    """

    def encode(part: np.ndarray) -> Any:
        return vla_eval_picture(encode_file(part, compress), compress, part.shape)

    def sent(picture: np.ndarray) -> Any:
        return picture if compress == "none" else compressed(picture, encode)

    data: dict[str, Any] = {
        "images": {name: sent(picture) for name, picture in observation["images"].items()},
        "task_description": observation["prompt"],
    }
    state = state_vector(observation)
    if state is not None:
        data["states"] = state
    return {**data, **common(observation, prompt, sent)}


def from_payload(data: Any) -> tuple[dict[str, Any], PromptInput]:
    """The observation of a message and its prompt.

    Raises:
        ValueError: Something in it is not what it should be.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"not an observation: {type(data).__name__}")
    state = data.get("states", data.get("state"))
    return read(data, data.get("images") or {}, state, data.get("task_description", ""))


async def talk(connection: ServerConnection, seat: Seat, about: About) -> None:
    """Serve one client until it leaves."""
    starts = True
    async for message in connection:
        kind, payload, number = opened(message)
        if kind == "hello":
            await connection.send(sealed("hello", _server_hello(about), number))
        elif kind in ("episode_start", "episode_end"):
            starts = True
        elif kind == "observation":
            try:
                observation, prompt = from_payload(payload)
                if starts:
                    await seat.reset(prompt)
                    starts = False
                answer: dict[str, Any] = {"actions": await seat.act(observation)}
            except GaveUp as end:
                answer = {"gave_up": str(end)}
            except Exception as error:  # of a client or a policy: both are told
                _log.warning("no actions for a client of %s", about.name, exc_info=error)
                await connection.send(sealed("error", {"error": one_line(error)}, number))
                continue
            await connection.send(sealed("action", answer, number))
        elif kind == "error":
            _log.warning("a client of %s reports: %s", about.name, payload)
        else:
            raise CodecError(f"a message of an unknown kind: {kind!r:.80}")


def _hello(**more: Any) -> dict[str, Any]:
    version = f"clevrskills {clevrskills.__version__}"
    return {"harness_version": version, "protocol_version": PROTOCOL, **more}


def _server_hello(about: About) -> dict[str, Any]:
    hello = _hello(model_server=about.name, capabilities={})
    if about.action_spec is not None:
        hello["action_spec"] = dim_specs.ACTION
    if about.observation is not None:
        wanted = {"language": dim_specs.LANGUAGE}
        if about.observation.cameras:
            wanted["image"] = dim_specs.IMAGE
        if about.observation.proprioception:
            wanted["state"] = dim_specs.STATE
        hello["observation_spec"] = wanted
        hello["observation_options"] = asdict(about.observation)
    return hello
