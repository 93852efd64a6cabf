"""docs/datasets.md is complete, and its code runs."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from clevrskills.cli import main
from clevrskills.dataset_tools import Dataset

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
SCHEMAS = ROOT / "clevrskills" / "dataset_tools" / "check" / "schemas"


def rows(heading: str) -> str:
    """First cells of the table below a heading."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return "\n".join(line.split(" | ")[0] for line in lines)


def quoted(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def test_all_columns_and_keys_are_explained(demos: Path) -> None:
    episode = Dataset(demos)[0]
    assert set(episode.steps.columns) <= quoted(rows("steps.parquet"))
    base = {name for name in episode.cameras_table.columns if name.startswith("base_camera/")}
    assert base == quoted(rows("cameras.parquet"))
    watched = {"events", "trajectory"}  # where a watcher was there
    assert set(episode.info) | watched == quoted(rows("episode.json"))
    line = json.loads((demos / "manifest" / "local.jsonl").read_text().splitlines()[0])
    assert set(line) == quoted(rows("Manifest"))
    header = json.loads((demos / "dataset.json").read_text())
    assert all(f"`{key}`" in PAGE for key in header)


@pytest.mark.parametrize("name", ["dataset", "episode", "manifest"])
def test_all_keys_that_the_schemas_require_are_explained(name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    assert all(f"`{key}`" in PAGE for key in schema["required"])


PRINTED = ("(12, 7) (13, 7)", "10 frames", "torch.Size([32, 8, 7]) torch.Size([32, 8])")


@pytest.mark.parametrize("number", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_code_runs(
    demos: Path,
    tmp_path: Path,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[number]
    assert number != 1 or main(["pack", str(demos), "--out", str(tmp_path / "packed")]) == 0
    monkeypatch.chdir(tmp_path if number == 1 else demos.parent)
    exec(compile(code, "datasets.md", "exec"), {"__name__": "__main__"})
    assert PRINTED[number] in capsys.readouterr().out


@pytest.mark.slow
def test_the_example_trains(
    demos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["load_dataset.py", str(demos)])
    runpy.run_path(str(ROOT / "examples" / "load_dataset.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "images (16, 1, 3, 64, 64)" in said and "actions (16, 4, 7)" in said
    assert re.search(r"mean squared error after \d+ steps: 0\.\d+", said)
