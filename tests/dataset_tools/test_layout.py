import json
from dataclasses import replace
from pathlib import Path

import pytest

from clevrskills.core.episode import episode_id
from clevrskills.dataset_tools.layout import DatasetError, Header

HEADER = Header(robot="xarm6", criteria="paper", cameras=("base_camera",), fps=20)


def test_episode_id_sorts_by_seed() -> None:
    assert episode_id("sort", "test", 12) == "sort/test_00000012"


def test_header_round_trip(tmp_path: Path) -> None:
    HEADER.open(tmp_path / "new")
    HEADER.open(tmp_path / "new")
    assert Header.read(tmp_path / "new") == HEADER


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Header("panda", "paper", ("base_camera",), 20), "robot xarm6, not panda"),
        (replace(HEADER, versions={"planner": "mplib"}), "planner fcl, not mplib"),
        (Header("xarm6", "released", ("base_camera",), 20), "criteria paper, not released"),
        (Header("xarm6", "paper", (), 20), "cameras base_camera, not none"),
        (Header("xarm6", "paper", ("base_camera",), 20, size_px=128), "size_px None, not 128"),
        (Header("xarm6", "paper", ("base_camera",), 20, depth=True), "depth False, not True"),
        (Header("xarm6", "paper", ("base_camera",), 20, look="flat"), "look soft, not flat"),
        (
            Header("xarm6", "paper", ("base_camera",), 20, task_args={"sort": {"areas": 2}}),
            "task_args",
        ),
    ],
)
def test_header_refuses_other_arguments(tmp_path: Path, other: Header, message: str) -> None:
    HEADER.open(tmp_path)
    with pytest.raises(DatasetError, match=message):
        other.open(tmp_path)
    assert Header.read(tmp_path) == HEADER


def test_header_refuses_a_folder_with_other_files(tmp_path: Path) -> None:
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
    with pytest.raises(DatasetError, match="format version 99; this package reads 1"):
        Header.read(tmp_path)
    path.write_text(json.dumps({"format": "clevrskills"}))
    with pytest.raises(DatasetError, match="damaged: KeyError.'format_version'"):
        Header.read(tmp_path)
    path.write_text(json.dumps({"format": "other", "format_version": 1}))
    with pytest.raises(DatasetError, match="'other'"):
        Header.read(tmp_path)


def test_two_writers_may_start_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One checks for a header just before the other one writes it."""
    exists = Path.exists
    HEADER.open(tmp_path)
    monkeypatch.setattr(Path, "exists", lambda p: p.name != "dataset.json" and exists(p))
    HEADER.open(tmp_path)
    with pytest.raises(DatasetError, match="robot xarm6, not panda"):
        Header("panda", "paper", ("base_camera",), 20).open(tmp_path)
