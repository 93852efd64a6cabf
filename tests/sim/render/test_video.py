from pathlib import Path

import av
import numpy as np
import pytest

from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.sim.render.video import (
    DepthWriter,
    SegmentationWriter,
    VideoWriter,
    frame_count,
    iterate_frames,
    read_frame,
    read_video,
)


def scene(step: int, size: int = 64) -> np.ndarray:
    """A bright square moving over a smooth background, (size, size, 3)."""
    y, x = np.mgrid[0:size, 0:size]
    image = np.stack([x * 255 // size, y * 255 // size, np.full_like(x, 90)], -1).astype(np.uint8)
    image[10:26, step : step + 16] = (250, 240, 20)
    return image


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "video.mp4"
    writer = VideoWriter(path, 64, 64, fps=20)
    for step in range(37):
        writer.write(scene(step))
    writer.close()
    return path


def test_frames_come_back(video: Path) -> None:
    frames = read_video(video)
    assert frames.shape == (37, 64, 64, 3)
    assert frames.dtype == np.uint8
    expected = np.stack([scene(step) for step in range(37)])
    error = frames.astype(float) - expected
    assert np.abs(error).mean() < 3.0
    assert np.abs(error.mean(axis=(0, 1, 2))).max() < 2.0  # colors do not shift
    others = frames.astype(float) - np.roll(expected, 1, axis=0)
    assert np.abs(others).mean() > np.abs(error).mean()  # and no frame is off by one


def test_any_frame_can_be_sought(video: Path) -> None:
    frames = read_video(video)
    for index in (0, 1, 9, 10, 11, 25, 36):
        np.testing.assert_array_equal(read_frame(video, index), frames[index])
    for index in (-1, 37):
        with pytest.raises(IndexError, match="37 frames"):
            read_frame(video, index)


def test_the_file_suits_browsers(video: Path) -> None:
    with av.open(str(video)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate == 20
        key_frames = [p.pts for p in container.demux(stream) if p.is_keyframe and p.pts is not None]
    assert len(key_frames) == 4  # one every ten frames
    data = video.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # plays before it is loaded completely


@pytest.mark.parametrize(("kind", "dtype"), [(SegmentationWriter, "u1"), (DepthWriter, "u2")])
def test_lossless_frames_come_back_exactly(
    tmp_path: Path, kind: type[VideoWriter], dtype: str
) -> None:
    numbers = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (23, 30, 44)).astype(dtype)
    paths = tmp_path / "a.mkv", tmp_path / "b.mkv"
    for path in paths:
        writer = kind(path, 44, 30, fps=20)
        for frame in numbers:
            writer.write(frame)
        writer.close()
    assert paths[0].read_bytes() == paths[1].read_bytes()  # no dates, no random numbers
    frames = read_video(paths[0])
    assert frames.dtype == numbers.dtype and frame_count(paths[0]) == 23
    np.testing.assert_array_equal(frames, numbers)
    for index in (0, 7, 22):
        np.testing.assert_array_equal(read_frame(paths[0], index), numbers[index])
    data = paths[0].read_bytes()
    paths[0].write_bytes(data[: len(data) // 2])
    assert frame_count(paths[0]) < 23


def test_transparency_is_ignored(tmp_path: Path) -> None:
    for name, channels in (("rgb.mp4", 3), ("rgba.mp4", 4)):
        writer = VideoWriter(tmp_path / name, 64, 64, fps=20)
        for step in range(3):
            frame = np.dstack([scene(step), np.full((64, 64), 255, np.uint8)])
            writer.write(frame[..., :channels])
        writer.close()
    rgb, rgba = (read_video(tmp_path / name) for name in ("rgb.mp4", "rgba.mp4"))
    assert np.abs(rgb.astype(int) - rgba).mean() < 1.0


def test_damaged_videos(video: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is missing"):
        frame_count(tmp_path / "missing.mp4")
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(video.read_bytes()[:-2000])
    with pytest.raises(DatasetError, match="damaged"):
        if len(list(iterate_frames(cut))) < 37:
            read_frame(cut, 36)


def test_an_abandoned_video_needs_no_frames(tmp_path: Path) -> None:
    VideoWriter(tmp_path / "a.mp4", 64, 64, fps=20).abandon()
    writer = VideoWriter(tmp_path / "b.mp4", 64, 64, fps=20)
    writer.write(scene(0))
    writer.abandon()
    writer.abandon()
