import errno
import json
import os
from pathlib import Path

import pytest

from clevrskills.dataset_tools.files import StorageError
from clevrskills.dataset_tools.layout import (
    DatasetError,
    Failure,
    Header,
    append_failure,
    episode_id,
    locked,
    read_failures,
    versions,
)

HEADER = Header(robot="xarm6", criteria="paper", cameras=("base_camera",))
FAILURE = Failure("sort", "train", 3, "dropped the cube", 17)


def test_episode_id_sorts_by_seed() -> None:
    assert episode_id("sort", "test", 12) == "sort/test_00000012"


def test_versions_name_what_is_missing() -> None:
    found = versions()
    assert found["numpy"] and found["python"]
    assert set(found) == {
        "python",
        "clevrskills",
        "mani_skill",
        "sapien",
        "torch",
        "numpy",
        "mplib",
    }


def test_header_round_trip(tmp_path: Path) -> None:
    HEADER.open(tmp_path / "new")
    HEADER.open(tmp_path / "new")
    assert Header.read(tmp_path / "new") == HEADER


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Header("panda", "paper", ("base_camera",)), "robot xarm6, not panda"),
        (Header("xarm6", "released", ("base_camera",)), "criteria paper, not released"),
        (Header("xarm6", "paper", ()), "cameras base_camera, not none"),
    ],
)
def test_header_refuses_other_arguments(tmp_path: Path, other: Header, message: str) -> None:
    HEADER.open(tmp_path)
    with pytest.raises(DatasetError, match=message):
        other.open(tmp_path)
    assert Header.read(tmp_path) == HEADER


def test_header_refuses_a_folder_with_other_things(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_text("")
    with pytest.raises(DatasetError, match="is not a dataset .* not empty"):
        HEADER.open(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["holiday.jpg"]
    with pytest.raises(DatasetError, match="is a file"):
        HEADER.open(tmp_path / "holiday.jpg")


def test_header_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="is not a dataset: it has no dataset.json"):
        Header.read(tmp_path)
    path = tmp_path / "dataset.json"
    path.write_text("{")
    with pytest.raises(DatasetError, match="damaged"):
        Header.read(tmp_path)
    path.write_text(json.dumps({"format": "clevrskills", "format_version": 99}))
    with pytest.raises(DatasetError, match="format version 99"):
        Header.read(tmp_path)
    path.write_text(json.dumps({"format": "other", "format_version": 1}))
    with pytest.raises(DatasetError, match="'other'"):
        Header.read(tmp_path)


def test_only_one_writer(tmp_path: Path) -> None:
    with locked(tmp_path):
        with pytest.raises(DatasetError, match="another process"), locked(tmp_path):
            pass
    with locked(tmp_path):
        pass


def test_failures_round_trip(tmp_path: Path) -> None:
    assert read_failures(tmp_path) == []
    append_failure(tmp_path, FAILURE)
    append_failure(tmp_path, FAILURE)
    assert read_failures(tmp_path) == [FAILURE, FAILURE]


def test_failure_on_a_full_disk_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_failure(tmp_path, FAILURE)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:10]))
    with pytest.raises(StorageError, match="the disk is full"):
        append_failure(tmp_path, FAILURE)
    monkeypatch.undo()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full"):
        append_failure(tmp_path, FAILURE)
    assert read_failures(tmp_path) == [FAILURE]


def test_damaged_failures_name_the_line(tmp_path: Path) -> None:
    append_failure(tmp_path, FAILURE)
    with (tmp_path / "failures.jsonl").open("a") as file:
        file.write('{"task": \n')
    with pytest.raises(DatasetError, match="line 2"):
        read_failures(tmp_path)
