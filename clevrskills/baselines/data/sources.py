"""Demonstration sources: datasets of this package, and LeRobot exports (v3.0) of them.

LeRobot exports are read without ``lerobot``. They have text prompts only, and no frame of the final
state.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.dataset as arrow
import pyarrow.parquet as pq

from clevrskills.core.episode import FROZEN, RecordedName
from clevrskills.core.policy import PromptInput
from clevrskills.core.suite import all_levels, load_suite
from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.export.lerobot.features import image_key, task_sentences
from clevrskills.dataset_tools.layout import DATASET_FILE, DatasetError
from clevrskills.dataset_tools.manifest import Attempt, latest_lines
from clevrskills.dataset_tools.torch_dataset import DatasetReader
from clevrskills.dataset_tools.window_reader import EpisodeTable, WindowReader
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.jobs.files import StoredFile, to_json

STATE_PARTS = ("qpos", "ee_pose", "vacuum_on", "holding")
"""Parts of the proprioception concatenated in a state vector, in this order."""
LEROBOT_FILE = "meta/info.json"
_VERSIONS = ("v3.0",)
_COLUMNS = ("observation.state", "action", "label.failed")
_DATA = ("data/chunk_index", "data/file_index")
_VIDEO = ("chunk_index", "file_index", "from_timestamp")


@dataclass(frozen=True)
class Demonstration:
    """Episode of a source."""

    id: str  # name, e.g. `sort/train_00000007`
    task: str
    split: str  # `train` or `test`
    steps: int  # number of control steps
    content: str  # digest that distinguishes its files from others of the same name

    @classmethod
    def of(cls, name: str, steps: int, content: str) -> Self:
        """Return a demonstration by the name of its episode."""
        parsed = RecordedName.parse(name)
        return cls(name, parsed.task, parsed.split, steps, content)


class DatasetSource(DatasetReader):
    """Dataset of this package.

    Args:
        root: Folder of the dataset.
        cameras: Names of cameras.

    Attributes:
        root: The folder.
        demonstrations: Episodes of the dataset.
        state_parts: Sizes of the measurements concatenated in the state.
        size_px: Width and height of the frames; ``None``: cameras differ.
        look: Look of the frames.
        robot: Key of the robot.
        standard: Size of the standard dataset that they belong to; ``None``: none.

    Raises:
        ClevrSkillsError: The folder is not a dataset, is empty or damaged, or lacks a camera.
    """

    def __init__(self, root: Path, cameras: Sequence[str]) -> None:
        dataset = Dataset(root)
        if not len(dataset):
            raise ClevrSkillsError(f"{root} has no episodes: continue `clevrskills generate`")
        check_names(**{f"camera of {root}": (cameras, dataset.header.cameras)})
        info = dataset[0].info
        measured = info["final"]["proprioception"]
        self.root, self.robot, self.look = root, dataset.header.robot, dataset.header.look
        self.standard = dataset.header.standard
        self.state_parts: Mapping[str, int] = {
            name: int(np.size(measured[name])) for name in STATE_PARTS if name in measured
        }
        self.size_px = _common({info["cameras"][camera]["height"] for camera in cameras})
        super().__init__(dataset, cameras, tuple(self.state_parts))
        lines = latest_lines(root)
        self.demonstrations: Sequence[Demonstration] = [
            Demonstration.of(e.id, steps, _content(e, lines.get(e.id)))
            for e, steps in zip(dataset, self.lengths, strict=True)
        ]

    def levels(self) -> Mapping[str, str]:
        """Return the level of each task with demonstrations."""
        first = {d.task: path for d, path in zip(self.demonstrations, self.paths, strict=True)}
        return {task: str(Episode(path).info["level"]) for task, path in first.items()}

    def prompt(self, number: int, form: str) -> PromptInput:
        """Return the prompt of a demonstration, ``multimodal`` or text only (``language``)."""
        episode = Episode(self.paths[number])
        if form == "language":
            return PromptInput(task_sentences(episode)[0], {})
        return PromptInput(episode.prompt["text"], episode.prompt_images())


class LeRobotSource(WindowReader[EpisodeTable]):
    """Export written by ``clevrskills export --to lerobot``; see :class:`DatasetSource`.

    Args:
        root: The folder.
        cameras: Names of cameras.

    Raises:
        ClevrSkillsError: The folder is not such an export, is empty or damaged, or lacks a camera.
    """

    def __init__(self, root: Path, cameras: Sequence[str]) -> None:
        super().__init__()
        self.root, self._cameras = root, tuple(cameras)
        try:
            info = json.loads((root / LEROBOT_FILE).read_text(encoding="utf-8"))
            self._open(info)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            if isinstance(error, ClevrSkillsError):
                raise
            raise DatasetError(f"{root} is not an export of clevrskills: {error!r}") from error

    def _open(self, info: Mapping[str, Any]) -> None:
        version, features = info["codebase_version"], info["features"]
        check_names(**{f"version of {self.root}": ((version,), _VERSIONS)})
        prefix = image_key("")
        filmed = tuple(f.removeprefix(prefix) for f in features if f.startswith(prefix))
        check_names(**{f"camera of {self.root}": (self._cameras, filmed)})
        self.robot, self._fps = str(info["robot_type"]), int(info["fps"])
        self.look, self.standard = str(info["look"]), info["standard"]
        self._data_path, self._video_path = info["data_path"], info["video_path"]
        self.size_px = _common({features[image_key(c)]["shape"][0] for c in self._cameras})
        self.state_parts: Mapping[str, int] = _parts(features["observation.state"]["names"])
        keys = [image_key(camera) for camera in self._cameras]
        places = [f"videos/{key}/{entry}" for key in keys for entry in _VIDEO]
        columns = ["episode_index", "length", "source", "tasks", *_DATA, *places]
        files = sorted((self.root / "meta" / "episodes").glob("*/*.parquet"))
        self._rows = [
            row for path in files for row in pq.read_table(path, columns=columns).to_pylist()
        ]
        if not self._rows:
            raise ClevrSkillsError(f"{self.root} has no episodes: continue `clevrskills generate`")
        folders = (self.root / name for name in ("data", "videos"))
        parts = (path for folder in folders for path in sorted(folder.rglob("*.*")))
        content = _sizes(map(StoredFile, parts))
        self.demonstrations: Sequence[Demonstration] = [
            Demonstration.of(row["source"], row["length"], content) for row in self._rows
        ]

    def levels(self) -> Mapping[str, str]:
        """Return the level of each task with demonstrations."""
        known = all_levels(load_suite())
        return {d.task: known.get(d.task, "") for d in self.demonstrations}

    def prompt(self, number: int, form: str) -> PromptInput:
        """Return the text prompt of a demonstration.

        Raises:
            ClevrSkillsError: A prompt with images is requested.
        """
        if form != "language":
            raise ClevrSkillsError(f"{self.root}: a LeRobot export has text prompts only")
        return PromptInput(self._rows[number]["tasks"][0], {})

    def read_table(self, number: int) -> EpisodeTable:
        row = self._rows[number]
        path = self._file(self._data_path, *(row[entry] for entry in _DATA))
        own = arrow.field("episode_index") == row["episode_index"]
        try:
            rows = arrow.dataset(path).to_table(columns=list(_COLUMNS), filter=own)
        except (OSError, pa.ArrowException) as error:
            raise DatasetError.of(path, error) from error
        if len(rows) != row["length"]:
            raise DatasetError(f"{path} is damaged: {len(rows)} rows of {row['source']}")
        state, actions = (
            np.stack(rows[name].to_numpy()).astype(np.float32) for name in _COLUMNS[:2]
        )
        videos = {}
        for camera in self._cameras:
            key = image_key(camera)
            chunk, file, start_s = (row[f"videos/{key}/{entry}"] for entry in _VIDEO)
            video = self._file(self._video_path, chunk, file, video_key=key)
            videos[camera] = video, round(start_s * self._fps)
        failed = rows[_COLUMNS[2]].to_numpy()
        return EpisodeTable(state, actions, failed, videos)

    def _file(self, pattern: str, chunk: int, file: int, **names: str) -> Path:
        return self.root / pattern.format(chunk_index=chunk, file_index=file, **names)


def open_source(root: Path, cameras: Sequence[str]) -> DatasetSource | LeRobotSource:
    """Open a dataset, or a LeRobot export of one.

    Raises:
        ClevrSkillsError: The folder is neither, is empty or damaged, or lacks a camera.
    """
    root = root.absolute()
    if (root / DATASET_FILE).is_file():
        return DatasetSource(root, cameras)
    if (root / LEROBOT_FILE).is_file():
        return LeRobotSource(root, cameras)
    raise ClevrSkillsError(
        f"{root} holds no demonstrations: neither a dataset (no {DATASET_FILE}) nor a LeRobot "
        f"export (no {LEROBOT_FILE})"
    )


def _content(episode: Episode, line: Attempt | None) -> str:
    return _sizes(episode.files.values()) if line is None else _digest(line.files)


def _sizes(files: Iterable[StoredFile]) -> str:
    """Return a digest of the names and sizes of files."""
    return _digest([(file.path.name, file.size) for file in files])


def _digest(files: Any) -> str:
    return hashlib.sha256(to_json(files).encode()).hexdigest()[:16]


def check_learnable(episodes: Iterable[Demonstration | Episode]) -> None:
    """Check that no episode is frozen, as frozen episodes are for evaluation only.

    Raises:
        ClevrSkillsError: An episode is frozen.
    """
    for episode in episodes:
        if RecordedName.parse(episode.id).seed >= FROZEN.start:
            raise ClevrSkillsError(
                f"{episode.id} is of frozen episodes, which are for evaluation only"
            )


def _common(sizes: set[int]) -> int | None:
    """Return the size shared by all frames; ``None``: sizes differ."""
    return sizes.pop() if len(sizes) == 1 else None


def _parts(names: Sequence[str]) -> dict[str, int]:
    """Return the sizes of the measurements in a state, from the names of its entries."""
    parts: dict[str, int] = {}
    for name in names:
        head = "qpos" if name.startswith("joint_") else name
        head = "ee_pose" if name.startswith("end_effector_") else head
        parts[head] = parts.get(head, 0) + 1
    return parts
