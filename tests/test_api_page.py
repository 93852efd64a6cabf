"""docs/api.md is up to date, and pages and examples import public names only."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from clevrskills.predicates import predicate_types

ROOT = Path(__file__).parents[1]
SOURCES = [
    *(ROOT / "examples").glob("*.py"),
    *(ROOT / "tests" / "foreign" / "tea_tasks").rglob("*.py"),
    *(file for folder in (".", "docs") for file in (ROOT / folder).glob("*.md")),
    *(ROOT / "integrations").glob("*/*.md"),
]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return import_module("pages.api")


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """Modules of the package and the names that a program, or the programs of a page, import."""
    text = file.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for block in blocks if file.suffix == ".md" else [text]:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clevrskills"):
                yield from ((str(node.module), alias.name) for alias in node.names)


def test_the_page_is_up_to_date(api: ModuleType) -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert api.page() == written, "run python docs/build.py api"


def test_public_modules_are_on_the_page_and_no_others(api: ModuleType) -> None:
    files = (ROOT / "clevrskills").rglob("*.py")
    modules = {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}
    modules = {module.removesuffix(".__init__") for module in modules}
    on_page = [module for heading in api.GROUPS for module in api.modules(heading)]
    assert len(on_page) == len(set(on_page))
    assert {module for module in modules if api.public(module)} == set(on_page)


def test_public_names_are_documented_and_sorted(api: ModuleType) -> None:
    for module in (module for heading in api.GROUPS for module in api.modules(heading)):
        names = api.public(module)
        assert names == sorted(names), module
        for name in names:
            assert api.docstring(module, name), f"{module}.{name}"


def test_there_are_few_public_names(api: ModuleType) -> None:
    """At most 80; predicates of worlds do not count."""
    modules = [module for heading in api.GROUPS for module in api.modules(heading)]
    physical = "clevrskills.predicates."
    kinds = predicate_types().values()
    leaves = {kind.__name__ for kind in kinds if kind.__module__.startswith(physical)}
    names = [name for module in modules for name in api.public(module) if name not in leaves]
    assert len(names) == len(set(names)) <= 80


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_only_public_names_are_imported(api: ModuleType, file: Path) -> None:
    for module, name in imports(file):
        if not module.startswith("clevrskills.integrations") and "beside" not in module:
            assert name in api.public(module), f"{module}.{name}"
