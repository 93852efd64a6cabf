"""Window reader: control steps of episodes with action chunks, padded at both ends.

:mod:`clevrskills.dataset_tools.torch_dataset` and the training of policies read datasets, and
LeRobot exports of them, through it.
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
    """Episode of N control steps, without its frames."""

    state: np.ndarray  # proprioception at each state, (N or N + 1, P) float32
    actions: np.ndarray  # (N, A) float32
    failed: np.ndarray  # steps of failed attempts, (N,) bool
    # by camera: the file, and the index of the frame of the first state
    videos: Mapping[str, tuple[StoredFile | Path, int]]


@dataclass(frozen=True)
class Window:
    """Observations at T successive steps, each with the next H actions.

    Steps outside the episode repeat its first or last step and are marked as not existing.
    """

    steps: np.ndarray  # (T,) int
    exists: np.ndarray  # whether each observation exists, (T,) bool
    state: np.ndarray  # (T, P) float32
    actions: np.ndarray  # (T, H, A) float32
    action_exists: np.ndarray  # whether each action exists, (T, H) bool
    action_failed: np.ndarray  # actions of failed attempts, (T, H) bool


Table = TypeVar("Table", bound=EpisodeTable)


class WindowReader(ABC, Generic[Table]):
    """Random-access reader of windows of episodes.

    It can be pickled and forked: every process opens its own files.

    Args:
        frame_px: Width and height of scaled frames; ``None``: as recorded.
        open_videos: Number of videos kept open by each process.

    Attributes:
        contiguous: Whether frames are channels first in memory. The layout changes the order of
            sums in convolutions, and thus their rounding.
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
            DatasetError: A file is damaged.
        """

    def table(self, number: int) -> Table:
        """Return an episode from the cache, or read it."""
        self._own_files()
        return self._table(number)

    def window(self, number: int, first: int, steps: int, horizon: int) -> Window:
        """Return a window of an episode, see :func:`cut_windows`."""
        table = self.table(number)
        return cut_windows(table, 0, len(table.actions) - 1, first, steps, horizon)

    def frames(self, number: int, steps: np.ndarray) -> dict[str, Tensor]:
        """Return the frames of an episode by camera, (len(steps), 3, H, W) uint8."""
        found = {}
        for camera, (file, first) in self.table(number).videos.items():
            frames = self._video(file).read((first + steps).tolist())
            images = torch.from_numpy(frames).movedim(-1, -3)
            found[camera] = images.contiguous() if self.contiguous else images
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": -1, "_table": None, "_video": None}

    def _own_files(self) -> None:
        """Open files for this process: forked ones would share their positions."""
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
    """Return a window, or a batch of windows with a leading dimension B.

    Args:
        table: One or several concatenated episodes.
        start: Row of the first step of the episode, or (B,).
        last: Last step of the episode, or (B,).
        first: First step of the window, may be negative, or (B,).
        steps: Number of steps, T.
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
    """Return steps clipped to [0, last]; faster than ``clip``."""
    return np.minimum(np.maximum(steps, 0), last)
