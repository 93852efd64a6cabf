"""LeRobotDataset v3.0 of lerobot 0.4 to 0.6, written without that package."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot.features import (
    TASKS,
    LeRobotWriter,
    Row,
    image_key,
    write_json,
)
from clevrskills.dataset_tools.export.lerobot.modality import modality
from clevrskills.dataset_tools.export.parts import move
from clevrskills.dataset_tools.export.remux import JoinedVideo, Recording

FILES_PER_CHUNK = 1000
DATA_FILE_MB, VIDEO_FILE_MB = 100, 200
"""Upper bounds of file sizes."""
PARTS_PER_FILE = 50
"""Parts per file of episode metadata, each a row group."""
_NAME = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA_PATH = f"data/{_NAME}.parquet"
VIDEO_PATH = f"videos/{{video_key}}/{_NAME}.mp4"
EPISODES_PATH = f"meta/episodes/{_NAME}.parquet"
_DATA_FILE, _EPISODES_FILE, _VIDEO_FILE = "data.parquet", "episodes.parquet", "{}-{:03d}.mp4"


def _place(number: int) -> dict[str, int]:
    """Return chunk and file index of a file."""
    chunk, file = divmod(number, FILES_PER_CHUNK)
    return {"chunk_index": chunk, "file_index": file}


def _columns(prefix: str, number: int) -> dict[str, int]:
    return {f"{prefix}/{name}": value for name, value in _place(number).items()}


class V30(LeRobotWriter):
    """Writer of version 3, without language columns."""

    version, data_path, video_path = "v3.0", DATA_PATH, VIDEO_PATH
    language = False

    def files(self) -> int:
        parts = len(self.plan.stops)
        return parts * (1 + len(self.first.cameras)) + -(-parts // PARTS_PER_FILE) + 6

    def begin(self, path: Path) -> None:
        self._path, self._rows = path, list[Row]()
        self._data: pq.ParquetWriter | None = None
        self._videos: dict[str, JoinedVideo] = {}
        self._counts = Counter[str]()

    def add_video(self, key: str, recording: Recording) -> Row:
        video = self._videos.get(key)
        if video is None or video.parameters != recording.parameters:
            if video is not None:
                video.close()
            path = self._path / _VIDEO_FILE.format(key, self._counts[key])
            video = self._videos[key] = JoinedVideo(path, recording, self.fps)
            self._counts[key] += 1
        start = video.frames / self.fps
        video.append(recording)
        prefix = f"videos/{key}"
        return {
            **_columns(prefix, self._counts[key] - 1),
            f"{prefix}/from_timestamp": start,
            f"{prefix}/to_timestamp": video.frames / self.fps,
        }

    def add_episode(
        self, episode: Episode, row: Row, videos: Row, frames: pa.Table, stats: Row
    ) -> None:
        if self.language:
            from clevrskills.dataset_tools.export.lerobot.language import with_language

            frames = with_language(frames, episode)
        if self._data is None:
            path = self._path / _DATA_FILE
            self._data = pq.ParquetWriter(path, frames.schema, compression="snappy")
        self._data.write_table(frames, row_group_size=len(frames))
        row |= {
            "dataset_from_index": self.frames,
            "dataset_to_index": self.frames + len(episode),
            **videos,
            **_columns("data", 0),
            **_columns("meta/episodes", 0),
            **{f"stats/{key}/{n}": value for key, of in stats.items() for n, value in of.items()},
        }
        self._rows.append(row)

    def end(self) -> None:
        assert self._data is not None
        self._data.close()
        for video in self._videos.values():
            video.close()
        pq.write_table(pa.Table.from_pylist(self._rows), self._path / _EPISODES_FILE)

    def join(self, parts: Sequence[Path], out: Path) -> dict[str, Any]:
        keys = [image_key(camera) for camera in self.first.cameras]
        videos = Counter[str]()
        writer: pq.ParquetWriter | None = None
        for number, part in enumerate(parts):
            move(part / _DATA_FILE, out / DATA_PATH.format(**_place(number)))
            rows = pq.read_table(part / _EPISODES_FILE)
            columns = {name: rows[name] for name in rows.column_names}
            files = {
                "data": [number] * len(rows),
                "meta/episodes": [number // PARTS_PER_FILE] * len(rows),
            }
            for key in keys:
                own = rows[f"videos/{key}/file_index"].to_pylist()
                files[f"videos/{key}"] = [videos[key] + file for file in own]
                for file in sorted(set(own)):
                    target = VIDEO_PATH.format(video_key=key, **_place(videos[key] + file))
                    move(part / _VIDEO_FILE.format(key, file), out / target)
                videos[key] += len(set(own))
            for prefix, places in files.items():
                for name in _place(0):
                    columns[f"{prefix}/{name}"] = pa.array([_place(file)[name] for file in places])
            table = pa.table(columns)
            if number % PARTS_PER_FILE == 0:
                if writer is not None:
                    writer.close()
                path = out / EPISODES_PATH.format(**_place(number // PARTS_PER_FILE))
                path.parent.mkdir(parents=True, exist_ok=True)
                writer = pq.ParquetWriter(path, table.schema, compression="snappy")
            assert writer is not None
            writer.write_table(table, row_group_size=len(table))
        assert writer is not None
        writer.close()
        write_json(out / "meta/modality.json", modality(self.first))
        for name in (TASKS, self.subtasks):
            sentences = self.plan.numbers[name]
            index = {f"{name.removesuffix('s')}_index": list(sentences.values())}
            frame = pd.DataFrame(index, index=list(sentences))
            frame.to_parquet(out / f"meta/{name}.parquet")
        return {
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": DATA_FILE_MB,
            "video_files_size_in_mb": VIDEO_FILE_MB,
        }

    def features(self) -> dict[str, dict[str, Any]]:
        names = ("language_persistent", "language_events") if self.language else ()
        language = {name: {"dtype": "language", "shape": [1], "names": None} for name in names}
        return super().features() | language


class V31(V30):
    """Writer of version 3 with language columns, which needs lerobot 0.6 or later."""

    language = True
