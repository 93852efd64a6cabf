"""LeRobot datasets in general: columns of each frame, and a writer of episodes for all versions.

Frame t of N is what was observed before action t. The recorded picture of the final state, after
the last action, has no row and is left out.
"""

import textwrap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clevrskills.core.suite import all_splits, step_interface
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.remux import Recording, open_recording
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.export.statistics import Statistics, as_lists
from clevrskills.dataset_tools.layout import POSE
from clevrskills.dataset_tools.record.columns import vectors
from clevrskills.jobs.files import to_json
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.state_vector import state_parts

IMAGES_PER_EPISODE = 8
"""Images of each camera that are decoded for the statistics."""
_TEXTS = ("instruction", "predicate", "skill", "action_class")
ANNOTATIONS = ("annotation.human.task_description", "annotation.human.subtask")
"""Columns for loaders in the way of GR00T: numbers of sentences among the tasks."""
_NUMBERS_AND_TEXTS = (
    ("float32", ("next.reward", "next.progress")),
    ("bool", ("next.done", "next.success", "next.truncated")),
    ("int64", ("subtask_index", *ANNOTATIONS)),
    ("string", tuple(f"label.{name}" for name in _TEXTS)),
    ("bool", ("label.failed", "label.keystep")),
    ("float32", ("timestamp",)),
    ("int64", ("frame_index", "episode_index", "index", "task_index")),
)
"""Types of the columns that hold one value of each frame."""

Row = dict[str, Any]
"""What is said of an episode, by name of the column."""


@dataclass
class SentenceIndex:
    """Numbers different sentences in the order of their first use."""

    indices: dict[str, int] = field(default_factory=dict)

    def index(self, sentence: str) -> int:
        """Return the number of a sentence."""
        return self.indices.setdefault(sentence, len(self.indices))


def by_split(selection: Selection) -> tuple[Selection, dict[str, str]]:
    """Return episodes with those of a split side by side, and the ``splits`` of ``info.json``."""
    splits: dict[str, str] = {}
    ids: list[str] = []
    for split in all_splits(selection.suite):
        if names := [name for name in selection.ids if f"/{split}_" in name]:
            splits[split] = f"{len(ids)}:{len(ids) + len(names)}"
            ids += names
    return replace(selection, ids=tuple(ids)), splits


def task_sentences(episode: Episode) -> list[str]:
    """Return the ways to ask for the task in words alone, the first of them its sentence.

    A text that shows the goal as a picture is left out, unless there is no other.
    """
    data = episode.prompt["data"]
    texts = [data["text"], *data.get("others", [])]
    if len(texts) == 1:
        return [str(episode.prompt["plain"])]
    prompt = Prompt.from_json(data)
    worded = [text for text in texts if "{ks:" not in text]
    return list(dict.fromkeys(prompt.plain(text) for text in worded or texts))


def image_key(camera: str) -> str:
    """Return the name of the feature with the images of a camera."""
    return f"observation.images.{camera}"


def state_sizes(episode: Episode) -> dict[str, int]:
    """Return the measurements in ``observation.state`` and how many numbers each has."""
    row = episode.steps.iloc[0]
    return {name: np.size(row[name]) for name in state_parts() if name in row}


def _action_names(episode: Episode) -> list[str]:
    """Return names of the numbers of an action: those that are scaled are deltas."""
    labels = step_interface(episode.suite).labels
    names: list[str] = []
    for part in episode.info["action_spec"]["parts"]:
        deltas = [f"d{label}" for label in labels[part["start"] : part["stop"]]]
        names += deltas if "scale" in part else [part["name"]]
    return names


def _state_names(parts: Mapping[str, int]) -> list[str]:
    names = []
    for part, size in parts.items():
        if part == "qpos":
            names += [f"joint_{index}" for index in range(1, size + 1)]
        elif part == "ee_pose":
            names += [f"end_effector_{name}" for name in POSE]
        else:
            names.append(part)
    return names


def _feature(dtype: str, names: Sequence[str] | None = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [len(names or [""])], "names": list(names) if names else None}


