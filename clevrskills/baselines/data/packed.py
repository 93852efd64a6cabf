"""Packed demonstrations: decoded and scaled once, in memory maps shared by processes and runs.

::

    FOLDER/<digest>/index.jsonl        a line for each packed demonstration
    FOLDER/<digest>/<camera>.u8        (N, 3, S, S), a row for each step of all demonstrations
    FOLDER/<digest>/state.f32          (N, P), actions.f32 (N, 7), failed.u8 (N,)
    FOLDER/<digest>/prompts.u8         prompt images, (M, 3, S, S)

The digest covers demonstrations, cameras and image size, so different data never share a folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from clevrskills.baselines.batch import scale_images
from clevrskills.baselines.data.sources import DatasetSource, LeRobotSource
from clevrskills.baselines.prompts import stack_images
from clevrskills.core.policy import PromptInput
from clevrskills.dataset_tools.window_reader import EpisodeTable, Window, WindowReader, cut_windows
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors, to_json
from clevrskills.jobs.journal import Journal, parse_record, read_lines
from clevrskills.jobs.pool import TimedOut, WorkerDied
from clevrskills.jobs.progress import Display
from clevrskills.jobs.work import JobQueue, open_pool, work

INDEX_FILE, LOCK_FILE, PROMPTS_FILE = "index.jsonl", "lock", "prompts.u8"
ACTION_SIZE = 7
_COLUMNS = ("state.f32", "actions.f32", "failed.u8")
_TYPES = {"f32": "f4", "u8": "u1"}
_VERSION = 1
_FORMS = ("multimodal", "language")


@dataclass(frozen=True)
class PackedPrompt:
    """Line of the index: the prompt of a packed demonstration."""

    number: int  # index of the demonstration in its source
    texts: Mapping[str, str]  # by form, multimodal or language, if the source has it
    keys: Sequence[str]  # placeholders of its images
    first: int  # row of the first image


class PackedSource(WindowReader[EpisodeTable]):
    """Packed demonstrations of a source; equal to the source except for scaled images.

    Args:
        source: The source.
        cameras: Names of cameras.
        size_px: Width and height of the images.
        folder: Folder of all packed demonstrations.

    Raises:
        StorageError: The folder cannot be written.
    """

    def __init__(
        self,
        source: DatasetSource | LeRobotSource,
        cameras: Sequence[str],
        size_px: int,
        folder: Path,
    ) -> None:
        super().__init__()
        self.root, self.robot, self.look = source.root, source.robot, source.look
        self.standard, self.state_parts = source.standard, source.state_parts
        self.size_px, self.demonstrations = source.size_px, source.demonstrations
        self.image_size, self.cameras = size_px, tuple(cameras)
        self._source = source
        self.folder = folder.absolute() / _digest(source, cameras, size_px)
        steps = [d.steps for d in self.demonstrations]
        self.starts = np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)
        self.prompts: dict[int, PackedPrompt] = {}
        with storage_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    def levels(self) -> Mapping[str, str]:
        """Return the level of each task with demonstrations."""
        return self._source.levels()

    def pack(self, numbers: Iterable[int], workers: int) -> None:
        """Pack demonstrations that are not packed yet; other processes wait for a lock.

        Args:
            numbers: Indices of the demonstrations.
            workers: Number of processes.

        Raises:
            ClevrSkillsError: A file is damaged or the disk is full; finished ones are kept.
        """
        with storage_errors(self.folder), (self.folder / LOCK_FILE).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._read_index()
            missing = [number for number in numbers if number not in self.prompts]
            if not missing:
                return
            for name, shape in self._shapes().items():
                with (self.folder / name).open("ab") as array:
                    array.truncate(int(np.prod(shape)) * _dtype(name).itemsize)  # sparse
            with Display("packing", len(missing)) as display:
                queue = _Packing(self, missing, display)
                make = partial(Packer, self)
                work(queue, lambda: open_pool("local", make, self.folder, max(1, workers)))

    def read_table(self, number: int) -> EpisodeTable:
        return self._table_of(slice(*self.starts[number : number + 2]))

    def frames(self, number: int, steps: np.ndarray) -> dict[str, Tensor]:
        rows = self.starts[number] + steps
        return {c: torch.from_numpy(self.map(f"{c}.u8")[rows]) for c in self.cameras}

    def prompt(self, number: int, form: str) -> PromptInput:
        """Return the prompt of a demonstration; its images are scaled, (S, S, 3).

        Raises:
            ClevrSkillsError: The source has no prompt of this form.
        """
        packed = self.prompts[number]
        if form not in packed.texts:
            return self._source.prompt(number, form)  # raises the error
        if form == "language":
            return PromptInput(packed.texts[form], {})
        images = self.map(PROMPTS_FILE)[packed.first : packed.first + len(packed.keys)]
        shown = images.transpose(0, 2, 3, 1)
        return PromptInput(packed.texts[form], dict(zip(packed.keys, shown, strict=True)))

    def windows(
        self, numbers: np.ndarray, first: np.ndarray, steps: int, horizon: int
    ) -> tuple[Window, dict[str, Tensor]]:
        """Return a batch of windows, equal to single ones of :meth:`window` and :meth:`frames`.

        Args:
            numbers: Indices of the episodes, (B,).
            first: First step of each window, (B,); may be negative.
            steps: Number of steps, T.
            horizon: Number of actions at each step, H.

        Returns:
            The windows, with a leading dimension B, and their frames by camera,
            (B, T, 3, S, S) uint8.
        """
        start = self.starts[numbers]
        last = self.starts[numbers + 1] - start - 1
        window = cut_windows(self._table_of(slice(None)), start, last, first, steps, horizon)
        rows = start[:, None] + window.steps
        return window, {c: torch.from_numpy(self.map(f"{c}.u8")[rows]) for c in self.cameras}

    def map(self, name: str, mode: Literal["r", "r+"] = "r") -> np.ndarray:
        """Return an array, opened once in each process."""
        self._own_files()
        key = name, mode
        if key not in self._maps:
            path = self.folder / name
            shapes = self._shapes()
            if name == PROMPTS_FILE:
                count = path.stat().st_size // int(np.prod(self._image))
                shapes[name] = count, *self._image
            shape = shapes[name]
            # plain arrays: indexing a numpy.memmap creates an object each time
            self._maps[key] = (
                np.asarray(np.memmap(path, _dtype(name), mode, shape=shape))
                if np.prod(shape)
                else np.zeros(shape, _dtype(name))
            )
        return self._maps[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_maps": {}}

    def _own_files(self) -> None:
        if self._process != os.getpid():
            self._maps: dict[tuple[str, str], np.ndarray] = {}
        super()._own_files()

    @property
    def _image(self) -> tuple[int, int, int]:
        return 3, self.image_size, self.image_size

    def _table_of(self, rows: slice) -> EpisodeTable:
        columns = {name.partition(".")[0]: self.map(name)[rows] for name in _COLUMNS}
        return EpisodeTable(**{**columns, "failed": columns["failed"].view(bool)}, videos={})

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array with one row for each step."""
        rows, state = int(self.starts[-1]), sum(self.state_parts.values())
        each = ((state,), (ACTION_SIZE,), ())
        shapes = {name: (rows, *shape) for name, shape in zip(_COLUMNS, each, strict=True)}
        return shapes | {f"{camera}.u8": (rows, *self._image) for camera in self.cameras}

    def _read_index(self) -> None:
        path = self.folder / INDEX_FILE
        if path.exists():
            parse = partial(parse_record, PackedPrompt)
            self.prompts = {packed.number: packed for packed in read_lines(path, parse)}


