"""Stand-in for the policy server of Isaac-GR00T: the messages that it publishes, no model.

Arrays and modalities are written as N1.6 or as N1.7 writes them; observations are checked as its
strict policies do.
"""

from __future__ import annotations

import contextlib
import io
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgpack
import numpy as np
import zmq

CONFIG: dict[str, tuple[list[str], list[int]]] = {
    "video": (["base_camera", "hand_camera"], [0]),
    "state": (["joint_position", "end_effector_rotation", "holding"], [0]),
    "action": (
        ["gripper", "end_effector_position_delta", "end_effector_rotation_delta"],
        [0, 1, 2],
    ),
    "language": (["annotation.human.task_description"], [0]),
}
"""Names and times of each modality."""
SIZES = {"end_effector_position_delta": 3, "end_effector_rotation_delta": 3, "gripper": 1}

Config = Mapping[str, tuple[list[str], list[int]]]


class Server:
    """Answers requests until it is stopped.

    Args:
        version: ``N1.6`` or ``N1.7``.
        config: What the model knows.
        token: The API token to be shown.
        act: Makes the actions of an observation, by name; ``None``: those of :func:`actions`.
    """

    def __init__(
        self,
        version: str = "N1.6",
        config: Config = CONFIG,
        token: str | None = None,
        act: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self._version, self._config, self._token = version, config, token
        self._act = act or (lambda observation: actions())
        self.observations: list[Mapping[str, Any]] = []
        self.resets = 0
        self._ended = False
        self._socket = zmq.Context.instance().socket(zmq.REP)
        self.url = f"gr00t://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"

    def run(self) -> None:
        while not self._ended:
            request = msgpack.unpackb(self._socket.recv(), object_hook=self._read)
            try:
                reply = self._reply(request)
            except Exception as error:
                reply = {"error": str(error)}
            packed = reply if isinstance(reply, bytes) else msgpack.packb(reply, default=self._map)
            self._socket.send(packed)
        self._socket.close(linger=1000)

    def _reply(self, request: Mapping[str, Any]) -> Any:
        if self._token is not None and request.get("api_token") != self._token:
            return {"error": "Unauthorized: Invalid API token"}
        endpoint = request.get("endpoint", "get_action")
        if endpoint == "kill":
            self._ended = True
            return None
        if endpoint == "get_modality_config":
            assert "data" not in request
            return {kind: self._modality(*entry) for kind, entry in self._config.items()}
        data = request["data"]
        if endpoint == "reset":
            assert data == {"options": None}
            self.resets += 1
            return {}
        assert endpoint == "get_action" and data.keys() == {"observation", "options"}
        self._check(data["observation"])
        self.observations.append(data["observation"])
        answer = self._act(data["observation"])
        return answer if isinstance(answer, bytes) else [answer, {}]

    def _check(self, observation: Mapping[str, Any]) -> None:
        for kind, dims, dtype in (("video", 5, np.uint8), ("state", 3, np.float32)):
            names, times = self._config[kind]
            assert observation[kind].keys() == set(names)
            for array in observation[kind].values():
                assert array.shape[:2] == (1, len(times)), array.shape
                assert (array.ndim, array.dtype) == (dims, dtype)
        for name in self._config["language"][0]:
            ((sentence,),) = observation["language"][name]
            assert isinstance(sentence, str)

    def _modality(self, names: list[str], times: list[int]) -> dict[str, Any]:
        config = {"delta_indices": times, "modality_keys": names, "action_configs": None}
        if self._version == "N1.6":
            return {"__ModalityConfig_class__": True, "as_json": config}
        return {"__ModalityConfig__": True, "as_json": json.dumps(config)}

    def _map(self, array: np.ndarray) -> dict[Any, Any]:
        if self._version == "N1.6":
            file = io.BytesIO()
            np.save(file, array)
            return {"__ndarray_class__": True, "as_npy": file.getvalue()}
        named = {"nd": True, "type": array.dtype.str, "kind": b"", "shape": array.shape}
        return {name.encode(): v for name, v in {**named, "data": array.tobytes()}.items()}

    def _read(self, data: dict[Any, Any]) -> Any:
        if self._version == "N1.6" and "__ndarray_class__" in data:
            return np.load(io.BytesIO(data["as_npy"]))
        if self._version == "N1.7" and b"nd" in data:
            return np.frombuffer(data[b"data"], data[b"type"]).reshape(data[b"shape"])
        return data


def actions(height: int = 3) -> dict[str, np.ndarray]:
    """Parts of actions, each different, (1, H, size)."""
    whole = np.linspace(-1, 1, height * 7, dtype=np.float32).reshape(1, height, 7)
    return dict(zip(SIZES, np.split(whole, [3, 6], axis=2), strict=True))


@contextlib.contextmanager
def gr00t_server(*args: Any, **options: Any) -> Iterator[Server]:
    """A server in a thread."""
    server = Server(*args, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        with zmq.Context.instance().socket(zmq.REQ) as killer:
            killer.connect(server.url.replace("gr00t", "tcp"))
            killer.send(msgpack.packb({"endpoint": "kill", "api_token": server._token}))
            killer.recv()
        thread.join()
