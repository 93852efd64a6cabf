from pathlib import Path

import numpy as np
import pytest
from damage import EPISODE

from clevrskills.dataset_tools import Dataset, DatasetError
from clevrskills.dataset_tools.frame_reader import FrameReader


def test_any_order_gives_the_same_frames(demos: Path) -> None:
    episode = Dataset(demos).episode(EPISODE)
    video = episode.video("hand_camera")
    reader = FrameReader(episode.video_file("hand_camera"))
    assert len(reader) == len(video) > 20
    order = np.random.default_rng(0).integers(len(video), size=60).tolist()
    for indices in (order, range(len(video)), [5, 5, 4, 6], [len(video) - 1, 0]):
        np.testing.assert_array_equal(reader.read(indices), video[list(indices)])
    for index in (-1, len(video)):
        with pytest.raises(IndexError, match=f"it has {len(video)} frames"):
            reader.read([index])
    np.testing.assert_array_equal(reader.read([3]), video[3:4])
    reader.close()


def test_frames_are_scaled_by_area(demos: Path) -> None:
    episode = Dataset(demos)[0]
    small = FrameReader(episode.video_file("base_camera"), (32, 16)).read([0, 7])
    assert small.shape == (2, 16, 32, 3) and small.dtype == np.uint8
    blocks = episode.video("base_camera")[[0, 7]].reshape(2, 16, 4, 32, 2, 3)
    assert np.abs(small - blocks.mean((2, 4))).mean() < 3


def test_damage_is_named(demos: Path, tmp_path: Path) -> None:
    path = Dataset(demos).episode(EPISODE).video_file("base_camera").path
    copy = tmp_path / "cut.mp4"
    copy.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DatasetError, match=r"cut.mp4 is not a readable video"):
        FrameReader(copy)
    copy.write_bytes(path.read_bytes()[: int(path.stat().st_size * 0.7)])
    with pytest.raises(DatasetError, match=r"cut.mp4 is damaged: "):
        FrameReader(copy).read([20])
