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
CLONING = {
    "task": "trace", "policy": "bc", "seed": 0, "demonstrations": 10, "steps": 1000,
    "minutes": 12.3, "evaluation": SOLVED, "machine": MACHINE,
    "curve": {"steps": [100, 300], "loss": [0.5, 0.1]},
}  # fmt: skip
PAGES = {
    "LEARNING": (
        [LEARNING, {**LEARNING, "seed": 1, "minutes": 13.3, "steps": 2000}],
        "| `trace` | 1,000 to 2,000 | 2 | 13 | train | 49, 49 of 50 | 98.0% | 90-100 % |",
    ),
    "CLONING": (
        [CLONING],
        "| `trace` | `bc` | 10 | 1,000 | 12 | train | 49 of 50 | 90-100 % | 0.99 |",
    ),
}


@pytest.fixture(params=PAGES)
def drawn(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, list[dict[str, Any]], str]:
    """A page of results, trainings, and the row that they give."""
    monkeypatch.syspath_prepend(str(DOCS))
    trainings = import_module("pages.trainings")
    return getattr(trainings, request.param), *PAGES[request.param]


def test_the_page_is_made_of_the_results(drawn: Any) -> None:
    page, trainings, row = drawn
    text = (DOCS / page.page).read_text(encoding="utf-8")
    written = page.written(text, trainings)
    assert row in written and "Machine: a machine." in written
    assert page.written(written, page.read()) == text


def test_results_that_are_not_there(drawn: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"there is no file .*nothing\.json"):
        drawn[0].publish(tmp_path / "nothing.json")


def test_results_of_several_machines(drawn: Any) -> None:
    page, (training, *_), _ = drawn
    other = {**training, "task": "touch", "machine": "another"}
    text = page.written("<!-- results --><!-- end of results -->", [training, other])
    assert "Machines: a machine (`trace`); another (`touch`)." in text


def test_what_was_measured_is_published_beside_the_rest(
    drawn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, (training, *_), _ = drawn
    for folder in ("DOCS", "RESULTS"):
        monkeypatch.setattr(import_module("pages.trainings"), folder, tmp_path)
    (tmp_path / page.page).write_text("<!-- results -->\n<!-- end of results -->", encoding="utf-8")
    old = [{**training, "steps": 5}, {**training, "seed": 1}]
    page.results.write_text(json.dumps({"trainings": old}), encoding="utf-8")
    measured = tmp_path / "measured.json"
    measured.write_text(json.dumps({"trainings": [training]}), encoding="utf-8")
    page.publish(measured)
    assert page.read() == [training, {**training, "seed": 1}]
    assert page.table(page.read()) in (tmp_path / page.page).read_text(encoding="utf-8")
    assert page.results.with_suffix(".svg").exists()


def test_curves_are_drawn(drawn: Any, tmp_path: Path) -> None:
    page, (training, *_), _ = drawn
    tasks = ("trace", "pick", "push", "touch")
    figure = page.curves([{**training, "task": task} for task in tasks])
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
    trainings = kept.trainings()
    with kept.unpacked() as root:
        monkeypatch.setattr(kept, "FOLDER", tmp_path)
        for folder in root.iterdir():
            if folder.is_dir() and folder.name != kept.TRAININGS:
                kept.take_in(folder, folder.name)
    with kept.unpacked() as root:
        assert curriculum.numbers(root) == numbers
        assert curriculum.page(text, root) == text
    assert trainings and not kept.trainings()


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


def test_the_curve_of_a_training_is_kept(
    curriculum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = curriculum.kept_results
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    lines = [{"step": 5, "loss": 0.51234567}, {"step": 10, "loss": 0.4, "seconds": 2.0}]
    lines.append({"step": 10, "success": 0.25})
    log = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "log.jsonl").write_text(log, encoding="utf-8")
    kept.take_in(tmp_path, "small")
    curve = {"steps": [5, 10], "loss": [0.5123, 0.4]}
    assert kept.trainings() == [{"task": "small", "curve": curve}]


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
    rows = [
        {**row, "condition": "step 0", "error_cm": [1.0, 30.0, 2.0, 3.0]},
        {**row, "condition": "images 0, state 4", "error_cm": [1.0, 1.0, 1.0, 1.0]},
    ]
    text = positions.table({"steps": [0, 4], "rows": rows})
    cells = [cell.strip() for cell in text.splitlines()[-1].strip("|").split("|")]
    assert cells[:2] == ["`pick`, 1", "50 %"] and cells[2].startswith("75 [")
    assert cells[3:5] == ["", "2.5 [1.0, 30.0], 22"]
    assert cells[5] == "" == cells[7] and cells[6].startswith("75 [")


def test_the_interval_of_a_median_is_of_order_statistics(positions: Any) -> None:
    """Of 100 values the 40th to the 61st, see Conover 1999, section 3.2."""
    assert positions.errors(list(range(1, 101))) == "50.5 [40.0, 61.0], 90"
