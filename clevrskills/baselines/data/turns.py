"""Turns to learn from: what was seen, what was asked for, and the pick and place that was made.

They are read from datasets whose turns were recorded with the views ``map`` and ``height``, or from
a file of arrays ``map`` (N, H, W, 3) uint8, ``height`` (N, H, W) m, ``text`` (N,) and ``action``
(N, 6).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset

from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.errors import ClevrSkillsError

VIEWS = ("map", "height")
"""Views of which images are learned from."""
ARRAYS = ("map", "height", "text", "action")
NOTHING = -1000
"""Row and column of no pick: what was seen is an end."""
_SWAPS = (("left", "right"), ("top", "bottom"))
_PLACES = re.compile(r"\b(?:left|right|top|bottom|center)\b")


@dataclass(frozen=True)
class TurnBatch:
    """Turns.

    Attributes:
        images: Colors in [0, 1] and heights in decimeters, (B, 4, H, W).
        words: Numbers of the words, 0 behind the last one, (B, L).
        actions: Rows, columns and turns of pick and place, (B, 6); of an end :data:`NOTHING`.
    """

    images: Tensor
    words: Tensor
    actions: Tensor

    def to(self, device: Any) -> Self:
        """The same on a device."""
        moved = {f.name: getattr(self, f.name).to(device) for f in fields(self)}
        return replace(self, **moved)


@dataclass(frozen=True)
class Turns:
    """Turns as arrays, see the module.

    Attributes:
        root: Where they are from.
    """

    root: Path
    map: np.ndarray
    height: np.ndarray
    text: np.ndarray
    action: np.ndarray

    def __len__(self) -> int:
        """Their number."""
        return len(self.text)

    @property
    def digest(self) -> str:
        """Tells them from others."""
        found = hashlib.sha256(np.ascontiguousarray(self.action).tobytes())
        found.update(json.dumps(self.text.tolist()).encode())
        return found.hexdigest()[:16]


def read_turns(root: Path) -> Turns:
    """Turns of a dataset, or of a file of arrays.

    Raises:
        ClevrSkillsError: There are none such.
    """
    if root.suffix == ".npz":
        try:
            with np.load(root) as data:
                return Turns(root, *(data[name] for name in ARRAYS))
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

    for episode in Dataset(root):
        if not episode.has_turns:
            raise ClevrSkillsError(f"{root} has no turns: generate it with --interface")
        text = episode.prompt["plain"] if "plain" in episode.prompt else episode.prompt["text"]
        for k, row in enumerate(episode.turns.itertuples()):
            action: list[int] = json.loads(row.action) if row.action.startswith("[") else []
            if len(action) != 6:
                raise ClevrSkillsError(f"{root} was not made with --interface pick_place_pixels")
            if row.ok and action[0] != NOTHING:
                add(episode.seen(k), text, action)
        add(episode.seen(len(episode.turns)), text, (NOTHING,) * 6)
    if not found["text"]:
        raise ClevrSkillsError(f"{root} has no turns that were carried out")
    return Turns(root, *(np.array(found[name]) for name in ARRAYS))


class TurnWindows(TorchDataset[Any]):
    """Turns as they are learned from, mirrored at random along with their words.

    Args:
        sources: The turns.
        vocabulary: How many words are told apart.
        length: Words of a text, at most.
        augment: Whether they are mirrored and shifted.
        seed: What decides how.

    Attributes:
        tasks: What each is of, for an order of them.
        counts: Ones.
    """

    def __init__(
        self,
        sources: Sequence[Turns],
        vocabulary: int,
        length: int,
        augment: bool,
        seed: int = 0,
    ) -> None:
        self._sources, self._augment, self._seed = sources, augment, seed
        self._vocabulary, self._length = vocabulary, length
        self._places = [(s, k) for s, source in enumerate(sources) for k in range(len(source))]
        self.tasks = tuple("turns" for _ in self._places)
        self.counts = np.ones(len(self._places), int)
        self._drawn = 0

    def __len__(self) -> int:
        """Their number."""
        return len(self._places)

    def __getitem__(self, index: int) -> TurnBatch:
        """A turn, as a batch of one."""
        return self.__getitems__([index])

    def __getitems__(self, indices: Sequence[int]) -> TurnBatch:
        """Several turns."""
        images, words, actions = [], [], []
        for index in indices:
            source, k = self._places[index]
            turns = self._sources[source]
            entropy = (self._seed, int(torch.initial_seed() % 2**31), index)
            text, action = str(turns.text[k]), np.array(turns.action[k], float)
            image = to_image(turns.map[k], turns.height[k])
            if self._augment:
                changed = mirrored(image, text, action, np.random.default_rng(entropy))
                image, text, action = changed
            images.append(image)
            words.append(words_of(text, self._vocabulary, self._length))
            actions.append(torch.from_numpy(action))
        return TurnBatch(torch.stack(images), torch.stack(words), torch.stack(actions))


def to_image(colors: np.ndarray, heights: np.ndarray) -> Tensor:
    """Colors (H, W, 3) uint8 and heights (H, W) m as an image (4, H, W)."""
    rgb = torch.from_numpy(np.array(colors, np.float32) / 255).movedim(-1, 0)
    return torch.cat((rgb, 10 * torch.from_numpy(np.array(heights, np.float32))[None]))


def words_of(text: str, vocabulary: int, length: int) -> Tensor:
    """Numbers of the words of a text, from 1 on, then zeros, (length,)."""
    from zlib import crc32

    found = [1 + crc32(w.encode()) % (vocabulary - 1) for w in re.findall(r"[a-z]+", text.lower())]
    return torch.tensor((found + [0] * length)[:length])


def mirrored(
    image: Tensor, text: str, action: np.ndarray, generator: np.random.Generator
) -> tuple[Tensor, str, np.ndarray]:
    """A turn, mirrored left to right, top to bottom or both, along with the words for it; one in
    whose text there are none is shifted besides.
    """
    action, done = action.copy(), action[0] == NOTHING
    height, width = image.shape[1:]
    for axis, (one, other) in ((1, _SWAPS[0]), (0, _SWAPS[1])):
        if generator.random() < 0.5:
            continue
        image = image.flip(axis + 1)
        text = _swapped(text, one, other)
        if not done:
            size = (height, width)[axis]
            action[[axis, axis + 3]] = size - 1 - action[[axis, axis + 3]]
            action[[2, 5]] *= -1
    if not done and not _PLACES.search(text.lower()):
        rows, columns = (int(n) for n in generator.integers(-12, 13, 2))
        moved = action + [rows, columns, 0, rows, columns, 0]
        inside = (moved[[0, 3]] >= 0) & (moved[[0, 3]] < height)
        inside &= (moved[[1, 4]] >= 0) & (moved[[1, 4]] < width)
        if inside.all():
            image, action = _shifted(image, rows, columns), moved
    return image, text, action


def _swapped(text: str, one: str, other: str) -> str:
    """A text in which two words have changed places."""
    words = {one: other, other: one}
    return re.sub(rf"\b(?:{one}|{other})\b", lambda m: words[m[0].lower()], text, flags=re.I)


def _shifted(image: Tensor, rows: int, columns: int) -> Tensor:
    """An image moved down and to the right; what comes in is as at the border."""
    padded = torch.nn.functional.pad(image[None], (12, 12, 12, 12), mode="replicate")[0]
    height, width = image.shape[1:]
    top, left = 12 - rows, 12 - columns
    return padded[:, top : top + height, left : left + width]
