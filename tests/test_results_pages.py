"""Tables and curves of the results pages are made from measured runs."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fabricated import outcomes, write_run

DOCS = Path(__file__).parents[1] / "docs"
MACHINE = "a machine"
SOLVED = {"train": {"successes": 49, "episodes": 50, "progress": 0.987}}
LEARNING = {
    "task": "trace", "seed": 0, "steps": 1000, "minutes": 12.3,
    "evaluation": SOLVED, "machine": MACHINE,
    "curve": {"steps": [100, 300], "success_once": [None, 0.8], "success_at_end": [None, 0.7]},
}  # fmt: skip


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("pages.trainings")


def test_the_page_is_made_of_the_results(trainings: Any) -> None:
    text = trainings.PAGE.read_text(encoding="utf-8")
    of = [LEARNING, {**LEARNING, "seed": 1, "minutes": 13.3, "steps": 2000}]
    written = trainings.written(text, of)
    row = "| `trace` | 1,000 to 2,000 | 13 | 49, 49 of 50: 98.0 [89.5, 99.6] |"
    assert row in written and "Machine: a machine." in written
    assert trainings.written(written, trainings.read()) == text


def test_results_that_are_not_there(trainings: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"there is no file .*nothing\.json"):
        trainings.publish(tmp_path / "nothing.json")


def test_results_of_several_machines(trainings: Any) -> None:
    other = {**LEARNING, "task": "touch", "machine": "another"}
    text = trainings.written("<!-- results --><!-- end of results -->", [LEARNING, other])
    assert "Machines: a machine (`trace`); another (`touch`)." in text


def test_measured_runs_are_published_beside_the_others(
    trainings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainings, "DOCS", tmp_path)
    monkeypatch.setattr(trainings, "PAGE", tmp_path / "rl.md")
    monkeypatch.setattr(trainings, "LEARNING", tmp_path / "learning.json")
    trainings.PAGE.write_text("<!-- results -->\n<!-- end of results -->", encoding="utf-8")
    old = [{**LEARNING, "steps": 5}, {**LEARNING, "seed": 1}]
    trainings.LEARNING.write_text(json.dumps({"trainings": old}), encoding="utf-8")
    measured = tmp_path / "measured.json"
    measured.write_text(json.dumps({"trainings": [LEARNING]}), encoding="utf-8")
    trainings.publish(measured)
    found = trainings.read()
    assert found == [LEARNING, {**LEARNING, "seed": 1}]
    assert trainings.successes_table(found) in trainings.PAGE.read_text(encoding="utf-8")
    assert (tmp_path / "learning.svg").exists()


def test_curves_are_drawn(trainings: Any, tmp_path: Path) -> None:
    tasks = ("trace", "pick", "push", "touch")
    figure = trainings.successes([{**LEARNING, "task": task} for task in tasks])
    assert tuple(panel.get_title() for panel in figure.axes) == tasks
    figure.savefig(tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").stat().st_size > 5000


@pytest.fixture
def composition(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("pages.composition")


@pytest.mark.slow
def test_the_tables_of_composition_are_made_of_the_result_files(
    composition: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = composition.PAGE.read_text(encoding="utf-8")
    with composition.unpacked() as root:
        assert composition.page(text, root) == text, "run python docs/build.py composition"
        monkeypatch.setattr(composition, "FOLDER", tmp_path)
        for folder in root.iterdir():
            composition.take_in(folder)
    with composition.unpacked() as root:
        assert composition.page(text, root) == text


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("pages.learned")


def test_the_tables_of_learned_policies_are_made_of_the_result_files(learned: Any) -> None:
    text = learned.PAGE.read_text(encoding="utf-8")
    assert learned.page(text) == text, "run python docs/build.py learned"


def test_runs_are_added_to_the_tables_of_learned_policies(
    learned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A perturbed run is paired with the clean one, episode by episode."""
    policy = "checkpoint:zoo/compact"
    for name, done, axes in (
        ("clean", [True, True, False, None], {}),
        ("camera-3", [False, True, False, True], {"camera": 3}),
    ):
        results = outcomes("pick", done, "L0", split="train")
        results += outcomes("pick", [False, True], "L0", split="combinations") * (not axes)
        write_run(tmp_path / "runs" / name, results, policy, policy=policy, axes=axes)
    monkeypatch.setattr(learned, "FOLDER", tmp_path / "kept")
    learned.FOLDER.mkdir()
    learned.keep(tmp_path / "runs")
    assert sorted(path.name for path in learned.FOLDER.iterdir()) == [
        *("compact-camera-3-train.json", "compact-combinations-train.json")
    ]
    found, _ = learned.read()
    assert found["compact", ""].outcomes["pick_train"] == "110"
    assert found["compact", ""].outcomes["pick_test"]  # of the leaderboard
    clean = {"compact": found["compact", ""]}
    row = learned.robustness(found, clean).splitlines()[-1].strip("|").split("|")
    cells = [cell.split("[")[0].strip() for cell in row]
    assert cells == ["`compact`", "`camera:3`", "3", "66.7", "33.3", "+33.3"]
    row = learned.splits(clean).splitlines()[-1].strip("|").split("|")
    cells = [cell.split("[")[0].strip() for cell in row]
    assert cells == ["`compact`", "`combinations`", "1", "50.0", "66.7", "-16.7"]
    results = outcomes("place", [True], "L0", split="train")  # a later run of another task
    write_run(tmp_path / "later", results, policy, policy=policy, axes={"camera": 3})
    learned.keep(tmp_path / "later")
    changed = learned.read()[0]["compact", "camera:3"].outcomes
    assert changed == {"pick_train": "0101", "place_train": "1"}


def test_chance_is_the_mean_of_one_in_the_number_of_bodies(
    learned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A position that is not predicted has no error, but counts as wrong."""
    row = {"task": "pick", "object": 1, "right": [1, 0, 1, 1], "bodies": [1, 2, 4, 4]}
    rows = [{**row, "error_cm": [1.0, None, 2.0, 4.0]}]
    measured = {"checkpoint": "zoo/compact", "split": "val", "rows": rows}
    (tmp_path / "one.json").write_text(json.dumps(measured))
    monkeypatch.setattr(learned, "POSITIONS", tmp_path)
    cells = [cell.strip() for cell in learned.positions().splitlines()[-1].strip("|").split("|")]
    assert cells[:4] == ["`compact`", "`val`", "`pick`, 1", "50"]
    assert cells[4].startswith("75 [") and cells[5] == "2.0"


def test_the_tables_of_scale_are_made_of_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    scaling = import_module("pages.scaling")
    text = scaling.PAGE.read_text(encoding="utf-8")
    assert scaling.page(text) == text, "run python docs/build.py scaling"
