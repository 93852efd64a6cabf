"""Concatenation of recorded videos by copying packets, without decoding."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np

from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.jobs.files import StorageError, StoredFile
from clevrskills.sim.render.video import ONE_THREAD, frame_count, open_video

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Episode


@dataclass(frozen=True)
class Recording:
    """Encoded first frames of a recorded video."""

    stream: av.VideoStream  # ties the packets to their decoder
    packets: Sequence[av.Packet]  # one per frame, in presentation order

    @property
    def parameters(self) -> tuple[object, ...]:
        """Codec parameters, equal for recordings that can be joined."""
        codec = self.stream.codec_context
        return codec.name, codec.width, codec.height, codec.pix_fmt, codec.extradata

    def images(self, count: int) -> Iterator[np.ndarray]:
        """Yield at most ``count`` evenly spaced key frames, each (H, W, 3) uint8 sRGB."""
        keys = [packet for packet in self.packets if packet.is_keyframe]
        chosen = np.linspace(0, len(keys) - 1, min(count, len(keys))).round().astype(int)
        decoder = self.stream.codec_context
        decoder.thread_count = 1
        for packet in [*(keys[index] for index in chosen), None]:
            for frame in decoder.decode(packet):
                yield frame.to_ndarray(format="rgb24", **ONE_THREAD)


@contextlib.contextmanager
def open_recording(file: StoredFile, frames: int) -> Iterator[Recording]:
    """Open the packets of the first ``frames`` frames of a video.

    Raises:
        DatasetError: The video is missing, damaged, too short, or has frames that need later ones.
    """
    with contextlib.ExitStack() as stack:
        container = stack.enter_context(open_video(file))
        try:
            stream = container.streams.video[0]
            packets = [packet for packet in container.demux(stream) if packet.size]
        except (av.FFmpegError, OSError, IndexError) as error:
            raise DatasetError(f"{file} is not a readable video: {error}") from error
        if len(packets) < frames:
            raise DatasetError(f"{file} is damaged: it has {len(packets)} frames, not {frames}")
        packets = packets[:frames]
        if not packets[0].is_keyframe or any(packet.pts != packet.dts for packet in packets):
            raise DatasetError(f"{file} has frames that need later ones; it cannot be cut")
        yield Recording(stream, packets)


class JoinedVideo:
    """MP4 file of concatenated recordings with the parameters of the first one."""

    def __init__(self, path: Path, first: Recording, fps: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.frames = 0
        self.parameters = first.parameters
        self._period = Fraction(1, fps)
        self._container = av.open(str(path), "w", options={"movflags": "+faststart"})
        self._stream = self._container.add_stream_from_template(first.stream)
        self._stream.time_base = self._period

    def append(self, recording: Recording) -> None:
        """Append a recording and consume its packets."""
        for packet in recording.packets:
            packet.stream = self._stream
            packet.time_base = self._period
            packet.pts = packet.dts = self.frames
            packet.duration = 1
            self._container.mux(packet)
            self.frames += 1

    def close(self) -> None:
        """Write the index; raise ``StorageError`` if the file is incomplete."""
        self._container.close()
        try:
            complete = frame_count(self.path) == self.frames
        except DatasetError:
            complete = False
        if not complete:
            raise StorageError(f"{self.path} was not written completely: is the disk full?")


def whole_video(episode: Episode, camera: str) -> StoredFile:
    """Return the file of a video after checking that it has a frame for every state."""
    file = episode.video_file(camera)
    with open_recording(file, len(episode) + 1):
        return file
