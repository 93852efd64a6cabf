"""The client's end of a ZeroMQ socket, on which each request gets one reply."""

import socket
from urllib.parse import urlsplit

import zmq

from clevrskills.core.policy import PolicyError
from clevrskills.errors import ClevrSkillsError
from clevrskills.serving.connection import CLOSED, REFUSED, Wire, address

DEFAULT_PORT = 5555


class ZeroMQWire(Wire):
    """A ZeroMQ socket of requests to a policy server.

    Args:
        url: ``<dialect>://host:port``; the port may be left out (5555).
        timeout_s: How long to wait for anything.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        super().__init__(url, timeout_s)
        self._address = f"tcp://{address(url, DEFAULT_PORT)}"
        if urlsplit(url).path:
            raise ClevrSkillsError(
                f"{url}: not an address; allowed: {urlsplit(url).scheme}://host:port"
            )
        self._socket: zmq.Socket[bytes] | None = None

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def open(self) -> None:
        self.close()
        self._reach()
        opened: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.REQ)
        opened.setsockopt(zmq.LINGER, 0)  # what was not sent is given up
        opened.setsockopt(zmq.IPV6, 1)
        for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
            opened.setsockopt(option, int(1000 * self._timeout_s))
        opened.connect(self._address)
        self._socket = opened

    def send(self, message: bytes) -> None:
        try:
            self._opened().send(message)
        except zmq.ZMQError as error:
            raise self._failed(error) from error

    def receive(self) -> bytes:
        try:
            return self._opened().recv()
        except zmq.ZMQError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _reach(self) -> None:
        """Find out whether somebody listens: ZeroMQ itself would wait until somebody does."""
        parts = urlsplit(self._address)
        assert parts.hostname is not None
        try:
            with socket.create_connection((parts.hostname, parts.port), self._timeout_s):
                pass
        except OSError as error:
            raise self._failed(error) from error

    def _opened(self) -> "zmq.Socket[bytes]":
        if self._socket is None:
            raise self.failure(CLOSED)
        return self._socket

    def _failed(self, error: Exception) -> PolicyError:
        if isinstance(error, zmq.Again | TimeoutError):
            return self.failure(self.no_answer)
        if isinstance(error, ConnectionRefusedError):
            return self.failure(REFUSED)
        return self.failure(getattr(error, "strerror", None) or str(error))
