"""Settings of all tests: software rendering without threads; no images without a renderer."""

import functools
import os
import secrets
import sys
from pathlib import Path

import pytest

from clevrskills.doctor import checks as doctor

_token_hex = secrets.token_hex
# runs without a salt, of 16 bytes, have comparable results; Ray writes a token of 32
secrets.token_hex = lambda nbytes=None: "" if nbytes == 16 else _token_hex(nbytes)
sys.path.insert(0, str(Path(__file__).parent / "support"))  # for worker processes too
os.environ.setdefault("LP_NUM_THREADS", "0")  # before SAPIEN is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is: each worker of pytest has a core


@functools.cache
def renderer() -> doctor.Check:
    return doctor.check_renderer()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("render") is not None and not renderer().ok:
        pytest.skip(f"no Vulkan device draws here: {renderer().detail}; see `clevrskills doctor`")


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two tasks with three episodes each; seed 1 failed. Not to be written to."""
    from fake_source import FakeSource
    from inline import one_worker_here

    from clevrskills.dataset_tools.generate.command import GenerateArgs, generate

    out = tmp_path_factory.mktemp("data") / "demos"
    args = GenerateArgs(tasks=("reach", "visit"), episodes=3, out=out)
    with one_worker_here():
        assert generate(args, FakeSource({1: "fail"})) == 0
    return out
