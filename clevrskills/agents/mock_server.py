"""Mock server: scripted models and server faults behind an OpenAI-compatible HTTP API."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from clevrskills.errors import ClevrSkillsError, UnknownNameError, check_arguments
from clevrskills.jobs.arguments import check_least
from clevrskills.jobs.files import write_whole
from clevrskills.jobs.process_setup import stop_signals

COMPLETIONS = "/chat/completions"
_ANSWER = ("reply", "status", "headers", "body", "finish_reason", "size", "missing", "delay_s")


@dataclass(kw_only=True)
class ChatStubArgs:
    """Serve a scripted model as an OpenAI-compatible endpoint, until Ctrl-C."""

    behavior: str
    """Source of the replies: `garbage` (no valid command), `fixed:TEXT`, `script:FILE` (line by
    line) or `module:function` (a function of the messages)."""
    port: int = 8000
    """Port on this machine; 0: any free port."""
    port_file: Path | None = None
    """File to write the port to once the server listens."""
    fail_first: int = 0
    """Number of requests to refuse before the first reply."""
    status: int = 503
    """HTTP status of refused requests."""


def chat_stub(args: ChatStubArgs) -> int:
    """Serve until Ctrl-C or SIGTERM; return the exit code, 0.

    Raises:
        ClevrSkillsError: The behavior is unknown, or the port is in use.
    """
    check_least(args, port=0, fail_first=0, status=400)
    sys.path.insert(0, os.getcwd())
    answer = behavior(args.behavior)
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in shell background jobs
    with stop_signals(), contextlib.suppress(KeyboardInterrupt):
        with serving(answer, args.port, args.fail_first, args.status) as url:
            if args.port_file is not None:
                write_whole(args.port_file, f"{url.split(':')[-1].split('/')[0]}\n")
            print(f"Serving {args.behavior} at {url}; press Ctrl-C to stop", flush=True)
            threading.Event().wait()
    print("Stopped", flush=True)
    return 0


Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Function from a request to the response of the server, with the entries:

==================  ==============================================================================
reply               reply of the model
finish_reason       reason why the reply ends, ``stop`` by default
body                the whole body, in place of the above
size                minimum number of bytes of the body, which is padded with blanks
missing             number of bytes that are announced but not sent
status, headers     HTTP status and headers
delay_s             delay of the response, in seconds
==================  ==============================================================================
"""


def behavior(name: str) -> Answer:
    """Return the behavior of a name, as in ``--behavior``.

    Raises:
        ClevrSkillsError: The behavior, file or function does not exist.
    """
    from clevrskills.agents.messages import from_openai
    from clevrskills.agents.scripted_models import FUNCTIONS, read_script, reply_function

    kind, _, rest = name.partition(":")
    if kind == "script" and rest:
        entries = read_script(Path(rest))
        for entry in entries:
            if not isinstance(entry, str):
                check_arguments(entry, _ANSWER)
        lock, following = threading.Lock(), cycle(entries)

        def play(_: Mapping[str, Any]) -> Mapping[str, Any]:
            with lock:
                entry = next(following)
            return {"reply": entry} if isinstance(entry, str) else entry

        return play
    reply = reply_function(name)
    if reply is None:
        raise UnknownNameError("behavior", name, ("script:FILE", *FUNCTIONS))
    return lambda request: {"reply": reply(from_openai(request["messages"]))}


@contextlib.contextmanager
def serving(answer: Answer, port: int = 0, fail_first: int = 0, status: int = 503) -> Iterator[str]:
    """Serve on this machine, in threads; yield the base URL for clients.

    Args:
        answer: Function that answers requests.
        port: Port; 0: any free port.
        fail_first: Number of requests to refuse before the first reply.
        status: HTTP status of refused requests.

    Raises:
        ClevrSkillsError: The port is in use.
    """
    refusals, lock = iter(range(fail_first)), threading.Lock()

    def served(request: Mapping[str, Any]) -> Mapping[str, Any]:
        with lock:
            refused = next(refusals, None) is not None
        return _refusal(status, "not yet") if refused else answer(request)

    handler = type("Handler", (_Handler,), {"answer": staticmethod(served)})
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise ClevrSkillsError(f"port {port}: {error}") from None
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Request handler of the mock server."""

    answer: Answer

    def do_POST(self) -> None:
        """Answer a request."""
        try:
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if not self.path.partition("?")[0].endswith(COMPLETIONS):
                answer: Mapping[str, Any] = _refusal(404, f"the only endpoint is {COMPLETIONS}")
            else:
                answer = type(self).answer(request)
        except (ValueError, KeyError, TypeError) as error:
            answer = _refusal(400, f"invalid request: {type(error).__name__}: {error}")
        except ClevrSkillsError as error:
            answer = _refusal(400, str(error))
        with contextlib.suppress(ConnectionError):  # the client has disconnected
            self._send(answer)

    def _send(self, answer: Mapping[str, Any]) -> None:
        time.sleep(answer.get("delay_s", 0))
        body = answer.get("body", _completion(answer))
        text = body if isinstance(body, str) else json.dumps(body)
        data = text.encode().ljust(answer.get("size", 0))
        self.send_response(answer.get("status", 200))
        headers = {"Content-Type": "application/json", **answer.get("headers", {})}
        for name, value in {**headers, "Content-Length": len(data)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data[: len(data) - answer.get("missing", 0)])

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""


def _completion(answer: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.get("reply", "")}
    choice = {"index": 0, "message": message, "finish_reason": answer.get("finish_reason", "stop")}
    return {"object": "chat.completion", "model": "stub", "choices": [choice]}


def _refusal(status: int, text: str) -> dict[str, Any]:
    return {"status": status, "body": json.dumps({"error": {"message": text, "code": status}})}
