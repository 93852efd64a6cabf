"""LeRobot datasets: features of frames, and base class of the writers of all versions.

Frame t of N is the observation before action t; the image of the final state is left out.
"""

import textwrap
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clevrskills.core.episode import RecordedName
from clevrskills.core.suite import all_splits, step_interface
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.parts import PartWriter, Plan
from clevrskills.dataset_tools.export.remux import Recording, open_recording
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.export.statistics import Statistics, as_lists
from clevrskills.dataset_tools.layout import POSE, DatasetError
from clevrskills.dataset_tools.record.columns import vectors
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import to_json
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.state_vector import state_parts

TASKS, ASKED = "tasks", "asked"
"""Kinds of sentences: all in the table of tasks, and those of whole tasks."""
STATISTICS_FILE = "statistics.npz"
IMAGES_PER_EPISODE = 8
"""Decoded images of each camera for the statistics."""
_TEXTS = ("instruction", "predicate", "skill", "action_class")
ANNOTATIONS = ("annotation.human.task_description", "annotation.human.subtask")
"""Columns for loaders like GR00T's: indices into the table of tasks."""
_NUMBERS_AND_TEXTS = (
    ("float32", ("next.reward", "next.progress")),
    ("bool", ("next.done", "next.success", "next.truncated")),
    ("int64", ("subtask_index", *ANNOTATIONS)),
    ("string", tuple(f"label.{name}" for name in _TEXTS)),
    ("bool", ("label.failed", "label.keystep")),
    ("float32", ("timestamp",)),
    ("int64", ("frame_index", "episode_index", "index", "task_index")),
)
"""Types of the columns with one value per frame."""

Row = dict[str, Any]
"""Values of an episode by column."""


def split_ranges(selection: Selection) -> dict[str, str]:
    """Return the ``splits`` of ``info.json``.

    Raises:
        ClevrSkillsError: The episodes of a split are not contiguous.
    """
    splits, start = {}, 0
    names = (RecordedName.parse(name).split for name in selection.ids)
    for split, group in groupby(names):
        stop = start + sum(1 for _ in group)
        if split in splits:
            raise ClevrSkillsError(
                f"episodes of {split} would follow those of another split: add the splits in "
                "order, or export each into its own folder"
            )
        splits[split], start = f"{start}:{stop}", stop
    return splits


def task_sentences(episode: Episode) -> list[str]:
    """Return the wordings of the task; those with a goal image only if there are no others."""
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
    """Return the sizes of the measurements in ``observation.state``."""
    row = episode.steps.iloc[0]
    return {name: np.size(row[name]) for name in state_parts() if name in row}


def _action_names(episode: Episode) -> list[str]:
    """Return the names of the components of an action; scaled ones are deltas."""
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
    """Return the ``features`` of ``info.json``, equal for all episodes of a dataset."""
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
    """Return the dataset card, given ``info.json`` and the number of task sentences."""
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


class LeRobotWriter(PartWriter):
    """Writer of parts of a LeRobot dataset, see :class:`PartWriter`."""

    version: str
    data_path: str
    video_path: str
    subtasks = "subtasks"
    """Kind of sentences that contains the subtasks."""

    def __init__(self, selection: Selection, plan: Plan) -> None:
        super().__init__(selection, plan)
        self._splits, self.first = split_ranges(selection), selection.first()
        self.fps = int(self.first.info["fps"])
        self.episodes = self.frames = 0  # before the next one

    @staticmethod
    def order(selection: Selection) -> list[str]:
        order = all_splits(selection.suite)
        return sorted(selection.ids, key=lambda n: order.index(RecordedName.parse(n).split))

    def survey(self, episode: Episode) -> None:
        sentence = task_sentences(episode)[0]
        for kind in (TASKS, ASKED):
            self.plan.number(kind, sentence)
        for segment in episode.segments["subtask"]:
            for kind in (self.subtasks, TASKS):
                self.plan.number(kind, segment["plain"])

    def write_part(self, part: int, path: Path) -> None:
        episodes = self.plan.episodes(part)
        self.episodes, self.frames = episodes.start, sum(self.plan.lengths[: episodes.start])
        self._statistics = Statistics(sum(self.plan.lengths), self.frames)
        self.begin(path)
        for number in episodes:
            name = self.plan.ids[number]
            self._add(Episode(self.selection.root / name, self.selection.header))
        self.end()
        self._statistics.save(path / STATISTICS_FILE)

    @abstractmethod
    def begin(self, path: Path) -> None:
        """Begin a part."""

    @abstractmethod
    def add_video(self, key: str, recording: Recording) -> Row:
        """Write the images of a camera; return the columns with their location."""

    @abstractmethod
    def add_episode(
        self, episode: Episode, row: Row, videos: Row, frames: pa.Table, stats: Row
    ) -> None:
        """Write description, location of videos, frames and statistics of an episode."""

    @abstractmethod
    def end(self) -> None:
        """Complete the files of a part."""

    @abstractmethod
    def join(self, parts: Sequence[Path], out: Path) -> dict[str, Any]:
        """Join all parts; return the number and size of files for ``info.json``."""

    def assemble(self, parts: Sequence[Path], out: Path) -> None:
        (out / "meta").mkdir(exist_ok=True)
        sizes, frames = self.join(parts, out), sum(self.plan.lengths)
        statistics = Statistics(frames)
        for part in parts:
            statistics.merge(part / STATISTICS_FILE)
        info = {
            "codebase_version": self.version,
            "robot_type": self.selection.header.robot,
            "total_episodes": len(self.plan.ids),
            "total_frames": frames,
            "total_tasks": len(self.plan.numbers[TASKS]),
            **sizes,
            "fps": self.fps,
            "splits": self._splits,
            "data_path": self.data_path,
            "video_path": self.video_path if self.first.cameras else None,
            "features": self.features(),
            "look": self.selection.header.look,
            "standard": self.selection.header.standard,
        }
        write_json(out / "meta/stats.json", as_lists(statistics.total()))
        (out / "README.md").write_text(
            card(self.selection, info, len(self.plan.numbers[ASKED])), encoding="utf-8"
        )
        write_json(out / "meta/info.json", info)

    def features(self) -> dict[str, dict[str, Any]]:
        """Return the ``features`` of ``info.json``."""
        return features(self.first)

    def _add(self, episode: Episode) -> None:
        sentence = task_sentences(episode)[0]
        task = self.plan.number(TASKS, sentence)
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
        """Return the features without images: arrays (N,) or (N, D), or lists of texts."""
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
            "subtask_index": self._numbered(self.subtasks, episode),
            ANNOTATIONS[0]: np.full(count, task),
            ANNOTATIONS[1]: self._numbered(TASKS, episode),
            **{f"label.{name}": steps[name].tolist() for name in _TEXTS},
            "label.failed": episode.unlearned,
            "label.keystep": steps["keystep"].to_numpy(),
            "timestamp": (frames / episode.info["fps"]).astype(np.float32),
            "frame_index": frames,
            "episode_index": np.full(count, self.episodes),
            "index": self.frames + frames,
            "task_index": np.full(count, task),
        }

    def _numbered(self, kind: str, episode: Episode) -> np.ndarray:
        known = self.plan.numbers[kind]
        try:
            return np.array([known[sentence] for sentence in episode.steps["subtask"]])
        except KeyError as error:
            raise DatasetError(f"{episode.id}: episode.json has no subtask {error}") from error
