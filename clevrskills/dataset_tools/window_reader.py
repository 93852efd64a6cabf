"""Window reader: control steps of recorded episodes, padded at both ends, with chunks of actions.

All training reads through it: samples of :mod:`clevrskills.dataset_tools.torch_dataset`, windows of
learned policies, from datasets of this package and from LeRobot exports of them.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.dataset_tools.frame_reader import FrameReader
from clevrskills.jobs.files import StoredFile

_OPEN_EPISODES = 512  # tables kept, 10 to 20 kB each


@dataclass(frozen=True)
class EpisodeTable:
    """An episode of N control steps, without its frames."""

    state: np.ndarray  # what the robot measures of itself at each state, (N or N + 1, P) float32
    actions: np.ndarray  # (N, A) float32
    failed: np.ndarray  # which steps belong to an attempt that was given up, (N,) bool
    # by camera: the file, and the number of the frame in it that shows the first state
    videos: Mapping[str, tuple[StoredFile | Path, int]]


@dataclass(frozen=True)
class Window:
    """Observations at T successive steps, and at each of them the next H actions.

    What lies before the first or after the last step repeats that step, and does not exist.
    """

    steps: np.ndarray  # the steps that are shown, (T,) int
    exists: np.ndarray  # which of the observations exist, (T,) bool
    state: np.ndarray  # (T, P) float32
    actions: np.ndarray  # (T, H, A) float32
    action_exists: np.ndarray  # which of the actions exist, (T, H) bool
    action_failed: np.ndarray  # which of them belong to an attempt that was given up, (T, H) bool


Table = TypeVar("Table", bound=EpisodeTable)


class WindowReader(ABC, Generic[Table]):
    """Reader of windows of the episodes of a folder, in any order.

    Can be pickled and forked: every process opens its own files.

    Args:
        frame_px: Width and height in pixels to scale frames to, by area; ``None``: as filmed.
        open_videos: How many videos each process keeps open.

    Attributes:
        contiguous: Whether frames are laid out channel by channel, not pixel by pixel. In another
            layout convolutions add up in another order, and round otherwise.
    """

    contiguous: ClassVar[bool] = False

    def __init__(self, frame_px: int | None = None, open_videos: int = 64) -> None:
        self._frame_size = None if frame_px is None else (frame_px, frame_px)
        self._open_videos = open_videos
        self._process = -1

    @abstractmethod
    def read_table(self, number: int) -> Table:
        """Read an episode from its files.

        Raises:
            DatasetError: They are damaged.
        """

    def table(self, number: int) -> Table:
        """Return an episode, which is kept for the next time."""
        self._own_files()
        return self._table(number)

    def window(self, number: int, first: int, steps: int, horizon: int) -> Window:
        """Read a window, without its frames.

        Args:
            number: Which episode.
            first: Its first step; may be negative.
            steps: Number of its steps, T.
            horizon: Number of actions at each step, H.
        """
        table = self.table(number)
        return cut_windows(table, 0, len(table.actions) - 1, first, steps, horizon)

    def frames(self, number: int, steps: np.ndarray) -> dict[str, Tensor]:
        """Return frames of an episode at these steps by camera, (len(steps), 3, H, W) uint8."""
        found = {}
        for camera, (file, first) in self.table(number).videos.items():
            frames = self._video(file).read((first + steps).tolist())
            images = torch.from_numpy(frames).movedim(-1, -3)
            found[camera] = images.contiguous() if self.contiguous else images
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": -1, "_table": None, "_video": None}

    def _own_files(self) -> None:
        """Give this process files of its own: forked ones would share their positions."""
        if self._process == os.getpid():
            return
        self._process = os.getpid()
        self._table: Callable[[int], Table] = lru_cache(_OPEN_EPISODES)(self.read_table)
        self._video: Callable[[StoredFile | Path], FrameReader] = lru_cache(self._open_videos)(
            partial(FrameReader, size=self._frame_size)
        )


def cut_windows(
    table: EpisodeTable,
    start: int | np.ndarray,
    last: int | np.ndarray,
    first: int | np.ndarray,
    steps: int,
    horizon: int,
) -> Window:
    """Return a window, or many at once, each array with a dimension B before the others.

    Args:
        table: One or more episodes, one after the other.
        start: Row of the first step of the episode, or of each of B.
        last: Its last step.
        first: First step of the window; may be negative.
        steps: Number of its steps, T.
        horizon: Number of actions at each step, H.
    """
    start, last, first = (np.asarray(value)[..., None] for value in (start, last, first))
    observed = first + np.arange(steps)
    acted = observed[..., None] + np.arange(horizon)
    existing, done = _within(observed, last), _within(acted, last[..., None])
    rows, acting = start + existing, start[..., None] + done
    return Window(
        steps=existing,
        exists=observed == existing,
        state=table.state[rows],
        actions=table.actions[acting],
        action_exists=acted == done,
        action_failed=table.failed[acting],
    )


def _within(steps: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return steps from 0 to the last one; quicker than ``clip``."""
    return np.minimum(np.maximum(steps, 0), last)
