"""Mock server: scripted models behind the HTTP interface of OpenAI, and servers that misbehave.

``clevrskills chat-stub`` is for tests of clients, of prompts and of runs.
"""

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
    """Serve a scripted model as OpenAI-compatible endpoints do; Ctrl-C ends it."""

    behaviour: str
    """What is replied: `garbage`, nothing that can be done; `fixed:TEXT`; `script:FILE`, one line
    of the file after the other; `module:function`, what a function makes of the messages."""
    port: int = 8000
    """Port to listen at, on this machine alone; 0: one that is free."""
    port_file: Path | None = None
    """File into which the port is written once it listens."""
    delay: float = 0.0
    """Seconds until it answers."""
    fail_first: int = 0
    """How many requests are refused before the first answer."""
    status: int = 503
    """HTTP status of what is refused."""


def chat_stub(args: ChatStubArgs) -> int:
    """Serve until Ctrl-C or SIGTERM; returns the exit code, 0.

    Raises:
        ClevrSkillsError: There is no such behaviour, or the port is taken.
    """
    check_least(args, port=0, delay=0, fail_first=0, status=400)
    sys.path.insert(0, os.getcwd())
    answer = behaviour(args.behaviour)
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which scripts ignore behind `&`
    with stop_signals(), contextlib.suppress(KeyboardInterrupt):
        with serving(answer, args.port, args.delay, args.fail_first, args.status) as url:
            if args.port_file is not None:
                write_whole(args.port_file, f"{url.split(':')[-1].split('/')[0]}\n")
            print(f"{args.behaviour} replies at {url}; Ctrl-C ends it", flush=True)
            threading.Event().wait()
    print("stopped", flush=True)
    return 0


Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""What a server answers to a request. Entries of an answer:

==================  ==============================================================================
reply               what the model replies
finish_reason       why it stops there; ``stop`` unless it is said
body                all of the answer, in place of the above
size                how many bytes the body has at least: it is filled up with blanks
missing             how many of its bytes are announced but not sent
status, headers     of HTTP
delay_s             seconds until it comes
==================  ==============================================================================
"""


def behaviour(name: str) -> Answer:
    """Return the answering behavior by its name, as in ``--behaviour``.

    Raises:
        ClevrSkillsError: There is no such behaviour, or no such file or function.
    """
    from clevrskills.agents.messages import from_openai
    from clevrskills.agents.scripted_models import FUNCTIONS, read_script, reply_function

    kind, _, rest = name.partition(":")
    if kind == "script" and rest:
        entries = read_script(Path(rest))
        for entry in entries:
            if not isinstance(entry, str):
                check_arguments(entry, _ANSWER)
        lock, place = threading.Lock(), iter(range(2**62))

        def play(_: Mapping[str, Any]) -> Mapping[str, Any]:
            with lock:
                entry = entries[next(place) % len(entries)]
            return {"reply": entry} if isinstance(entry, str) else entry

        return play
    reply = reply_function(name)
    if reply is None:
        raise UnknownNameError("behaviour", name, ("script:FILE", *FUNCTIONS))
    return lambda request: {"reply": reply(from_openai(request["messages"]))}


@contextlib.contextmanager
def serving(
    answer: Answer, port: int = 0, delay_s: float = 0.0, fail_first: int = 0, status: int = 503
) -> Iterator[str]:
    """Serve on this machine, in threads; yields its address as clients want it.

    Args:
        answer: What it answers.
        port: Where it listens; 0: at a port that is free.
        delay_s: How long it thinks.
        fail_first: How many requests are refused at first.
        status: What with.

    Raises:
        ClevrSkillsError: The port is taken.
    """
    refusals, lock = iter(range(fail_first)), threading.Lock()

    def served(request: Mapping[str, Any]) -> Mapping[str, Any]:
        with lock:
            refused = next(refusals, None) is not None
        time.sleep(delay_s)
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
                answer: Mapping[str, Any] = _refusal(404, f"there is only {COMPLETIONS}")
            else:
                answer = type(self).answer(request)
        except (ValueError, KeyError, TypeError) as error:
            answer = _refusal(400, f"no request: {type(error).__name__}: {error}")
        except ClevrSkillsError as error:
            answer = _refusal(400, str(error))
        with contextlib.suppress(ConnectionError):  # who asked is gone
            self._send(answer)

    def _send(self, answer: Mapping[str, Any]) -> None:
        time.sleep(answer.get("delay_s", 0))
        body = answer.get("body", _completion(answer))
        data = (
            (body if isinstance(body, str) else json.dumps(body))
            .encode()
            .ljust(answer.get("size", 0))
        )
        self.send_response(answer.get("status", 200))
        headers = {"Content-Type": "application/json", **answer.get("headers", {})}
        for name, value in {**headers, "Content-Length": len(data)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data[: len(data) - answer.get("missing", 0)])

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing of requests."""


def _completion(answer: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.get("reply", "")}
    choice = {"index": 0, "message": message, "finish_reason": answer.get("finish_reason", "stop")}
    return {"object": "chat.completion", "model": "stub", "choices": [choice]}


def _refusal(status: int, text: str) -> dict[str, Any]:
    return {"status": status, "body": json.dumps({"error": {"message": text, "code": status}})}
