"""LeRobot exports (LeRobotDataset v3.0) of our datasets as demonstrations; needs no ``lerobot``.

Such an export has prompts in words only, and no picture of the last state.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as arrow
import pyarrow.parquet as pq
import torch

from clevrskills.baselines.data.sources import LEROBOT_FILE, Clip, Demonstration, common
from clevrskills.core.policy import PromptInput
from clevrskills.dataset_tools.export.lerobot_features import image_key
from clevrskills.dataset_tools.frame_reader import FrameReader
from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.errors import ClevrSkillsError, UnknownNameError

_VERSIONS = ("v3.0",)
_COLUMNS = ("observation.state", "action", "label.failed")
_OPEN_EPISODES = 512  # tables kept, about 10 kB each
_OPEN_VIDEOS = 64


class LeRobotExport:
    """A folder written by ``clevrskills export --to lerobot``.

    Args:
        root: The folder.
        cameras: Names of cameras.

    Raises:
        ClevrSkillsError: It was written by something else, is damaged, or was not filmed by these
            cameras.
    """

    has_pictures = False

    def __init__(self, root: Path, cameras: Sequence[str]) -> None:
        self.root, self._cameras = root, tuple(cameras)
        try:
            info = json.loads((root / LEROBOT_FILE).read_text(encoding="utf-8"))
            self._open(info)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            if isinstance(error, ClevrSkillsError):
                raise
            raise DatasetError(f"{root} is no export of this package: {error!r}") from error
        self._process = -1

    def _open(self, info: Mapping[str, Any]) -> None:
        version, features = info["codebase_version"], info["features"]
        if version not in _VERSIONS:
            raise UnknownNameError(f"version of {self.root}", version, _VERSIONS)
        filmed = tuple(
            f.removeprefix(image_key("")) for f in features if f.startswith(image_key(""))
        )
        for camera in self._cameras:
            if camera not in filmed:
                raise UnknownNameError(f"camera of {self.root}", camera, filmed)
        self.robot, self._fps = str(info["robot_type"]), int(info["fps"])
        self._data_path, self._video_path = info["data_path"], info["video_path"]
        self.size_px = common({features[image_key(c)]["shape"][0] for c in self._cameras})
        self.state_parts: Mapping[str, int] = _parts(features["observation.state"]["names"])
        keys = [image_key(camera) for camera in self._cameras]
        places = [f"videos/{key}/{what}" for key in keys for what in _PLACE]
        columns = ["episode_index", "length", "source", "tasks", *_DATA, *places]
        files = sorted((self.root / "meta" / "episodes").glob("*/*.parquet"))
        self._rows = [
            row for path in files for row in pq.read_table(path, columns=columns).to_pylist()
        ]
        if not self._rows:
            raise ClevrSkillsError(f"{self.root} has no episodes")
        self.demonstrations: Sequence[Demonstration] = [_demonstration(row) for row in self._rows]

    def levels(self) -> Mapping[str, str]:
        """Level of each task that there are demonstrations of."""
        from clevrskills.tasks import tasks

        known = tasks()
        there = dict.fromkeys(d.task for d in self.demonstrations)
        return {task: known[task].level if task in known else "" for task in there}

    def prompt(self, number: int, form: str) -> PromptInput:
        """The prompt of a demonstration, in words.

        Raises:
            ClevrSkillsError: It was asked for with pictures.
        """
        if form != "language":
            raise ClevrSkillsError(f"{self.root}: a LeRobot export has prompts in words only")
        return PromptInput(self._rows[number]["tasks"][0], {})

    def numbers(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """States (N, P) and actions (N, 7) of a demonstration."""
        state, actions, _ = self._read(number)
        return state, actions

    def clip(self, number: int, observed: np.ndarray, acted: np.ndarray) -> Clip:
        """States and actions of a demonstration; what lies before its first or after its last step
        repeats that, and is not learned.
        """
        self._own_files()
        state, actions, failed = self._table(number)
        last = len(actions) - 1
        seen, done = observed.clip(0, last), acted.clip(0, last)
        learned = (acted == done) & ~failed[done]
        return Clip(
            {camera: self._images(number, camera, seen) for camera in self._cameras},
            torch.from_numpy(state[seen]),
            torch.from_numpy(actions[done]),
            torch.from_numpy(learned),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": -1, "_table": None, "_video": None}

    def _own_files(self) -> None:
        """Give this process files of its own: forked ones would share their positions."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._table = lru_cache(_OPEN_EPISODES)(self._read)
            self._video = lru_cache(_OPEN_VIDEOS)(FrameReader)

    def _read(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States (N, P), actions (N, 7) and which belong to attempts that were given up (N,)."""
        row = self._rows[number]
        path = self.root / self._data_path.format(
            chunk_index=row["data/chunk_index"], file_index=row["data/file_index"]
        )
        mine = arrow.field("episode_index") == row["episode_index"]
        try:
            rows = arrow.dataset(path).to_table(columns=list(_COLUMNS), filter=mine)
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(f"{path} is damaged: {error}") from error
        if len(rows) != row["length"]:
            raise DatasetError(f"{path} is damaged: {len(rows)} rows of {row['source']}")
        state, actions = (_rows(rows[name]) for name in _COLUMNS[:2])
        return state, actions, rows[_COLUMNS[2]].to_numpy()

    def _images(self, number: int, camera: str, steps: np.ndarray) -> torch.Tensor:
        row, key = self._rows[number], image_key(camera)
        chunk, file, start_s = (row[f"videos/{key}/{what}"] for what in _PLACE)
        path = self.root / self._video_path.format(
            video_key=key, chunk_index=chunk, file_index=file
        )
        frames = self._video(path).read((round(start_s * self._fps) + steps).tolist())
        return torch.from_numpy(frames).movedim(-1, -3)


_DATA = ("data/chunk_index", "data/file_index")
_PLACE = ("chunk_index", "file_index", "from_timestamp")


def _demonstration(row: Mapping[str, Any]) -> Demonstration:
    task, _, rest = row["source"].partition("/")
    return Demonstration(row["source"], task, rest.rpartition("_")[0], row["length"])


def _parts(names: Sequence[str]) -> dict[str, int]:
    """The measurements in the state and their sizes, from the names of its entries."""
    parts: dict[str, int] = {}
    for name in names:
        head = "qpos" if name.startswith("joint_") else name
        head = "ee_pose" if name.startswith("end_effector_") else head
        parts[head] = parts.get(head, 0) + 1
    return parts


def _rows(column: pa.ChunkedArray) -> np.ndarray:
    """(N, k) float32."""
    return np.stack(column.to_numpy()).astype(np.float32)
