"""A dataset of a fake world, its LeRobot export, and the fakes of other tests made importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

TESTS = Path(__file__).parent.parent
for folder in (Path(__file__).parent, TESTS / "dataset_tools", TESTS / "evaluation"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two tasks, four episodes each, 64 pixels. Not to be written to."""
    from fake_source import FakeSource

    from clevrskills.dataset_tools.generate import GenerateArgs, generate

    out = tmp_path_factory.mktemp("baselines") / "demos"
    assert (
        generate(GenerateArgs(tasks=("reach", "visit"), episodes=4, out=out), FakeSource({})) == 0
    )
    return out


@pytest.fixture(scope="session")
def exported(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That dataset as a LeRobot export. Not to be written to."""
    from clevrskills.dataset_tools import Dataset
    from clevrskills.dataset_tools.export import write_dataset
    from clevrskills.dataset_tools.export.selection import select

    out = tmp_path_factory.mktemp("baselines") / "lerobot"
    write_dataset(select(Dataset(demos)), "lerobot", out)
    return out


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Small tensors are quicker so, and rounding is the same everywhere."""
    torch.set_num_threads(1)
