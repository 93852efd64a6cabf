"""Web page of ``clevrskills play``, served to browsers of this machine only."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clevrskills.errors import ClevrSkillsError

HOST = "127.0.0.1"
_LONGEST = 100_000  # bytes of a request


class PlayPage:
    """Server of a page that handles requests in the thread of :meth:`run`, as the simulator needs.

    Args:
        page: HTML of the page.
        actions: Handlers by path, from JSON data to JSON data.
        port: Port; 0: any free port.

    Attributes:
        url: Address of the page.

    Raises:
        ClevrSkillsError: The port is taken.
    """

    QUIT = "/quit"

    def __init__(
        self, page: str, actions: Mapping[str, Callable[[Any], Any]], port: int = 0
    ) -> None:
        self._page, self._actions = page, actions
        self._asked: queue.Queue[tuple[str, Any, queue.Queue[tuple[int, Any]]]] = queue.Queue()
        try:
            self._server = ThreadingHTTPServer((HOST, port), self._handler())
        except OSError as error:
            raise ClevrSkillsError(f"port {port} can't be used: {error.strerror}") from None
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_port}"

    def run(self) -> None:
        """Serve until the page ends the episode, or Ctrl-C."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        path = ""
        try:
            while path != self.QUIT:
                path, data, answer = self._asked.get()
                answer.put(self._answer(path, data))
        except KeyboardInterrupt:
            pass
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def _answer(self, path: str, data: Any) -> tuple[int, Any]:
        """Return the status and the JSON data."""
        if path not in self._actions:
            return 404, {"error": f"no {path}"}
        try:
            return 200, self._actions[path](data)
        except ClevrSkillsError as error:
            return 400, {"error": str(error)}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if not self._ours():
                    return
                if self.path == "/":
                    self._send(200, "text/html; charset=utf-8", owner._page.encode())
                else:
                    self._send(404, "text/plain", b"no such page")

            def do_POST(self) -> None:
                if not self._ours():
                    return
                length = int(self.headers.get("Content-Length") or 0)
                if length > _LONGEST or self.headers.get_content_type() != "application/json":
                    self._send(400, "text/plain", b"allowed: JSON data of at most 100 kB")
                    return
                try:
                    data = json.loads(self.rfile.read(length) or b"null")
                except ValueError:
                    self._send(400, "text/plain", b"invalid JSON")
                    return
                answer: queue.Queue[tuple[int, Any]] = queue.Queue()
                owner._asked.put((self.path, data, answer))
                status, content = answer.get()
                self._send(status, "application/json", json.dumps(content).encode())

            def _ours(self) -> bool:
                """Return whether the request comes from the page itself, not from another site."""
                here = owner.url.removeprefix("http://")
                allowed = (here, here.replace(HOST, "localhost"))
                origin = self.headers.get("Origin", owner.url).removeprefix("http://")
                if self.headers.get("Host") in allowed and origin in allowed:
                    return True
                self._send(403, "text/plain", b"only this page may send requests")
                return False

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                with contextlib.suppress(ConnectionError):  # the page was closed meanwhile
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing, since the terminal shows the turns."""

        return Handler
