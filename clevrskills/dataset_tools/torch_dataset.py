"""PyTorch dataset of the control steps of demonstrations.

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
    """Episode of a dataset, with its texts."""

    columns: Mapping[str, slice]  # columns of each measurement in the state
    subtask: Sequence[str]  # subtask of each step
    instruction: Sequence[str]  # instruction of each step
    task: str  # prompt in plain words
    prompt: str  # prompt with placeholders
    # images of the prompt by placeholder, (3, H, W) uint8; empty if not requested
    prompt_images: Mapping[str, Tensor]


class DatasetReader(WindowReader[DatasetTable]):
    """Reader of windows of a dataset.

    Args:
        dataset: The dataset.
        cameras: Names of cameras.
        proprioception: Names of the measurements in the state.
        prompt_images: Whether to read the images of prompts.
        frame_px: Width and height of scaled frames; ``None``: as recorded.
        open_videos: Number of videos kept open by each process.

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
        # the manifest is faster to read, but counts turns if there are any
        lines = {} if dataset.header.in_turns else latest_lines(dataset.path)
        known = {name: line.steps for name, line in lines.items()}
        self.lengths = tuple(known.get(e.id) or len(Episode(e.path)) for e in dataset)

    def read_table(self, number: int) -> DatasetTable:
        episode = Episode(self.paths[number])
        columns, prompt = episode.steps, episode.prompt
        images = episode.prompt_images() if self._prompt_images else {}
        read = map(episode.proprioception, self._proprioception)  # numbers, flags or vectors
        measured = [values.astype(np.float32).reshape(len(values), -1) for values in read]
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
    """Map-style dataset with one sample per control step.

    A sample at step t is a dict. With ``prompt_images`` use :func:`collate` for batches, since
    prompts differ in their number of images.

    ======================  =====================================================================
    ``images``              by camera: frames t - history + 1 ... t, (history, 3, H, W)
    ``proprioception``      by name: the same states, (history, k) float32
    ``observation_is_pad``  (history,) bool: before the first state, which is repeated there
    ``action``              actions t ... t + horizon - 1, (horizon, A) float32
    ``action_is_pad``       (horizon,) bool: after the last action, which is repeated there
    ``action_failed``       (horizon,) bool: part of a failed attempt
    ``task``                the prompt in plain words
    ``subtask``             the subtask of step t in plain words
    ``instruction``         the instruction of step t in plain words
    ``episode``, ``step``   name of the episode, e.g. ``"sort/train_00000007"``, and t
    ``prompt``              the prompt with placeholders; only with ``prompt_images``
    ``prompt_images``       by placeholder: images, (3, H, W); only with ``prompt_images``
    ======================  =====================================================================

    It can be pickled and forked: every process opens its own files.

    Args:
        dataset: A dataset, e.g. ``Dataset("demos").filter(level="L0")``, or its folder.
        cameras: Names of cameras; ``None``: all; empty: no images.
        history: Number of observations.
        horizon: Number of actions.
        image_size: Height and width of scaled images; ``None``: as recorded.
        image_dtype: ``torch.uint8`` in [0, 255], or a floating type in [0, 1].
        proprioception: Names of measurements; ``None``: joint angles, end-effector pose and the
            first boolean measurement.
        prompt_images: Whether to add the prompt with its images.
        failed_steps: Whether to sample steps of failed attempts; action chunks contain them anyway.
        open_videos: Number of videos kept open by each process.

    Raises:
        DatasetError: The dataset is missing or damaged, here or when samples are read.
        ClevrSkillsError: The dataset is empty, or an argument is out of range.
        UnknownNameError: An unknown camera or measurement.
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
            raise ClevrSkillsError(f"{dataset.path} has no matching episodes: remove a filter")
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
            IndexError: ``index`` is out of range.
        """
        number, step = self.locate(index)
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

    def locate(self, index: int) -> tuple[int, int]:
        """Return episode index and step of a sample.

        Raises:
            IndexError: ``index`` is out of range.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        flat = index % len(self)
        if self._kept is not None:
            flat = int(self._kept[flat])
        number = int(np.searchsorted(self._stops, flat, side="right"))
        return number, flat - (int(self._stops[number - 1]) if number else 0)

    def _image(self, images: Tensor) -> Tensor:
        return images if self.image_dtype == torch.uint8 else images.to(self.image_dtype) / 255


def collate(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Make a batch of samples; ``prompt_images`` stay a list with one dict per sample."""
    apart = "prompt_images"
    batch = default_collate([{k: v for k, v in s.items() if k != apart} for s in samples])
    if apart in samples[0]:
        batch[apart] = [sample[apart] for sample in samples]
    return dict(batch)


def _kept(dataset: Dataset) -> np.ndarray:
    """Return the flat indices of steps outside failed attempts."""
    failed = [Episode(episode.path).unlearned for episode in dataset]
    return np.flatnonzero(~np.concatenate(failed))
