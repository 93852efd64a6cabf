from pathlib import Path

import av
import numpy as np
import pytest

from clevrskills.dataset_tools.export.remux import JoinedVideo, open_recording
from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.jobs.files import StorageError
from clevrskills.sim.render.video import VideoWriter, read_frame, read_video

FPS = 20


def film(path: Path, frames: int, seed: int, size: int = 64) -> np.ndarray:
    """Write a video of moving noise; returns it as it is decoded."""
    noise = np.random.default_rng(seed).integers(0, 255, (size, size, 3), dtype=np.uint8)
    writer = VideoWriter(path, size, size, FPS)
    for frame in range(frames):
        writer.write(np.roll(noise, frame, axis=1))
    writer.close()
    return read_video(path)


def test_joined_frames_are_those_recorded(tmp_path: Path) -> None:
    lengths, parts, video = (27, 1, 14), [], None
    for seed, length in enumerate(lengths):
        source = tmp_path / f"{seed}.mp4"
        parts.append(film(source, length + 1, seed)[:length])
        with open_recording(source, length) as recording:
            video = video or JoinedVideo(tmp_path / "out" / "all.mp4", recording, FPS)
            assert video.parameters == recording.parameters
            video.append(recording)
    assert video is not None
    video.close()
    expected = np.concatenate(parts)
    np.testing.assert_array_equal(read_video(tmp_path / "out/all.mp4"), expected)
    for index in (0, 26, 27, 28, 41):
        np.testing.assert_array_equal(read_frame(tmp_path / "out/all.mp4", index), expected[index])
    with av.open(str(tmp_path / "out/all.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.frames == 42 and stream.average_rate == FPS
        packets = [packet for packet in container.demux(stream) if packet.size]
    times = [float(packet.pts * packet.time_base) for packet in packets]
    assert times == [index / FPS for index in range(42)]
    assert [packets[index].is_keyframe for index in (0, 27, 28)] == [True] * 3


def test_images_are_key_frames_spread_over_the_recording(tmp_path: Path) -> None:
    frames = film(tmp_path / "a.mp4", 61, seed=0)
    with open_recording(tmp_path / "a.mp4", 60) as recording:
        images = list(recording.images(3))
    assert len(images) == 3
    for image, index in zip(images, (0, 20, 50), strict=True):
        np.testing.assert_array_equal(image, frames[index])


def test_unreadable_videos(tmp_path: Path) -> None:
    film(tmp_path / "a.mp4", 5, seed=0)
    (tmp_path / "b.mp4").write_bytes(b"no video")
    for name, error in (
        ("a.mp4", "a.mp4 is damaged: it has 5 frames, not 6"),
        ("b.mp4", "b.mp4 is not a readable video"),
        ("c.mp4", "c.mp4 is missing"),
    ):
        with pytest.raises(DatasetError, match=error), open_recording(tmp_path / name, 6):
            pass


def test_frames_that_need_later_ones_cannot_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "b_frames.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"bf": "2", "b_strategy": "0"})
        stream.width = stream.height = 64
        for shade in range(0, 200, 10):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), shade, np.uint8))
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(DatasetError, match="need later ones"), open_recording(path, 7):
        pass


def test_a_full_disk_is_noticed(tmp_path: Path) -> None:
    film(tmp_path / "a.mp4", 60, seed=0, size=128)
    (tmp_path / "out.mp4").symlink_to("/dev/full")
    with open_recording(tmp_path / "a.mp4", 59) as recording:
        video = JoinedVideo(tmp_path / "out.mp4", recording, FPS)
        with pytest.raises((StorageError, OSError)):
            video.append(recording)
            video.close()
