"""Checks of datasets of turns: sound ones pass, each kind of damage is named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clevrskills.cli import main
from clevrskills.dataset_tools.check.command import check_dataset
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.manifest import file_hashes
from clevrskills.dataset_tools.record.turns import COLUMNS
from clevrskills.dataset_tools.torch_dataset import TrainingDataset
from clevrskills.jobs.pool import InlinePool


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two demonstrations of boards, drawn from above and in words."""
    out: Path = tmp_path_factory.mktemp("turns") / "boards"
    command = ["generate", "geoms", "--suite", "ivispar", "--split", "val", "--episodes", "2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        assert main([*command, "--out", str(out), "--view", "text", "--view", "schematic"]) == 0
    return out


def test_a_sound_dataset_has_no_faults_and_replays(boards: Path) -> None:
    report = check_dataset(boards, replay=2)
    assert (report.episodes, report.replayed, report.faults) == (2, 2, [])


@pytest.mark.render
def test_a_sound_dataset_of_an_arm_with_oblong_and_orthographic_cameras(tmp_path: Path) -> None:
    command = ["generate", "pick_place_area", "--suite", "lohoravens", "--episodes", "1"]
    filmed = ["--cameras", "front", "map", "--size", "64", "--look", "flat"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        assert main([*command, *filmed, "--out", str(tmp_path / "blocks")]) == 0
    report = check_dataset(tmp_path / "blocks", replay=1)
    assert (report.episodes, report.replayed, report.faults) == (1, 1, [])
    learned = TrainingDataset(tmp_path / "blocks", cameras=["front"])  # of control steps
    assert len(learned) == Dataset(tmp_path / "blocks")[0].info["steps"] > 20


def _turns(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        rows = pq.read_table(folder / "turns.parquet").to_pylist()
        change(rows)
        table = pa.Table.from_pylist(rows, pa.schema(list(COLUMNS.items())))
        pq.write_table(table, folder / "turns.parquet")

    return edit


def _info(**changes: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "episode.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return edit


def _drop_images(folder: Path) -> None:
    table = pq.read_table(folder / "images.parquet")
    pq.write_table(table.slice(1), folder / "images.parquet")


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda folder: (folder / "turns.parquet").unlink(), "is missing"),
        (lambda folder: (folder / "turns.parquet").write_bytes(b"PAR1"), "damaged"),
        (_turns(lambda rows: rows.pop()), "rows, not"),
        (_turns(lambda rows: rows[0].update(success=True)), "success is not at the last turn"),
        (_turns(lambda rows: rows[0].update(progress=1.5)), "progress is outside"),
        (_turns(lambda rows: rows[0].update(texts="{}")), "views are"),
        (_turns(lambda rows: rows[0].update(holds=[False])), "not those of the nodes"),
        (_turns(lambda rows: rows[0].update(reward=99.0)), "rewards add up to"),
        (_drop_images, "images are not those that turns name"),
        (_info(turns=0), "minimum"),
        (_info(seed=7), "in the directory"),
    ],
)
def test_damage_is_named(
    boards: Path, tmp_path: Path, damage: Callable[[Path], None], what: str
) -> None:
    root = tmp_path / "boards"
    shutil.copytree(boards, root)
    damage(root / "geoms" / "val_00000000")
    faults = check_dataset(root).faults
    assert any(what in fault.what for fault in faults), faults
    assert {fault.episode for fault in faults} == {"geoms/val_00000000"}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"message": "Well done."}, "message of turn 0 differs"),
        ({"action": "move red cube nowhere"}, "ok of turn 0 differs"),
        ({"state": "[0, 1]"}, "the state after 0 turns differs"),
    ],
)
def test_a_replay_finds_faults_outside_the_tables(
    boards: Path, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    root = tmp_path / "boards"
    shutil.copytree(boards, root)
    shutil.rmtree(root / "geoms" / "val_00000001")
    _turns(lambda rows: rows[0].update(change))(root / "geoms" / "val_00000000")
    manifest = root / "manifest" / "local.jsonl"
    line = json.loads(manifest.read_text().splitlines()[0])
    line["files"] = file_hashes(root / "geoms" / "val_00000000")
    manifest.write_text(json.dumps(line) + "\n")
    (fault,) = check_dataset(root, replay=1).faults
    assert fault.what == f"replay: {what}"
