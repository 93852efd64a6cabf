"""Client connections to policy servers, with one-line errors that name the server."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State
from websockets.sync.client import connect

from clevrskills.core.policy import ConnectionLost, PolicyError
from clevrskills.errors import ClevrSkillsError
from clevrskills.serving.api_key import authorization, quiet_log
from clevrskills.serving.proxy import proxy_of, through

MAX_MESSAGE_BYTES = 256 * 2**20
DEFAULT_PORT = 8000
REFUSED = "connection refused; is the server running?"
CLOSED = "the connection was closed after an error; reset reopens it"
NEEDS_KEY = "it requires an API key: give its variable with --policy-arg api_key_env=NAME"
_CLOSE_S = 1.0  # timeout of the closing handshake


class Wire(ABC):
    """Connection to a policy server; all methods but :meth:`close` raise errors of :meth:`failure`.

    Args:
        url: ``<dialect>://host:port``.
        timeout_s: Timeout in seconds of each operation.

    Attributes:
        errors: Types of connection errors.

    Raises:
        ClevrSkillsError: The address or the timeout is invalid.
    """

    errors: ClassVar[tuple[type[Exception], ...]]

    _proxy: str | None = None

    def __init__(self, url: str, timeout_s: float) -> None:
        if not timeout_s > 0:
            raise ClevrSkillsError(f"timeout_s must be above 0, not {timeout_s}")
        self.url, self._timeout_s = url, timeout_s
        self._connection: Any = None

    @property
    def no_answer(self) -> str:
        """Message of a timeout."""
        return f"no answer within {self._timeout_s:g} s"

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """``True`` if the connection is open, as far as known."""

    @abstractmethod
    def open(self) -> None:
        """Open a new connection."""

    def send(self, message: bytes) -> None:
        """Send a message."""
        with self._errors():
            self._connected().send(message)

    @abstractmethod
    def receive(self) -> bytes | str:
        """Wait for the next message."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @abstractmethod
    def _in_words(self, error: BaseException) -> str:
        """Return a message for a connection error."""

    def failure(self, what: str, kind: type[PolicyError] = PolicyError) -> PolicyError:
        """Return an error of this server and close the connection."""
        self.close()
        return kind(f"{self.url}: {what}")

    def _connected(self) -> Any:
        if self._connection is None:
            raise self.failure(CLOSED, ConnectionLost)
        return self._connection

    @contextlib.contextmanager
    def _errors(self, opening: bool = False) -> Iterator[None]:
        """Convert connection errors: a timeout is a failure of the policy, all others are a lost
        connection.
        """
        try:
            yield
        except self.errors as error:
            words = self._in_words(error)
            silent = words == self.no_answer and not opening
            words += through(self._proxy) if opening else ""
            raise self.failure(words, PolicyError if silent else ConnectionLost) from error


class WebSocketWire(Wire):
    """WebSocket connection to a policy server.

    Args:
        url: ``<dialect>://host:port``; the default port is 8000.
        timeout_s: Timeout in seconds of each operation.
        key: API key; ``None`` for none.
    """

    errors = (OSError, EOFError, WebSocketException)

    def __init__(self, url: str, timeout_s: float, key: str | None = None) -> None:
        super().__init__(url, timeout_s)
        self._address = f"ws://{address(url, DEFAULT_PORT)}"
        self._key = key
        self._proxy = proxy_of(f"http://{address(url, DEFAULT_PORT)}")
        self._leave = contextlib.ExitStack()

    @property
    def is_open(self) -> bool:
        return self._connection is not None and self._connection.state is State.OPEN

    def open(self) -> None:
        self.close()
        with self._errors(opening=True):
            self._connection = self._leave.enter_context(
                connect(
                    self._address,
                    compression=None,
                    proxy=self._proxy,
                    additional_headers=authorization(self._key),
                    logger=quiet_log(),
                    open_timeout=self._timeout_s,
                    close_timeout=_CLOSE_S,
                    ping_interval=None,  # a busy server may not answer pings
                    max_size=MAX_MESSAGE_BYTES,
                )
            )
        with contextlib.suppress(OSError):  # it may be closed already, with a message left to read
            # the timeout also applies to sending
            self._connection.socket.settimeout(self._timeout_s)

    def receive(self) -> bytes | str:
        with self._errors():
            message: bytes | str = self._connected().recv(self._timeout_s)
        return message

    def close(self) -> None:
        self._connection = None
        with contextlib.suppress(OSError, WebSocketException):
            self._leave.close()

    def _in_words(self, error: BaseException) -> str:
        if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):
            return self.no_answer
        if isinstance(error, ConnectionRefusedError):
            return REFUSED
        if isinstance(error, InvalidStatus):
            status = error.response.status_code
            if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                return "it refuses this API key" if self._key else NEEDS_KEY
            return f"it answered HTTP {status}, so it is not a policy server"
        if isinstance(error, ConnectionClosed):
            if error.rcvd is None:
                return "the connection broke"
            reason = f", {error.rcvd.reason}" if error.rcvd.reason else ""
            return f"the server closed the connection (code {error.rcvd.code}{reason})"
        if isinstance(error, WebSocketException):
            return f"not a policy server: {error}"
        return getattr(error, "strerror", None) or str(error) or type(error).__name__


def address(url: str, default_port: int) -> str:
    """Return host, port and path of a policy server's address.

    Raises:
        ClevrSkillsError: The address is invalid.
    """
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ClevrSkillsError(f"{url}: {error}; allowed: {parts.scheme}://host:port") from error
    if not host or parts.query or parts.fragment or parts.username:
        raise ClevrSkillsError(f"{url}: not an address; allowed: {parts.scheme}://host:port")
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{default_port if port is None else port}{parts.path}"
