"""Ending on request."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Being asked to end (SIGTERM) is like Ctrl-C: what is half-written is removed."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    handler: Callable[..., Any] | int | None
    try:
        handler = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
