"""Motions of the arm: every motion is a generator that yields actions."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sapien import Pose

from clevrskills.core.geometry import rotation_quaternion_np, rotation_vector_np
from clevrskills.core.goal.predicate import GoalState, Leaf
from clevrskills.core.goal.tree import state_of
from clevrskills.core.interface import Step, make_step
from clevrskills.core.policy import GaveUp
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.sim.robots.controller import EndEffectorDeltaController
from clevrskills.sim.robots.delta_action import ROTATION_RAD, TRANSLATION_M
from clevrskills.sim.world import World
from clevrskills.solvers.planner import motion_planner

__all__ = ["Actions", "Arm", "SkillFailed"]

Actions = Iterator[np.ndarray]
"""Actions (7,), each yielded before the control step that it is for."""

OBSTACLE_MARGIN_M = 0.006
HELD_MARGIN_M = 0.004
SAFE_HEIGHT_M = 0.34
RISE_PER_STEP_M = 0.03
EFFORT_POINTS = 9


def spot(position: np.ndarray) -> str:
    """Return the placeholder of a world position (3,) in a label."""
    x, y, z = (np.round(position, 3) + 0.0).tolist()
    return f"{{pos:{x:.3f},{y:.3f},{z:.3f}}}"


class SkillFailed(GaveUp):
    """A skill gave up; the message is the reason, ``kind`` whether the planner is to blame."""

    kind = "skill"


class PlanFailed(SkillFailed):  # noqa: N818
    """A pose cannot be reached, or no path to it was found."""

    kind = "planner"


@dataclass(frozen=True)
class CarriedOut:
    """Result of a skill."""

    steps: int  # control steps that it took
    reward: float  # sum of their rewards
    failure: GaveUp | None  # why it gave up; ``None``: it did not
    whole: bool  # whether it came to its own end


def yaw_of(quaternion: np.ndarray) -> float:
    """Return the turn about world z of an orientation (4,): of its x axis, seen from above."""
    w, x, y, z = quaternion
    return float(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def turned_about_z(angle_rad: float) -> Pose:
    """Return a turn about z."""
    return Pose(q=[np.cos(angle_rad / 2), 0, 0, np.sin(angle_rad / 2)])


class Arm:
    """Interface of skills to the robot: motions, the state of the vacuum, the labels of the present
    action.

    Args:
        env: The environment.
        generator: Source of all random choices.

    Attributes:
        vacuum: Whether the vacuum is on.
        step_label: What is being done, with placeholders.
        action_class: What kind of action that is, e.g. ``pick``.
        actions: Number of actions given so far.
        failed: Runs of actions, start and stop, that came to nothing.
        margin_m: How far it plans to stay away from what stands there, along each of its axes.
    """

    def __init__(self, env: ClevrSkillsEnv, generator: np.random.Generator) -> None:
        self.env = env
        self.generator = generator
        self.planner = motion_planner(env.robot_name)
        self.base = env.agent.robot._objs[0].pose
        description = env.agent.description
        self.cup_centers = np.array(description.cup_centers)
        self.cup_radius_m = description.cup_radius
        self.cup_tip_z_m = description.cup_tip_z
        self.vacuum = bool(self.world.held[0] >= 0)
        self.step_label = ""
        self.action_class = ""
        self.actions = 0
        self.failed: list[tuple[int, int]] = []
        self.margin_m = np.full(3, OBSTACLE_MARGIN_M)

    # ---- the world, for one environment ----

    @property
    def world(self) -> World:
        """World of the environment; asked for anew, so that no old scene is kept alive."""
        return self.env.world

    @property
    def controller(self) -> EndEffectorDeltaController:
        """The controller of the arm."""
        return self.env.agent.controller

    @property
    def held(self) -> int:
        """Slot of the body that the gripper holds, -1 for none."""
        return int(self.world.held[0])

    @property
    def pose(self) -> Pose:
        """The commanded end-effector pose in world coordinates."""
        return self.controller.target_pose

    @property
    def yaw_rad(self) -> float:
        """Turn of the gripper about world z."""
        return yaw_of(self.pose.q)

    def body_pose(self, body: int) -> Pose:
        """Return the world pose of a body."""
        values = self.world.body_pose[0, body].double().numpy()
        return Pose(values[:3], values[3:])

    def label(self, body: int) -> str:
        """Return the placeholder of a body in a label."""
        return f"{{obj:{self.world.keys[body]}}}"

    def set_label(self, action_class: str, label: str) -> None:
        """Say what the next actions do: in one word, and in a sentence with placeholders."""
        self.action_class, self.step_label = action_class, label

    def remembered(self, leaf: Leaf) -> GoalState:
        """Return the memory of a leaf of the goal."""
        return state_of(leaf, self.env.goal, self.env.outcome)

    def mark_failed(self, start: int) -> None:
        """Note that the actions since a number of them came to nothing."""
        if self.actions > start:
            self.failed.append((start, self.actions))

    # ---- motions ----

    def carry_out(
        self,
        actions: Actions,
        most_steps: int,
        on_step: Callable[[Step], None] | None = None,
        enough: Callable[[Step], bool] = lambda _: False,
    ) -> CarriedOut:
        """Make the actions of a skill.

        Args:
            actions: The actions.
            most_steps: Control steps after which it is broken off.
            on_step: Is told of each control step.
            enough: Whether it may end after a control step.
        """
        steps, reward = 0, 0.0
        while steps < most_steps:
            try:
                action = next(actions)
            except StopIteration:
                return CarriedOut(steps, reward, None, True)
            except GaveUp as failure:
                return CarriedOut(steps, reward, failure, False)
            step = make_step(self.env, action, self.step_label, self.action_class)
            self.actions += 1
            steps, reward = steps + 1, reward + step.reward
            ended = enough(step)
            if on_step is not None:
                on_step(step)
            if ended:
                break
        return CarriedOut(steps, reward, None, False)

    def action(self, target: Pose | None = None) -> np.ndarray:
        """Return the action (7,) towards a pose, cut to what one step can do; default: stay."""
        values = np.zeros(7, dtype=np.float32)
        if target is not None:
            change = self.pose.inv() * target
            values[:3] = change.p / TRANSLATION_M
            values[3:6] = rotation_vector_np(change.q) / ROTATION_RAD
            values[:6] /= max(1.0, np.abs(values[:3]).max(), float(np.linalg.norm(values[3:6])))
        values[6] = 1.0 if self.vacuum else -1.0
        return values

    def wait(self, steps: int) -> Actions:
        """Stay for some control steps."""
        for _ in range(steps):
            yield self.action()

    def straight(self, target: Pose, per_step_m: float = 0.03) -> Actions:
        """Move on a straight line to an end-effector pose, at an even pace from the first step to
        the last, whatever is in the way; what is held goes along.

        Args:
            target: The commanded pose of the end effector, not of what it holds, see :meth:`grip`.
            per_step_m: Way in a control step: 0.03 m is 0.6 m/s. Turns of more than 0.1 rad in a
                step make it slower.
        """
        start = self.pose
        change = start.inv() * target
        way_m, turn = target.p - start.p, rotation_vector_np(change.q)
        steps = max(
            1,
            int(np.ceil(np.linalg.norm(change.p) / per_step_m - 1e-6)),
            int(np.ceil(np.linalg.norm(turn) / ROTATION_RAD - 1e-6)),
        )
        for k in range(1, steps + 1):
            part = k / steps
            turned = Pose(q=start.q) * Pose(q=rotation_quaternion_np(turn * part))
            yield self.action(Pose(start.p + part * way_m, turned.q))

    def rise(self, height_m: float, per_step_m: float = RISE_PER_STEP_M) -> Actions:
        """Move straight up."""
        yield from self.straight(Pose([0, 0, height_m]) * self.pose, per_step_m)

    def update_planning_scene(
        self,
        ignore: tuple[int, ...] = (),
        with_held: bool = True,
        grip: tuple[int, Pose] | None = None,
        hollow: bool = False,
    ) -> None:
        """Tell the planner where everything is now.

        Args:
            ignore: Slots of bodies to leave out.
            with_held: Whether what is held must not touch anything either.
            grip: A body, and its pose in the end-effector frame, as if that were held.
            hollow: Whether what is hollow may be entered, which takes longer to look at.
        """
        world = self.world
        boxes = {}
        for slot, body in enumerate(self.env.layouts[0].bodies):
            if body and bool(world.solids.present[0, slot]) and slot not in (self.held, *ignore):
                shape, place = body.geometry, self.body_pose(slot)
                for k, box in enumerate(shape.boxes if hollow else (shape.box,)):
                    turn_rad = box.turn_rad
                    if shape.symmetry == 0 and not hollow:  # round: no corner towards the base
                        turn_rad = float(np.arctan2(*(place.inv() * self.base).p[1::-1]))
                    pose = self.base.inv() * place * Pose(box.center) * turned_about_z(turn_rad)
                    size = box.size + 2 * self.margin_m
                    boxes[f"{body.key}/{k}"] = size, np.concatenate((pose.p, pose.q))
        if grip is None and self.held >= 0:
            grip = self.held, self.grip(self.held)
        self.planner.set_scene(boxes, self._held_box(*grip) if grip and with_held else None)

    def grip(self, body: int) -> Pose:
        """Return the pose of a held body in the end-effector frame, as it is now: the body is at
        ``target`` where the end effector is at ``target * arm.grip(body).inv()``. A grip gives a
        little on the way.
        """
        tcp = self.world.end_effector_pose[0].double().numpy()
        return Pose(tcp[:3], tcp[3:]).inv() * self.body_pose(body)

    def _held_box(self, body: int, grip: Pose) -> tuple[np.ndarray, np.ndarray]:
        matrix = grip.to_transformation_matrix()
        points = self.world.solids.points[0, body].double().numpy() @ matrix[:3, :3].T + grip.p
        low, high = points.min(0) - HELD_MARGIN_M, points.max(0) + HELD_MARGIN_M
        low[2] = max(low[2], self.cup_tip_z_m + 0.003)  # the cups themselves touch it
        high[2] = max(high[2], low[2] + 0.005)
        return high - low, (low + high) / 2

    def reachable(self, target: Pose, near: np.ndarray | None = None) -> np.ndarray | None:
        """Return collision-free joint angles for a pose, nearest to others (default: now), or
        None.
        """
        near = self.controller.target_qpos if near is None else near
        return self.planner.solve(self.base.inv() * target, near, self.generator)

    def effort_rad(self, start: np.ndarray, goal: np.ndarray) -> float:
        """Return the effort of a joint line (n,) to (n,): its length or the gripper's turn."""
        line = start + (goal - start) * np.linspace(0.0, 1.0, EFFORT_POINTS)[:, None]
        return max(float(np.abs(goal - start).max()), sum(self._turns_rad(line)))

    def _turns_rad(self, path: np.ndarray) -> list[float]:
        """Return the turn of the end effector from each row (n,) of a joint path to the next."""
        turns = [Pose(q=self.planner.kinematics.forward(qpos).q) for qpos in path]
        return [
            float(np.linalg.norm(rotation_vector_np((a.inv() * b).q)))
            for a, b in itertools.pairwise(turns)
        ]

    def move(self, target: Pose, ignore: tuple[int, ...] = ()) -> Actions:
        """Move the end effector to a pose around obstacles, from rest to rest; what is held goes
        along, and around them too.

        As fast as the joints may turn, with or without something in the gripper: 2 rad/s at most,
        reached at 8 rad/s²; the end effector by 0.1 m and 0.1 rad in a control step at most. From
        where it touches something it rises first, by 0.03 m at a time.

        Args:
            target: The commanded pose of the end effector, not of what it holds, see :meth:`grip`.
            ignore: Slots of bodies that are no obstacles.

        Raises:
            PlanFailed: The pose can't be reached or no path was found.
        """
        self.update_planning_scene(ignore)
        while self.planner.collides(self.controller.target_qpos):
            height_m = float(self.pose.p[2])
            if height_m > SAFE_HEIGHT_M:
                break
            yield from self.rise(RISE_PER_STEP_M)
            if self.pose.p[2] < height_m + RISE_PER_STEP_M / 2:
                break  # a joint is at its limit
            self.update_planning_scene(ignore)
        goal = self.reachable(target)
        if goal is None:
            raise PlanFailed(f"no way to reach {np.round(target.p, 3).tolist()}")
        path = self.planner.path(self.controller.target_qpos, goal, self.generator)
        if path is None:
            raise PlanFailed(f"no path to {np.round(target.p, 3).tolist()}")
        for qpos in self._paced(path)[1:]:
            yield from self.straight(
                self.base * self.planner.kinematics.forward(qpos), TRANSLATION_M
            )

    def _paced(self, path: np.ndarray) -> np.ndarray:
        """Return a joint path, a row (n,) per step, slower where the gripper turns too fast."""
        durations = np.maximum(1.0, np.array(self._turns_rad(path)) / ROTATION_RAD)
        if (durations <= 1.0 + 1e-6).all():
            return path
        times = np.concatenate(([0.0], np.cumsum(durations)))
        steps = np.linspace(0.0, times[-1], int(np.ceil(times[-1])) + 1)
        return np.column_stack([np.interp(steps, times, joint) for joint in path.T])


def until(done: Callable[[], bool], actions: Actions) -> Actions:
    """Yield actions, each unless it is done already."""
    for action in actions:
        if done():
            return
        yield action


def slerp(a: np.ndarray, b: np.ndarray, part: float) -> np.ndarray:
    """Return the orientation a share of the way from one (4,) to another (4,)."""
    change = (Pose(q=a).inv() * Pose(q=b)).q
    return (Pose(q=a) * Pose(q=rotation_quaternion_np(rotation_vector_np(change) * part))).q
