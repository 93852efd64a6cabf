"""PyTorch dataset: the control steps of demonstrations as samples for training.

::

    from torch.utils.data import DataLoader
    samples = TrainingDataset("demos", history=2, horizon=8, image_size=128)
    loader = DataLoader(samples, 32, shuffle=True, num_workers=4)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import default_collate

from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.manifest import latest_lines
from clevrskills.dataset_tools.window_reader import EpisodeTable, WindowReader
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names

__all__ = ["TrainingDataset"]


@dataclass(frozen=True)
class DatasetTable(EpisodeTable):
    """An episode of a dataset, with its words."""

    columns: Mapping[str, slice]  # where in the state each measurement is
    subtask: Sequence[str]  # the sub-task of each step
    instruction: Sequence[str]  # what the arm does at each step
    task: str  # the prompt in plain words
    prompt: str  # the prompt with placeholders
    # its images by placeholder, (3, H, W) uint8; empty if not asked for
    prompt_images: Mapping[str, Tensor]


class DatasetReader(WindowReader[DatasetTable]):
    """Reader of windows of a dataset.

    Args:
        dataset: The dataset, or the part of it that is wanted.
        cameras: Names of cameras.
        proprioception: Names of measurements, which make up the state.
        prompt_images: Whether to read the images of prompts.
        frame_px: Width and height in pixels to scale frames to, by area; ``None``: as filmed.
        open_videos: How many videos each process keeps open.

    Attributes:
        paths: Directory of each episode.
        lengths: Number of steps of each episode.
    """

    contiguous = True

    def __init__(
        self,
        dataset: Dataset,
        cameras: Sequence[str],
        proprioception: Sequence[str],
        prompt_images: bool = False,
        frame_px: int | None = None,
        open_videos: int = 64,
    ) -> None:
        super().__init__(frame_px, open_videos)
        dataset.check()
        self._cameras, self._proprioception = tuple(cameras), tuple(proprioception)
        self._prompt_images = prompt_images
        self.paths = [episode.path for episode in dataset]
        # of the manifest where it has them: that is quicker; where there are turns, it counts them
        lines = {} if dataset.header.in_turns else latest_lines(dataset.path)
        known = {name: line.steps for name, line in lines.items()}
        self.lengths = tuple(known.get(e.id) or len(Episode(e.path)) for e in dataset)

    def read_table(self, number: int) -> DatasetTable:
        episode = Episode(self.paths[number])
        columns, prompt = episode.steps, episode.prompt
        images = episode.prompt_images() if self._prompt_images else {}
        measured = [_floats(episode.proprioception(name)) for name in self._proprioception]
        stops = np.cumsum([values.shape[1] for values in measured])
        nothing = np.empty((len(columns) + 1, 0), np.float32)
        return DatasetTable(
            state=np.concatenate([nothing, *measured], axis=1),
            actions=episode.actions,
            failed=episode.unlearned,
            videos={camera: (episode.video_file(camera), 0) for camera in self._cameras},
            columns={
                name: slice(stop - values.shape[1], stop)
                for name, values, stop in zip(self._proprioception, measured, stops, strict=True)
            },
            subtask=columns["subtask"].tolist(),
            instruction=columns["instruction"].tolist(),
            task=prompt["plain"],
            prompt=prompt["text"],
            prompt_images={
                key: torch.from_numpy(np.array(image)).movedim(-1, -3).contiguous()
                for key, image in images.items()
            },
        )


class TrainingDataset(TorchDataset[dict[str, Any]]):
    """Every control step of a dataset as one sample; any order is quick, the result always equal.

    A sample at step t is a dict. ``default_collate`` makes batches of it; with ``prompt_images``
    use :func:`collate`, since prompts differ in their number of images.

    ======================  =====================================================================
    ``images``              by camera: frames t - history + 1 ... t, (history, 3, H, W)
    ``proprioception``      by name: the same states, (history, k) float32
    ``observation_is_pad``  (history,) bool: before the first state, which is repeated there
    ``action``              actions t ... t + horizon - 1, (horizon, A) float32
    ``action_is_pad``       (horizon,) bool: after the last action, which is repeated there
    ``action_failed``       (horizon,) bool: part of an attempt that was given up
    ``task``                the prompt in plain words
    ``subtask``             the sub-task of step t in plain words
    ``instruction``         what the arm does at step t in plain words
    ``episode``, ``step``   where it is from, e.g. ``"sort/train_00000007"`` and t
    ``prompt``              the prompt with placeholders; only with ``prompt_images``
    ``prompt_images``       by placeholder: images as recorded, (3, H, W); only if asked for
    ======================  =====================================================================

    Can be pickled and forked: every process opens its own files.

    Args:
        dataset: A dataset or its folder. Filter it first to train on a part:
            ``TrainingDataset(Dataset("demos").filter(level="L0"))``.
        cameras: Names of cameras; ``None``: all that were filmed with; empty: no images.
        history: Number of observations.
        horizon: Number of actions.
        image_size: Height and width in pixels to scale to; ``None``: as filmed.
        image_dtype: ``torch.uint8`` in [0, 255], or a floating type in [0, 1].
        proprioception: Names of measurements; ``None``: joint angles, pose of the end effector and
            the first that is true or false.
        prompt_images: Whether to add the prompt with its images.
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
        proprioception: Sequence[str] | None = None,
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
            raise ClevrSkillsError(f"{dataset.path} has no episodes that fit: leave out a filter")
        self.cameras = dataset.header.cameras if cameras is None else tuple(cameras)
        if proprioception is None:
            proprioception = ("qpos", "ee_pose", *dataset[0].flags[:1])
        check_names(
            camera=(self.cameras, dataset.header.cameras),
            measurement=(proprioception, dataset[0].info["final"]["proprioception"]),
        )
        self.history, self.horizon = history, horizon
        self.image_size, self.image_dtype = image_size, image_dtype
        self.proprioception, self.prompt_images = tuple(proprioception), prompt_images
        self._reader = DatasetReader(
            dataset, self.cameras, self.proprioception, prompt_images, image_size, open_videos
        )
        self.lengths = self._reader.lengths
        self._stops = np.cumsum(self.lengths)
        self._kept = None if failed_steps else _kept(dataset)

    def __len__(self) -> int:
        """Return the number of samples."""
        return int(self._stops[-1]) if self._kept is None else len(self._kept)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Read a sample.

        Raises:
            IndexError: There is no such sample.
        """
        number, step = self.where(index)
        table = self._reader.table(number)
        window = self._reader.window(number, step - self.history + 1, self.history, self.horizon)
        frames = self._reader.frames(number, window.steps)
        sample = {
            "images": {name: self._image(images) for name, images in frames.items()},
            "proprioception": {
                name: torch.from_numpy(np.ascontiguousarray(window.state[:, columns]))
                for name, columns in table.columns.items()
            },
            "observation_is_pad": torch.from_numpy(~window.exists),
            "action": torch.from_numpy(window.actions[-1]),
            "action_is_pad": torch.from_numpy(~window.action_exists[-1]),
            "action_failed": torch.from_numpy(window.action_failed[-1]),
            "task": table.task,
            "subtask": table.subtask[step],
            "instruction": table.instruction[step],
            "episode": "/".join(self._reader.paths[number].parts[-2:]),
            "step": step,
        }
        if self.prompt_images:
            sample["prompt"] = table.prompt
            sample["prompt_images"] = {k: self._image(i) for k, i in table.prompt_images.items()}
        return sample

    def where(self, index: int) -> tuple[int, int]:
        """Return the episode of the dataset, and the step of it, that a sample is.

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

    def _image(self, images: Tensor) -> Tensor:
        """Return images uint8 in the type asked for."""
        return images if self.image_dtype == torch.uint8 else images.to(self.image_dtype) / 255


def collate(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Make a batch of samples; ``prompt_images`` stay a list with one dict per sample."""
    apart = "prompt_images"
    batch = default_collate([{k: v for k, v in s.items() if k != apart} for s in samples])
    if apart in samples[0]:
        batch[apart] = [sample[apart] for sample in samples]
    return dict(batch)


def _kept(dataset: Dataset) -> np.ndarray:
    """Return numbers of the steps that do not belong to an attempt that was given up."""
    failed = [Episode(episode.path).unlearned for episode in dataset]
    return np.flatnonzero(~np.concatenate(failed))


def _floats(values: np.ndarray) -> np.ndarray:
    """Return (N, k) float32, also of numbers and flags."""
    return values.astype(np.float32).reshape(len(values), -1)
