import errno
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from clevrskills.dataset_tools.generate.schedule import TaskQueue, read_history
from clevrskills.dataset_tools.layout import DatasetError
from clevrskills.dataset_tools.manifest import (
    Attempt,
    Manifest,
    file_hashes,
    latest_lines,
    read_manifest,
)
from clevrskills.jobs.files import StorageError

LINE = Attempt(
    task="sort",
    split="train",
    seed=10_000_003,
    slot=3,
    number=1,
    success=True,
    steps=17,
    total_reward=2.5,
    worker="host:1",
    ended="2026-01-02T03:04:05.678+00:00",
    times_s={"plan": 0.5},
    files={"episode.json": [3, "abc"]},  # type: ignore[dict-item]
)
FAILURE = replace(LINE, seed=3, number=0, success=False, kind="skill", reason="dropped", files={})


def path_of(root: Path) -> Path:
    return root / "manifest" / "local.jsonl"


def test_round_trip_of_several_writers(tmp_path: Path) -> None:
    assert list(read_manifest(tmp_path)) == []
    for writer, line in (("local", FAILURE), ("shard-0-of-2", LINE), ("local", LINE)):
        Manifest(tmp_path, writer).append(line)
    assert list(read_manifest(tmp_path)) == [FAILURE, LINE, LINE]
    assert LINE.id == "sort/train_10000003"
    data = json.loads(path_of(tmp_path).read_text().splitlines()[0])
    assert data["return"] == 2.5 and data["kind"] == "skill" and "total_reward" not in data


@pytest.mark.parametrize("keep", [1, 40, -1])
def test_a_torn_end_is_passed_over_and_repaired_by_its_writer(tmp_path: Path, keep: int) -> None:
    for line in (FAILURE, LINE):
        Manifest(tmp_path, "local").append(line)
    path = path_of(tmp_path)
    first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + last[:keep])
    assert list(read_manifest(tmp_path)) == [FAILURE]
    Manifest(tmp_path, "shard-0-of-2")
    assert path.stat().st_size > len(first)  # not its file
    Manifest(tmp_path, "local").append(LINE)
    assert list(read_manifest(tmp_path)) == [FAILURE, LINE]
    path.write_bytes(first[:keep])
    Manifest(tmp_path, "local")
    assert path.read_bytes() == b""


def test_damage_names_the_line(tmp_path: Path) -> None:
    Manifest(tmp_path, "local").append(LINE)
    for damage in ('{"task": ', '{"task": "sort"}', "[]"):
        path_of(tmp_path).write_text(LINE.to_json() + "\n" + damage + "\n" + LINE.to_json() + "\n")
        with pytest.raises(DatasetError, match=r"local\.jsonl is damaged in line 2"):
            list(read_manifest(tmp_path))


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = Manifest(tmp_path, "local")
    manifest.append(FAILURE)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:10]))
    with pytest.raises(StorageError, match="the disk is full"):
        manifest.append(LINE)
    monkeypatch.undo()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full"):
        manifest.append(LINE)
    assert list(read_manifest(tmp_path)) == [FAILURE]
    assert path_of(tmp_path).read_bytes().endswith(b"\n")


def test_a_folder_that_vanished(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path, "local")
    (tmp_path / "manifest").rmdir()
    with pytest.raises(StorageError, match="No such file or directory"):
        manifest.append(LINE)
    assert not (tmp_path / "manifest").exists()


def test_the_latest_line_of_an_episode_counts(tmp_path: Path) -> None:
    old = replace(LINE, ended="2025-01-01T00:00:00.000+00:00", steps=4)
    Manifest(tmp_path, "local").append(LINE)
    Manifest(tmp_path, "local").append(FAILURE)
    Manifest(tmp_path, "shard-0-of-2").append(old)
    assert latest_lines(tmp_path) == {LINE.id: LINE}


def test_hashes(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"x" * 100_000)
    (tmp_path / "b").write_bytes(b"")
    assert file_hashes(tmp_path) == {
        "a.bin": (100_000, hashlib.sha256(b"x" * 100_000).hexdigest()),
        "b": (0, hashlib.sha256().hexdigest()),
    }


def test_history(tmp_path: Path) -> None:
    for name in ("sort/train_00000000", "sort/train_10000003", "sort/test_00000001", "swap/a"):
        (tmp_path / name).mkdir(parents=True)
    for line in (LINE, FAILURE, replace(LINE, split="test"), replace(LINE, task="stack")):
        Manifest(tmp_path, "local").append(line)
    queues = [TaskQueue(task, "L1", "train", range(9), 0) for task in ("sort", "swap", "touch")]
    read_history(tmp_path, queues)
    sort, swap, touch = queues
    assert sort.present == {0, 10_000_003}
    bare = [replace(line, files={}, times_s={}) for line in (LINE, FAILURE)]
    assert sort.history == {(line.seed, line.success): line for line in bare}
    assert not swap.present and not touch.present
