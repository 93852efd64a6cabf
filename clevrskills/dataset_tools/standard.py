"""Standard datasets: fixed demonstrations, verified against digests published by a suite.

Slot k of a task is the episode of seed k, or of a listed substitute if that one failed. The file of
digests has one for each part of the first 100 slots, and mean colors of frames of the first slot,
which distinguish other renderers from other scenes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clevrskills.core.episode import SUBSTITUTE, RecordedName
from clevrskills.core.suite import Suite, all_splits, data_file
from clevrskills.errors import ClevrSkillsError, DamagedError
from clevrskills.jobs.files import to_json

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Dataset, Episode
    from clevrskills.dataset_tools.layout import Header

FILE = "standard.json"
"""Name of the file of digests, beside the suite's module."""
SIZES = (100, 1000)
"""Demonstrations of each task in the standard datasets."""
DIGESTED = SIZES[0]
"""Slots of each task that have digests."""
PARTS = ("scene", "actions", "states", "labels")
"""Parts of an episode with a digest."""
TOLERANCE = 8.0
"""Largest mean difference between colors of two renderings of a frame, of 255 levels."""
_HEX = 8  # digits of a digest
_GRID = 4  # fields of mean colors in each direction of a frame
_LABELS = (
    *("success", "terminated", "truncated", "keystep", "failed", "holds"),
    *("subtask", "instruction", "subtask_text", "instruction_text"),
    *("subgoal", "predicate", "skill", "action_class", "attempt"),
)


