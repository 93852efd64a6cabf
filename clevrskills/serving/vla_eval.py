"""Dialect of vla-eval: a hello, then episodes with start and end, in numbered envelopes.

An error is a separate message, after which the client may continue.
"""

import logging
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection

import clevrskills
from clevrskills.core.policy import GaveUp, Observation, ObservationOptions, PromptInput
from clevrskills.core.policy_loader import LoadedPolicy
from clevrskills.errors import one_line
from clevrskills.serving.client import RemotePolicy
from clevrskills.serving.codecs import VLA_EVAL, CodecError
from clevrskills.serving.message_fields import (
    DIM_IMAGE,
    DIM_LANGUAGE,
    DIM_STATE,
    action_dims,
    check_action_dims,
    common,
    identified,
    image_encoder,
    read,
    state_vector,
)
from clevrskills.serving.sessions import Session

_log = logging.getLogger(__name__)
PROTOCOL = 1
_CHUNKS = "action_chunks"  # in the hello of clients that accept action chunks


class VlaEvalPolicy(RemotePolicy):
    """Policy behind a server such as vla-eval's."""

    _number = 0
    _ends = False  # whether an episode must be ended first

    def _greet(self) -> Any:
        self._number, self._ends = 0, False
        self._send("hello", _hello(**{_CHUNKS: True}))
        greeting = self._receive("hello")
        if isinstance(greeting, Mapping) and greeting.get("protocol_version") != PROTOCOL:
            version = greeting.get("protocol_version")
            raise self._wire.failure(f"talks version {version} of vla-eval; allowed: {PROTOCOL}")
        return greeting

    def _check_action_spec(self, declared: Any) -> None:
        if declared is not None:
            check_action_dims(declared, self.url)

    def _begin(self) -> None:
        if self._ends:
            self._send("episode_end", {})
        self._send("episode_start", {"task": {"name": self._prompt.text}})
        self._ends = True

    def _send_observation(self, observation: Observation, prompt: PromptInput) -> None:
        data = to_payload(observation, prompt, self._compress)
        self._send("observation", {**data, **self._identity})

    def _receive_answer(self) -> Any:
        answer = self._receive("action")
        if isinstance(answer, Mapping) and "action" in answer:  # name used by some servers
            return {"actions": answer["action"], **answer}
        return answer

    def _send(self, kind: str, payload: Mapping[str, Any]) -> None:
        self._number += 1
        self._wire.send(sealed(kind, payload, self._number))

    def _receive(self, expected: str) -> Any:
        kind, payload, number = opened(self._wire.receive())
        if kind == "error":
            reason = payload.get("error", payload) if isinstance(payload, Mapping) else payload
            raise self._wire.failure(f"the server failed: {reason}")
        if kind != expected or number != self._number:
            raise self._wire.failure(
                f"answers with {kind} {number}; expected {expected} {self._number}"
            )
        return payload


def sealed(kind: str, payload: Mapping[str, Any], number: int) -> bytes:
    """Return a message in its envelope."""
    stamped = {"type": kind, "payload": payload, "seq": number, "timestamp": time.time()}
    return VLA_EVAL.pack(stamped)


def opened(message: bytes | str) -> tuple[str, Any, int]:
    """Return kind, payload and number of a message.

    Raises:
        CodecError: The message is damaged.
    """
    data = VLA_EVAL.unpack(message)
    if not isinstance(data, Mapping) or not {"type", "payload", "seq"} <= data.keys():
        raise CodecError(f"not an envelope: {data!r:.80}")
    return data["type"], data["payload"], data["seq"]


def to_payload(
    observation: Observation, prompt: PromptInput, compress: str = "none"
) -> dict[str, Any]:
    """Return the payload of an observation."""
    marked = {"__image__": True, "format": compress}
    sent = image_encoder(compress, lambda file, i: {**marked, "data": file, "shape": i.shape})
    data: dict[str, Any] = {
        "images": {name: sent(image) for name, image in observation["images"].items()},
        "task_description": observation["prompt"],
    }
    state = state_vector(observation)
    if state is not None:
        data["states"] = state
    return {**data, **common(observation, prompt, sent)}


