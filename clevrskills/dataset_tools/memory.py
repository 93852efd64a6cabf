"""Keeping the memory of long-running processes small and flat."""

from __future__ import annotations

import ctypes
import os
import sys

# parameters of glibc's mallopt, from <malloc.h>
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_MMAP_BYTES, _TRIM_BYTES = 1 << 19, 1 << 18


def return_freed_memory() -> None:
    """Make the allocator give freed memory back to the system; to be called before the big imports.

    Scenes and frames come and go with every episode. By default glibc adapts to them and keeps what
    was freed: about 60 MB more, growing for tens of episodes. Other C libraries are left alone.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(_M_ARENA_MAX, 1)
    mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
    mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
