"""A damaged episode is named, and no export is there."""

import shutil
from pathlib import Path

import pytest

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.export.command import write_dataset
from clevrskills.dataset_tools.export.selection import select
from clevrskills.dataset_tools.layout import DatasetError


@pytest.fixture
def damaged(demos: Path, tmp_path: Path) -> tuple[Dataset, Path]:
    """A dataset, and an episode in it that has the video of a shorter one."""
    shutil.copytree(demos, tmp_path / "demos")
    dataset = Dataset(tmp_path / "demos")
    short, *_, long = sorted(dataset, key=len)
    assert len(short) < len(long)
    video = long.video_file("hand_camera").path
    shutil.copyfile(short.video_file("hand_camera").path, video)
    return dataset, video


def test_a_video_of_another_length_is_named(damaged: tuple, tmp_path: Path):
    dataset, video = damaged
    with pytest.raises(DatasetError, match=f"{video} is damaged: it has .* frames, not "):
        write_dataset(select(dataset), "rlds", tmp_path / "out")
    assert not list(tmp_path.glob("out/[!.]*"))


@pytest.mark.parametrize("name", ["steps.parquet", "hand_camera.mp4", "episode.json"])
def test_a_torn_file_is_named(demos: Path, name: str, tmp_path: Path):
    shutil.copytree(demos, tmp_path / "demos")
    dataset = Dataset(tmp_path / "demos")
    selection, path = select(dataset), dataset[-1].path / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DatasetError, match=str(path)):
        write_dataset(selection, "rlds", tmp_path / "out")
    assert not list(tmp_path.glob("out/[!.]*"))
