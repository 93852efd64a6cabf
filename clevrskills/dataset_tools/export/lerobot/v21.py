"""LeRobotDataset v2.1 for openpi and GR00T: a table, and a video per camera, for each episode."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot.features import TASKS, LeRobotWriter, Row, write_json
from clevrskills.dataset_tools.export.lerobot.modality import modality
from clevrskills.dataset_tools.export.parts import move
from clevrskills.dataset_tools.export.remux import JoinedVideo, Recording
from clevrskills.jobs.files import to_json

EPISODES_PER_CHUNK = 1000
_CHUNK = "chunk-{episode_chunk:03d}"
DATA_PATH = f"data/{_CHUNK}/episode_{{episode_index:06d}}.parquet"
VIDEO_PATH = f"videos/{_CHUNK}/{{video_key}}/episode_{{episode_index:06d}}.mp4"
_LINES = ("episodes", "episodes_stats")


class V21(LeRobotWriter):
    """Writer of version 2.1."""

    version, data_path, video_path = "v2.1", DATA_PATH, VIDEO_PATH
    subtasks = TASKS

    def files(self) -> int:
        return len(self.plan.ids) * (1 + len(self.first.cameras)) + 5 + len(_LINES)

    def begin(self, path: Path) -> None:
        self._path = path

    def add_video(self, key: str, recording: Recording) -> Row:
        video = JoinedVideo(self._place(VIDEO_PATH, video_key=key), recording, self.fps)
        video.append(recording)
        video.close()
        return {}

    def add_episode(
        self, episode: Episode, row: Row, videos: Row, frames: pa.Table, stats: Row
    ) -> None:
        pq.write_table(frames, self._place(DATA_PATH), compression="snappy")
        written = {"episode_index": self.episodes, "stats": stats}
        for name, line in zip(_LINES, (row, written), strict=True):
            with (self._path / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(to_json(line) + "\n")

    def end(self) -> None:
        pass

    def join(self, parts: Sequence[Path], out: Path) -> dict[str, Any]:
        for part in parts:
            for path in [path for path in part.glob("*/**/*") if path.is_file()]:
                move(path, out / path.relative_to(part))
        for name in _LINES:
            with (out / f"meta/{name}.jsonl").open("wb") as file:
                file.writelines((part / f"{name}.jsonl").read_bytes() for part in parts)
        tasks = self.plan.numbers[TASKS].items()
        lines = (to_json({"task_index": index, "task": task}) + "\n" for task, index in tasks)
        (out / "meta/tasks.jsonl").write_text("".join(lines), encoding="utf-8")
        write_json(out / "meta/modality.json", modality(self.first))
        count = len(self.plan.ids)
        return {
            "total_videos": count * len(self.first.cameras),
            "total_chunks": -(-count // EPISODES_PER_CHUNK),
            "chunks_size": EPISODES_PER_CHUNK,
        }

    def _place(self, template: str, **names: str) -> Path:
        chunk = self.episodes // EPISODES_PER_CHUNK
        place = template.format(episode_chunk=chunk, episode_index=self.episodes, **names)
        path = self._path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
