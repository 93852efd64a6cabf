"""Servers in threads: ours, and such as misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from websockets.sync.server import ServerConnection, serve

from clevrskills.core.policy import Observation, PromptInput
from clevrskills.core.policy_loader import PolicySource
from clevrskills.serving import connect
from clevrskills.serving.client import RemotePolicy
from clevrskills.serving.server import serving
from tests.serving import policies


@contextlib.contextmanager
def served(
    name: str, dialect: str, wait_s: float = 0.005, unchecked: bool = False, **arguments: Any
) -> Iterator[str]:
    """One of the test policies behind a server of ours; its address."""
    source = PolicySource(f"{policies.HERE}:{name}", arguments)
    with serving_source(source, dialect, wait_s=wait_s, unchecked=unchecked) as url:
        yield url


@contextlib.contextmanager
def serving_source(source: PolicySource, dialect: str, **options: Any) -> Iterator[str]:
    """Any policy behind a server of ours; its address."""
    ready: Future[tuple[str, Callable[[], None]]] = Future()

    async def run(policy_thread: ThreadPoolExecutor) -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        async with serving(source, dialect, policy_thread, **options) as url:
            ready.set_result((url, lambda: loop.call_soon_threadsafe(stop.set)))
            await stop.wait()

    def main() -> None:
        with ThreadPoolExecutor(1) as policy_thread:
            try:
                asyncio.run(run(policy_thread))
            except Exception as error:
                ready.set_exception(error)

    thread = threading.Thread(target=main)
    thread.start()
    try:
        url, stop = ready.result()
        try:
            yield url
        finally:
            stop()
    finally:
        thread.join()


@contextlib.contextmanager
def scripted(dialect: str, *scripts: Callable[[ServerConnection], None]) -> Iterator[str]:
    """A server that follows one script for each connection, the last for all that come later."""
    number = 0

    def handle(connection: ServerConnection) -> None:
        nonlocal number
        script = scripts[min(number, len(scripts) - 1)]
        number += 1
        script(connection)

    options: dict[str, Any] = {"compression": None, "max_size": None, "ping_interval": None}
    with serve(handle, "127.0.0.1", 0, **options) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"{dialect}://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


def prompt(seed: int = 5) -> PromptInput:
    rng = np.random.default_rng(seed)
    names = ("{obj:object_0}", "{ks:1}")
    images = {name: rng.integers(0, 256, (256, 256, 3), dtype=np.uint8) for name in names}
    return PromptInput("Put {obj:object_0} where {ks:1} shows it", images, seed)


def started(url: str, **arguments: Any) -> RemotePolicy:
    """Return a connected policy whose episode has begun."""
    policy = connect(url, **arguments)
    policy.reset(prompt())
    return policy


def observation(step: int = 0, history: int = 1, size_px: int = 32) -> Observation:
    """With images as smooth as real ones."""
    rng = np.random.default_rng(step)
    leading = (history,) if history > 1 else ()
    shape = (*leading, size_px, size_px, 3)
    ramp = np.linspace(0, 200, size_px)[:, None, None]
    state = {"qpos": 6, "qvel": 6, "ee_pose": 7, "ee_velocity": 6, "vacuum_on": 1, "holding": 1}
    return {
        "images": {
            name: (np.broadcast_to(ramp, shape) + rng.integers(50)).astype(np.uint8)
            for name in ("base_camera", "hand_camera")
        },
        "proprioception": {
            name: rng.normal(size=(*leading, size)).astype(np.float32)
            for name, size in state.items()
        },
        "prompt": prompt().text,
        "step": step,
    }
