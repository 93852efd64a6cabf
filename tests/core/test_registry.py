"""Registry of plugins of other distributions: found without an import, own names first."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import clevrskills
from clevrskills.core import policy_loader, registry, suite
from clevrskills.core.registry import OwnDistribution, check_new, load, load_modules, others
from clevrskills.errors import ClevrSkillsError, NameTakenError, UnknownNameError
from clevrskills.predicates import OnTop, Predicate, predicate_types
from clevrskills.solvers.skills import solves
from clevrskills.tasks import Task, task, tasks
from tests.support.foreign import installed

FOREIGN = Path(__file__).parents[1] / "foreign"


def entry(name: str, value: str, kind: str = "things") -> EntryPoint:
    return EntryPoint(name, value, f"clevrskills.{kind}")


@pytest.fixture
def added(monkeypatch):
    """Lets distributions add entry points."""

    def add(*entries: EntryPoint) -> None:
        monkeypatch.setattr(registry, "additions", lambda kind: entries)

    return add


@pytest.fixture
def tea():
    """The distribution of ``tests/foreign`` is installed."""
    with installed(FOREIGN):
        yield


def test_the_nearest_name_is_suggested():
    with pytest.raises(
        UnknownNameError, match=r"^unknown task 'srot'; did you mean sort\? allowed: "
    ):
        task("srot")
    assert (
        str(UnknownNameError("task", "juggle", ["sort"])) == "unknown task 'juggle'; allowed: sort"
    )
    found = str(UnknownNameError("view", 2, ("image", "depth")))
    assert found == "unknown view 2; allowed: image, depth"


def test_names_of_others_are_found_without_an_import(tea):
    assert [e.name for e in clevrskills.additions("objects")] == ["saucer", "tea caddy"]
    assert clevrskills.additions("juggling") == ()
    keys = clevrskills.task_keys()
    assert keys[-1] == "serve_tea" and keys[:-1] == [key for key in keys if key != "serve_tea"]
    assert "tea_tasks" not in sys.modules


def test_importing_the_package_imports_nothing_of_others():
    code = (
        "import sys, gymnasium, clevrskills;"
        "print(gymnasium.spec('ClevrSkills/ServeTea-v1').kwargs['task'],"
        "'tea_tasks' in sys.modules, 'clevrskills.core' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(FOREIGN)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["serve_tea", "False", "False"]


def test_names_that_are_taken_are_refused(added):
    added(entry("mine", "a:b"), entry("yours", "c:d"))
    assert list(others("things", ("ours",))) == ["mine", "yours"]
    with pytest.raises(NameTakenError, match="things 'mine' of a:b: clevrskills has one of that"):
        others("things", ("mine",))
    added(entry("mine", "a:b"), entry("mine", "c:d"))
    with pytest.raises(NameTakenError, match="'mine' of c:d: a:b has one of that name; choose"):
        others("things", ())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_package.things:X", "things: mine = .* No module named 'no_such_package'"),
        ("json:no_such_thing", "things: mine = json:no_such_thing .*no attribute"),
        ("json:dumps", "is of type function; allowed: int"),
    ],
)
def test_loading_errors_are_one_line(value, message):
    with pytest.raises(ClevrSkillsError, match=message) as error:
        load(entry("mine", value), int)
    assert "\n" not in str(error.value)


def test_modules_of_a_package_are_imported(tea):
    first, *inner = load_modules(entry("tea", "tea_tasks.predicates"))
    assert [m.__name__ for m in inner] == ["tea_tasks.predicates.served"]
    assert [m.__name__ for m in load_modules(entry("x", "json"))][0] == "json"
    with pytest.raises(ClevrSkillsError, match="no_such_module"):
        load_modules(entry("tea", "no_such_module"))


def test_no_plugin_remains():
    own = {*predicate_types()}
    with installed(FOREIGN):
        assert {"served"} == {*predicate_types()} - own
        assert list(tasks())[-1] == "serve_tea"
    assert {*predicate_types()} == own and "serve_tea" not in tasks()
    assert not any(name.startswith("tea_tasks") for name in sys.modules)


def test_nothing_of_the_package_is_replaced():
    assert "sort" in tasks()
    with pytest.raises(NameTakenError, match="task 'sort' of .*Mine: clevrskills.tasks.l1.sort"):
        type("Mine", (Task,), {"key": "sort", "level": "L1", "__qualname__": "Mine"})
    with pytest.raises(NameTakenError, match="predicate 'on_top' of .*: clevrskills.predicates.on"):
        type("Mine", (Predicate,), {"name": "on_top"})
    with pytest.raises(NameTakenError, match="skill for 'on_top' of .*: clevrskills.solvers"):
        from clevrskills.solvers.skills import place

        assert place
        solves(OnTop)(lambda arm, goal: iter(()))
    assert tasks()["sort"].__module__ == "clevrskills.tasks.l1.sort"
    check_new("task", "sort", tasks()["sort"], tasks()["sort"])  # defined again, as in a notebook


def test_a_suite_of_another_distribution_is_found(added):
    added(entry("tea", "clevrskills.suites.asgardbench.suite:AsgardBenchSuite"))
    assert suite.suite_names() == (*suite.SUITES, "tea")
    with pytest.raises(UnknownNameError, match="unknown suite 'coffee'; allowed: clevrskills.*tea"):
        suite.load_suite("coffee")
    assert suite.load_suite("tea").name == "asgardbench"


def test_a_policy_of_another_distribution_is_found(added):
    added(entry("waiter", "tests.core.test_registry:Waiter"))
    source = policy_loader.PolicySource("waiter", {"name": "Ada"})
    assert source.make().policy.name == "Ada"
    assert policy_loader.PolicySource("waiter:folder").make().policy.name == "folder"
    with pytest.raises(UnknownNameError, match="unknown policy 'porter'; allowed: .*, waiter$"):
        policy_loader.PolicySource("porter")


class Waiter:
    """A policy."""

    def __init__(self, name: str) -> None:
        self.name = name

    def reset(self) -> None:
        """Nothing to prepare."""

    def act(self) -> None:
        """Nothing to do."""


PROJECT = """
[project]
name = "tea-tasks"
[project.entry-points."clevrskills.tasks"]
tea = "tea_tasks.tasks"
"""


def test_a_distribution_has_its_tasks_and_folder_of_episodes(tea, tmp_path):
    with pytest.raises(ClevrSkillsError, match="pyproject.toml cannot be read"):
        OwnDistribution.at(tmp_path)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    own = OwnDistribution.at(tmp_path)
    assert own.tasks == own.select(()) == ("serve_tea",)
    assert own.episodes == tmp_path / "tea_tasks" / "episodes"
    (tmp_path / "src" / "tea_tasks").mkdir(parents=True)
    assert OwnDistribution.at(tmp_path).episodes == tmp_path / "src" / "tea_tasks" / "episodes"
    with pytest.raises(UnknownNameError, match="unknown task of .* 'sort'; allowed: serve_tea"):
        own.select(("sort",))


def test_a_missing_distribution_has_its_install_command(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    with pytest.raises(ClevrSkillsError, match="is not installed; run: pip install --no-deps"):
        OwnDistribution.at(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    with pytest.raises(ClevrSkillsError, match='has no entry points of "clevrskills.tasks"'):
        OwnDistribution.at(tmp_path)
