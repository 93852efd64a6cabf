import importlib.metadata
import importlib.util
import sys
from typing import get_args, get_type_hints

import pytest

from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.arguments import PlannerArgs
from clevrskills.jobs.run_folder import PLANNER_VARIABLE
from clevrskills.solvers.requirements import PLANNERS, require_oracle, require_planner


@pytest.fixture
def installed(monkeypatch):
    """Fakes installed packages; gives a function (version of numpy, absent modules)."""

    find_spec = importlib.util.find_spec

    def fake(numpy_version: str, *absent: str) -> None:
        specs = {name: None if name in absent else object() for name in ("mplib", "fcl", "toppra")}
        monkeypatch.setattr(importlib.metadata, "version", lambda name: numpy_version)
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, *rest: specs[name] if name in specs else find_spec(name, *rest),
        )

    monkeypatch.delenv(PLANNER_VARIABLE, raising=False)
    return fake


def test_numpy_2_is_refused_before_mplib_is_imported(installed, monkeypatch):
    monkeypatch.delitem(sys.modules, "mplib", raising=False)
    installed("2.3.1")
    with pytest.raises(ClevrSkillsError, match=r"numpy 2\.3\.1.*clevrskills\[mplib\]") as error:
        require_planner("mplib")
    assert "\n" not in str(error.value)
    assert "mplib" not in sys.modules


def test_missing_packages_are_named(installed):
    installed("1.26.4", "mplib")
    with pytest.raises(ClevrSkillsError, match=r"MPlib is not installed.*clevrskills\[mplib\]"):
        require_planner("mplib")
    installed("2.3.1", "fcl")
    with pytest.raises(ClevrSkillsError, match=r"fcl is not installed.*clevrskills\[oracle\]"):
        require_planner()
    installed("2.3.1", "toppra")
    with pytest.raises(ClevrSkillsError, match=r"toppra is not installed.*clevrskills\[oracle\]"):
        require_planner()


def test_mplib_with_numpy_1_and_fcl_with_any_are_accepted(installed, monkeypatch):
    installed("2.3.1")
    require_planner()
    installed("1.26.4")
    require_planner()
    monkeypatch.setenv(PLANNER_VARIABLE, "mplib")
    require_planner()


def test_options_name_the_planners():
    option, _ = get_args(get_type_hints(PlannerArgs)["planner"])
    assert get_args(option) == tuple(PLANNERS)


def test_an_unknown_planner_is_refused(installed, monkeypatch):
    monkeypatch.setenv(PLANNER_VARIABLE, "fcll")
    with pytest.raises(UnknownNameError, match="allowed: fcl, mplib; did you mean fcl"):
        require_planner()


def test_the_oracle_of_a_suite_needs_it_unless_tasks_have_no_arm(installed):
    installed("1.26.4", "fcl")
    for name in ("clevrskills", "lohoravens"):
        with pytest.raises(ClevrSkillsError, match="python-fcl is not installed"):
            require_oracle(load_suite(name))
    require_oracle(load_suite("asgardbench"))
    require_oracle(load_suite("ivispar"))