@dataclass(frozen=True)
class TaskDigest:
    """Published digest of a task."""

    seeds: Sequence[int]  # seed of each slot with digests
    digests: Mapping[str, Sequence[str]]  # digest of each slot, by part
    # colors of the first and last frame of slot 0, by camera, (2, 4, 4, 3) uint8
    frames: Mapping[str, np.ndarray]

    def to_json(self) -> dict[str, Any]:
        """Return JSON data; seeds only where they differ from the slot."""
        return {
            "substitutes": {str(k): seed for k, seed in enumerate(self.seeds) if seed != k},
            "digests": {part: "".join(found) for part, found in self.digests.items()},
            "frames": {
                camera: base64.b64encode(colors.tobytes()).decode()
                for camera, colors in self.frames.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the result of :meth:`to_json`."""
        substitutes = {int(slot): seed for slot, seed in data["substitutes"].items()}
        return cls(
            [substitutes.get(slot, slot) for slot in range(DIGESTED)],
            {part: _cut(data["digests"][part]) for part in PARTS},
            {
                camera: np.frombuffer(base64.b64decode(text), np.uint8).reshape(2, _GRID, _GRID, 3)
                for camera, text in data["frames"].items()
            },
        )


@dataclass(frozen=True)
class Standard:
    """Published digests of a suite's standard datasets."""

    benchmark: int  # version of the suite's benchmark
    settings: Mapping[str, str]  # split, robot and criteria of the episodes
    tasks: Mapping[str, TaskDigest]

    def to_json(self) -> str:
        """Return the content of the file."""
        data = {"benchmark": self.benchmark, **self.settings}
        tasks = {task: digest.to_json() for task, digest in self.tasks.items()}
        return to_json({**data, "tasks": tasks}, indent=1) + "\n"

    def faults(self, episode: Episode) -> Iterator[str]:
        """Yield differences of an episode from its slot's digests; none for later slots."""
        info = episode.info
        slot = slot_of(int(info["seed"]))
        if slot >= DIGESTED or info["task"] not in self.tasks:
            return
        digest = self.tasks[info["task"]]
        if info["seed"] != digest.seeds[slot]:
            yield f"seed {info['seed']} in slot {slot}, published is {digest.seeds[slot]}"
            return
        for part, found in digests(episode).items():
            if found != digest.digests[part][slot]:
                yield f"{part}: differs from the published digest"
        for camera in set(episode.cameras) & set(digest.frames) if slot == 0 else ():
            far = np.abs(colors(episode, camera).astype(float) - digest.frames[camera]).mean()
            if far > TOLERANCE:
                yield f"images of {camera} differ by {far:.1f} of 255, more than {TOLERANCE:g}"


def slot_of(seed: int) -> int:
    """Return the slot of a seed."""
    return seed % SUBSTITUTE


def read_standard(suite: Suite) -> Standard:
    """Return the published digests of a suite.

    Raises:
        ClevrSkillsError: There are none, or their file is damaged.
    """
    path = data_file(suite, FILE)
    if path is None:
        raise ClevrSkillsError(f"suite {suite.name} has no standard dataset: leave out --standard")
    return _read(path)


@cache
def _read(path: Path) -> Standard:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        settings = {name: data[name] for name in ("split", "robot", "criteria")}
        tasks = {task: TaskDigest.from_json(digest) for task, digest in data["tasks"].items()}
        return Standard(data["benchmark"], settings, tasks)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError.of(path, error) from error


def measure(dataset: Dataset, suite: Suite) -> Standard:
    """Return the digests of a dataset, to publish them.

    Raises:
        ClevrSkillsError: One of the first slots of a task is missing.
    """
    header, split, tasks = dataset.header, all_splits(suite)[0], {}
    found: dict[tuple[str, int], Episode] = {}
    for episode in dataset.filter(split=split):
        name = RecordedName.parse(episode.id)
        found[name.task, slot_of(name.seed)] = episode
    for task in suite.tasks:
        missing = [slot for slot in range(DIGESTED) if (task, slot) not in found]
        if missing:
            raise ClevrSkillsError(f"{dataset.path} lacks slot {missing[0]} of {task}")
        episodes = [found[task, slot] for slot in range(DIGESTED)]
        seeds = [RecordedName.parse(episode.id).seed for episode in episodes]
        each = [digests(episode) for episode in episodes]
        frames = {camera: colors(episodes[0], camera) for camera in episodes[0].cameras}
        tasks[task] = TaskDigest(seeds, {part: [d[part] for d in each] for part in PARTS}, frames)
    settings = {"split": split, "robot": header.robot, "criteria": header.criteria}
    benchmark = suite.frozen(next(iter(tasks)), split).header.benchmark
    return Standard(benchmark, settings, tasks)


def missing_slots(episodes: Iterable[Path], size: int) -> Iterator[str]:
    """Yield messages about missing and surplus slots of a standard dataset.

    Args:
        episodes: Directories of the episodes.
        size: Number of slots per task.
    """
    there: dict[str, set[int]] = {}
    for path in episodes:
        name = RecordedName.parse("/".join(path.parts[-2:]))
        there.setdefault(name.task, set()).add(slot_of(name.seed))
    for task, slots in there.items():
        if lacking := sorted(set(range(size)) - slots):
            yield f"{task} lacks {len(lacking)} of {size} slots, the first is {lacking[0]}"
        if extra := sorted(slots - set(range(size))):
            yield f"{task} has {len(extra)} slots beyond {size}, the first is {extra[0]}"


def check_header(root: Path, header: Header, standard: Standard) -> int:
    """Return the size of a standard dataset.

    Raises:
        ClevrSkillsError: It is not a standard dataset, or has other settings.
    """
    if header.standard is None:
        raise ClevrSkillsError(f"{root} was not made by `clevrskills generate --standard`")
    for name in ("robot", "criteria"):
        if getattr(header, name) != standard.settings[name]:
            raise ClevrSkillsError(
                f"{root} has {name} {getattr(header, name)}, the standard {standard.settings[name]}"
            )
    return header.standard


def digests(episode: Episode) -> dict[str, str]:
    """Return the digest of each part of an episode; numbers are compared bit for bit."""
    info, steps = episode.info, episode.steps
    scene = to_json([info["scene"], info["prompt"]["text"], info["prompt"]["plain"], info["goal"]])
    labels = to_json({name: steps[name].tolist() for name in _LABELS})
    contents = {
        "scene": scene.encode(),
        "actions": np.ascontiguousarray(episode.actions, "<f4").tobytes(),
        "states": np.ascontiguousarray(episode.states).tobytes(),
        "labels": labels.encode(),
    }
    return {part: hashlib.sha256(contents[part]).hexdigest()[:_HEX] for part in PARTS}


def colors(episode: Episode, camera: str) -> np.ndarray:
    """Return mean colors of the fields of a camera's first and last frame, (2, 4, 4, 3) uint8."""
    frames = np.stack([episode.frame(camera, step) for step in (0, len(episode))])
    height, width = (size - size % _GRID for size in frames.shape[1:3])
    fields = frames[:, :height, :width].reshape(2, _GRID, height // _GRID, _GRID, width // _GRID, 3)
    return fields.mean(axis=(2, 4)).round().astype(np.uint8)


def _cut(text: str) -> list[str]:
    found = [text[k : k + _HEX] for k in range(0, len(text), _HEX)]
    if len(found) != DIGESTED:
        raise ValueError(f"{len(found)} digests, not {DIGESTED}")
    return found
