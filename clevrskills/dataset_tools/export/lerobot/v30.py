"""LeRobotDataset v3.0: frames of many episodes in each file.

Written after the files that lerobot 0.4 to 0.6 write and read; it does not need that package.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot.features import LeRobotWriter, Row
from clevrskills.dataset_tools.export.lerobot.modality import write_modality
from clevrskills.dataset_tools.export.remux import JoinedVideo, Recording
from clevrskills.dataset_tools.export.selection import Selection

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
    _WriterV30(selection, out).write()


def write_v31(selection: Selection, out: Path) -> None:
    """Write all episodes as a LeRobotDataset v3 with language columns.

    lerobot reads them from version 0.6 on; earlier versions refuse such files.
    """
    _WriterV30(selection, out, language=True).write()


@dataclass
class _FileName:
    """Number of a file; there are ``FILES_PER_CHUNK`` in each folder."""

    number: int = -1

    def parts(self) -> dict[str, int]:
        chunk, file = divmod(self.number, FILES_PER_CHUNK)
        return {"chunk_index": chunk, "file_index": file}

    def columns(self, prefix: str) -> dict[str, int]:
        return {f"{prefix}/{name}": value for name, value in self.parts().items()}

    def path(self, out: Path, template: str, **names: str) -> Path:
        path = out / template.format(**self.parts(), **names)
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
            self.name.number += 1
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

    def __init__(self, out: Path, key: str, fps: int) -> None:
        self.out, self.key, self.fps = out, key, fps
        self._name = _FileName()
        self._file: JoinedVideo | None = None

    def append(self, recording: Recording) -> Row:
        """Append a recording; returns the columns that say where it is."""
        if self._file is not None and (
            self._file.parameters != recording.parameters
            or self._file.size + recording.size > VIDEO_FILE_MB * 2**20
        ):
            self.close()
        if self._file is None:
            self._name.number += 1
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


class _WriterV30(LeRobotWriter):
    """Writer of version 3, with or without language columns."""

    version, data_path, video_path = "v3.0", DATA_PATH, VIDEO_PATH

    def __init__(self, selection: Selection, out: Path, language: bool = False) -> None:
        super().__init__(selection, out)
        self._language = language
        self._data = _Tables(out, DATA_PATH)
        self._meta = _Tables(out, EPISODES_PATH, group=EPISODES_PER_GROUP)
        self._videos: dict[str, _Videos] = {}

    def add_video(self, key: str, recording: Recording) -> Row:
        videos = self._videos.setdefault(key, _Videos(self.out, key, self.fps))
        return videos.append(recording)

    def add_episode(
        self, episode: Episode, row: Row, videos: Row, frames: pa.Table, stats: Row
    ) -> None:
        if self._language:
            from clevrskills.dataset_tools.export.lerobot.language import with_language

            frames = with_language(frames, episode)
        self._data.begin()
        self._data.append(frames)
        self._meta.begin()
        row |= {
            "dataset_from_index": self.frames,
            "dataset_to_index": self.frames + len(episode),
            **videos,
            **self._data.name.columns("data"),
            **self._meta.name.columns("meta/episodes"),
            **{f"stats/{key}/{n}": value for key, of in stats.items() for n, value in of.items()},
        }
        self._meta.append(pa.Table.from_pylist([row]))

    def finish(self) -> dict[str, Any]:
        self._data.close()
        self._meta.close()
        for videos in self._videos.values():
            videos.close()
        write_modality(self.out, self.first)
        for name, sentences in (("task", self.tasks), ("subtask", self.subtasks)):
            numbers = {f"{name}_index": list(sentences.indices.values())}
            frame = pd.DataFrame(numbers, index=list(sentences.indices))
            frame.to_parquet(self.out / f"meta/{name}s.parquet")
        return {
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": DATA_FILE_MB,
            "video_files_size_in_mb": VIDEO_FILE_MB,
        }

    def features(self) -> dict[str, dict[str, Any]]:
        names = ("language_persistent", "language_events") if self._language else ()
        language = {name: {"dtype": "language", "shape": [1], "names": None} for name in names}
        return super().features() | language
