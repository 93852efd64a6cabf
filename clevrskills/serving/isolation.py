"""Isolation of a policy in a separate process without shared memory.

The process is a new interpreter in the folder of the user's modules without inherited files. It
does not receive the results folder or the name of the episode, but a process of the same user can
read files and other processes. Requests and answers are frames on a socket: array layouts and value
as JSON, then the raw arrays. Decoding cannot run code.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from math import prod
from typing import Any
from weakref import finalize

import numpy as np

from clevrskills.core.policy import (
    ConnectionLost,
    GaveUp,
    ImagesOnDemand,
    PolicyError,
    PromptInput,
    TextAction,
)
from clevrskills.core.policy_loader import LoadedPolicy, PolicySource
from clevrskills.core.suite import Suite, load_suite, path_of
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.jobs.process_setup import return_freed_memory

MAX_BYTES = 2**30
"""Maximum size of a text or array in bytes."""
MARK = "$"
"""Key of values without JSON equivalent: ``{"$": kind, "of": …}``."""
ON_DEMAND = "on_demand"
"""Kind of images on demand: their number in the request, and the names of the cameras."""
_LENGTHS = struct.Struct("<II")
_CLASSES = {"PromptInput": PromptInput, "TextAction": TextAction}
_ERRORS = {kind.__name__: kind for kind in (GaveUp, ConnectionLost, PolicyError, ClevrSkillsError)}
_VIEWS = 512  # buffers of a system call; Linux takes 1024
_WAIT_S = 2.0


class IsolatedPolicy:
    """Policy in a separate process, with the fields of :class:`~clevrskills.core.policy.PolicyInfo`
    as attributes.

    Args:
        source: Source of the policy.
        suite: Its suite; the process makes its own.
        interface: Name of its action interface; ``None``: the first one of the suite.

    Raises:
        ClevrSkillsError: The policy cannot be made.
        GaveUp: The policy gave up.
        PolicyError: The policy raised an error, whose traceback is the cause, or its answer cannot
            be sent.
        ConnectionLost: The process has ended.
    """

    privileged: bool

    def __init__(self, source: PolicySource, suite: Suite, interface: str | None) -> None:
        self._name = source.name
        mine, theirs = socket.socketpair()
        folder = source.folder or os.getcwd()
        path = [folder, *(place or os.getcwd() for place in sys.path)]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.PIPE,  # closed when this process ends, which ends the policy
                stdout=sys.__stderr__ and sys.__stderr__.fileno(),
                pass_fds=(theirs.fileno(),),
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                start_new_session=True,  # keyboard signals go to this process only
            )
        self._channel = Channel(mine)
        self._end = finalize(self, _end, self._process, mine)
        made = {f.name: getattr(source, f.name) for f in fields(source)}
        for name, value in self._ask(made, path_of(suite), interface).items():
            setattr(self, name, value)

    def reset(self, prompt: Any) -> None:
        """Begin an episode, or several episodes of a batched policy."""
        self._ask("reset", prompt)

    def act(self, observation: Any) -> Any:
        """Return the policy's answer to an observation, or to several of a batched policy."""
        return self._ask("act", observation)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def close(self) -> None:
        """End the process."""
        self._end()

    def _ask(self, *request: Any) -> Any:
        try:
            self._channel.on_demand.clear()
            self._channel.send(request)
            while Channel.IMAGES in (answer := self._channel.receive()):
                self._channel.send({**self._channel.on_demand[answer[Channel.IMAGES]]})
            found, error, kind, trace = (answer.get(name) for name in Channel.ANSWER)
        except (OSError, EOFError):
            how = self._ended()
            self.close()
            raise ConnectionLost(f"the process of policy {self._name} ended: {how}") from None
        except (ValueError, TypeError, AttributeError, LookupError) as bad:
            self.close()
            raise PolicyError(f"{self._name}: invalid answer: {bad}") from bad
        except BaseException:
            self.close()  # e.g. a timeout
            raise
        if error is None:
            return found
        raise _ERRORS.get(kind, PolicyError)(error) from (RuntimeError(trace) if trace else None)

    def _ended(self) -> str:
        try:
            code = self._process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            return "it closed the connection"
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()