def features(episode: Episode) -> dict[str, dict[str, Any]]:
    """Return the ``features`` of ``info.json``, the same for all episodes of a dataset."""
    found = {image_key(camera): _video_feature(episode, camera) for camera in episode.cameras}
    found["observation.state"] = _feature("float32", _state_names(state_sizes(episode)))
    found["action"] = _feature("float32", _action_names(episode))
    return found | {name: _feature(kind) for kind, of in _NUMBERS_AND_TEXTS for name in of}


def _video_feature(episode: Episode, camera: str) -> dict[str, Any]:
    height, width = (int(episode.info["cameras"][camera][side]) for side in ("height", "width"))
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": "h264",
            "video.pix_fmt": "yuv420p",
            "is_depth_map": False,
            "video.is_depth_map": False,  # its name in LeRobot before 0.6
            "video.fps": int(episode.info["fps"]),
            "video.channels": 3,
            "has_audio": False,
        },
    }


def _numbers(column: Any) -> np.ndarray:
    values = column.to_numpy()
    return np.stack(values) if values.dtype == object else values.astype(np.float32)


def _arrow(values: Any) -> pa.Array:
    is_matrix = isinstance(values, np.ndarray) and values.ndim == 2
    return vectors(values) if is_matrix else pa.array(values)


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(data, indent=1) + "\n", encoding="utf-8")


_CARD = """---
license: apache-2.0
task_categories:
- robotics
tags:
- LeRobot
- clevrskills
configs:
- config_name: default
  data_files: data/*/*.parquet
---

# ClevrSkills demonstrations

Made by the ClevrSkills oracle in simulation and exported as LeRobotDataset {version}: \
{episodes} episodes, {frames} frames at {fps} Hz, {sentences} different task sentences, robot \
`{robot}`, success criteria `{criteria}`.

| task | episodes |
|---|---|
{tasks}

Splits, by episode index: {splits}. They draw from different objects and textures.

- `action`, in [-1, 1]: translation `dx dy dz` (unit 0.1 m) and rotation vector `drx dry drz`
  (unit 0.1 rad) of the end effector in its own frame, from where it was last commanded to be, and
  `gripper`, whose suction is on above 0.
{state}
- `next.reward`, `next.progress`, `next.success`, `next.done`: of the state after the action.
- Frame t was seen before action t; the picture of the final state is left out.

Made with {packages}.
"""


def card(selection: Selection, info: Mapping[str, Any], sentences: int) -> str:
    """Return the page, with the metadata that the hub reads.

    Args:
        selection: The episodes.
        info: The content of ``info.json``.
        sentences: Number of different sentences that ask for a task.
    """
    tasks = Counter(name.partition("/")[0] for name in selection.ids)
    parts = ", ".join(part.meaning for part in state_parts().values())
    state = textwrap.fill(f"- `observation.state`: {parts}.", 99, subsequent_indent="  ")
    return _CARD.format(
        version=info["codebase_version"],
        episodes=info["total_episodes"],
        frames=info["total_frames"],
        sentences=sentences,
        fps=info["fps"],
        robot=selection.header.robot,
        criteria=selection.header.criteria,
        tasks="\n".join(f"| `{task}` | {count} |" for task, count in tasks.items()),
        state=state,
        splits=", ".join(f"{name} {range_}" for name, range_ in info["splits"].items()),
        packages=", ".join(f"{name} {v}" for name, v in selection.header.versions.items() if v),
    )


