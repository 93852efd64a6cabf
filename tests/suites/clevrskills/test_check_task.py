"""Checks of a task: requirements and recommendations, each with its remedy."""

import json

import pytest

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.solvers.requirements import planner_obstacle
from clevrskills.suites.clevrskills.check_task import CheckTaskArgs, TaskReport, check_task, report
from clevrskills.suites.clevrskills.faults import unfair
from clevrskills.suites.clevrskills.task_checks import OF_SCENES, TaskCheck, keys_in, run_checks
from clevrskills.tasks import task
from tests.support.foreign import installed

needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))
GOOD = TaskCheck("starts", "must", True, "fine", "none")
BAD = TaskCheck("oracle", "must", False, "solves none", "write a skill")
WEAK = TaskCheck("variety", "should", False, "one wording", "say more")


def test_only_requirements_decide():
    assert TaskReport("sort", (GOOD, WEAK)).ok
    assert not TaskReport("sort", (GOOD, BAD)).ok
    data = json.loads(json.dumps(TaskReport("sort", (GOOD, BAD)).to_json()))
    assert data["ok"] is False and data["checks"][1]["mend"] == "write a skill"
    unknown = TaskCheck("zero", "must", None, "not run", "")
    assert not TaskReport("sort", (GOOD, unknown)).ok
    assert str(TaskReport("sort", (GOOD, unknown))).splitlines()[2:] == [
        "  must    zero         --  not run"
    ]
    lines = str(TaskReport("sort", (GOOD, BAD, WEAK))).splitlines()
    assert lines[0] == "sort: does not pass" and "NO" in lines[2] and "write a skill" in lines[3]


def test_tasks_are_found_by_key_module_and_file(tmp_path, monkeypatch):
    assert keys_in("sort") == ["sort"]
    assert keys_in("clevrskills.tasks.l1.sort") == ["sort"]
    assert keys_in("clevrskills/tasks/l1/sort.py") == ["sort"]
    assert keys_in("clevrskills.tasks.l0")[:2] == ["match_pose", "move_without_hitting"]
    with pytest.raises(UnknownNameError, match="unknown task or module 'juggle'; allowed: "):
        keys_in("juggle")
    with pytest.raises(ClevrSkillsError, match="json defines no task"):
        keys_in("json")
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module\n")
    with pytest.raises(ClevrSkillsError, match="broken.py cannot be imported: ModuleNotFoundError"):
        keys_in(str(broken))
    with pytest.raises(ClevrSkillsError, match="--episodes must be at least 1"):
        check_task(CheckTaskArgs(task="sort", episodes=0))
    with pytest.raises(UnknownNameError, match="unknown robot for throw 'arm'"):
        list(run_checks("throw", robot="arm"))


LAZY = '''
"""Tasks with faults."""
from dataclasses import dataclass

import numpy as np
import torch

from clevrskills.assets import shape
from clevrskills.predicates import PhysicalPredicate
from clevrskills.sim.body import Body
from clevrskills.tasks import Task
from clevrskills.tasks.layout import LayoutError, TableLayout


@dataclass(frozen=True, eq=False)
class Lazy(PhysicalPredicate):
    """A gripper lower than at the start, without a skill that achieves it."""
    name = "lazy"
    max_reward = 1.0
    object: torch.Tensor

    def evaluate(self, world, state):
        low = world.end_effector_pose[:, 2] < HEIGHT_M
        return self.outcome(low, low.float())

    def describe(self, world, env=0):
        return "go lower"

    def realize(self, world, where=None):
        pose = world.end_effector_pose.clone()
        pose[:, 2] = 0.2
        world.set_end_effector_pose(pose, where)


HEIGHT_M = 0.3


class LazyTask(Task):
    key, level, sentence = "lazy_task", "L0", "Go lower"
    predicates, slots, max_steps = (Lazy,), ("object_0",), 20

    def layout(self, draw):
        from clevrskills.tasks.layout import Layout

        name = np.random.choice(draw.pools.primitive)  # of a global generator
        pose = TableLayout(draw.places).place(shape(name))
        return Layout((Body("object_0", name, "red", pose),), {"object": np.array(0)})

    def goal(self, roles):
        return Lazy(roles["object"])

    def prompts(self, layout):
        return ["go lower"]
'''


