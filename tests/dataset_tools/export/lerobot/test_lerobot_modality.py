"""Exports of each version as read by loaders like GR00T's."""

import json
from pathlib import Path

import pandas as pd
import pytest

from clevrskills.dataset_tools import Episode

ANNOTATION = "annotation.human."


@pytest.fixture(params=["lerobot", "lerobot-v3.1", "lerobot-v2.1"])
def root(request: pytest.FixtureRequest, exported: dict[str, Path]) -> Path:
    return exported[request.param]


def sentences(root: Path) -> list[str]:
    """Those that numbers of tasks stand for."""
    table = root / "meta/tasks.parquet"
    if table.is_file():
        return list(pd.read_parquet(table).sort_values("task_index").index)
    return [json.loads(line)["task"] for line in (root / "meta/tasks.jsonl").open()]


def test_modality_covers_state_and_action(root: Path) -> None:
    modality = json.loads((root / "meta/modality.json").read_text())
    features = json.loads((root / "meta/info.json").read_text())["features"]
    for kind in ("state", "action"):
        parts = list(modality[kind].values())
        (key,) = {part["original_key"] for part in parts}
        covered = [index for part in parts for index in range(part["start"], part["end"])]
        assert covered == list(range(features[key]["shape"][0]))
    names = features["observation.state"]["names"]
    rotation = modality["state"]["end_effector_rotation"]
    turned = names[rotation["start"] : rotation["end"]]
    assert [name[-2:] for name in turned] == ["qw", "qx", "qy", "qz"]
    for kind in ("video", "annotation"):
        assert {part["original_key"] for part in modality[kind].values()} <= set(features)
    for name, part in modality["annotation"].items():
        assert part["original_key"] == f"annotation.{name}"


def test_annotations_number_sentences(root: Path, in_order: list[Episode]) -> None:
    files = sorted(root.glob("data/*/*.parquet"))
    rows = pd.concat(map(pd.read_parquet, files), ignore_index=True)
    said = sentences(root)
    asked = [said[number] for number in rows[f"{ANNOTATION}task_description"]]
    assert asked == [e.prompt["plain"] for e in in_order for _ in range(len(e))]
    subtasks = [said[number] for number in rows[f"{ANNOTATION}subtask"]]
    assert subtasks == [text for e in in_order for text in e.steps["subtask"]]


def test_no_image_is_depth(root: Path) -> None:
    features = json.loads((root / "meta/info.json").read_text())["features"]
    for feature in features.values():
        if feature["dtype"] == "video":
            assert feature["info"]["is_depth_map"] is False
            assert feature["info"]["video.is_depth_map"] is False
