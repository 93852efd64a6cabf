"""LeRobotDataset v2.1: a table and a video for each camera of each episode, as openpi reads it.

With ``meta/modality.json``, which says what is where in state and action, and ``meta/stats.json``
it is also what GR00T reads. As GR00T wants it, sub-tasks are numbered together with the tasks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.core.interface import ACTION_MODALITIES, STATE_MODALITIES
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot_features import (
    LeRobotWriter,
    Row,
    image_key,
    state_parts,
    write_json,
)
from clevrskills.dataset_tools.export.remux import JoinedVideo, Recording
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.jobs.files import to_json

EPISODES_PER_CHUNK = 1000
_CHUNK = "chunk-{episode_chunk:03d}"
DATA_PATH = f"data/{_CHUNK}/episode_{{episode_index:06d}}.parquet"
VIDEO_PATH = f"videos/{_CHUNK}/{{video_key}}/episode_{{episode_index:06d}}.mp4"
_PROPERTIES: dict[str, dict[str, Any]] = {
    "end_effector_rotation": {"rotation_type": "quaternion"},
    "end_effector_position_delta": {"absolute": False},
    "end_effector_rotation_delta": {"absolute": False, "rotation_type": "axis_angle"},
}
"""What is said of parts of state and action, besides where they are."""


def write(selection: Selection, out: Path) -> None:
    """Write all episodes as a LeRobotDataset v2.1."""
    _Writer(selection, out).write()


class _Writer(LeRobotWriter):
    """Writes version 2.1."""

    version, data_path, video_path = "v2.1", DATA_PATH, VIDEO_PATH

    def __init__(self, selection: Selection, out: Path) -> None:
        super().__init__(selection, out)
        self.subtasks = self.tasks
        (out / "meta").mkdir()

    def add_video(self, key: str, recording: Recording) -> Row:
        video = JoinedVideo(self._path(VIDEO_PATH, video_key=key), recording, self.fps)
        video.append(recording)
        video.close()
        return {}

    def add_episode(
        self, episode: Episode, row: Row, videos: Row, frames: pa.Table, stats: Row
    ) -> None:
        pq.write_table(frames, self._path(DATA_PATH), compression="snappy")
        self._append("episodes", row)
        self._append("episodes_stats", {"episode_index": self.episodes, "stats": stats})

    def finish(self) -> dict[str, Any]:
        for sentence, index in self.tasks.indices.items():
            self._append("tasks", {"task_index": index, "task": sentence})
        write_json(self.out / "meta/modality.json", modality(self.first))
        return {
            "total_videos": self.episodes * len(self.first.cameras),
            "total_chunks": -(-self.episodes // EPISODES_PER_CHUNK),
            "chunks_size": EPISODES_PER_CHUNK,
        }

    def _append(self, name: str, row: Mapping[str, Any]) -> None:
        with (self.out / f"meta/{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(to_json(row) + "\n")

    def _path(self, template: str, **names: str) -> Path:
        chunk = self.episodes // EPISODES_PER_CHUNK
        path = self.out / template.format(episode_chunk=chunk, episode_index=self.episodes, **names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def modality(episode: Episode) -> dict[str, Any]:
    """The content of ``modality.json``: the parts of state and action, the cameras, the texts."""
    state, action, start = {}, {}, 0
    for part, size in state_parts(episode).items():
        for name, which in STATE_MODALITIES.get(part, {part: slice(None)}).items():
            numbers = range(start, start + size)[which]
            state[name] = _part("observation.state", name, numbers.start, numbers.stop)
        start += size
    for part in episode.info["action_spec"]["parts"]:
        name = ACTION_MODALITIES.get(part["name"], part["name"])
        action[name] = _part("action", name, part["start"], part["stop"])
    return {
        "state": state,
        "action": action,
        "video": {name: {"original_key": image_key(name)} for name in episode.cameras},
        "annotation": {
            "human.task_description": {"original_key": "task_index"},
            "human.subtask": {"original_key": "subtask_index"},
        },
    }


def _part(key: str, name: str, start: int, stop: int) -> dict[str, Any]:
    return {"original_key": key, "start": start, "end": stop, **_PROPERTIES.get(name, {})}
