"""docs/architecture.md: its walks are real chains of files, its drawing shows the imports."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = {
    heading: re.findall(r"^\d+\. \[`([^`]+)`\]\([^)]+\): ", text, re.MULTILINE)
    for heading, text in re.findall(r"^## (From .*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.M)
}


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return import_module("pages.architecture")


def module_name(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_there_are_five_walks() -> None:
    assert len(WALKS) == 5
    assert all(len(files) > 9 and len(files) == len(set(files)) for files in WALKS.values())


@pytest.mark.parametrize("walk", WALKS)
def test_each_file_is_imported_or_named_by_one_above_it(walk: str, drawing: ModuleType) -> None:
    known: set[str] = set()
    text = ""
    for k, file in enumerate(WALKS[walk]):
        name = module_name(file)
        found = any(other == name or other.startswith(f"{name}.") for other in known)
        found |= f'"{name}:' in text or f'"{name.removeprefix("clevrskills.")}:' in text
        assert k == 0 or found, f"nothing above {file} leads to it"
        known |= drawing.imported_by(ROOT / file)
        text += (ROOT / file).read_text(encoding="utf-8")


def test_the_drawing_shows_every_room_and_the_imports(drawing: ModuleType) -> None:
    drawn = drawing.DRAWING.read_text(encoding="utf-8")
    assert drawn == drawing.drawing(), "run python docs/build.py architecture"


def test_arrows_that_follow_from_others_are_left_out(drawing: ModuleType) -> None:
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert drawing.arrows(graph) == [("a", "b"), ("b", "c")]