class Channel:
    """Channel of frames on a socket.

    Attributes:
        on_demand: Images on demand that were sent or received; the receiver asks for those it
            reads.

    Raises:
        OSError: The connection broke.
        EOFError: The other side closed it.
    """

    ANSWER = ("value", "error", "kind", "trace")
    IMAGES = "images"

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.on_demand: list[ImagesOnDemand] = []

    def send(self, value: Any) -> None:
        """Send a value.

        Raises:
            TypeError: The value contains anything other than numbers, texts, arrays, tensors,
                prompts and text actions in lists, tuples and mappings.
        """
        arrays: list[np.ndarray] = []
        text = json.dumps(_plain(value, arrays, self.on_demand)).encode()
        layouts = json.dumps([(array.dtype.str, array.shape) for array in arrays]).encode()
        head = b"".join((_LENGTHS.pack(len(layouts), len(text)), layouts, text))
        views = [memoryview(head), *(_bytes_of(array) for array in arrays)]
        while views:
            sent = self._connection.sendmsg(views[:_VIEWS])
            while views and sent >= len(views[0]):
                sent -= len(views.pop(0))
            if views:
                views[0] = views[0][sent:]

    def receive(self) -> Any:
        """Receive a value, whose arrays have their own memory.

        Raises:
            ValueError: The frame is invalid.
        """
        lengths = _LENGTHS.unpack(self._read(_LENGTHS.size))
        if max(lengths) > MAX_BYTES:
            raise ValueError(f"{max(lengths)} bytes")
        layouts, text = map(self._read, lengths)
        arrays = [self._array(dtype, shape) for dtype, shape in json.loads(layouts)]
        return json.loads(text, object_hook=lambda data: self._restored(data, arrays))

    def _restored(self, data: dict[str, Any], arrays: Sequence[np.ndarray]) -> Any:
        if data.get(MARK) != ON_DEMAND:
            return _restored(data, arrays)
        number, cameras = data["of"]
        self.on_demand.append(ImagesOnDemand(cameras, lambda: self._images(number)))
        return self.on_demand[-1]

    def _images(self, number: int) -> Any:
        self.send({self.IMAGES: number})
        return self.receive()

    def _array(self, dtype: str, shape: Sequence[int]) -> np.ndarray:
        kind = np.dtype(dtype)
        if kind.kind not in "biufc" or prod(shape) * kind.itemsize > MAX_BYTES:
            raise ValueError(f"an array of {kind}, {shape}")
        array = np.empty(shape, kind)
        self._fill(_bytes_of(array))
        return array

    def _read(self, length: int) -> bytearray:
        buffer = bytearray(length)
        self._fill(memoryview(buffer))
        return buffer

    def _fill(self, view: memoryview) -> None:
        while len(view):
            count = self._connection.recv_into(view, 0, socket.MSG_WAITALL)
            if not count:
                raise EOFError
            view = view[count:]


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _plain(value: Any, arrays: list[np.ndarray], on_demand: list[ImagesOnDemand]) -> Any:
    """Return a value as JSON data with references to arrays and to images on demand, which are
    appended to lists.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, ImagesOnDemand):
        on_demand.append(value)
        return {MARK: ON_DEMAND, "of": [len(on_demand) - 1, [*value]]}
    plain = partial(_plain, arrays=arrays, on_demand=on_demand)
    if isinstance(value, Mapping):
        if MARK not in value and all(type(key) is str for key in value):
            return {key: plain(entry) for key, entry in value.items()}
        return {MARK: "map", "of": [plain([*item]) for item in value.items()]}
    if isinstance(value, list | tuple):
        entries = [*map(plain, value)]
        return entries if isinstance(value, list) else {MARK: "tuple", "of": entries}
    for name, kind in _CLASSES.items():
        if isinstance(value, kind):
            given = {f.name: plain(getattr(value, f.name)) for f in fields(kind)}
            return {MARK: name, "of": given}
    if hasattr(value, "detach"):  # a torch tensor; numpy has no bfloat16
        value = value.detach().cpu()
        value = (value if str(value.dtype) != "torch.bfloat16" else value.float()).numpy()
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        array = np.asarray(value)
        arrays.append(array if array.flags.c_contiguous else array.copy())
        mark = "scalar" if isinstance(value, np.generic) else "array"
        return {MARK: mark, "of": len(arrays) - 1}
    if isinstance(value, str | int | float):
        return value
    raise TypeError(f"has a {type(value).__name__}, which cannot be sent")


def _restored(data: dict[str, Any], arrays: Sequence[np.ndarray]) -> Any:
    if MARK not in data:
        return data
    kind, of = data[MARK], data["of"]
    match kind:
        case "map":
            return dict(of)
        case "tuple":
            return tuple(of)
        case "array":
            return arrays[of]
        case "scalar":
            return arrays[of][()]
    if kind not in _CLASSES:
        raise ValueError(f"unknown kind {kind!r}")
    return _CLASSES[kind](**of)


def main(number: int) -> None:
    """Make a policy and process the requests on a socket until it is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return_freed_memory()
    channel = Channel(socket.socket(fileno=number))
    made: LoadedPolicy | None = None
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            request = channel.receive()
            answer: dict[str, Any] = {}
            try:
                if made is None:
                    source, suite, interface = request
                    made = PolicySource(**source).make(load_suite(suite), interface)
                    answer["value"] = asdict(made.info)
                elif request[0] == "reset":
                    made.policy.reset(request[1])
                else:
                    answer["value"] = made.policy.act(request[1])
            except (Exception, SystemExit) as error:
                kind = next((n for n, k in _ERRORS.items() if isinstance(error, k)), "")
                known = isinstance(error, ClevrSkillsError) and error.__cause__ is None
                trace = "" if known else "".join(traceback.format_exception(error))
                answer = {"error": one_line(error), "kind": kind, "trace": trace}
            for images in channel.on_demand:
                images.expire()
            channel.on_demand.clear()
            try:
                channel.send(answer)
            except TypeError as error:
                channel.send({"error": f"an answer that {error}"})


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
