"""Frozen episodes for the tests of integrations."""

from pathlib import Path

import pytest

from clevrskills.episode import EpisodeSpec
from clevrskills.evaluation import frozen

TASKS = ("pick", "touch")


@pytest.fixture(scope="session")
def frozen_folder(tmp_path_factory) -> Path:
    """Two episodes of each of two tasks and splits."""
    folder = tmp_path_factory.mktemp("episodes")
    for task in TASKS:
        for split in ("train", "test"):
            specs = [EpisodeSpec.draw(task, split, 70 + k, k) for k in range(2)]
            frozen.write(folder, frozen.Header(task, split, "xarm6", 2, 80, (30, 40)), specs)
    return folder