def from_payload(data: Any) -> tuple[dict[str, Any], PromptInput]:
    """Return the observation and prompt of a payload.

    Raises:
        ValueError: A field is invalid.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"not an observation: {type(data).__name__}")
    state = data.get("states", data.get("state"))
    return read(data, data.get("images") or {}, state, data.get("task_description", ""))


class _Turns:
    """Turns of one client.

    Clients that do not accept chunks, such as vla-eval's own, receive the actions of a chunk one by
    one before the policy is called again.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._left: deque[np.ndarray] = deque()
        self.takes_chunks = False
        self.begin()

    def begin(self) -> None:
        """Mark the next observation as the first of an episode."""
        self._starts, self._answered = True, 0
        self._left.clear()

    async def answer(self, payload: Any) -> dict[str, Any]:
        """Return the payload of the answer to an observation."""
        observation, prompt = from_payload(payload)
        if self._starts:
            await self._session.reset(prompt, identified(payload))
            self._starts = False
        observation = {"step": self._answered, **observation}
        try:
            if self.takes_chunks:
                actions = await self._session.act(observation)
                self._answered += len(np.atleast_2d(actions))
                return {"actions": actions}
            if not self._left:
                self._left.extend(np.atleast_2d(await self._session.act(observation)))
        except GaveUp as end:
            return {"gave_up": str(end)}
        self._answered += 1
        return {"actions": self._left.popleft()}


async def talk(connection: ServerConnection, session: Session, policy: LoadedPolicy) -> None:
    """Serve one client until it disconnects."""
    turns = _Turns(session)
    async for message in connection:
        number = 0
        try:
            kind, payload, number = opened(message)
            reply = await _reply(kind, payload, turns, policy)
        except Exception as error:  # of the client or of the policy
            _log.warning("no actions for a client of %s", policy.name, exc_info=error)
            reply = "error", {"error": one_line(error)}
        if reply is not None:
            await connection.send(sealed(*reply, number))


async def _reply(
    kind: str, payload: Any, turns: _Turns, policy: LoadedPolicy
) -> tuple[str, Mapping[str, Any]] | None:
    """Return kind and payload of the reply to a message, if there is one."""
    if kind == "hello":
        turns.takes_chunks = _CHUNKS in payload
        return "hello", _server_hello(policy)
    if kind == "observation":
        return "action", await turns.answer(payload)
    if kind in ("episode_start", "episode_end"):
        turns.begin()
    elif kind == "error":
        _log.warning("a client of %s reports: %s", policy.name, payload)
    else:
        raise CodecError(f"a message of an unknown kind: {kind!r:.80}")
    return None


def _hello(**more: Any) -> dict[str, Any]:
    version = f"clevrskills {clevrskills.__version__}"
    return {"harness_version": version, "protocol_version": PROTOCOL, **more}


def _server_hello(policy: LoadedPolicy) -> dict[str, Any]:
    options, dims = policy.options, {"language": DIM_LANGUAGE}
    privileged = policy.info.privileged
    if options.cameras:
        dims["image"] = DIM_IMAGE
    if options.proprioception:
        dims["state"] = DIM_STATE
    hello = _hello(
        model_server=policy.name,
        capabilities={},
        observation_spec=dims,
        observation_params=_params(options) | ({"identify": True} if privileged else {}),
        observation_options=asdict(options),
        privileged=privileged,
    )
    if policy.info.action_spec is not None:
        hello["action_spec"] = action_dims()
    return hello


def _params(options: ObservationOptions) -> dict[str, Any]:
    """Return observation options as arguments of a vla-eval benchmark."""
    params: dict[str, Any] = {
        "cameras": list(options.cameras),
        "send_state": options.proprioception,
        "prompt": options.prompt,
    }
    if options.size_px is not None:
        params["size_px"] = options.size_px
    if options.history > 1:
        params["history"] = options.history
    return params
