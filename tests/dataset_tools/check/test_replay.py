import shutil
from pathlib import Path

import numpy as np
import pytest
from fake_source import FakeSource, FakeStart

from clevrskills.core.env_config import EnvConfig
from clevrskills.dataset_tools import Dataset, Episode
from clevrskills.dataset_tools.check.replay import replay


def start_of(episode: Episode) -> FakeStart:
    return FakeStart(episode.info["task"], episode.info["split"], episode.info["seed"])


def test_a_replay_is_equal_bit_for_bit(demos: Path) -> None:
    for episode in Dataset(demos):
        env = FakeSource({}).make(EnvConfig(episode.info["task"], "train"))
        report = replay(episode, env, start_of(episode))
        assert report and report.success
        assert report.states == len(episode) + 1
        assert str(report) == f"{len(episode) + 1} states are equal, bit for bit"


@pytest.mark.parametrize("change", [np.float32(1e-3), "negative zero"])
def test_the_smallest_difference_is_found(demos: Path, tmp_path: Path, change: object) -> None:
    path = tmp_path / "reach" / "train_00000000"
    shutil.copytree(demos / "reach" / "train_00000000", path)
    states = Episode(path).states.copy()
    if isinstance(change, np.float32):
        states[4, 6] = np.nextafter(states[4, 6], np.float32(9))
    else:
        states[0, 0] = -0.0
    np.savez(path / "states.npz", states=states)
    env = FakeSource({}).make(EnvConfig("reach", "train"))
    report = replay(Episode(path), env, start_of(Episode(path)))
    assert not report
    assert (report.step, report.where) == (
        (4, "noise") if change != "negative zero" else (0, "point")
    )
    assert "differs in" in str(report)


def test_another_scene_is_no_replay(demos: Path) -> None:
    env = FakeSource({}).make(EnvConfig("visit", "train"))
    report = replay(Dataset(demos)[0], env, start_of(Dataset(demos)[0]))
    assert (report.step, report.where) == (0, "targets")
