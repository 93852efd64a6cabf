"""Puzzle files of iVISPAR: export, import, invalid files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline import one_worker_here

from clevrskills.cli import main
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.ivispar.original import export_config, read_config

SUITE = load_suite("ivispar")


@pytest.mark.parametrize(
    ("task", "split"), [("geoms", "base"), ("geoms", "sizes"), ("tiles", "base")]
)
def test_round_trip(task: str, split: str, tmp_path: Path) -> None:
    for episode in SUITE.frozen(task, split)[::40]:
        data = export_config(episode)
        path = tmp_path / f"{data['config_instance_id']}.json"
        path.write_text(json.dumps(data))
        assert read_config(path).to_json() == episode.start["puzzle"]


def test_fields_are_those_of_the_original() -> None:
    data = export_config(SUITE.frozen("geoms", "base")[17])
    assert data["config_instance_id"] == "config_base_b_4_g_9_c1_3_c2_0_i_17"
    assert data["experiment_type"] == "SlidingGeomPuzzle"
    assert set(data["landmarks"][0]) == {
        *("geom_nr", "body", "color", "start_coordinate", "goal_coordinate")
    }
    assert len(data["shortest_move_sequence"]) == data["complexity_c1"] == 3
    assert data["shortest_move_sequence"][0].split()[0] == "move"


def swap(data: dict[str, Any]) -> None:
    data["landmarks"][0]["start_coordinate"] = data["landmarks"][1]["start_coordinate"]


def longer(data: dict[str, Any]) -> None:
    moves = data["shortest_move_sequence"]
    name, way = moves[-1].rsplit(" ", 1)
    back = {"left": "right", "right": "left", "up": "down", "down": "up"}[way]
    moves += [f"{name} {back}", f"{name} {way}"]


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no board": (lambda d: d.pop("grid_size"), "is not a puzzle of iVISPAR"),
    "no such piece": (
        lambda d: d["landmarks"][0].update(color="pink"),
        "is not a puzzle of iVISPAR",
    ),
    "two in a cell": (swap, "two pieces are in one cell at the start"),
    "off the board": (
        lambda d: d["landmarks"][0].update(start_coordinate=[0, 9]),
        "is not on the board",
    ),
    "a wrong move": (
        lambda d: d["shortest_move_sequence"].__setitem__(0, "move red cube north"),
        "is not a puzzle of iVISPAR",
    ),
    "unsolved": (
        lambda d: d["shortest_move_sequence"].pop(),
        "its shortest_move_sequence does not solve it",
    ),
    "too long": (longer, "are enough"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, tmp_path: Path) -> None:
    data = export_config(SUITE.frozen("geoms", "base")[17])
    change, said = FAULTS[name]
    change(data)
    path = tmp_path / "puzzle.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ClevrSkillsError, match=said):
        read_config(path)


def test_start_and_done_are_ignored(tmp_path: Path) -> None:
    data = export_config(SUITE.frozen("geoms", "base")[17])
    data["shortest_move_sequence"] = ["start", *data["shortest_move_sequence"], "done"]
    path = tmp_path / "puzzle.json"
    path.write_text(json.dumps(data))
    assert read_config(path).c1 == 3


def test_freeze_from_files(tmp_path: Path) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    puzzles = {}
    for episode in SUITE.frozen("geoms", "pilot")[:5]:
        data = export_config(episode)
        puzzles[data["config_instance_id"]] = episode.start["puzzle"]
        (folder / f"{data['config_instance_id']}.json").write_text(json.dumps(data))
    out = tmp_path / "mine"
    freeze = ["freeze", "--suite", "ivispar", "geoms", "--import", str(folder), "--out", str(out)]
    assert main(freeze) == 0
    mine = load_suite("ivispar", folder=out).frozen("geoms", "base")
    assert [e.start["puzzle"] for e in mine] == [puzzles[name] for name in sorted(puzzles)]
    results = tmp_path / "results"
    run = ["evaluate", "--suite", "ivispar", "--policy", "oracle", "geoms", "--split", "base"]
    with one_worker_here():
        assert main([*run, "--frozen", str(out), "--out", str(results)]) == 0


def test_tasks_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--suite", "ivispar", "--json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["geoms", "tiles", "listing", "geoms_arm"]
    printed = {"key", "suite", "level", "id", "sentence", "predicates", "tags", "splits", "limit"}
    assert all(printed | {"interfaces", "wordings"} <= row.keys() for row in rows.values())
    assert rows["geoms"]["id"] == "IVispar/Geoms-v1" and rows["tiles"]["splits"]["base"] == 100
    assert "delta" in rows["geoms_arm"]["interfaces"] and "delta" not in rows["geoms"]["interfaces"]
