"""Scene sampling: a valid layout with an open, achievable goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial

import numpy as np
import torch
from sapien import Pose

from clevrskills.assets import Shape
from clevrskills.core.goal.predicate import GoalState
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import Criteria, Predicate
from clevrskills.predicates.criteria import PAPER
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.prompt import DeferredPrompt, Keystep, Prompt
from clevrskills.sim.robots.clearance import arm_surface
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.description import robot
from clevrskills.sim.setting import TABLETOP, Setting
from clevrskills.sim.suction import fits_under_cups, pose_in_gripper
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.tasks import Layout, LayoutError, Task, stack_roles
from clevrskills.tasks.bank import choose_wording

__all__ = ["draw_scene"]

ATTEMPTS = 200
CLEARANCE_M = 0.02
"""Clearance of the arm at poses required by a goal."""
EMPTY = (0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0)
NOTHING_ASKED = Prompt("", ())


@dataclass(frozen=True)
class DrawnScene:
    """Scene of one environment."""

    layout: Layout
    solids: Solids  # geometry of the bodies, B = 1
    start: TensorWorld  # world at the start
    goal: Predicate  # goal of the task, B = 1
    ask: Callable[[DrawnScene], Prompt]  # creates the prompt

    @cached_property
    def prompt(self) -> Prompt:
        """Prompt of the task, created on first access."""
        return DeferredPrompt(self._worded)

    @torch.inference_mode()
    def _worded(self) -> Prompt:
        return self.ask(self)

    def keysteps(self) -> tuple[Keystep, ...]:
        """Return the scene at the start and after each part of the goal."""
        return keystep_scenes(self.goal, self.start, self.layout)


@dataclass(frozen=True)
class NeutralPose:
    """Pose of the gripper at the start of an episode."""

    robot_name: str  # key of the robot
    pose: torch.Tensor  # world pose of the end effector, (1, 7)
    cup_tips: torch.Tensor  # centers of the cup rims in the end-effector frame, (N, 3)

    def qpos(self, pose: torch.Tensor) -> np.ndarray | None:
        """Return joint angles (n,) for a world pose (7,) of the end effector, if reachable."""
        return _reached(self.robot_name, *pose.tolist())

    def reaches(self, pose: torch.Tensor) -> bool:
        """Return whether the arm reaches a world pose (7,) of the end effector."""
        return self.qpos(pose) is not None

    def stands_clear(self, world: TensorWorld) -> bool:
        """Return whether the arm, at its pose in the world, is clear of all bodies."""
        qpos = self.qpos(world.end_effector_pose[0])
        return qpos is not None and arm_surface(self.robot_name).clear(qpos, world, CLEARANCE_M)

    @classmethod
    @cache
    def of(cls, robot_name: str, setting: Setting = TABLETOP) -> NeutralPose:
        """Return the initial pose of the gripper in a setting."""
        return cls.at(robot_name, setting.qpos_at_start(robot_name))

    @classmethod
    def at(cls, robot_name: str, qpos: np.ndarray) -> NeutralPose:
        """Return the pose of the gripper at joint angles (n,)."""
        description = robot(robot_name)
        base = Pose(description.base_position)
        tcp = base * kinematics(robot_name).forward(qpos)
        tips = [(x, y, description.cup_tip_z) for x, y in description.cup_centers]
        return cls(
            robot_name,
            torch.tensor([[*tcp.p, *tcp.q]], dtype=torch.float32),
            torch.tensor(tips, dtype=torch.float32),
        )


@lru_cache(maxsize=64)
def _reached(robot_name: str, *pose: float) -> np.ndarray | None:
    """Return read-only joint angles (n,) for a world pose of the end effector, cached as most poses
    recur.
    """
    return kinematics(robot_name).reach_in_world(Pose(pose[:3], pose[3:]))


def draw_scene(
    task: Task,
    seed: int,
    split: str,
    robot_name: str = "xarm6",
    criteria: Criteria = PAPER,
    prompt_index: int | None = None,
    prompt_style: str | None = None,
) -> DrawnScene:
    """Sample the scene of an episode; a function of its arguments only.

    Args:
        task: The task.
        seed: Seed of the episode.
        split: Name of the split.
        robot_name: Key of the robot.
        criteria: Tolerances of success.
        prompt_index: Index of the wording, seen ones first; ``None``: a seen one is sampled.
        prompt_style: Style of the sampled wording; ``None``: any.

    Raises:
        ClevrSkillsError: No layout is valid, or the wording or variant does not exist.
    """
    for attempt in range(ATTEMPTS):
        try:
            layout, rng = task.draw(seed, attempt, split)
            if task.variant >= rng.variants:
                raise ClevrSkillsError(
                    f"variant {task.variant} of {task.key}, seed {seed}; allowed: 0 to"
                    f" {rng.variants - 1}"
                )
            scene = scene_of(task, layout, robot_name, criteria)
        except LayoutError:
            continue
        held = scene.start.held  # (1,)
        if layout.in_gripper >= 0 and not bool(fits_under_cups(scene.start, held)):
            continue
        if not is_fair(
            scene.goal,
            scene.start,
            NeutralPose.of(robot_name, task.setting) if task.shows_robot else None,
        ):
            continue
        bank = task.bank
        wordings = bank.templates if bank else task.wordings(layout)
        allowed = choose_wording(task.key, wordings, prompt_index, prompt_style)
        index = allowed[int(rng.roles.integers(len(allowed)))]
        return replace(scene, ask=partial(make_prompt, task, index=index, robot_name=robot_name))
    raise ClevrSkillsError(
        f"{task.key}, seed {seed}, split {split}: no valid scene in {ATTEMPTS} attempts"
    )


def make_prompt(task: Task, scene: DrawnScene, index: int, robot_name: str = "xarm6") -> Prompt:
    """Return the prompt of a scene in a wording of the task. The paraphrases are held out if and
    only if the wording is.

    Raises:
        ClevrSkillsError: The wording does not exist.
    """
    layout = scene.layout
    asked_of = replace(layout, bodies=layout.bodies[: len(task.slots)])
    wordings = task.wordings(asked_of, scene.goal)
    choose_wording(task.key, wordings, index, None)
    own = wordings[index]
    keysteps: tuple[Keystep, ...] = ()
    if "{ks:" in own.text:
        arm = robot_name if task.shows_robot else None
        keysteps = keystep_scenes(scene.goal, scene.start, layout, arm)
    others = [
        other
        for other in wordings
        if other.held_out == own.held_out and other.text != own.text and "{ks:" not in other.text
    ]
    return Prompt(
        own.text,
        (*filter(None, layout.bodies), *layout.examples),
        keysteps,
        layout.picture_radius_m,
        tuple(other.text for other in others),
        task.setting,
        tuple(wording.names for wording in (own, *others)),
        {"index": index, "style": own.style, "held_out": own.held_out},
    )


def scene_of(
    task: Task,
    layout: Layout,
    robot_name: str = "xarm6",
    criteria: Criteria = PAPER,
    prompt: Prompt = NOTHING_ASKED,
    home: NeutralPose | None = None,
) -> DrawnScene:
    """Return the scene of a layout.

    Args:
        task: The task.
        layout: The layout.
        robot_name: Key of the robot.
        criteria: Tolerances of success.
        prompt: The prompt.
        home: Initial pose of the gripper; ``None``: that of the task.

    Raises:
        LayoutError: The gripper cannot hold its initial body within the view of the camera.
    """
    shapes = (body.geometry if body and not body.ghost else None for body in layout.bodies)
    static = (not (body and body.movable) for body in layout.bodies)
    solids = _stacked(tuple(shapes), tuple(static))
    goal = task.goal(stack_roles([layout])).with_criteria(criteria)
    start = start_world(task, layout, solids, home or NeutralPose.of(robot_name, task.setting))
    if start is None:
        raise LayoutError("the gripper cannot hold its initial body")
    return DrawnScene(layout, solids, start, goal, lambda _: prompt)


@lru_cache(maxsize=256)
def _stacked(shapes: tuple[Shape | None, ...], static: tuple[bool, ...]) -> Solids:
    """Return the read-only geometry of one environment, cached as small tasks repeat it."""
    return Solids.from_shapes([shapes], [static])


def slots_of(task: Task, layout: Layout) -> tuple[str, ...]:
    """Return the slot keys of a layout: those of the task, then additional ones."""
    further = layout.bodies[len(task.slots) :]
    return (*task.slots, *(body.key for body in further if body))


def start_world(
    task: Task, layout: Layout, solids: Solids, home: NeutralPose
) -> TensorWorld | None:
    """Return the world of a layout; ``None`` if the gripper cannot hold its body in view."""
    poses = [body.pose if body else EMPTY for body in layout.bodies]
    start = torch.tensor([poses], dtype=torch.float32)
    world = TensorWorld(
        slots_of(task, layout), solids, start, home.pose, home.cup_tips, home.reaches
    )
    if layout.in_gripper >= 0:
        body = torch.tensor([layout.in_gripper])
        try:
            world.hold(body, pose_in_gripper(world, body))
        except ValueError:
            return None
        if not task.setting.main_camera.sees(world.world_points(body)[0].numpy()):
            return None
    return world


@torch.inference_mode()
def is_fair(goal: Predicate, start: TensorWorld, home: NeutralPose | None) -> bool:
    """Return whether the goal does not hold yet but is achievable; with ``home``, also whether the
    arm is collision-free at the start and after each part of the goal.
    """
    if home and not home.stands_clear(start):
        return False
    state = goal.initial_state(start)
    with start.without_rewards():
        if bool(goal.holds(start, state).any()):
            return False
    before: GoalState = {}
    try:
        for world in _stages(goal, start):
            if home and not home.stands_clear(world):
                return False
            if state:  # otherwise only the final state matters
                outcome = goal.evaluate(world, state)
                before, state = state, outcome.state
    except ValueError:
        return False
    # a second evaluation would give the same result
    if before and all(torch.equal(value, before[key]) for key, value in state.items()):
        return bool(outcome.holds.all())
    return bool(goal.holds(world, state).all())


def _stages(goal: Predicate, start: TensorWorld) -> Iterator[TensorWorld]:
    """Yield the world after each part of a goal, without rewards; cached in the start world."""
    known: tuple[Predicate, list[TensorWorld]] = start.cached("stages", lambda _: (goal, []))
    if known[0] is not goal:
        start.invalidate()
        known = start.cached("stages", lambda _: (goal, []))
    stages = known[1]
    for number, step in enumerate(goal.steps()):
        if number == len(stages):
            world = TensorWorld.snapshot(stages[-1] if stages else start)
            world.rewards = False
            step.realize(world)
            stages.append(world)
        yield stages[number]


def keystep_scenes(
    goal: Predicate, start: TensorWorld, layout: Layout, robot_name: str | None = None
) -> tuple[Keystep, ...]:
    """Return the scene at the start and after each part of the goal, optionally with a robot."""
    keysteps = []
    for world in (start, *_stages(goal, start)):
        poses = world.body_pose[0].double().numpy()
        bodies = tuple(
            replace(body, pose=tuple(np.round(pose, 6).tolist()))
            for body, pose in zip(layout.bodies, poses, strict=True)
            if body
        )
        angles: tuple[float, ...] = ()
        if robot_name is not None:
            qpos = NeutralPose.of(robot_name).qpos(world.end_effector_pose[0])
            assert qpos is not None  # checked when the goal was realized
            angles = tuple(np.round(qpos, 6).tolist())
        keysteps.append(Keystep(bodies, robot_name, angles))
    return tuple(keysteps)
