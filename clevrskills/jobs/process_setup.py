"""Process setup: signals that end a process, a watchdog, memory that stays small, and the name of a
worker.
"""

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
    """Make the allocator give freed memory back to the system; to be called before the big imports.

    Scenes and frames come and go with every episode. By default glibc adapts to them and keeps what
    was freed: about 60 MB more, growing for tens of episodes. Other C libraries are left alone.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    mallopt = _from_glibc("mallopt")
    if mallopt is None:
        return
    mallopt(_M_ARENA_MAX, 1)
    mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
    mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)


def trim_heap() -> None:
    """Make the allocator give back what is free between what is in use; to be called between
    episodes.

    It takes 2 ms; without, the holes grow to 25 MB over thirty episodes.
    """
    trim = _from_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def block_pandas_import() -> None:
    """Keep pyarrow from importing pandas, which takes 30 MB, just to see whether what it is given
    is a data frame; from then on this process cannot convert tables to data frames.
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
    """Treat SIGTERM and SIGHUP like Ctrl-C: what is half-written is removed.

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
    """Watchdog that ends the process when a call does not come back, not even to Python.

    Args:
        path: File with what was done last and, after the end of the process, the traceback of its
            threads, see :func:`watched`.
        limit_s: Seconds from a call of :meth:`note` to the next one, at most.
    """

    def __init__(self, path: Path, limit_s: float) -> None:
        self._path, self._limit_s, self._armed_s = path, limit_s, -_REARM_S
        self._file = path.open("wb", buffering=0)

    def note(self, doing: str) -> None:
        """Note what is done from now on.

        Raises:
            StorageError: The disk refused.
        """
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
    """Return what a process did when its watchdog ended it, and the traceback; empty: it did not.

    Args:
        path: File of the watchdog; it is removed.
    """
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    path.unlink(missing_ok=True)
    found = text[:_NOTE_BYTES].strip(), text[_NOTE_BYTES:]
    return found if found[1] else ("", "")


def now() -> str:
    """Return the time, ISO 8601, UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def worker_name() -> str:
    """Host and process."""
    return f"{platform.node()}:{os.getpid()}"


def _from_glibc(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
