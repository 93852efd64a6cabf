"""Random access to the frames of a video."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.jobs.files import StoredFile
from clevrskills.sim.render.video import ONE_THREAD, open_video

_NEAR = 10  # distance of key frames, up to which decoding is faster than seeking


class FrameReader:
    """Reader of a video, which decodes successive frames without seeking.

    Args:
        file: The video.
        size: Width and height of scaled frames in pixels; ``None``: as recorded.

    Raises:
        DatasetError: The video is missing or damaged, here or in any method.
    """

    def __init__(self, file: StoredFile | Path, size: tuple[int, int] | None = None) -> None:
        self.file, self.size = file, size
        self._container = open_video(file)
        if not self._container.streams.video:
            raise DatasetError(f"{file} is not a readable video: no video stream")
        self._stream = self._container.streams.video[0]
        self._stream.thread_count = 1
        self._reformatter = VideoReformatter()
        assert self._stream.average_rate is not None and self._stream.time_base is not None
        self._ticks = 1 / (self._stream.average_rate * self._stream.time_base)  # of a frame
        self._frames: Iterator[av.VideoFrame] = iter(())
        self._index = -_NEAR - 1  # of the frame that was decoded last
        self._frame: av.VideoFrame | None = None

    def __len__(self) -> int:
        """Return the number of frames."""
        return int(self._stream.frames)

    def close(self) -> None:
        """Close the file."""
        self._frames, self._frame = iter(()), None
        self._container.close()

    def read(self, indices: Sequence[int]) -> np.ndarray:
        """Decode frames, (len(indices), H, W, 3) uint8 sRGB; fastest in ascending order.

        Raises:
            IndexError: An index is out of range.
        """
        images = {index: self._read(index) for index in dict.fromkeys(indices)}
        return np.stack([images[index] for index in indices])

    def _read(self, index: int) -> np.ndarray:
        if not 0 <= index < len(self):
            raise IndexError(f"frame {index} of {self.file}: it has {len(self)} frames")
        try:
            if not self._index <= index <= self._index + _NEAR:
                self._container.seek(round(index * self._ticks), stream=self._stream)
                self._frames, self._frame = self._container.decode(self._stream), None
            while self._frame is None or self._index < index:
                self._frame = next(self._frames)
                assert self._frame.pts is not None
                self._index = round(self._frame.pts / self._ticks)
        except (av.FFmpegError, OSError) as error:
            raise DatasetError.of(self.file, error) from error
        except StopIteration:
            raise DatasetError(f"{self.file} is damaged: frame {index} is missing") from None
        width, height = self.size or (self._frame.width, self._frame.height)
        # threads cost more time than they save, and hang forked processes
        image = self._reformatter.reformat(
            self._frame, width, height, "rgb24", interpolation="AREA", **ONE_THREAD
        )
        return image.to_ndarray()
