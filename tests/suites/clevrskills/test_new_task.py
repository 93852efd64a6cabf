"""The scaffold of a task: files of a distribution of one's own, and what it refuses."""

import ast
import tomllib
from importlib import import_module

import pytest

from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.clevrskills.check_task import TaskReport
from clevrskills.suites.clevrskills.new_task import NewTaskArgs, new_task
from tests.support.foreign import installed


def write(folder, name="hang_up", predicate=""):
    return new_task(NewTaskArgs(name=name, package=folder, predicate=predicate))


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_distribution_with_a_task_a_predicate_and_a_skill_is_written(tmp_path, capsys):
    root = tmp_path / "my-Tasks"
    assert write(root) == 0
    assert files(root) == [
        "README.md",
        "my_tasks/__init__.py",
        "my_tasks/predicates/__init__.py",
        "my_tasks/predicates/hang_up_done.py",
        "my_tasks/skills/__init__.py",
        "my_tasks/skills/hang_up_done.py",
        "my_tasks/tasks/__init__.py",
        "my_tasks/tasks/hang_up.py",
        "pyproject.toml",
        "tests/test_hang_up.py",
    ]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert project["build-system"]["build-backend"] == "setuptools.build_meta"
    assert project["project"]["name"] == "my-tasks"
    for kind in ("tasks", "predicates", "skills"):
        entries = project["project"]["entry-points"][f"clevrskills.{kind}"]
        assert entries == {"my_tasks": f"my_tasks.{kind}"}
    for path in root.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path
    printed = capsys.readouterr().out
    assert f"pip install --no-deps --no-build-isolation -e {root}" in printed
    for command in (
        "clevrskills check-task hang_up",
        f"python -m pytest {root / 'tests'}",
        f"clevrskills freeze hang_up --package {root}",
        "clevrskills evaluate --policy oracle hang_up",
    ):
        assert command in printed


def test_the_template_imports_public_names_only(tmp_path):
    write(tmp_path / "mine")
    for path in (tmp_path / "mine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("clevrskills"):
                names = {alias.name for alias in node.names}
                assert names <= {*import_module(str(node.module)).__all__}, path


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_tests_that_are_written_run(tmp_path, split):
    root = tmp_path / "mine"
    write(root)
    about = root / "mine-0.1.dist-info"  # as if it was installed
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 0.1\n")
    kinds = ("tasks", "predicates", "skills")
    entries = "".join(f"[clevrskills.{kind}]\nmine = mine.{kind}\n" for kind in kinds)
    (about / "entry_points.txt").write_text(entries)
    with installed(root, root / "tests"):
        tests = import_module("test_hang_up")
        tests.test_the_predicate_holds_where_it_should(split)
        tests.report = lambda key, episodes: TaskReport(
            key, ()
        )  # the real one runs with slow tests
        tests.test_the_task_passes_its_checks()


def test_a_further_task_is_three_files_and_a_test(tmp_path):
    root = tmp_path / "mine"
    write(root)
    before, project = set(files(root)), (root / "pyproject.toml").read_text()
    write(root, "lay_aside", "laid_by")
    assert set(files(root)) - before == {
        "mine/predicates/laid_by.py",
        "mine/skills/laid_by.py",
        "mine/tasks/lay_aside.py",
        "tests/test_lay_aside.py",
    }
    assert (root / "pyproject.toml").read_text() == project
    assert 'name = "laid_by"' in (root / "mine/predicates/laid_by.py").read_text()
    assert "goal: LaidBy)" in (root / "mine/skills/laid_by.py").read_text()


def test_a_distribution_that_is_there_gets_its_entry_points(tmp_path):
    root = tmp_path / "repository"
    (root / "src" / "my_lab").mkdir(parents=True)
    (root / "src" / "my_lab" / "__init__.py").write_text("X = 1\n")
    (root / "pyproject.toml").write_text('[project]\nname = "my-lab"\nversion = "3"\n')
    write(root)
    assert (root / "src" / "my_lab" / "tasks" / "hang_up.py").exists()
    assert (root / "src" / "my_lab" / "__init__.py").read_text() == "X = 1\n"
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["version"] == "3"
    assert project["entry-points"]["clevrskills.skills"] == {"my_lab": "my_lab.skills"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("HangUp", "'HangUp' is not a valid key of a task; allowed: lowercase"),
        ("hang-up", "is not a valid key of a task"),
        ("2_cups", "is not a valid key of a task"),
        ("lambda", "is not a valid key of a task"),
        ("sort", "there is a task 'sort' already; choose another name"),
    ],
)
def test_bad_keys_are_refused(tmp_path, name, message):
    with pytest.raises(ClevrSkillsError, match=message):
        write(tmp_path / "mine", name)
    name, message = name.replace("sort", "picked"), message.replace("sort", "picked")
    with pytest.raises(ClevrSkillsError, match=message.replace("task", "predicate")):
        write(tmp_path / "mine", predicate=name)
    with pytest.raises(ClevrSkillsError, match="'hang_up' cannot be both task and predicate"):
        write(tmp_path / "mine", predicate="hang_up")
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("numpy", "there is a package 'numpy' already, here or installed"),
        ("json", "there is a package 'json' already"),
        ("clevrskills", "there is a package 'clevrskills' already"),
        ("tests", "there is a package 'tests' already"),
        ("my tasks", "'my tasks' is not a package name"),
        ("class", "'class' is not a package name"),
    ],
)
def test_bad_names_of_packages_are_refused(tmp_path, folder, message):
    with pytest.raises(ClevrSkillsError, match=message):
        write(tmp_path / folder)
    assert not (tmp_path / folder).exists()


def test_nothing_is_overwritten(tmp_path):
    root = tmp_path / "mine"
    write(root)
    with pytest.raises(ClevrSkillsError, match="hang_up.py exists already; choose another name"):
        write(root)
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("x")
    with pytest.raises(ClevrSkillsError, match="has no pyproject.toml; give a new folder or"):
        write(other)
    (other / "pyproject.toml").write_text("[project\n")
    with pytest.raises(ClevrSkillsError, match="pyproject.toml cannot be read"):
        write(other)
    (other / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[project.entry-points."clevrskills.tasks"]\na = "b.c:D"\n'
    )
    with pytest.raises(ClevrSkillsError, match='have no package; add the line x = "x.tasks"'):
        write(other)
