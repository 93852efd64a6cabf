"""The tables and curves of the pages of results are made of what was measured."""

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


def test_what_was_measured_is_published_beside_the_rest(
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
def curriculum(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("pages.curriculum")


@pytest.mark.slow
def test_the_curriculums_tables_are_made_of_the_result_files(curriculum: Any) -> None:
    kept = curriculum.kept_results
    with kept.unpacked() as root:
        for path, written in (
            (curriculum.PAGE, curriculum.page),
            (curriculum.COMPOSITION, curriculum.composition),
        ):
            text = path.read_text(encoding="utf-8")
            assert written(text, root) == text, "run python docs/build.py curriculum"
        assert curriculum.figure(root) == curriculum.FIGURE.read_text(encoding="utf-8")
        numbers = (kept.FOLDER / "tables.csv").read_text(encoding="utf-8")
        assert curriculum.numbers(root) == numbers


@pytest.mark.slow
def test_what_is_taken_in_gives_the_same_tables(
    curriculum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = curriculum.kept_results
    numbers = (kept.FOLDER / "tables.csv").read_text(encoding="utf-8")
    text = curriculum.PAGE.read_text(encoding="utf-8")
    with kept.unpacked() as root:
        monkeypatch.setattr(kept, "FOLDER", tmp_path)
        for folder in root.iterdir():
            if folder.is_dir():
                kept.take_in(folder, folder.name)
    with kept.unpacked() as root:
        assert curriculum.numbers(root) == numbers
        assert curriculum.page(text, root) == text


def test_splits_are_compared_on_the_tasks_that_have_them(curriculum: Any, tmp_path: Path) -> None:
    solved = {
        ("stack", "train"): [True, True, False, False],
        ("stack", "orders"): [True, False, False, False],
        ("swap", "train"): [True, True, True, True],
        ("swap", "orders"): [None],  # an error
    }
    results = [
        result
        for (task, split), done in solved.items()
        for result in outcomes(task, done, "L1", split=split)
    ]
    write_run(tmp_path / "splits-p", results, "checkpoint:zoo/p", policy="checkpoint:zoo/p")
    title, table = curriculum.composition_page.splits(tmp_path)
    assert title == "### Splits of composition"
    (row,) = table.splitlines()[2:]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["p", "L1", "`orders`", "1"]
    assert [cell.split(" ")[0] for cell in cells[4:]] == ["25.0", "50.0", "-25.0"]


@pytest.fixture
def positions(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("pages.positions")


def test_the_table_of_predicted_positions_is_made_of_its_file(positions: Any) -> None:
    text = positions.PAGE.read_text(encoding="utf-8")
    assert positions.page(text) == text, "run python docs/build.py positions"


def test_chance_is_the_mean_of_one_in_the_number_of_bodies(positions: Any) -> None:
    """An object of which one condition is missing, as its demonstrations ended before."""
    row = {"task": "pick", "object": 1, "right": [1, 0, 1, 1], "bodies": [1, 2, 4, 4]}
    rows = [{**row, "condition": name} for name in ("step 0", "images 0, state 4")]
    text = positions.table({"steps": [0, 4], "rows": rows})
    cells = [cell.strip() for cell in text.splitlines()[-1].strip("|").split("|")]
    assert cells[:2] == ["`pick`, 1", "50 %"] and cells[2].startswith("75 [")
    assert cells[3] == "" == cells[5] and cells[4].startswith("75 [")


def test_the_tables_of_scale_are_made_of_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    scaling = import_module("pages.scaling")
    text = scaling.PAGE.read_text(encoding="utf-8")
    assert scaling.page(text) == text, "run python docs/build.py scaling"
