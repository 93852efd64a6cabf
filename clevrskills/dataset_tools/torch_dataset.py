"""Demonstrations as samples for training with PyTorch.

>>> from torch.utils.data import DataLoader  # doctest: +SKIP
>>> samples = TrainingDataset("demos", history=2, horizon=8, image_size=128)  # doctest: +SKIP
>>> loader = DataLoader(samples, 32, shuffle=True, num_workers=4)  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import default_collate

from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.frame_reader import FrameReader
from clevrskills.dataset_tools.manifest import latest_lines
from clevrskills.errors import ClevrSkillsError, UnknownNameError

PROPRIOCEPTION = ("qpos", "ee_pose", "vacuum_on")
_OPEN_EPISODES = 512  # tables kept, about 20 kB each


@dataclass(frozen=True)
class _Table:
    """What a sample needs of an episode besides frames."""

    actions: np.ndarray  # (N, 7) float32
    failed: np.ndarray  # (N,) bool
    proprioception: dict[str, np.ndarray]  # (N, k) float32
    subtask: Sequence[str]
    instruction: Sequence[str]
    task: str
    prompt: str
    prompt_images: dict[str, Tensor]  # (3, H, W)
    videos: dict[str, Path]


class TrainingDataset(TorchDataset[dict[str, Any]]):
    """Every control step of a dataset as one sample; any order is quick, the result always equal.

    A sample at step t is a dict. ``default_collate`` makes batches of it; with ``prompt_images``
    use :func:`collate`, since prompts differ in their number of pictures.

    ======================  =====================================================================
    ``images``              by camera: frames t - history + 1 ... t, (history, 3, H, W)
    ``proprioception``      by name: the same states, (history, k) float32
    ``observation_is_pad``  (history,) bool: before the first state, which is repeated there
    ``action``              actions t ... t + horizon - 1, (horizon, 7) float32
    ``action_is_pad``       (horizon,) bool: after the last action, which is repeated there
    ``action_failed``       (horizon,) bool: part of an attempt that was given up
    ``task``                the prompt in plain words
    ``subtask``             the sub-task of step t in plain words
    ``instruction``         what the arm does at step t in plain words
    ``episode``, ``step``   where it is from, e.g. ``"sort/train_00000007"`` and t
    ``prompt``              the prompt with placeholders; only with ``prompt_images``
    ``prompt_images``       by placeholder: pictures as recorded, (3, H, W); only if asked for
    ======================  =====================================================================

    Can be pickled and forked: every process opens its own files.

    Args:
        dataset: A dataset or its folder. Filter it first to train on a part:
            ``TrainingDataset(Dataset("demos").filter(level="L0"))``.
        cameras: Names of cameras; ``None``: all that were filmed with; empty: no pictures.
        history: Number of observations.
        horizon: Number of actions.
        image_size: Height and width in pixels to scale to; ``None``: as filmed.
        image_dtype: ``torch.uint8`` in [0, 255], or a floating type in [0, 1].
        proprioception: Names of measurements.
        prompt_images: Whether to add the prompt with its pictures.
        failed_steps: Whether steps of attempts that were given up are samples too. As parts of
            an action chunk they stay.
        open_videos: How many videos each process keeps open.

    Raises:
        DatasetError: It is not a dataset, or damaged (then also when samples are read).
        ClevrSkillsError: It is empty, or an argument is out of range.
        UnknownNameError: There is no such camera or measurement.
    """

    def __init__(
        self,
        dataset: Dataset | str | Path,
        *,
        cameras: Sequence[str] | None = None,
        history: int = 1,
        horizon: int = 1,
        image_size: int | None = None,
        image_dtype: torch.dtype = torch.uint8,
        proprioception: Sequence[str] = PROPRIOCEPTION,
        prompt_images: bool = False,
        failed_steps: bool = True,
        open_videos: int = 64,
    ) -> None:
        sizes = {"history": history, "horizon": horizon, "open_videos": open_videos}
        if image_size is not None:
            sizes["image_size"] = image_size
        for name, value in sizes.items():
            if value < 1:
                raise ClevrSkillsError(f"{name} must be at least 1, not {value}")
        if image_dtype != torch.uint8 and not image_dtype.is_floating_point:
            raise ClevrSkillsError(f"image_dtype must be torch.uint8 or floating: {image_dtype}")
        if not isinstance(dataset, Dataset):
            dataset = Dataset(dataset)
        if not len(dataset):
            raise ClevrSkillsError(f"{dataset.path} has no episodes that fit")
        self.cameras = dataset.header.cameras if cameras is None else tuple(cameras)
        _known("camera", self.cameras, dataset.header.cameras)
        _known("measurement", proprioception, tuple(dataset[0].info["final"]["proprioception"]))
        self.history, self.horizon = history, horizon
        self.image_size, self.image_dtype = image_size, image_dtype
        self.proprioception, self.prompt_images = tuple(proprioception), prompt_images
        self._open_videos = open_videos
        self._paths = [episode.path for episode in dataset]
        self.lengths = tuple(_lengths(dataset))
        self._stops = np.cumsum(self.lengths)
        self._kept = None if failed_steps else _kept(dataset)
        self._process = -1

    def __len__(self) -> int:
        """Number of samples."""
        return int(self._stops[-1]) if self._kept is None else len(self._kept)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Read a sample.

        Raises:
            IndexError: There is no such sample.
        """
        number, step = self.where(index)
        observed = np.arange(step - self.history + 1, step + 1)
        return self.window(number, observed, np.arange(step, step + self.horizon))

    def window(self, number: int, observed: np.ndarray, acted: np.ndarray) -> dict[str, Any]:
        """Read any steps of an episode as a sample, of step ``observed[-1]``.

        Args:
            number: Which episode of the dataset.
            observed: The states to show, rising; before the first and after the last one these are
                repeated, marked by ``observation_is_pad``.
            acted: The actions to give, likewise; the sample says by ``action_failed`` which of them
                belong to an attempt that was given up.
        """
        self._open()
        table = self._table(number)
        last = len(table.actions) - 1
        seen, done = observed.clip(0, last), acted.clip(0, last)
        step = int(seen[-1])
        sample = {
            "images": {name: self._images(number, name, seen) for name in self.cameras},
            "proprioception": {
                name: torch.from_numpy(values[seen])
                for name, values in table.proprioception.items()
            },
            "observation_is_pad": torch.from_numpy(observed != seen),
            "action": torch.from_numpy(table.actions[done]),
            "action_is_pad": torch.from_numpy(acted != done),
            "action_failed": torch.from_numpy(table.failed[done]),
            "task": table.task,
            "subtask": table.subtask[step],
            "instruction": table.instruction[step],
            "episode": "/".join(self._paths[number].parts[-2:]),
            "step": step,
        }
        if self.prompt_images:
            sample["prompt"], sample["prompt_images"] = table.prompt, dict(table.prompt_images)
        return sample

    def where(self, index: int) -> tuple[int, int]:
        """Which episode of the dataset, and which step of it, a sample is.

        Raises:
            IndexError: There is no such sample.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        flat = index % len(self)
        if self._kept is not None:
            flat = int(self._kept[flat])
        number = int(np.searchsorted(self._stops, flat, side="right"))
        return number, flat - (int(self._stops[number - 1]) if number else 0)

    def __getstate__(self) -> dict[str, Any]:
        closed = {"_process": -1, "_table": None, "_video": None}
        return {**self.__dict__, **closed}

    def _open(self) -> None:
        """Give this process files of its own: forked ones would share their positions."""
        if self._process == os.getpid():
            return
        self._process = os.getpid()
        self._table: Callable[[int], _Table] = lru_cache(_OPEN_EPISODES)(self._read_table)
        self._video: Callable[[int, str], FrameReader] = lru_cache(self._open_videos)(
            self._open_video
        )

    def _read_table(self, number: int) -> _Table:
        episode = Episode(self._paths[number])
        prompt, columns = episode.prompt, episode.steps
        measured = {name: _floats(episode.proprioception(name)) for name in self.proprioception}
        pictures = episode.prompt_images() if self.prompt_images else {}
        return _Table(
            actions=episode.actions,
            failed=columns["failed"].to_numpy(),
            proprioception=measured,
            subtask=columns["subtask"].tolist(),
            instruction=columns["instruction"].tolist(),
            task=prompt["plain"],
            prompt=prompt["text"],
            prompt_images={key: self._tensor(np.array(image)) for key, image in pictures.items()},
            videos={camera: episode.video_path(camera) for camera in self.cameras},
        )

    def _open_video(self, number: int, camera: str) -> FrameReader:
        size = None if self.image_size is None else (self.image_size, self.image_size)
        return FrameReader(self._table(number).videos[camera], size)

    def _images(self, number: int, camera: str, steps: np.ndarray) -> Tensor:
        return self._tensor(self._video(number, camera).read(steps.tolist()))

    def _tensor(self, images: np.ndarray) -> Tensor:
        """(..., H, W, 3) uint8 -> (..., 3, H, W) of the type asked for."""
        tensor = torch.from_numpy(images).movedim(-1, -3).contiguous()
        if self.image_dtype == torch.uint8:
            return tensor
        return tensor.to(self.image_dtype) / 255


def collate(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Make a batch of samples; ``prompt_images`` stay a list with one dict per sample."""
    apart = "prompt_images"
    batch = default_collate([{k: v for k, v in s.items() if k != apart} for s in samples])
    if apart in samples[0]:
        batch[apart] = [sample[apart] for sample in samples]
    return dict(batch)


def _known(kind: str, names: Sequence[str], allowed: tuple[str, ...]) -> None:
    for name in names:
        if name not in allowed:
            raise UnknownNameError(kind, name, allowed)


def _lengths(dataset: Dataset) -> list[int]:
    """Number of steps of each episode, from the manifest where it has them: that is quicker."""
    said = {name: line.steps for name, line in latest_lines(dataset.path).items()}
    return [said.get(episode.id) or len(Episode(episode.path)) for episode in dataset]


def _kept(dataset: Dataset) -> np.ndarray:
    """Numbers of the steps that do not belong to an attempt that was given up."""
    failed = [Episode(episode.path).steps["failed"].to_numpy() for episode in dataset]
    return np.flatnonzero(~np.concatenate(failed))


def _floats(values: np.ndarray) -> np.ndarray:
    """(N, k) float32, also of numbers and flags."""
    return values.astype(np.float32).reshape(len(values), -1)