def test_an_error_in_the_code_of_a_task_is_reported_and_skips_later_checks(tmp_path, capsys):
    path = tmp_path / "erring_tasks.py"
    path.write_text(LAZY.replace("low.float()", "lowest.float()"))
    with installed(tmp_path):
        assert check_task(CheckTaskArgs(task=str(path), episodes=1, json=True)) == 1
        assert keys_in(str(path)) == ["lazy_task"]
    (found,) = json.loads(capsys.readouterr().out)
    declared, starts, *rest = found["checks"]
    line = 1 + next(k for k, text in enumerate(path.read_text().splitlines()) if "lowest" in text)
    assert declared["ok"] is True and starts["ok"] is False
    assert "train seed 0: NameError: name 'lowest' is not defined" in starts["found"]
    assert starts["mend"] == f"an error in your code at {path}:{line}"
    assert len(rest) == 13 and {check["ok"] for check in rest} == {None}
    assert {check["found"] for check in rest} == {"not run without a scene"}


@pytest.mark.parametrize(
    ("old", "new", "reason", "mend"),
    [
        (
            "pose[:, 2] = 0.2",
            "pose[:, 2] = 0.4",
            "realize() does not make the goal hold in 200",
            "realize(): put the bodies",
        ),
        (
            "pose[:, 2] = 0.2",
            "raise ValueError('no room')",
            "realize() cannot reach the goal (Value",
            "realize(): put the bodies",
        ),
        (
            "HEIGHT_M = 0.3",
            "HEIGHT_M = 3.0",
            "the goal holds at the start in 200",
            "layout(): start",
        ),
        (
            "name = np.random.choice(draw.pools.primitive)",
            "raise LayoutError('full')",
            "layout() finds no place (LayoutError: full (unfair_tasks.py:",
            "layout(): fewer or smaller bodies",
        ),
    ],
    ids=("does not hold", "out of reach", "holds at once", "no place"),
)
def test_the_reason_why_no_scene_is_fair_is_reported(tmp_path, old, new, reason, mend):
    path = tmp_path / "unfair_tasks.py"
    path.write_text(LAZY.replace(old, new))
    with installed(tmp_path):
        keys_in(str(path))
        _, starts, *rest = report("lazy_task", episodes=1).checks
    assert f"train seed 0: no valid scene in 200 attempts: {reason}" in starts.found
    assert starts.ok is False and starts.mend.startswith(mend)
    assert all(check.ok is None for check in rest)


def test_fair_scenes_have_no_reason():
    assert unfair(task("sort"), 0, "train", "xarm6") is None


@pytest.mark.slow
@needs_oracle
def test_faults_are_reported_with_their_remedy(tmp_path, capsys):
    path = tmp_path / "lazy_tasks.py"
    path.write_text(LAZY)
    with installed(tmp_path):
        assert check_task(CheckTaskArgs(task=str(path), episodes=2, json=True)) == 1
    (found,) = json.loads(capsys.readouterr().out)
    by_name = {check["name"]: check for check in found["checks"]}
    missed = {name for name, check in by_name.items() if not check["ok"]}
    assert {"oracle", "wordings", "variety", "frozen", "determinism"} <= missed
    assert {"declared", "starts", "zero", "realize", "as data"} & missed == set()
    assert "no skill for lazy" in by_name["oracle"]["found"]
    assert "@solves" in by_name["oracle"]["mend"]
    assert "global generator" in by_name["determinism"]["mend"]
    assert all(check["mend"] for check in found["checks"])


@pytest.mark.slow
@needs_oracle
@pytest.mark.parametrize("key", ["place", "sort", "trace", "touch_push", "balance"])
def test_tasks_of_the_package_pass(key):
    found = report(key, episodes=1)
    assert found.ok, found
    assert [check.name for check in found.checks] == ["declared", "starts", *OF_SCENES]
