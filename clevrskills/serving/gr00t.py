"""Dialect of GR00T's policy servers: ZeroMQ requests with one reply each.

A request has an endpoint: ``get_modality_config`` returns the images, states and actions of a model
with their time offsets, ``reset`` begins an episode, ``get_action`` returns actions. All arrays are
(1, T, ...). Names are those of ``meta/modality.json`` in exported datasets, so that models trained
on them need no ``rename``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from clevrskills.core.interface import ACTION_MODALITIES, STATE_MODALITIES
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.core.suite import all_cameras, find_interface, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.serving.client import RemotePolicy
from clevrskills.serving.codecs import GR00T_N16, GR00T_N17, CodecError
from clevrskills.serving.connection import Wire
from clevrskills.sim.state_vector import state_parts

_MARK_OF_N16 = "__ModalityConfig_class__"
"""Key of a modality's class in N1.6; N1.7 has no ``_class``."""
_HINT = '; rename with --policy-arg rename=\'{"OUR_NAME": "ITS_NAME"}\''


def states() -> dict[str, tuple[str, slice]]:
    """Return the measurement and its slice for each state."""
    return {
        name: (measured, part)
        for measured in state_parts()
        for name, part in STATE_MODALITIES.get(measured, {measured: slice(None)}).items()
    }


def actions() -> dict[str, int]:
    """Return the sizes of the parts of an action, in order."""
    parts = find_interface(load_suite()).spec["parts"]
    return {ACTION_MODALITIES.get(p["name"], p["name"]): p["stop"] - p["start"] for p in parts}


class Gr00tPolicy(RemotePolicy):
    """Policy behind a server such as Isaac-GR00T's.

    Args:
        wire: Connection to the server.
        rename: The model's names of cameras, states and parts of actions, by those of this package.
        key: API key; ``None`` for none.

    Raises:
        UnknownNameError: A renamed entry does not exist.
    """

    def __init__(self, wire: Wire, rename: Mapping[str, str], key: str | None) -> None:
        self._cameras = tuple(all_cameras(load_suite()))
        self._states, self._sizes = states(), actions()
        known = (*self._cameras, *self._states, *self._sizes)
        check_names(**{"name in rename": (tuple(rename), known)})
        self._rename, self._key, self._codec = rename, key, GR00T_N16
        super().__init__(wire)

    def _greet(self) -> Any:
        config = self._call("get_modality_config")
        if not isinstance(config, Mapping):
            return config
        self._modalities = {name: self._modality(name, config) for name in ("video", "state")}
        self._words = [*_read(config, "language")["modality_keys"]]
        self._actions = self._ours(
            "action", _read(config, "action")["modality_keys"], [*self._sizes]
        )
        is_n16 = any(_MARK_OF_N16 in entry for entry in config.values())
        self._codec = GR00T_N16 if is_n16 else GR00T_N17
        back = [d for _, deltas in self._modalities.values() for d in deltas]
        if any(d > 0 for d in back):
            raise CodecError(f"it looks ahead in time: {back}")
        options = ObservationOptions(
            tuple(self._modalities["video"][0]),
            history=1 - min(back, default=0),
            proprioception=bool(self._modalities["state"][0]),
            prompt="language",
        )
        return {"modalities": config, "observation_options": asdict(options)}

    def _check_action_spec(self, declared: Any) -> None:
        """Check that all parts of an action exist; nothing else is declared."""
        missing = [name for name in self._sizes if name not in self._actions]
        if missing:
            raise ClevrSkillsError(f"{self.url}: its actions have no {', '.join(missing)}{_HINT}")

    def _begin(self) -> None:
        self._call("reset", {"options": None})

    def _send_observation(self, observation: Observation, prompt: PromptInput) -> None:
        cameras, times = self._modalities["video"]
        video = {
            theirs: _at(observation["images"][ours], 3, times)[None]
            for ours, theirs in cameras.items()
        }
        measured, times = self._modalities["state"]
        state = {}
        for ours, theirs in measured.items():
            name, part = self._states[ours]
            values = _at(observation["proprioception"][name], 1, times)
            state[theirs] = values[None, :, part].astype(np.float32)
        language = {name: [[observation["prompt"]]] for name in self._words}
        shown = {"video": video, "state": state, "language": language}
        self._ask("get_action", {"observation": shown, "options": None})

    def _receive_answer(self) -> Any:
        reply = self._reply()
        answer = reply[0] if isinstance(reply, list) and reply else reply  # followed by metadata
        if not isinstance(answer, Mapping):
            return answer
        parts = []
        for ours, size in self._sizes.items():
            theirs = self._actions[ours]
            values = np.asarray(answer.get(theirs))
            if values.ndim != 3 or values.shape[0] != 1 or values.shape[2] != size:
                raise CodecError(
                    f"its {theirs} is of shape {values.shape}; allowed: (1, H, {size})"
                )
            parts.append(values[0])
        if len({len(part) for part in parts}) > 1:
            raise CodecError(f"its actions are of different lengths: {[len(p) for p in parts]}")
        return {"actions": np.concatenate(parts, axis=1)}

    def _call(self, endpoint: str, data: Mapping[str, Any] | None = None) -> Any:
        self._ask(endpoint, data)
        return self._reply()

    def _ask(self, endpoint: str, data: Mapping[str, Any] | None = None) -> None:
        request = {"endpoint": endpoint}
        more = {} if data is None else {"data": data}
        token = {} if self._key is None else {"api_token": self._key}
        self._wire.send(self._codec.pack({**request, **more, **token}))

    def _reply(self) -> Any:
        reply = self._codec.unpack(self._wire.receive())
        if isinstance(reply, Mapping) and "error" in reply:
            lines = str(reply["error"]).strip().splitlines() or ["no reason given"]
            raise self._wire.failure(f"the server failed: {lines[-1]}")
        return reply

    def _modality(
        self, kind: str, declared: Mapping[str, Any]
    ) -> tuple[Mapping[str, str], Sequence[int]]:
        """Return the server's names of a modality by those of this package, and time offsets."""
        config = _read(declared, kind)
        known = self._cameras if kind == "video" else [*self._states]
        return self._ours(kind, config["modality_keys"], known), config["delta_indices"]

    def _ours(self, kind: str, names: Sequence[str], known: Sequence[str]) -> dict[str, str]:
        by_theirs = {self._rename.get(name, name): name for name in known}
        for name in names:
            if name not in by_theirs:
                raise ClevrSkillsError(
                    f"{self.url}: its {kind} has {name!r}; known: {', '.join(by_theirs)}{_HINT}"
                )
        return {by_theirs[name]: name for name in names}


def _read(declared: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the declaration of a modality, empty if there is none."""
    entry = declared.get(kind) or {"modality_keys": [], "delta_indices": [0]}
    try:
        config = entry.get("as_json", entry)
        config = config if isinstance(config, Mapping) else json.loads(config)
        times = [int(time) for time in config["delta_indices"]]
        if not times:
            raise ValueError("no time offsets")
        return {"modality_keys": [*config["modality_keys"]], "delta_indices": times}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CodecError(f"its {kind} is not a modality: {entry!r:.80}") from error


def _at(shown: np.ndarray, dims: int, times: Sequence[int]) -> np.ndarray:
    """Return the observations at some times relative to now, (T, ...), of those with ``dims``
    dimensions, or one more with a history.
    """
    history = shown if shown.ndim > dims else shown[None]
    if len(history) + min(times) < 1:
        raise ClevrSkillsError(
            f"the model observes {-min(times)} control steps back; set --history {1 - min(times)}"
        )
    return history[[len(history) - 1 + time for time in times]]
