"""A dataset with both splits, and ways to export parts of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from clevrskills.dataset_tools import Episode


@pytest.fixture(scope="session")
def both_splits(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset ``demos`` and two episodes of the split test. Not to be written to."""
    from fake_source import FakeSource

    from clevrskills.dataset_tools.generate.command import GenerateArgs, generate

    out = tmp_path_factory.mktemp("both") / "demos"
    shutil.copytree(demos, out)
    args = GenerateArgs(tasks=("reach",), episodes=2, split="test", out=out)
    assert generate(args, FakeSource({})) == 0
    return out


@pytest.fixture(scope="session")
def exported(both_splits: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """That dataset in all LeRobot formats. Not to be written to."""
    from clevrskills.dataset_tools import Dataset
    from clevrskills.dataset_tools.export.command import write_dataset
    from clevrskills.dataset_tools.export.selection import select

    root = tmp_path_factory.mktemp("exported")
    formats = ("lerobot", "lerobot-v3.1", "lerobot-v2.1")
    for name in formats:
        write_dataset(select(Dataset(both_splits)), name, root / name)
    return {name: root / name for name in formats}


@pytest.fixture(scope="session")
def in_order(both_splits: Path) -> list[Episode]:
    """Its episodes in the order of the exports: those of the split train, then those of test."""
    from clevrskills.dataset_tools import Dataset

    dataset = Dataset(both_splits)
    return [*dataset.filter(split="train"), *dataset.filter(split="test")]
