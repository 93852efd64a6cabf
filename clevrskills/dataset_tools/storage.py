"""Storage of episodes: one folder each, or shards of many episodes.

A shard ``shards/<split>_<number>`` concatenates each file of its episodes; ``index.parquet`` has
the byte ranges. Concatenated Parquet files are valid, with one row group per episode.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from clevrskills.dataset_tools.layout import EPISODE_FILE, DatasetError
from clevrskills.jobs.files import StoredFile

SHARDS_DIR = "shards"
INDEX_FILE = "index.parquet"
EPISODE, START, SIZE = "episode", "/start", "/size"
"""Columns of the index: name of the episode; start and size of each of its files."""
_SHARD = re.compile(r"(\w+)_(\d{5})")


def file_in_shard(name: str) -> str:
    """Return the name of the concatenated file in a shard."""
    return name if name.endswith(".parquet") else f"{name}.parts"


def parse_shard(name: str) -> tuple[str, int]:
    """Parse the name of a shard into split and number.

    Raises:
        ValueError: The name is malformed.
    """
    if (match := _SHARD.fullmatch(name)) is None:
        raise ValueError(f"{name!r} is not the name of a shard, such as train_00000")
    return match[1], int(match[2])


class Shard(Mapping[str, Mapping[str, StoredFile]]):
    """Files of a shard, by name of the episode and of the file.

    Args:
        path: Folder of the shard.

    Raises:
        DatasetError: The index is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path, index = path, path / INDEX_FILE
        try:
            columns = pq.read_table(index).to_pydict()
            self._rows = {name: row for row, name in enumerate(columns.pop(EPISODE))}
            names = [name.removesuffix(START) for name in columns if name.endswith(START)]
            if other := [name for name in names if Path(name).name != name]:
                raise ValueError(f"{other[0]!r} is not the name of a file")  # but a path
            self._places = {
                name: np.array([columns[name + START], columns[name + SIZE]], np.int64).T
                for name in names
            }
        except (OSError, pa.ArrowException, KeyError, ValueError) as error:
            raise DatasetError.of(index, error) from error

    def __getitem__(self, name: str) -> Mapping[str, StoredFile]:
        row, path = self._rows[name], self.path.parents[1] / name
        return {
            file: StoredFile(path / file, self.path / file_in_shard(file), *places[row].tolist())
            for file, places in self._places.items()
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def shard_paths(root: Path) -> list[Path]:
    """Return the folders of the shards of a dataset, sorted."""
    folder = root / SHARDS_DIR
    return sorted(folder.glob("[!.]*")) if folder.is_dir() else []


def packed_episodes(root: Path) -> Mapping[str, Shard]:
    """Return the shards of a dataset, by name of the episode.

    Raises:
        DatasetError: The index of a shard is missing or damaged.
    """
    try:
        changed_ns = os.stat(root / SHARDS_DIR).st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return _packed(root, changed_ns)


@lru_cache(maxsize=8)
def _packed(root: Path, changed_ns: int) -> Mapping[str, Shard]:
    shards = map(Shard, shard_paths(root))
    return {name: shard for shard in shards for name in shard}


def episode_names(root: Path) -> list[str]:
    """Return the sorted names of all episodes, without duplicates while they are being packed."""
    files = root.glob(f"[!.]*/[!.]*/{EPISODE_FILE}")
    found = {"/".join(file.parts[-3:-1]) for file in files} | {*packed_episodes(root)}
    return sorted(found, key=lambda name: name.split("/"))


def has_episode(path: Path) -> bool:
    """Return whether an episode exists, in its folder or in a shard."""
    return _name(path) in packed_episodes(path.parent.parent) or (path / EPISODE_FILE).is_file()


def episode_files(path: Path) -> Mapping[str, StoredFile]:
    """Return the files of an episode by name, from its folder or from a shard."""
    name = _name(path)
    if shard := packed_episodes(path.parent.parent).get(name):
        return shard[name]
    found = (file for file in sorted(path.rglob("*")) if not file.is_dir())
    return {file.relative_to(path).as_posix(): StoredFile(file) for file in found}


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
