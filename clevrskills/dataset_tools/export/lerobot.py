"""LeRobotDataset v3.0: frames of many episodes in each file.

Written after the files that lerobot 0.4 to 0.6 write and read; it does not need that package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot_features import (
    IMAGES_PER_EPISODE,
    Numbering,
    Sentences,
    by_split,
    card,
    columns,
    features,
    image_key,
    table,
    task_sentences,
    write_json,
)
from clevrskills.dataset_tools.export.remux import JoinedVideo, Recording, open_recording
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.dataset_tools.export.statistics import Statistics, as_lists

FILES_PER_CHUNK = 1000
DATA_FILE_MB = 100
VIDEO_FILE_MB = 200
EPISODES_PER_GROUP = 100
"""Episodes that are described in one row group; each has a hundred small columns."""
_NAME = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA_PATH = f"data/{_NAME}.parquet"
VIDEO_PATH = f"videos/{{video_key}}/{_NAME}.mp4"
EPISODES_PATH = f"meta/episodes/{_NAME}.parquet"


def write(selection: Selection, out: Path) -> None:
    """Write all episodes as a LeRobotDataset v3.0."""
    write_v3(selection, out, language=False)


def write_v3(selection: Selection, out: Path, *, language: bool) -> None:
    """Write all episodes as a LeRobotDataset v3, with or without language columns.

    Raises:
        DatasetError: A file of an episode is missing or damaged.
    """
    selection, splits = by_split(selection)
    writer = _Writer(out, selection, language)
    for episode in selection:
        writer.add(episode)
    writer.finish(splits)


@dataclass
class _FileName:
    """Number of a file; there are ``FILES_PER_CHUNK`` in each folder."""

    chunk: int = 0
    file: int = -1

    def advance(self) -> None:
        self.file += 1
        if self.file == FILES_PER_CHUNK:
            self.chunk, self.file = self.chunk + 1, 0

    def columns(self, prefix: str) -> dict[str, int]:
        return {f"{prefix}/chunk_index": self.chunk, f"{prefix}/file_index": self.file}

    def path(self, out: Path, template: str, **names: str) -> Path:
        path = out / template.format(chunk_index=self.chunk, file_index=self.file, **names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


class _Tables:
    """Parquet files that are filled one after the other.

    Args:
        out: Folder of the dataset.
        template: Path of a file.
        group: Number of tables that are written as one row group.
    """

    def __init__(self, out: Path, template: str, group: int = 1) -> None:
        self.out, self.template, self.group = out, template, group
        self.name = _FileName()
        self._pending: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None
        self._sink: pa.OSFile | None = None
        self._largest = 0  # bytes of a row group

    def begin(self) -> None:
        """Make sure that the next table fits into the current file; ``name`` is its name."""
        size = self._sink.tell() if self._sink else DATA_FILE_MB * 2**20
        if not self._pending and size + self._largest >= DATA_FILE_MB * 2**20:
            self.close()
            self.name.advance()
            self._sink = pa.OSFile(str(self.name.path(self.out, self.template)), "wb")

    def append(self, rows: pa.Table) -> None:
        """Add a table; :meth:`begin` comes first."""
        self._pending.append(rows)
        if len(self._pending) == self.group:
            self._write()

    def close(self) -> None:
        """Complete the current file."""
        if self._sink is not None:
            self._write()
            assert self._writer is not None
            self._writer.close()
            self._sink.close()
            self._writer = self._sink = None

    def _write(self) -> None:
        if not self._pending:
            return
        rows, self._pending = pa.concat_tables(self._pending), []
        assert self._sink is not None
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._sink, rows.schema, compression="snappy")
        before = self._sink.tell()
        self._writer.write_table(rows, row_group_size=len(rows))
        self._largest = max(self._largest, self._sink.tell() - before)


class _Videos:
    """Video files of one camera that are filled one after the other."""

    def __init__(self, out: Path, camera: str, fps: int) -> None:
        self.out, self.key, self.fps = out, image_key(camera), fps
        self._name = _FileName()
        self._file: JoinedVideo | None = None

    def append(self, recording: Recording) -> dict[str, float]:
        """Append a recording; returns the columns that say where it is."""
        if self._file is not None and (
            self._file.parameters != recording.parameters
            or self._file.size + recording.size > VIDEO_FILE_MB * 2**20
        ):
            self.close()
        if self._file is None:
            self._name.advance()
            path = self._name.path(self.out, VIDEO_PATH, video_key=self.key)
            self._file = JoinedVideo(path, recording, self.fps)
        start = self._file.frames / self.fps
        self._file.append(recording)
        prefix = f"videos/{self.key}"
        return {
            **self._name.columns(prefix),
            f"{prefix}/from_timestamp": start,
            f"{prefix}/to_timestamp": self._file.frames / self.fps,
        }

    def close(self) -> None:
        """Complete the current file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class _Writer:
    """Writes episodes one by one and, at the end, what is said of all of them."""

    def __init__(self, out: Path, selection: Selection, language: bool) -> None:
        self.out, self.selection, self.language = out, selection, language
        first = selection.first()
        self.features = features(first)
        self.fps = int(first.info["fps"])
        self.tasks, self.subtasks = Sentences(), Sentences()
        self.episodes = self.frames = 0
        self._data = _Tables(out, DATA_PATH)
        self._meta = _Tables(out, EPISODES_PATH, group=EPISODES_PER_GROUP)
        self._videos = {camera: _Videos(out, camera, self.fps) for camera in first.cameras}
        self._statistics = Statistics()

    def add(self, episode: Episode) -> None:
        """Write an episode."""
        sentence = task_sentences(episode)[0]
        place = Numbering(self.episodes, self.frames, self.tasks.index(sentence))
        data = columns(episode, place, self.subtasks)
        stats = self._statistics.add_numbers(data)
        row: dict[str, Any] = {
            "episode_index": self.episodes,
            "tasks": [sentence],
            "length": len(episode),
            "source": episode.id,
            "dataset_from_index": self.frames,
            "dataset_to_index": self.frames + len(episode),
        }
        for camera, videos in self._videos.items():
            with open_recording(episode.video_path(camera), len(episode)) as recording:
                images = recording.images(IMAGES_PER_EPISODE)
                stats[videos.key] = self._statistics.add_images(videos.key, images)
                row |= videos.append(recording)
        self._data.begin()
        self._data.append(self._table(episode, data))
        self._meta.begin()
        row |= self._data.name.columns("data") | self._meta.name.columns("meta/episodes")
        flat = {f"stats/{k}/{n}": v for k, of in as_lists(stats).items() for n, v in of.items()}
        self._meta.append(pa.Table.from_pylist([row | flat]))
        self.episodes += 1
        self.frames += len(episode)

    def _table(self, episode: Episode, data: Mapping[str, Any]) -> pa.Table:
        rows = table(data)
        if self.language:
            from clevrskills.dataset_tools.export.lerobot_language import with_language

            rows = with_language(rows, episode)
        return rows

    def finish(self, splits: Mapping[str, str]) -> None:
        """Complete all files."""
        self._data.close()
        self._meta.close()
        for videos in self._videos.values():
            videos.close()
        meta = self.out / "meta"
        write_json(meta / "stats.json", as_lists(self._statistics.total()))
        for name, sentences in (("task", self.tasks), ("subtask", self.subtasks)):
            frame = pd.DataFrame(
                {f"{name}_index": list(sentences.indices.values())}, index=list(sentences.indices)
            )
            frame.to_parquet(meta / f"{name}s.parquet")
        info = self._info(splits)
        write_json(meta / "info.json", info)
        (self.out / "README.md").write_text(card(self.selection, info), encoding="utf-8")

    def _info(self, splits: Mapping[str, str]) -> dict[str, Any]:
        language = {
            name: {"dtype": "language", "shape": [1], "names": None}
            for name in ("language_persistent", "language_events")
            if self.language
        }
        return {
            "codebase_version": "v3.0",
            "robot_type": self.selection.header.robot,
            "total_episodes": self.episodes,
            "total_frames": self.frames,
            "total_tasks": len(self.tasks.indices),
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": DATA_FILE_MB,
            "video_files_size_in_mb": VIDEO_FILE_MB,
            "fps": self.fps,
            "splits": dict(splits),
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self._videos else None,
            "features": self.features | language,
        }


def write_v31(selection: Selection, out: Path) -> None:
    """Write all episodes as a LeRobotDataset v3 with language columns.

    lerobot reads them from version 0.6 on; earlier versions refuse such files.
    """
    write_v3(selection, out, language=True)
