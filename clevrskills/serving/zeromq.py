"""ZeroMQ connection to a policy server, with one reply per request."""

import socket
from urllib.parse import urlsplit

import zmq

from clevrskills.errors import ClevrSkillsError
from clevrskills.serving.connection import REFUSED, Wire, address

DEFAULT_PORT = 5555


class ZeroMQWire(Wire):
    """ZeroMQ connection to a policy server.

    Args:
        url: ``<dialect>://host:port``; the default port is 5555.
        timeout_s: Timeout in seconds of each operation.
    """

    errors = (OSError, zmq.ZMQError)

    def __init__(self, url: str, timeout_s: float) -> None:
        super().__init__(url, timeout_s)
        self._address = f"tcp://{address(url, DEFAULT_PORT)}"
        if urlsplit(url).path:
            raise ClevrSkillsError(
                f"{url}: not an address; allowed: {urlsplit(url).scheme}://host:port"
            )

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def open(self) -> None:
        self.close()
        self._reach()
        opened: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.REQ)
        opened.setsockopt(zmq.LINGER, 0)  # unsent messages are dropped
        opened.setsockopt(zmq.IPV6, 1)
        for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
            opened.setsockopt(option, int(1000 * self._timeout_s))
        opened.connect(self._address)
        self._connection = opened

    def receive(self) -> bytes:
        with self._errors():
            message: bytes = self._connected().recv()
        return message

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _reach(self) -> None:
        """Check that a server is listening; ZeroMQ itself would wait for one."""
        parts = urlsplit(self._address)
        assert parts.hostname is not None
        with self._errors(opening=True):
            socket.create_connection((parts.hostname, parts.port), self._timeout_s).close()

    def _in_words(self, error: BaseException) -> str:
        if isinstance(error, zmq.Again | TimeoutError):
            return self.no_answer
        if isinstance(error, ConnectionRefusedError):
            return REFUSED
        return getattr(error, "strerror", None) or str(error)
