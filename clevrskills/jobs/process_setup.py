"""Process setup: signals, watchdog, memory limits of the allocator, name of the worker."""

import contextlib
import ctypes
import datetime
import faulthandler
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any
from unittest import mock

from clevrskills.jobs.files import storage_errors

# parameters of glibc's mallopt, from <malloc.h>
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
# 256x256 RGBA images stay below; at 128 KiB a recorded step took 2 CPU-ms more
_MMAP_BYTES = 5 << 16
# at 256 KiB a recorded step took 0.4 CPU-ms more
_TRIM_BYTES = 4 << 20


def return_freed_memory() -> None:
    """Make glibc return freed memory to the system; call it before importing large packages.

    By default glibc adapts to the scenes and frames of episodes and keeps about 60 MB of freed
    memory, growing for tens of episodes.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    mallopt = _from_glibc("mallopt")
    if mallopt is None:
        return
    mallopt(_M_ARENA_MAX, 1)
    mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
    mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)


def trim_heap() -> None:
    """Return fragmented free memory to the system; call it between episodes.

    It takes 2 ms; without it fragmentation grows to 25 MB over thirty episodes.
    """
    trim = _from_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def block_pandas_import() -> None:
    """Prevent pyarrow from importing pandas (30 MB) for its type checks; this process then cannot
    convert tables to data frames.
    """
    import pyarrow as pa

    class NoPandas(MetaPathFinder):
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "pandas":
                raise ModuleNotFoundError(name)

    with mock.patch.object(sys, "meta_path", [NoPandas(), *sys.meta_path]):
        pa.array([0])


@contextlib.contextmanager
def stop_signals() -> Iterator[Callable[[], None]]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that partial files are removed.

    Yields a function that raises ``KeyboardInterrupt`` after such a signal. Loops that destroy
    scenes must call it, since Python ignores exceptions raised in finalizers.
    """
    asked = False

    def interrupt(*_: Any) -> None:
        nonlocal asked
        asked = True
        raise KeyboardInterrupt

    def check() -> None:
        if asked:
            raise KeyboardInterrupt

    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    kept = (signal.SIG_IGN, None)  # ignored, or handled by other code than Python's
    numbers = [number for number in signals if signal.getsignal(number) not in kept]
    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread
        for number in numbers:
            before[number] = signal.signal(number, interrupt)
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Watchdog:
    """Watchdog that ends the process when a call hangs, even in native code.

    Args:
        path: File for the last activity and, after a timeout, the traceback; see :func:`watched`.
        limit_s: Longest time between two calls of :meth:`note`.
    """

    def __init__(self, path: Path, limit_s: float) -> None:
        self._path, self._limit_s, self._armed_s = path, limit_s, -_REARM_S
        self._file = path.open("wb", buffering=0)

    def note(self, doing: str) -> None:
        """Record the current activity and restart the timer."""
        with storage_errors(self._path):
            os.pwrite(self._file.fileno(), doing.ljust(_NOTE_BYTES).encode(), 0)
        if time.monotonic() - self._armed_s > _REARM_S:  # it takes 0.1 ms
            self._file.seek(_NOTE_BYTES)
            faulthandler.dump_traceback_later(self._limit_s, exit=True, file=self._file)
            self._armed_s = time.monotonic()

    def close(self) -> None:
        """Stop watching."""
        faulthandler.cancel_dump_traceback_later()
        self._file.close()
        self._path.unlink(missing_ok=True)


_NOTE_BYTES, _REARM_S = 16, 1.0


def watched(path: Path) -> tuple[str, str]:
    """Return the activity and traceback of a process ended by its watchdog, else empty texts; the
    watchdog's file is removed.
    """
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    path.unlink(missing_ok=True)
    found = text[:_NOTE_BYTES].strip(), text[_NOTE_BYTES:]
    return found if found[1] else ("", "")


def now() -> str:
    """Return the current UTC time in ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def worker_name() -> str:
    """Return host name and process id."""
    return f"{platform.node()}:{os.getpid()}"


def _from_glibc(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