class LeRobotWriter(ABC):
    """Writer of a LeRobot dataset: all episodes one by one and, at the end, what is common to them.

    Args:
        selection: The episodes.
        out: Folder of the dataset.
    """

    version: str
    data_path: str
    video_path: str

    def __init__(self, selection: Selection, out: Path) -> None:
        self._selection, self._splits = by_split(selection)
        self.out, self.first = out, self._selection.first()
        self.fps = int(self.first.info["fps"])
        self.tasks, self.subtasks = SentenceIndex(), SentenceIndex()
        self._asked = set[str]()
        self.episodes = self.frames = 0
        self._statistics = Statistics()

    @abstractmethod
    def add_video(self, key: str, recording: Recording) -> Row:
        """Write the images of a camera; returns the columns that say where they are."""

    @abstractmethod
    def add_episode(
        self, episode: Episode, row: Row, videos: Row, frames: pa.Table, stats: Row
    ) -> None:
        """Write all else of an episode: its description ``row``, where its ``videos`` are, the
        columns of its ``frames`` and their statistics.
        """

    @abstractmethod
    def finish(self) -> dict[str, Any]:
        """Complete all files; returns what ``info.json`` states of their number and size."""

    def write(self) -> None:
        """Write everything.

        Raises:
            DatasetError: A file of an episode is missing or damaged.
        """
        for episode in self._selection:
            self._add(episode)
        sizes = self.finish()
        info = {
            "codebase_version": self.version,
            "robot_type": self._selection.header.robot,
            "total_episodes": self.episodes,
            "total_frames": self.frames,
            "total_tasks": len(self.tasks.indices),
            **sizes,
            "fps": self.fps,
            "splits": self._splits,
            "data_path": self.data_path,
            "video_path": self.video_path if self.first.cameras else None,
            "features": self.features(),
            "look": self._selection.header.look,
            "standard": self._selection.header.standard,
        }
        write_json(self.out / "meta/info.json", info)
        write_json(self.out / "meta/stats.json", as_lists(self._statistics.total()))
        (self.out / "README.md").write_text(
            card(self._selection, info, len(self._asked)), encoding="utf-8"
        )

    def features(self) -> dict[str, dict[str, Any]]:
        """Return the ``features`` of ``info.json``."""
        return features(self.first)

    def _add(self, episode: Episode) -> None:
        sentence = task_sentences(episode)[0]
        task = self.tasks.index(sentence)
        self._asked.add(sentence)
        data = self._columns(episode, task)
        stats = self._statistics.add_numbers(data)
        videos: Row = {}
        for camera in self.first.cameras:
            key = image_key(camera)
            with open_recording(episode.video_file(camera), len(episode)) as recording:
                images = recording.images(IMAGES_PER_EPISODE)
                stats[key] = self._statistics.add_images(key, images)
                videos |= self.add_video(key, recording)
        row = {
            "episode_index": self.episodes,
            "tasks": [sentence],
            "length": len(episode),
            "source": episode.id,
        }
        frames = pa.table({name: _arrow(values) for name, values in data.items()})
        self.add_episode(episode, row, videos, frames, as_lists(stats))
        self.episodes += 1
        self.frames += len(episode)

    def _columns(self, episode: Episode, task: int) -> dict[str, Any]:
        """Return the features of each frame but the images: arrays (N,) or (N, D), or lists of
        sentences.
        """
        steps, count = episode.steps, len(episode)
        state = [_numbers(steps[name]).reshape(count, -1) for name in state_sizes(episode)]
        done = steps["terminated"].to_numpy() | steps["truncated"].to_numpy()
        done[-1] = True
        frames = np.arange(count)
        return {
            "observation.state": np.concatenate(state, axis=1),
            "action": episode.actions,
            "next.reward": _numbers(steps["reward"]),
            "next.progress": _numbers(steps["progress"]),
            "next.done": done,
            "next.success": steps["success"].to_numpy(),
            "next.truncated": steps["truncated"].to_numpy(),
            "subtask_index": np.array([self.subtasks.index(text) for text in steps["subtask"]]),
            ANNOTATIONS[0]: np.full(count, task),
            ANNOTATIONS[1]: np.array([self.tasks.index(text) for text in steps["subtask"]]),
            **{f"label.{name}": steps[name].tolist() for name in _TEXTS},
            "label.failed": episode.unlearned,
            "label.keystep": steps["keystep"].to_numpy(),
            "timestamp": (frames / episode.info["fps"]).astype(np.float32),
            "frame_index": frames,
            "episode_index": np.full(count, self.episodes),
            "index": self.frames + frames,
            "task_index": np.full(count, task),
        }
