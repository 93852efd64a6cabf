"""Demonstrations for training: datasets of this package, and LeRobot exports of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from clevrskills.core.policy import PromptInput
from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.export.lerobot_features import STATE_PARTS, task_sentences
from clevrskills.dataset_tools.layout import DATASET_FILE
from clevrskills.dataset_tools.torch_dataset import TrainingDataset
from clevrskills.errors import ClevrSkillsError, UnknownNameError

LEROBOT_FILE = "meta/info.json"


@dataclass(frozen=True)
class Demonstration:
    """One episode of a source.

    Attributes:
        id: Its name, e.g. ``sort/train_00000007``.
        task: Key of the task.
        split: ``train`` or ``test``.
        steps: Number of its control steps.
    """

    id: str
    task: str
    split: str
    steps: int


@dataclass(frozen=True)
class Clip:
    """Some control steps of a demonstration.

    Attributes:
        images: By camera, (T, 3, H, W) uint8.
        state: (T, P) float32.
        actions: (A, 7) float32.
        learned: Which of the actions are to be learned, (A,) bool.
    """

    images: Mapping[str, Tensor]
    state: Tensor
    actions: Tensor
    learned: Tensor

    def at(self, observed: np.ndarray, acted: np.ndarray) -> Clip:
        """Some steps of a clip of a whole demonstration, as :meth:`Source.clip` gives them."""
        last = len(self.actions) - 1
        seen, done = (torch.from_numpy(steps.clip(0, last)) for steps in (observed, acted))
        return Clip(
            {camera: images[seen] for camera, images in self.images.items()},
            self.state[seen],
            self.actions[done],
            self.learned[done] & torch.from_numpy(acted == done.numpy()),
        )


class Source(Protocol):
    """Demonstrations in a folder; can be pickled and forked.

    Attributes:
        root: The folder.
        demonstrations: What there is.
        state_parts: Measurements that make up the state, with the size of each.
        size_px: Width and height of the pictures; ``None``: each camera's own.
        robot: Key of the robot.
        has_pictures: Whether prompts can be shown with pictures.
    """

    root: Path
    demonstrations: Sequence[Demonstration]
    state_parts: Mapping[str, int]
    size_px: int | None
    robot: str
    has_pictures: bool

    def levels(self) -> Mapping[str, str]:
        """Level of each task that there are demonstrations of."""

    def prompt(self, number: int, form: str) -> PromptInput:
        """The prompt of a demonstration, ``multimodal`` or in words (``language``)."""

    def numbers(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """States (N, P) and actions (N, 7) of a demonstration."""

    def clip(self, number: int, observed: np.ndarray, acted: np.ndarray) -> Clip:
        """States and actions of a demonstration; what lies before its first or after its last step
        repeats that, and is not learned.
        """


def open_source(root: Path, cameras: Sequence[str]) -> Source:
    """Open a dataset, or a LeRobot export of one.

    Raises:
        ClevrSkillsError: It is neither, damaged, empty, or was not filmed by these cameras.
    """
    if (root / DATASET_FILE).is_file():
        return Recorded(root, cameras)
    if (root / LEROBOT_FILE).is_file():
        from clevrskills.baselines.data.lerobot import LeRobotExport

        return LeRobotExport(root, cameras)
    raise ClevrSkillsError(
        f"{root} holds no demonstrations: neither a dataset (no {DATASET_FILE}) nor a LeRobot "
        f"export (no {LEROBOT_FILE})"
    )


class Recorded:
    """A dataset of this package.

    Args:
        root: Its folder.
        cameras: Names of cameras.

    Raises:
        ClevrSkillsError: It is none, empty, damaged, or was not filmed by these cameras.
    """

    has_pictures = True

    def __init__(self, root: Path, cameras: Sequence[str]) -> None:
        self.root = root
        dataset = Dataset(root)
        if not len(dataset):
            raise ClevrSkillsError(f"{root} has no episodes")
        for camera in cameras:
            if camera not in dataset.header.cameras:
                raise UnknownNameError(f"camera of {root}", camera, dataset.header.cameras)
        self.robot = dataset.header.robot
        info = dataset[0].info
        felt = info["final"]["proprioception"]
        self.state_parts: Mapping[str, int] = {
            name: int(np.size(felt[name])) for name in STATE_PARTS if name in felt
        }
        self.size_px = common({info["cameras"][camera]["height"] for camera in cameras})
        self._samples = TrainingDataset(
            dataset, cameras=cameras, proprioception=tuple(self.state_parts)
        )
        self._paths = [episode.path for episode in dataset]
        self.demonstrations: Sequence[Demonstration] = [
            Demonstration(e.id, e.path.parent.name, e.path.name.rpartition("_")[0], steps)
            for e, steps in zip(dataset, self._samples.lengths, strict=True)
        ]

    def levels(self) -> Mapping[str, str]:  # noqa: D102
        first = {d.task: path for d, path in zip(self.demonstrations, self._paths, strict=True)}
        return {task: str(Episode(path).info["level"]) for task, path in first.items()}

    def prompt(self, number: int, form: str) -> PromptInput:  # noqa: D102
        episode = Episode(self._paths[number])
        if form == "language":
            return PromptInput(task_sentences(episode)[0], {})
        return PromptInput(episode.prompt["text"], episode.prompt_images())

    def numbers(self, number: int) -> tuple[np.ndarray, np.ndarray]:  # noqa: D102
        episode = Episode(self._paths[number])
        steps = len(episode)
        parts = [episode.proprioception(name)[:-1].reshape(steps, -1) for name in self.state_parts]
        return np.concatenate(parts, axis=1, dtype=np.float32), episode.actions

    def clip(self, number: int, observed: np.ndarray, acted: np.ndarray) -> Clip:  # noqa: D102
        sample = self._samples.window(number, observed, acted)
        state = torch.cat([sample["proprioception"][name] for name in self.state_parts], dim=-1)
        learned = ~(sample["action_is_pad"] | sample["action_failed"])
        return Clip(sample["images"], state, sample["action"], learned)


def common(sizes: set[int]) -> int | None:
    """The one size that all pictures have, if they do."""
    return sizes.pop() if len(sizes) == 1 else None