Packed = tuple[Mapping[str, str], Sequence[str], np.ndarray]
"""Texts by form, placeholders and images (k, 3, S, S) of a prompt."""


class Packer:
    """Worker that packs demonstrations, in its own process, and returns their prompts."""

    def __init__(self, packed: PackedSource) -> None:
        torch.set_num_threads(1)
        self._packed = packed

    def __call__(self, number: int) -> Packed:
        packed, source = self._packed, self._packed._source
        demonstration = source.demonstrations[number]
        every = np.arange(demonstration.steps)
        table, rows = source.read_table(number), packed.starts[number] + every
        for name in _COLUMNS:
            packed.map(name, "r+")[rows] = getattr(table, name.partition(".")[0])[every]
        for camera, frames in source.frames(number, every).items():
            scaled = scale_images(frames, packed.image_size)
            packed.map(f"{camera}.u8", "r+")[rows] = scaled.numpy()
        forms = _FORMS if isinstance(source, DatasetSource) else _FORMS[1:]
        prompts = {form: source.prompt(number, form) for form in forms}
        images = prompts[forms[0]].images
        texts = {form: prompt.text for form, prompt in prompts.items()}
        shown = stack_images(images.values(), packed.image_size).numpy()
        return texts, tuple(images), shown


class _Packing(JobQueue[int, Packed]):
    """Queue of the demonstrations to pack."""

    def __init__(self, packed: PackedSource, numbers: Sequence[int], display: Display) -> None:
        super().__init__(numbers)
        self._packed, self._display = packed, display
        self._journal = Journal(packed.folder / INDEX_FILE)
        self._path = packed.folder / PROMPTS_FILE
        self._done = 0

    def finish(self, job: int, result: Packed) -> None:
        texts, keys, images = result
        size = images[:1].nbytes or 1
        with storage_errors(self._path), self._path.open("ab") as file:
            first = file.tell() // size
            file.truncate(first * size)  # drop a partly written image
            file.write(images.tobytes())
        line = PackedPrompt(job, texts, keys, first)
        self._journal.append(to_json(asdict(line)))
        self._packed.prompts[job] = line
        self._done += 1

    def give_up(self, job: int, end: WorkerDied | TimedOut) -> None:
        name = self._packed.demonstrations[job].id
        raise ClevrSkillsError(f"{self._packed.root}: cannot pack {name}: {end.reason}")

    def update(self) -> None:
        self._display.update(self._done)


def _dtype(name: str) -> np.dtype[Any]:
    """Return the data type of an array from the extension of its file."""
    return np.dtype(_TYPES[name.rpartition(".")[2]])


def _digest(source: DatasetSource | LeRobotSource, cameras: Sequence[str], size_px: int) -> str:
    about = [_VERSION, list(cameras), size_px, source.look, source.robot, source.size_px]
    names = [[d.id, d.steps, d.content] for d in source.demonstrations]
    kind = type(source).__name__
    text = json.dumps([kind, about, dict(source.state_parts), names])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
