"""Drives a headless Chromium through its DevTools protocol, over two pipes."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


class Browser:
    """One tab; used as a context manager.

    Attributes:
        errors: What went to the console as a warning or an error, and exceptions nobody caught.
        requests: Addresses that were asked for.

    Args:
        profile: A folder for the browser's own files.
    """

    def __init__(self, profile: Path) -> None:
        command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={profile}"]
        command += ["--remote-debugging-pipe", "about:blank"]
        # It reads commands from descriptor 3 and answers on 4; the shell puts our pipes there.
        (their_input, to_browser), (from_browser, their_output) = os.pipe(), os.pipe()
        redirect = f'exec "$@" 3<&{their_input} 4>&{their_output}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, "bash", *command],
            pass_fds=(their_input, their_output),
            stderr=subprocess.DEVNULL,
        )
        os.close(their_input)
        os.close(their_output)
        self._commands = os.fdopen(to_browser, "wb")
        self._answers = os.fdopen(from_browser, "rb")
        self._numbers = itertools.count(1)
        self._session: dict[str, str] = {}
        self._loads = 0
        self.errors: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Self:
        targets = self.ask("Target.getTargets")["targetInfos"]
        (target,) = [t["targetId"] for t in targets if t["type"] == "page"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._commands.close()
        self._answers.close()

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        number = next(self._numbers)
        text = json.dumps({"id": number, "method": method, "params": params, **self._session})
        self._commands.write(text.encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a file and wait until it is loaded."""
        for address in ("about:blank", page.absolute().as_uri() + fragment):
            before = self._loads
            self.ask("Page.navigate", url=address)
            self._wait_for_load(before)

    def visit(self, url: str) -> None:
        """Open a page that is served."""
        before = self._loads
        self.ask("Page.navigate", url=url)
        self._wait_for_load(before)

    def follow(self, selector: str) -> None:
        """Click a link and wait until its page is loaded."""
        before = self._loads
        self.run(f"document.querySelector({json.dumps(selector)}).click();")
        self._wait_for_load(before)

    def _wait_for_load(self, before: int) -> None:
        while self._loads == before:
            self._receive()

    def run(self, script: str) -> Any:
        """Run the body of an async function; what it returns, as JSON data."""
        result = self.ask(
            "Runtime.evaluate",
            expression=f"(async () => {{ {script} }})()",
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str, text: str = "", modifiers: int = 0) -> None:
        """Press and release a key; ``modifiers``: 8 for shift."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            given = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code, **typed}
            self.ask("Input.dispatchKeyEvent", type=kind, **given)

    def click(self, x: float, y: float) -> None:
        """Click a point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    @contextlib.contextmanager
    def watched(self, width: int, height: int) -> Iterator[Browser]:
        """In the end it must have asked for files only, and have nothing to complain."""
        self.errors.clear()
        self.requests.clear()
        self.look(width, height)
        yield self
        assert self.errors == []
        assert self.requests
        assert {a.partition(":")[0] for a in self.requests} <= {"file", "data", "blob", "about"}

    def look(self, width: int, height: int, scheme: str = "light") -> None:
        """Set the size of the window and the preferred colors, ``light`` or ``dark``."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """Save the visible part, or the whole page, as a PNG."""
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _receive(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "Chromium has ended"
            message += byte
        answer: dict[str, Any] = json.loads(message)
        self._note(answer)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(str(params["entry"]))
        elif method == "Page.loadEventFired":
            self._loads += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
