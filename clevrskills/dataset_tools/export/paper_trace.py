"""Trace of the solvers at each step, in the words of the paper's dataset.

Each step has a list of dicts, from the task down to the solver that gave the action. Solvers have
the class names of the paper's, where one does the same thing, so that its converters to language
find what they look for; others have the name of the predicate or skill, with the actors and the
sentence. A target pose is the one that was reached at the end of the run of equal steps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from clevrskills.dataset_tools.dataset import Episode

Actor = tuple[str, int]
Pose = tuple[list[float], list[float]]
Solver = dict[str, Any]

_THROWING = {"swing": "winding", "throw": "throwing", "wait": "waiting"}
_TURN = re.compile(r"(\d+) degrees (anti-)?clockwise")
_ACTOR = re.compile(r"\{obj:(\w+)\}")


def action_trace(
    episode: Episode, names: Mapping[str, Actor], prompt: str
) -> list[list[dict[str, Any]]]:
    """What the solvers were doing at each step.

    Args:
        episode: The episode.
        names: (name, number) of objects by key.
        prompt: The prompt with the placeholders of the paper's dataset.
    """
    return _Tracer(episode, names).trace(prompt)


class _Tracer:
    """Describes the runs of equal steps of an episode as solvers."""

    def __init__(self, episode: Episode, names: Mapping[str, Actor]) -> None:
        self.episode, self.names = episode, names
        self.steps = episode.steps
        self.objects = [body["key"] for body in episode.objects]
        self.object_poses = episode.object_poses
        self.end_effector = episode.proprioception("ee_pose")
        self.holding = episode.proprioception("holding").reshape(-1)

    def trace(self, prompt: str) -> list[list[Solver]]:
        """The solvers of each step."""
        trace = [
            [_solver("Solver", identity=0, prompts=[prompt])] for _ in range(len(self.episode))
        ]
        levels = (("subtask", self.subtask), ("instruction", self.motion))
        for number, (level, describe) in enumerate(levels):
            for index, run in enumerate(self.episode.segments[level]):
                for step in range(run["start"], run["stop"]):
                    found = describe(run["text"], step, run["stop"])
                    if found is not None:
                        trace[step].append(_solver(identity=1 + 2 * index + number, **found))
        for solvers in trace:
            solvers[-1]["action_emitted"] = True
        return trace

    def subtask(self, text: str, step: int, stop: int) -> Solver | None:
        """The solver of a sub-task."""
        predicate = str(self.steps["predicate"].iloc[step])
        actors, pose = self.actors(text), self.pose_at(text, stop)
        first, second = (*actors, None, None)[:2]
        turn = _TURN.search(text)
        match predicate:
            case "picked":
                return _put(first, None, None)
            case "on_top" | "inside" | "inside_after" | "at_pose_on_top":
                return _put(first, second, pose, target_pose_function="on_top")
            case "at_position" | "at_pose":
                image = f"ks:keystep_{self.keystep_at(stop)}"
                return _put(
                    first, None, pose, target_pose_function="rearrange", target_pose_image=image
                )
            case "rotated" if turn:
                angle = float(turn[1]) * (1.0 if turn[2] else -1.0)
                turned = {"angle": angle, "restore": False}
                return _put(first, None, pose, target_pose_function="rotate", **turned)
            case "pushed_towards":
                return {
                    "solver_class": "PushSolver",
                    "actor": first,
                    "target_pose": pose,
                    "target_actor": second,
                    "target_pose_function": "towards",
                }
            case "pushed" | "at_position_pushed" if pose:
                path = [pose[0][:2]]
                return {"solver_class": "PushAlongPathSolver", "actor": first, "path": path}
            case "touched" | "touched_pushed" | "touched_toppled":
                return {
                    "solver_class": "Move3dTouchSolver",
                    "actor": first,
                    "push": predicate == "touched_pushed",
                    "topple": predicate == "touched_toppled",
                }
            case "hit" | "hit_toppled":
                action_class = str(self.steps["action_class"].iloc[step])
                return {
                    "solver_class": "PickMove3dThrowSolver",
                    "throw_actor": first,
                    "target_actor": second,
                    "target_pos": None,
                    "target_2d": predicate == "hit",
                    "topple_target": predicate == "hit_toppled",
                    "action": _THROWING.get(action_class, "picking"),
                }
            case "toppled_structure":
                return {"solver_class": "ToppleStructure", "actors": actors}
            case "balanced":
                return {"solver_class": "BalanceScaleSolver", "objects": actors}
            case "" | "end_effector_at_position" | "end_effector_at_pose" | "avoiding" | "traced":
                return None  # the paper's solver of these is the motion itself
            case "same_stack":
                return None  # of what is put on what, each step tells
        return {"solver_class": predicate, "actors": actors, "text": self.renamed(text)}

    def motion(self, text: str, step: int, stop: int) -> Solver | None:
        """The solver of a motion below a sub-task; none where the sub-task's gives the actions."""
        actors = self.actors(text)
        action_class = str(self.steps["action_class"].iloc[step])
        if action_class == "move":
            grasped = actors[:1] if self.holding[step] else []
            return {
                "solver_class": "Move3dSolver",
                "target_pose": _pose(self.end_effector[stop]),
                "target_pose_name": self.target_name(text),
                "match_ori": True,
                "vacuum": bool(self.holding[step]),
                "extend_bounds": 0.01,
                "check_done": True,
                "grasped": bool(grasped),
                "grasped_actors": grasped,
            }
        if action_class in ("pick", "lift") and actors:
            return {"solver_class": "PickSolver", "actor": actors[0], "lift": 0.03}
        if action_class == "place" and actors:
            return {
                "solver_class": "PlaceSolver",
                "actor": actors[0],
                "target_pose": self.pose_at(text, stop),
                "target_pose_name": "target pose",
                "match_ori_2d": False,
                "drop_distance": 0.0,
            }
        return None

    def keystep_at(self, state: int) -> int:
        """Index of the first key-step that is not before a state, or of the last one."""
        keysteps = self.episode.keysteps
        return next((int(k["index"]) for k in keysteps if k["step"] >= state), len(keysteps) - 1)

    def actors(self, text: str) -> list[Actor]:
        """The objects that a sentence names."""
        return [self.names[key] for key in _ACTOR.findall(text)]

    def target_name(self, text: str) -> str:
        """What a sentence says where a motion goes: an object, or a pose."""
        keys = _ACTOR.findall(text)
        return "target pose" if "{pos:" in text or not keys else self.renamed(f"{{obj:{keys[-1]}}}")

    def renamed(self, text: str) -> str:
        """A sentence with the paper's names of objects."""
        return _ACTOR.sub(lambda match: "{{obj:{}_{}}}".format(*self.names[match[1]]), text)

    def pose_at(self, text: str, state: int) -> Pose | None:
        """Pose of the first object that a sentence names."""
        keys = _ACTOR.findall(text)
        if not keys or keys[0] not in self.objects:
            return None
        return _pose(self.object_poses[state, self.objects.index(keys[0])])


def _solver(solver_class: str, *, identity: int, **values: Any) -> Solver:
    """A solver; its two numbers are the same in all steps of a run and in no other run."""
    return {
        "solver_class": solver_class,
        "solver_python_id": identity,
        "solver_random_id": identity,
        "action_emitted": False,
        **values,
    }


def _put(
    actor: Actor | None, target_actor: Actor | None, target_pose: Pose | None, **values: Any
) -> Solver:
    """The solver that picks an object up and, if a pose is given, puts it down there."""
    return {
        "solver_class": "PickMove3dPlaceSolver",
        "actor": actor,
        "target_actor": target_actor,
        "target_pose": target_pose,
        "target_pose_name": "target pose",
        "match_ori": values.get("target_pose_function") in ("rearrange", "rotate"),
        "lift": 0.03,
        **values,
    }


def _pose(values: np.ndarray) -> Pose:
    numbers = values.astype(float).tolist()
    return numbers[:3], numbers[3:]
