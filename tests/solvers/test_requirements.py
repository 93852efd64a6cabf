import importlib.metadata
import importlib.util
import sys

import pytest

from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.solvers.requirements import require_oracle, require_planner


@pytest.fixture
def installed(monkeypatch):
    """Fakes the installed numpy and MPlib; gives a function (numpy version, MPlib there?)."""

    def fake(numpy_version: str, mplib: bool) -> None:
        monkeypatch.setattr(importlib.metadata, "version", lambda name: numpy_version)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if mplib else None)

    return fake


def test_numpy_2_is_refused_before_mplib_is_imported(installed, monkeypatch):
    monkeypatch.delitem(sys.modules, "mplib", raising=False)
    installed("2.3.1", mplib=True)
    with pytest.raises(ClevrSkillsError, match=r"numpy 2\.3\.1.*clevrskills\[oracle\]") as error:
        require_planner()
    assert "\n" not in str(error.value)
    assert "mplib" not in sys.modules


def test_missing_mplib_is_named(installed):
    installed("1.26.4", mplib=False)
    with pytest.raises(ClevrSkillsError, match=r"MPlib is not installed.*clevrskills\[oracle\]"):
        require_planner()


def test_mplib_with_numpy_1_is_accepted(installed):
    installed("1.26.4", mplib=True)
    require_planner()


def test_the_oracle_of_a_suite_needs_it_unless_tasks_have_no_arm(installed):
    installed("1.26.4", mplib=False)
    for name in ("clevrskills", "lohoravens"):
        with pytest.raises(ClevrSkillsError, match="MPlib is not installed"):
            require_oracle(load_suite(name))
    require_oracle(load_suite("asgardbench"))
    require_oracle(load_suite("ivispar"))
