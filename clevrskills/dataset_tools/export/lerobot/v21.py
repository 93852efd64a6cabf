"""LeRobotDataset v2.1: a table and a video for each camera of each episode, as openpi reads it.

With ``meta/modality.json`` and ``meta/stats.json`` it is also what GR00T reads.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot.features import LeRobotWriter, Row
from clevrskills.dataset_tools.export.lerobot.modality import write_modality
from clevrskills.dataset_tools.export.remux import JoinedVideo, Recording
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.jobs.files import to_json

EPISODES_PER_CHUNK = 1000
_CHUNK = "chunk-{episode_chunk:03d}"
DATA_PATH = f"data/{_CHUNK}/episode_{{episode_index:06d}}.parquet"
VIDEO_PATH = f"videos/{_CHUNK}/{{video_key}}/episode_{{episode_index:06d}}.mp4"


def write(selection: Selection, out: Path) -> None:
    """Write all episodes as a LeRobotDataset v2.1."""
    _WriterV21(selection, out).write()


class _WriterV21(LeRobotWriter):
    """Writer of version 2.1."""

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
        write_modality(self.out, self.first)
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
