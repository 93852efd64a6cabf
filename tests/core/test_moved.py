"""Imports by old paths end in the new object, with one warning; pages list them."""

import importlib
import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from clevrskills.core.moved import MOVED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "moved.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("old", sorted(MOVED))
def test_the_page_says_where_things_are_now(old: str) -> None:
    new = " and ".join(f"`clevrskills.{name}`" for name in MOVED[old])
    assert f"| `clevrskills.{old}` | {new} |" in PAGE
    assert all(importlib.util.find_spec(f"clevrskills.{name}") for name in MOVED[old])


OLD_IMPORTS = """
from clevrskills.evaluation.policy import Observation, ObservationOptions, PromptInput
from clevrskills.evaluation.observe import Observer
from clevrskills.robots.controller import ACTION_SPEC, kinematics
from clevrskills.predicates.base import GoalState, Outcome, PhysicalPredicate
from clevrskills.world import CONTACT_TOLERANCE_M, TensorWorld, World
from clevrskills.body import Body
from clevrskills.env import ClevrSkillsEnv
from clevrskills.scenes import draw_scene
"""


@pytest.mark.parametrize("line", OLD_IMPORTS.strip().splitlines())
def test_old_imports_give_the_new_objects(line: str) -> None:
    module, _, names = line.removeprefix("from ").partition(" import ")
    sys.modules.pop(module, None)
    space: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(line, space)
    told = [str(w.message) for w in caught if module in str(w.message)]
    assert len(told) == 1 and "has moved to" in told[0]
    places = [
        importlib.import_module(f"clevrskills.{place}")
        for place in MOVED[module.removeprefix("clevrskills.")]
    ]
    for name in names.split(", "):
        assert any(space[name] is getattr(place, name, None) for place in places)


def test_policies_named_by_old_modules_are_found() -> None:
    """As in configurations: ``module:Class``."""
    sys.modules.pop("clevrskills.baselines.bc", None)
    with pytest.warns(DeprecationWarning, match="has moved to clevrskills.baselines.policies.bc"):
        found = importlib.import_module("clevrskills.baselines.bc").BehaviorCloning
    from clevrskills.baselines.policies.bc.policy import BehaviorCloning

    assert found is BehaviorCloning


def test_workspaces_have_their_old_names_too() -> None:
    from clevrskills.tasks import layout

    with pytest.warns(DeprecationWarning, match="W1 is now DEFAULT_WORKSPACE"):
        assert layout.W1 is layout.DEFAULT_WORKSPACE
    with pytest.raises(ImportError, match="cannot import name 'W9'"):
        exec("from clevrskills.tasks.layout import W9")


def test_other_names_are_still_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"clevrskills\.nothing"):
        importlib.import_module("clevrskills.nothing")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from clevrskills.body import nothing")


def test_the_package_alone_does_not_load_the_table() -> None:
    code = "import sys, clevrskills; sys.exit('clevrskills.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
