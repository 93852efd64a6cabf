"""A dataset of a fake world and its LeRobot export."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two tasks, four episodes each, 64 pixels. Not to be written to."""
    from fake_source import FakeSource
    from inline import one_worker_here

    from clevrskills.dataset_tools.generate.command import GenerateArgs, generate

    out = tmp_path_factory.mktemp("baselines") / "demos"
    args = GenerateArgs(tasks=("reach", "visit"), episodes=4, out=out)
    with one_worker_here():
        assert generate(args, FakeSource({})) == 0
    return out


@pytest.fixture(scope="session")
def exported(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That dataset as a LeRobot export. Not to be written to."""
    from clevrskills.dataset_tools import Dataset
    from clevrskills.dataset_tools.export.command import write_dataset
    from clevrskills.dataset_tools.export.selection import select

    out = tmp_path_factory.mktemp("baselines") / "lerobot"
    write_dataset(select(Dataset(demos)), "lerobot", out)
    return out


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Small tensors are quicker so, and rounding is the same everywhere."""
    torch.set_num_threads(1)
