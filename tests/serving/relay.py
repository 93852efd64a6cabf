"""A wire that can be cut: passes bytes on between clients and a server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class Relay:
    """Listens at an address of its own for a server.

    Args:
        url: Address of the server, which may change.
    """

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.url = f"{self._server.scheme}://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections, as when the server is killed; new ones can be made."""
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closing alone would wait for one more connection
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection((self._server.hostname, self._server.port))
            self._open += [client, server]
            for ends in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=ends, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def relayed(url: str) -> Iterator[Relay]:
    """A relay to a server."""
    relay = Relay(url)
    try:
        yield relay
    finally:
        relay.close()
