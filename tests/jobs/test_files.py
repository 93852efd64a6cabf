import errno
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from clevrskills.errors import DamagedError
from clevrskills.jobs.files import (
    PartialDirectory,
    StorageError,
    TakenError,
    partial_writers,
    read_json,
    remove_partial,
    storage_errors,
    to_json,
    write_whole,
)
from clevrskills.jobs.process_setup import Watchdog


def test_directory_appears_only_when_committed(tmp_path: Path) -> None:
    directory = PartialDirectory(tmp_path, tmp_path / "task" / "episode")
    (directory.path / "sub").mkdir()
    (directory.path / "sub" / "file").write_text("x")
    assert not directory.final.exists()
    assert directory.commit() == tmp_path / "task" / "episode"
    directory.discard()
    assert (tmp_path / "task" / "episode" / "sub" / "file").read_text() == "x"
    assert [p.name for p in tmp_path.iterdir()] == ["task"]


def test_commit_never_replaces_a_finished_directory(tmp_path: Path) -> None:
    final = tmp_path / "episode"
    for text in ("first", "second"):
        directory = PartialDirectory(tmp_path, final)
        (directory.path / "file").write_text(text)
        if text == "first":
            directory.commit()
        else:
            with pytest.raises(TakenError, match="episode exists already"):
                directory.commit()
            directory.discard()
    assert (final / "file").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["episode"]


def test_remove_partial_leaves_the_rest(tmp_path: Path) -> None:
    PartialDirectory(tmp_path, tmp_path / "a")
    other = PartialDirectory(tmp_path, tmp_path / "b", "shard-0-of-2")
    (tmp_path / ".partial-local-2").write_text("")
    (tmp_path / "kept").mkdir()
    assert partial_writers(tmp_path) == {"local", "shard-0-of-2"}
    remove_partial(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"kept", other.path.name}
    remove_partial(tmp_path, "shard-0-of-2")
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


def test_a_root_that_vanished_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file or directory"):
        PartialDirectory(tmp_path / "gone", tmp_path / "gone" / "a")
    assert not (tmp_path / "gone").exists()


def test_write_whole_keeps_the_old_file_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dataset.json"
    write_whole(path, "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["dataset.json"]


def test_json_is_read_or_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(DamagedError, match="run.json is missing"):
        read_json(path)
    with pytest.raises(DamagedError, match="cannot be read: Is a directory"):
        read_json(tmp_path)
    path.write_text('{"a": ')
    with pytest.raises(DamagedError, match="run.json is damaged"):
        read_json(path)
    path.write_bytes(b'"\xff"')
    with pytest.raises(DamagedError, match="run.json is damaged"):
        read_json(path)
    path.write_text('{"a": "\u00fc"}', encoding="utf-8")
    assert read_json(path) == {"a": "\u00fc"}


def test_storage_errors_name_path_and_reason() -> None:
    with pytest.raises(StorageError, match="cannot write to here: Permission denied"):
        with storage_errors(Path("here")):
            raise PermissionError(errno.EACCES, "?")


def test_to_json_takes_numpy_and_torch() -> None:
    data = {"a": np.arange(2), "b": np.float32(0.5), "c": torch.tensor([True]), "d": Path("p")}
    assert to_json(data) == '{"a": [0, 1], "b": 0.5, "c": [true], "d": "p"}'
    with pytest.raises(TypeError, match="object"):
        to_json(object())


def test_a_watchdog_names_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "?")

    watchdog = Watchdog(tmp_path / "watched", 60.0)
    watchdog.note("reset")
    monkeypatch.setattr(os, "pwrite", fail)
    with pytest.raises(StorageError, match="the disk is full"):
        watchdog.note("step")
    watchdog.close()
    assert not list(tmp_path.iterdir())
