"""One worker in this process instead of one of its own, which takes three seconds to start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: F401 (before a worker keeps pyarrow from importing it)
import pytest

from clevrskills.jobs import work
from clevrskills.jobs.pool import InlinePool, Pool


@contextlib.contextmanager
def one_worker_here() -> Iterator[None]:
    """Pools of several workers stay as they are."""
    open_pool = work.open_pool

    def open_or_here(
        driver: str, make: Any, root: Any, workers: int, *more: Any, **options: Any
    ) -> Pool:
        if driver == "local" and workers == 1:
            return InlinePool(make)
        return open_pool(driver, make, root, workers, *more, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "open_pool", open_or_here)
        yield
