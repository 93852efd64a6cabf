"""What all tests share: software rendering without threads; no pictures without a renderer."""

import functools
import os
import sys
from pathlib import Path

import pytest

from clevrskills.doctor import checks as doctor

sys.path.insert(0, str(Path(__file__).parent / "support"))  # for worker processes too
os.environ.setdefault("LP_NUM_THREADS", "0")  # before SAPIEN is imported


@functools.cache
def renderer() -> doctor.Check:
    return doctor.check_renderer()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("render") is not None and not renderer().ok:
        pytest.skip(f"no Vulkan device draws here: {renderer().detail}; see `clevrskills doctor`")
