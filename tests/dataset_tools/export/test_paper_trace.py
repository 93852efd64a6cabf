"""What the solvers were doing, with the class names and keys of the paper's dataset."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clevrskills.dataset_tools.export.paper import Actors
from clevrskills.dataset_tools.export.paper_trace import action_trace

NAMES = {"object_0": ("red cube", 1), "object_1": ("blue tray", 2)}
RED, BLUE = NAMES.values()
PUT, STEPS = "Put {obj:object_0} on {obj:object_1}", 6


class Episode(SimpleNamespace):
    def __len__(self) -> int:
        return STEPS


def episode(predicate: str, text: str, action_class: str, motion: str = "Go") -> Episode:
    """An episode of six equal steps; objects stand 1 m apart and move by 0.1 m a step."""
    run = {"start": 0, "stop": STEPS}
    rows = {"predicate": predicate, "action_class": action_class}
    poses = np.zeros((STEPS + 1, 2, 7))
    poses[..., 0] = 0.1 * np.arange(STEPS + 1)[:, None] + np.arange(2)
    poses[..., 3] = 1.0
    felt = {"ee_pose": poses[:, 0] + 5.0, "holding": np.arange(STEPS + 1) > 2}
    return Episode(
        steps=pd.DataFrame([rows] * STEPS),
        objects=[{"key": key} for key in NAMES],
        object_poses=poses,
        proprioception=felt.__getitem__,
        segments={"subtask": [{**run, "text": text}], "instruction": [{**run, "text": motion}]},
        keysteps=[{"index": 0, "step": 0}, {"index": 1, "step": STEPS}],
    )


def subtask(predicate: str, text: str, action_class: str = "other") -> dict[str, Any]:
    """The solver below the task's in the first step."""
    return action_trace(episode(predicate, text, action_class), NAMES, "prompt")[0][1]


@pytest.mark.parametrize(
    ("predicate", "text", "expected"),
    [
        (
            "picked",
            "Pick up {obj:object_0}",
            {"solver_class": "PickMove3dPlaceSolver", "target_pose": None, "target_actor": None},
        ),
        (
            "on_top",
            PUT,
            {
                "solver_class": "PickMove3dPlaceSolver",
                "target_pose_function": "on_top",
                "actor": RED,
                "target_actor": BLUE,
            },
        ),
        (
            "at_position",
            "Put {obj:object_0} at (1, 2)",
            {
                "target_pose_function": "rearrange",
                "target_pose_image": "ks:keystep_1",
                "target_pose": ([pytest.approx(0.6), 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
            },
        ),
        (
            "rotated",
            "Rotate {obj:object_0} 90 degrees clockwise",
            {"target_pose_function": "rotate", "angle": -90.0},
        ),
        ("rotated", "Rotate {obj:object_0} 30 degrees anti-clockwise", {"angle": 30.0}),
        (
            "pushed_towards",
            "Push {obj:object_1} towards {obj:object_0}",
            {"solver_class": "PushSolver", "actor": BLUE, "target_actor": RED},
        ),
        (
            "at_position_pushed",
            "Push {obj:object_1} to (1, 2)",
            {"solver_class": "PushAlongPathSolver", "path": [[pytest.approx(1.6), 0.0]]},
        ),
        (
            "touched_toppled",
            "Touch and topple {obj:object_0}",
            {"solver_class": "Move3dTouchSolver", "actor": RED, "push": False, "topple": True},
        ),
        (
            "touched_pushed",
            "Touch and push {obj:object_0}",
            {"push": True, "topple": False},
        ),
        (
            "hit",
            "Throw {obj:object_0} to {obj:object_1}",
            {
                "solver_class": "PickMove3dThrowSolver",
                "throw_actor": RED,
                "target_actor": BLUE,
                "target_2d": True,
                "topple_target": False,
                "action": "picking",
            },
        ),
        (
            "toppled_structure",
            "Topple the stack of {obj:object_0}, {obj:object_1}",
            {"solver_class": "ToppleStructure", "actors": [RED, BLUE]},
        ),
        (
            "balanced",
            "Balance the scale with {obj:object_0} and {obj:object_1}",
            {"solver_class": "BalanceScaleSolver", "objects": [RED, BLUE]},
        ),
        (
            "new_predicate",
            "Look at {obj:object_0}",
            {"solver_class": "new_predicate", "actors": [RED], "text": "Look at {obj:red cube_1}"},
        ),
    ],
)
def test_subtasks_have_the_papers_solvers(predicate: str, text: str, expected: dict):
    solver = subtask(predicate, text)
    assert {name: solver[name] for name in expected} == expected
    assert solver["action_emitted"] is True


@pytest.mark.parametrize(
    ("action_class", "action"), [("swing", "winding"), ("throw", "throwing"), ("wait", "waiting")]
)
def test_a_throw_has_its_phases(action_class: str, action: str):
    text = "Throw {obj:object_0} to {obj:object_1}"
    assert subtask("hit", text, action_class)["action"] == action


def trace(predicate: str, action_class: str, motion: str) -> list[list[dict[str, Any]]]:
    return action_trace(episode(predicate, PUT, action_class, motion), NAMES, "prompt")


def test_motions_are_below_the_sub_task():
    solvers = trace("on_top", "move", "Move {obj:object_0} above {pos:1,2,3}")
    assert [solver["solver_class"] for solver in solvers[0]] == [
        "Solver",
        "PickMove3dPlaceSolver",
        "Move3dSolver",
    ]
    assert [solver["action_emitted"] for solver in solvers[0]] == [False, False, True]
    assert solvers[0][0]["prompts"] == ["prompt"]
    assert solvers[0][2]["target_pose_name"] == "target pose"
    assert solvers[0][2]["target_pose"][0][0] == pytest.approx(5.6)
    assert [s[2]["grasped_actors"] for s in solvers] == [[]] * 3 + [[RED]] * 3
    assert len({solver["solver_python_id"] for solver in solvers[0]}) == 3
    assert solvers[0][2]["solver_python_id"] == solvers[-1][2]["solver_python_id"]


@pytest.mark.parametrize(
    ("action_class", "motion", "solver_class"),
    [
        ("move", "Move above {obj:object_1}", "Move3dSolver"),
        ("pick", "Pick {obj:object_0}", "PickSolver"),
        ("lift", "Lift {obj:object_0}", "PickSolver"),
        ("place", "Place {obj:object_0} at {pos:1,2,3}", "PlaceSolver"),
    ],
)
def test_motions_have_the_papers_solvers(action_class: str, motion: str, solver_class: str):
    solver = trace("on_top", action_class, motion)[0][2]
    assert solver["solver_class"] == solver_class
    if action_class == "move":
        assert solver["target_pose_name"] == "{obj:blue tray_2}"
    else:
        assert solver["actor"] == RED


def test_what_the_sub_task_does_itself_has_no_level_below():
    assert len(trace("on_top", "wait", "Wait for {obj:object_0} to rest")[0]) == 2


@pytest.mark.parametrize("predicate", ["end_effector_at_pose", "traced", "avoiding", ""])
def test_a_mere_motion_has_no_sub_task(predicate: str):
    names = [s["solver_class"] for s in trace(predicate, "move", "Move to {obj:object_0}")[0]]
    assert names == ["Solver", "Move3dSolver"]


def test_placeholders_get_the_papers_form():
    actors = Actors(NAMES)
    text = "{obj:object_0} {tex:object_1} {ks:2} {pos:0.1,-0.2,0.3}"
    expected = "{obj:red cube_1} {tex:blue tray_2} {ks:keystep_2} {pos: [0.1, -0.2, 0.3]}"
    assert actors.text(text) == expected
