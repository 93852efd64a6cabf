"""Datasets are made in this process where one worker does."""

from collections.abc import Iterator

import pytest
from inline import one_worker_here


@pytest.fixture(scope="module", autouse=True)
def _here() -> Iterator[None]:
    with one_worker_here():
        yield
