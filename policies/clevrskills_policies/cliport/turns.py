"""Demonstrated turns: observation, instruction and executed pick and place.

They are read from a dataset whose turns have the views ``map`` and ``height``, or from a file of
arrays: ``map`` (I, H, W, 3) uint8, ``height`` (I, H, W) in m, ``text`` (N,) and ``action`` (N, 6).
If images have several turns, ``scene`` (N,) is the index of the image of each turn; ``task`` has
the task of each episode.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset

from clevrskills.baselines.batch import Movable
from clevrskills.baselines.data.sources import check_learnable
from clevrskills.core.suite import all_splits
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.errors import ClevrSkillsError

VIEWS = ("map", "height")
"""Views that make up an image."""
ARRAYS = ("map", "height", "text", "action")
NOTHING = -1000
"""Row and column where there is no pick: the observation is terminal."""
MOST_PX = 12
"""Maximum shift of images in augmentation, in pixels."""
NOISE = (0.012, 0.012, 0.012, 0.03)
"""Maximum standard deviation of noise, of colors in [0, 1] and of heights in decimeters."""
REPLACED = 0.05
"""Share of words that are replaced."""
Asked = tuple[str, np.ndarray]
"""Instruction, and pick and place (6,)."""
_SWAPS = (("left", "right"), ("top", "bottom"))
_PLACES = re.compile(r"\b(?:left|right|top|bottom|center)\b")


@dataclass(frozen=True)
class TurnBatch(Movable):
    """Batch of turns."""

    images: Tensor  # colors in [0, 1] and heights in decimeters, (I, 4, H, W)
    scenes: Tensor  # index of the image of each turn, (B,)
    words: Tensor  # indices of words, (B, L), padded with 0
    actions: Tensor  # row, column and rotation of pick and place, (B, 6); at ends :data:`NOTHING`


@dataclass(frozen=True)
class Turns:
    """Turns as arrays, see the module."""

    root: Path  # dataset or file
    map: np.ndarray
    height: np.ndarray
    text: np.ndarray
    action: np.ndarray
    scene: np.ndarray
    tasks: tuple[str, ...] = ()  # task of each episode; empty: unknown

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.text)

    @property
    def digest(self) -> str:
        """Hash of all arrays."""
        found = hashlib.sha256(json.dumps(self.text.tolist()).encode())
        for array in (self.map, self.height, self.action, self.scene):
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()[:16]


def read_turns(root: Path) -> Turns:
    """Return the turns of a dataset or of a file of arrays.

    Raises:
        ClevrSkillsError: There are no such turns, or they are of frozen episodes or of a split for
            evaluation.
    """
    if root.suffix == ".npz":
        try:
            with np.load(root) as data:
                arrays = {name: data[name] for name in ARRAYS}
                scene = data["scene"] if "scene" in data else np.arange(len(arrays["map"]))
                tasks = tuple(data["task"].tolist()) if "task" in data else ()
                return Turns(root, scene=scene, tasks=tasks, **arrays)
        except (OSError, KeyError, ValueError, BadZipFile) as error:
            raise ClevrSkillsError(f"{root} holds no turns: {error}") from None
    found: dict[str, list[Any]] = {name: [] for name in ARRAYS}

    def add(seen: Mapping[str, Any], text: str, action: Sequence[float]) -> None:
        missing = [view for view in VIEWS if view not in seen]
        if missing:
            raise ClevrSkillsError(
                f"{root} has no view {' and '.join(missing)}: generate it with --view map "
                "--view height --interface pick_place_pixels"
            )
        for name, value in (*((v, seen[v]) for v in VIEWS), ("text", text), ("action", action)):
            found[name].append(value)

    dataset, recorded = Dataset(root), list[str]()
    check_learnable(dataset)
    for episode in dataset:
        split = all_splits(episode.suite)[0]
        if episode.info["split"] != split:
            raise ClevrSkillsError(f"{episode.id} of {root} is held out; allowed: split {split}")
        recorded.append(episode.info["task"])
        if not episode.has_turns:
            raise ClevrSkillsError(f"{root} has no turns: generate it with --interface")
        text = episode.prompt["plain"] if "plain" in episode.prompt else episode.prompt["text"]
        for k, row in enumerate(episode.turns.itertuples()):
            action: list[int] = json.loads(row.action) if row.action.startswith("[") else []
            if len(action) != 6:
                raise ClevrSkillsError(
                    f"{root} was not generated with --interface pick_place_pixels"
                )
            if row.ok and action[0] != NOTHING:
                add(episode.views(k), text, action)
        add(episode.views(len(episode.turns)), text, (NOTHING,) * 6)
    if not found["text"]:
        raise ClevrSkillsError(f"{root} has no executed turns")
    scene = np.arange(len(found["text"]))
    arrays = {name: np.array(found[name]) for name in ARRAYS}
    return Turns(root, scene=scene, tasks=tuple(recorded), **arrays)


class TurnWindows(TorchDataset[TurnBatch]):
    """Training data: images with turns, augmented at random together with their words.

    Args:
        sources: The turns.
        vocabulary: Size of the vocabulary.
        length: Maximum number of words of a text.
        augment: Whether to mirror, shift, add noise and replace words.
        most: Maximum number of turns of an image.
        seed: Seed of the augmentation and of the choice of turns.

    Attributes:
        tasks: Task of each image, for sampling.
        counts: Number of windows of each image, 1.
    """

    def __init__(
        self,
        sources: Sequence[Turns],
        vocabulary: int,
        length: int,
        augment: bool,
        most: int = 1,
        seed: int = 0,
    ) -> None:
        self._sources, self._augment, self._seed, self._most = sources, augment, seed, most
        self._vocabulary, self._length = vocabulary, length
        self._places: list[tuple[int, int, np.ndarray]] = []
        for s, source in enumerate(sources):
            order = np.argsort(source.scene, kind="stable")
            scenes, starts = np.unique(source.scene[order], return_index=True)
            turns = np.split(order, starts[1:])
            self._places += [(s, int(k), of) for k, of in zip(scenes, turns, strict=True)]
        self.tasks = tuple("turns" for _ in self._places)
        self.counts = np.ones(len(self._places), int)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self._places)

    def __getitem__(self, indices: Sequence[int]) -> TurnBatch:
        """Return a batch of several images. Indices beyond the last image start over, with new
        random augmentation.
        """
        images, scenes, words, actions = [], [], [], []
        for number, index in enumerate(indices):
            generator = np.random.default_rng((self._seed, index))
            image, turns = self._draw(index % len(self), generator)
            images.append(image)
            for text, action in turns:
                found = words_of(text, self._vocabulary, self._length)
                if self._augment:
                    found = _some_replaced(found, self._vocabulary, generator)
                scenes.append(number)
                words.append(found)
                actions.append(torch.from_numpy(action))
        batch = (torch.stack(images), torch.tensor(scenes), torch.stack(words))
        return TurnBatch(*batch, torch.stack(actions))

    def _draw(self, index: int, generator: np.random.Generator) -> tuple[Tensor, Sequence[Asked]]:
        """Return an image and some of its turns, augmented."""
        source, scene, which = self._places[index]
        turns = self._sources[source]
        image = to_image(turns.map[scene], turns.height[scene])
        chosen = generator.permutation(which)
        asked = [(str(turns.text[k]), np.array(turns.action[k], float)) for k in chosen]
        if not self._augment:
            return image, asked[: self._most]
        image, asked = mirrored(image, asked, generator)
        image, asked = _shifted(image, asked, generator)
        return _noisy(image, generator), asked[: self._most]


def to_image(colors: np.ndarray, heights: np.ndarray) -> Tensor:
    """Return colors (H, W, 3) uint8 and heights (H, W) in m as an image (4, H, W)."""
    rgb = torch.from_numpy(np.array(colors, np.float32) / 255).movedim(-1, 0)
    return torch.cat((rgb, 10 * torch.from_numpy(np.array(heights, np.float32))[None]))


def words_of(text: str, vocabulary: int, length: int) -> Tensor:
    """Return the indices (length,) of the words of a text, from 1 on, padded with 0."""
    found = [1 + crc32(w.encode()) % (vocabulary - 1) for w in re.findall(r"[a-z]+", text.lower())]
    return torch.tensor((found + [0] * length)[:length])


def mirrored(
    image: Tensor, turns: Sequence[Asked], generator: np.random.Generator
) -> tuple[Tensor, list[Asked]]:
    """Mirror an image and its turns, words included, at random along each axis."""
    turns = [(text, action.copy()) for text, action in turns]
    for axis, (one, other) in ((1, _SWAPS[0]), (0, _SWAPS[1])):
        if generator.random() < 0.5:
            continue
        last = image.shape[axis + 1] - 1
        image = image.flip(axis + 1)
        turns = [(_swapped(text, one, other), action) for text, action in turns]
        for _, action in turns:
            if action[0] != NOTHING:
                action[[axis, axis + 3]] = last - action[[axis, axis + 3]]
                action[[2, 5]] *= -1
    return image, turns


def _swapped(text: str, one: str, other: str) -> str:
    """Return a text with two words swapped."""
    words = {one: other, other: one}
    return re.sub(rf"\b(?:{one}|{other})\b", lambda m: words[m[0].lower()], text, flags=re.I)


def _shifted(
    image: Tensor, turns: list[Asked], generator: np.random.Generator
) -> tuple[Tensor, list[Asked]]:
    """Shift an image by up to :data:`MOST_PX` half the time, with repeated edge pixels. Only turns
    inside it whose text names no place are kept; if there are none, nothing is shifted.
    """
    rows, columns = (int(n) for n in generator.integers(-MOST_PX, MOST_PX + 1, 2))
    if generator.random() < 0.5:
        return image, turns
    by, kept = np.array([rows, columns, 0, rows, columns, 0]), []
    height, width = image.shape[1:]
    for text, action in turns:
        if action[0] != NOTHING:
            action = action + by
            inside = (action[[0, 3]] >= 0) & (action[[0, 3]] < height)
            inside &= (action[[1, 4]] >= 0) & (action[[1, 4]] < width)
            if not inside.all():
                continue
        if not _PLACES.search(text.lower()):
            kept.append((text, action))
    if not kept:
        return image, turns
    around = (MOST_PX,) * 4
    padded = torch.nn.functional.pad(image[None], around, mode="replicate")[0]
    top, left = MOST_PX - rows, MOST_PX - columns
    return padded[:, top : top + height, left : left + width], kept


def _noisy(image: Tensor, generator: np.random.Generator) -> Tensor:
    """Return an image with random noise, half the time."""
    size = max(0.0, 2 * generator.random() - 1)
    if not size:
        return image
    noise = torch.from_numpy(generator.standard_normal(image.shape, np.float32))
    return image + size * torch.tensor(NOISE)[:, None, None] * noise


def _some_replaced(words: Tensor, vocabulary: int, generator: np.random.Generator) -> Tensor:
    """Replace some words (L,) by random ones, as if they were unknown."""
    others = torch.from_numpy(generator.integers(1, vocabulary, len(words)))
    replaced = torch.from_numpy(generator.random(len(words)) < REPLACED) & (words > 0)
    return torch.where(replaced, others, words)
