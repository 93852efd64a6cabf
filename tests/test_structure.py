"""Structure of the package: layers, cycles, sizes of packages, side effects of imports."""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "clevrskills"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LONG_ROOMS = {"tasks", "predicates", "skills", "objects"}
"""Folders that may be long: each file in them is one more of a kind."""


def module_name(file: Path) -> str:
    name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    return {module_name(file): file for file in PACKAGE.rglob("*.py")}


@cache
def imports() -> dict[str, set[str]]:
    """Modules of the package that each imports: in functions and for type checking too."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file} has a relative import"
                base = node.module or ""
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    found[name].add(inner if inner in modules() else base)
        found[name] = {other for other in found[name] if other in modules() and other != name}
    return found


@cache
def levels() -> dict[str, int]:
    """Row of each room, counted from below."""
    rows = re.search(r"^```layers\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)
    assert rows is not None
    lines = [line.split() for line in rows[1].splitlines()]
    assert len(lines) == 12
    return {name: len(lines) - k for k, line in enumerate(lines) for name in line}


def test_imports_point_downward() -> None:
    level = levels()
    for name, others in imports().items():
        if name == "clevrskills":  # what everything imports may import nothing but lists of tasks
            assert all(re.fullmatch(r"clevrskills\.suites\.\w+", other) for other in others)
            continue
        room = name.split(".")[1]
        assert room in level, f"{room} has no place in the layers of CONTRIBUTING.md"
        for other in others - {"clevrskills"}:
            below = other.split(".")[1]
            assert below == room or level[below] < level[room], f"{name} imports {other}"


def test_core_names_higher_layers_only_in_tables_of_loaders() -> None:
    """Suites and policies are found by a ``module:attribute``; nothing else is imported by text."""
    for name, file in modules().items():
        if not name.startswith("clevrskills.core"):
            continue
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        texts = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                room, colon = re.match(
                    r"(?:clevrskills\.(\w+)[\w.]*)?(:\w+$)?", node.value
                ).groups()  # type: ignore[union-attr]
                if id(node) not in texts and levels().get(room, 0) > levels()["core"]:
                    assert colon, f"{name} names {node.value}"


def test_no_module_imports_another_in_a_circle() -> None:
    graph, state = imports(), dict[str, int]()

    def visit(name: str, path: list[str]) -> None:
        state[name] = 1
        for other in sorted(graph.get(name, ())):
            if state.get(other) == 1:
                pytest.fail(" -> ".join([*path[path.index(other) :], other]))
            if other not in state:
                visit(other, [*path, other])
        state[name] = 2

    for name in sorted(graph):
        if name not in state:
            visit(name, [name])


def test_rooms_have_a_handful_of_files() -> None:
    rooms = Counter(file.parent for file in modules().values() if file.name != "__init__.py")
    for room, count in rooms.items():
        if not LONG_ROOMS & set(room.relative_to(PACKAGE).parts):
            assert count <= 16, f"{room} has {count} modules"
    at_the_root = {file.stem for file in PACKAGE.glob("*.py")}
    assert at_the_root == {"__init__", "__main__", "cli", "errors"}


def test_every_package_has_a_docstring() -> None:
    for folder in {file.parent for file in modules().values()}:
        assert (folder / "__init__.py").is_file(), folder
        text = (folder / "__init__.py").read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), folder


QUESTIONS = {"What", "Where", "Whether", "Which", "How", "When", "Who", "Whose", "Why", "Those"}
ARTICLES = {"The", "A", "An", "Its", "Their", "All", "One", "As", "Of", "If"}
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_docstrings_begin_with_a_noun_or_for_functions_a_verb() -> None:
    for name, file in modules().items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, DEFINITIONS) or not (text := ast.get_docstring(node)):
                continue
            first, place = text.split()[0].strip(".,:;"), f"{name}:{getattr(node, 'lineno', 1)}"
            assert first not in QUESTIONS, place
            if isinstance(node, ast.ClassDef | ast.Module):
                assert first not in {"Does", "Makes", "Says", "Something", "Takes", "Tells"}, place
            elif not any("property" in ast.unparse(each) for each in node.decorator_list):
                assert first not in ARTICLES and not re.search("[^s]s$", first), place


COINAGES = {
    *("told", "said", "says", "felt", "heard", "seeing", "hearing", "perhaps_told", "told_anew"),
    *("clothe", "spoilers", "anywhere", "likeness", "unspeakable", "disturber", "footage"),
    *("quitter", "starter", "disorderly", "glide", "thing", "things"),
}
"""Words for which there is a standard term, such as ``prompted``, ``predicted`` or ``outcome``."""
STORED = {"told", "said", "tell", "hearing", "seeing"}
"""Those of them that are names in checkpoints and configurations of policies."""


def test_no_name_is_a_coined_word() -> None:
    for name, file in modules().items():
        stored = STORED if ".baselines" in name else set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [getattr(node, key, None) for key in ("id", "attr", "arg", "name")]
            for each in names:
                word = str(each).strip("_").lower()
                assert word not in COINAGES - stored, f"{name}:{getattr(node, 'lineno', 1)}: {each}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("clevrskills", ("clevrskills.core", "torch", "sapien", "mani_skill", "pandas")),
        ("clevrskills.core", ("sapien", "mani_skill", "transformers")),
        ("clevrskills.cli", ("sapien", "mani_skill", "transformers")),
    ],
)
def test_side_effects_of_imports(imported: str, absent: tuple[str, ...]) -> None:
    """``clevrskills.core`` with all of its modules."""
    names = [n for n in modules() if n == imported or n.startswith("clevrskills.core")]
    wanted = names if imported == "clevrskills.core" else [imported]
    code = f"import sys, {', '.join(wanted)}; print(*(set({absent!r}) & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


TOOLS = ("core", "jobs", "evaluation", "dataset_tools", "serving", "integrations")
"""Rooms that ask suite, interface and recordings what an arm is like."""
OF_THE_ARM = ("base_camera", "hand_camera", "vacuum", "xarm6")


@pytest.mark.parametrize("room", TOOLS)
def test_no_tool_names_the_arm(room: str) -> None:
    """Neither its name, nor how many numbers an action has, nor cameras, grippers and splits."""
    for file in sorted((PACKAGE / room).rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        shifts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)}
        for node in ast.walk(tree):
            place = f"{file.name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Constant) and id(node) not in texts | shifts:
                assert node.value != 7, place
                assert not any(name in str(node.value) for name in OF_THE_ARM), place
            elif isinstance(node, ast.Tuple | ast.List):
                values = {each.value for each in node.elts if isinstance(each, ast.Constant)}
                assert not {"train", "test"} <= values, place
            elif isinstance(node, ast.Name | ast.Attribute):
                assert "vacuum" not in (getattr(node, "id", "") or getattr(node, "attr", "")), place
            elif isinstance(node, ast.ImportFrom):
                for name in (f"{node.module}.{alias.name}" for alias in node.names):
                    assert not name.startswith(("clevrskills.sim.robots.", "clevrskills.tasks.")), (
                        place
                    )
