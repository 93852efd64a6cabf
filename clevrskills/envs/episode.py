"""Frozen episodes: scene and prompt as data, which reproduce the same episode."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from clevrskills.core.env import Episode
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.body import Body
from clevrskills.sim.conditions import Conditions
from clevrskills.sim.prompt import Keystep, Prompt
from clevrskills.sim.setting import TABLETOP, Setting
from clevrskills.tasks import Layout, Task, stack_roles
from clevrskills.tasks import task as make_task


@dataclass(frozen=True, eq=False)
class EpisodeSpec(Episode):
    """Episode as data, independent of random sampling.

    ``env.reset(options={"episode": spec})`` starts it.
    """

    task: str  # key of the task
    split: str  # name of the split
    index: int  # index among the frozen episodes of the task and split
    seed: int  # seed of the oracle and the simulator
    layout: Layout
    prompt: Prompt
    robot: str = "xarm6"  # key of the robot
    task_args: Mapping[str, Any] = field(default_factory=dict)  # arguments of the task
    # changes from the clean twin; see :mod:`clevrskills.envs.perturbations`
    conditions: Conditions = field(default_factory=Conditions)

    @classmethod
    def draw(
        cls,
        task: str,
        split: str,
        seed: int,
        index: int = 0,
        robot: str = "xarm6",
        task_args: Mapping[str, Any] | None = None,
        wording: int | None = 0,
    ) -> Self:
        """Sample the episode that an environment starts from a seed, in a given wording or, with
        ``None``, in that of the seed.

        Raises:
            ClevrSkillsError: A name or an argument is not allowed, or no scene is valid.
        """
        plain = make_task(task)
        made = make_task(task, **(task_args or {})).in_split(split)
        scene = draw_scene(made, seed, split, robot, prompt_index=wording)
        arguments = {
            name: value
            for name, value in _arguments(made).items()
            if name in (task_args or ()) or value != getattr(plain, name)
        }
        return cls(task, split, index, seed, scene.layout, scene.prompt, robot, arguments)

    def check(self, task: Task, split: str, robot: str) -> None:
        """Check that the episode is of a task in a split, with a robot.

        Raises:
            ClevrSkillsError: It is of another one.
        """
        for name, own, given in (
            ("task", self.task, task.key),
            ("split", self.split, split),
            ("robot", self.robot, robot),
        ):
            if own != given:
                raise ClevrSkillsError(
                    f"the episode is for {name} {own}, but the environment has {given}"
                )
        own_arguments = _arguments(make_task(self.task, **self.task_args))
        if own_arguments != _arguments(task):
            raise ClevrSkillsError(
                f"the episode is for the arguments {own_arguments}, "
                f"but the environment has {_arguments(task)}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return JSON data with exact numbers.

        Raises:
            ClevrSkillsError: The bodies of the prompt differ from those of the layout.
        """
        prompt = {
            "text": self.prompt.text,
            "others": list(self.prompt.others),
            **self.prompt.of_wording(),
            "keysteps": [
                {
                    "poses": [list(body.pose) for body in keystep.bodies],
                    "robot": keystep.robot,
                    "qpos": list(keystep.qpos),
                }
                for keystep in self.prompt.keysteps
            ],
        }
        if _prompt(prompt, self.layout, self.prompt.setting) != self.prompt:
            raise ClevrSkillsError("the bodies of the prompt differ from those of the layout")
        return {
            "task": self.task,
            "split": self.split,
            "index": self.index,
            "seed": self.seed,
            "robot": self.robot,
            "task_args": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.task_args.items()
            },
            "layout": layout_to_json(self.layout),
            "prompt": prompt,
            **({"conditions": self.conditions.to_json()} if self.conditions else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the episode from the data of :meth:`to_json`."""
        layout = read_layout(data["layout"])
        return cls(
            data["task"],
            data["split"],
            data["index"],
            data["seed"],
            layout,
            _prompt(data["prompt"], layout, _setting(data["task"])),
            data["robot"],
            data["task_args"],
            Conditions.from_json(data.get("conditions", {})),
        )

    @property
    def axes(self) -> Mapping[str, int]:
        return self.conditions.axes

    @property
    def twin(self) -> str:
        return self.conditions.twin

    def subgoals(self) -> Sequence[str]:
        """Return the names of the predicates to achieve, in order."""
        made = make_task(self.task, **self.task_args).in_split(self.split)
        return [step.name for step in made.goal(stack_roles([self.layout])).steps()]

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 digest in hexadecimal of the JSON data without the index."""
        data = self.to_json()
        del data["index"]
        text = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _setting(task: str) -> Setting:
    try:
        return make_task(task).setting
    except UnknownNameError:
        return TABLETOP


def _arguments(task: Task) -> dict[str, Any]:
    return {f.name: getattr(task, f.name) for f in fields(task)}


def layout_to_json(layout: Layout) -> dict[str, Any]:
    """Return a layout as JSON data."""
    arrays = {name: np.asarray(value) for name, value in layout.roles.items()}
    return {
        "bodies": [body.to_json() if body else None for body in layout.bodies],
        "roles": {
            name: {
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "values": array.ravel().tolist(),
            }
            for name, array in arrays.items()
        },
        "in_gripper": int(layout.in_gripper),
        "examples": [body.to_json() for body in layout.examples],
        "picture_radius_m": layout.picture_radius_m,
        "words": list(layout.words),
    }


def read_layout(data: Mapping[str, Any]) -> Layout:
    """Return the layout from the data of :func:`layout_to_json`."""
    return Layout(
        bodies=tuple(Body.from_json(entry) if entry else None for entry in data["bodies"]),
        roles={
            name: np.array(entry["values"], entry["dtype"]).reshape(entry["shape"])
            for name, entry in data["roles"].items()
        },
        in_gripper=data["in_gripper"],
        examples=tuple(Body.from_json(entry) for entry in data["examples"]),
        picture_radius_m=data["picture_radius_m"],
        words=tuple(data["words"]),
    )


def _prompt(data: Mapping[str, Any], layout: Layout, setting: Setting) -> Prompt:
    """Return the prompt of a layout from its JSON data."""
    bodies = tuple(filter(None, layout.bodies))
    keysteps = []
    for entry in data["keysteps"]:
        pairs = zip(bodies, entry["poses"], strict=True)
        moved = tuple(replace(body, pose=tuple(pose)) for body, pose in pairs)
        keysteps.append(Keystep(moved, entry["robot"], tuple(entry["qpos"])))
    bodies += layout.examples
    others = tuple(data["others"])
    radius_m = layout.picture_radius_m
    names, wording = tuple(data.get("names", ())), dict(data.get("wording", {}))
    text, shown = data["text"], tuple(keysteps)
    return Prompt(text, bodies, shown, radius_m, others, setting, names, wording)
