"""Ending on request."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def stop_signals() -> Iterator[Callable[[], None]]:
    """Being asked to end (SIGTERM) is like Ctrl-C: what is half-written is removed.

    Gives a function that raises ``KeyboardInterrupt`` once that was asked for. Loops that build and
    give up scenes call it now and then: what is raised while one is finalized, Python ignores.
    """
    asked = False

    def interrupt(*_: Any) -> None:
        nonlocal asked
        asked = True
        raise KeyboardInterrupt

    def check() -> None:
        if asked:
            raise KeyboardInterrupt

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        numbers.append(signal.SIGINT)
    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread
        for number in numbers:
            before[number] = signal.signal(number, interrupt)
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
