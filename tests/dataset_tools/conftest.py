"""A dataset of a fake world."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two tasks with three episodes each; seed 1 failed. Not to be written to."""
    from fake_source import FakeSource

    from clevrskills.dataset_tools.generate.command import GenerateArgs, generate

    out = tmp_path_factory.mktemp("data") / "demos"
    args = GenerateArgs(tasks=("reach", "visit"), episodes=3, out=out)
    assert generate(args, FakeSource({1: "fail"})) == 0
    return out
