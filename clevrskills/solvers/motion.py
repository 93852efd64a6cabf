"""Motions of the arm as generators of actions."""

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
"""Actions (7,), one per control step."""

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
    """Failure of a skill; the message is the reason, ``kind`` is ``skill`` or ``planner``."""

    kind = "skill"


class PlanFailed(SkillFailed):  # noqa: N818
    """Failure to reach a pose or to find a path to it."""

    kind = "planner"


@dataclass(frozen=True)
class CarriedOut:
    """Result of a skill."""

    steps: int  # number of control steps
    reward: float  # sum of their rewards
    failure: GaveUp | None  # reason of a failure
    whole: bool  # whether it ended by itself


def yaw_of(quaternion: np.ndarray) -> float:
    """Return the yaw of an orientation (4,): the angle of its x axis about world z."""
    w, x, y, z = quaternion
    return float(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def turned_about_z(angle_rad: float) -> Pose:
    """Return a rotation about z."""
    return Pose(q=[np.cos(angle_rad / 2), 0, 0, np.sin(angle_rad / 2)])


class Arm:
    """Interface of skills to the robot: motions, vacuum, labels of the current action.

    Args:
        env: The environment.
        generator: Source of all random choices.

    Attributes:
        vacuum: Whether the vacuum is on.
        step_label: Instruction with placeholders.
        action_class: Kind of action, e.g. ``pick``.
        actions: Number of actions so far.
        failed: Failed runs of actions, start and stop.
        margin_m: Planned distance from obstacles along each of their axes.
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

    @property
    def world(self) -> World:
        """Current world of the environment; not stored, so that old scenes are freed."""
        return self.env.world

    @property
    def controller(self) -> EndEffectorDeltaController:
        """Controller of the arm."""
        return self.env.agent.controller

    @property
    def held(self) -> int:
        """Slot of the held body, -1 for none."""
        return int(self.world.held[0])

    @property
    def pose(self) -> Pose:
        """Commanded end-effector pose in the world."""
        return self.controller.target_pose

    @property
    def yaw_rad(self) -> float:
        """Yaw of the gripper."""
        return yaw_of(self.pose.q)

    def body_pose(self, body: int) -> Pose:
        """Return the world pose of a body."""
        values = self.world.body_pose[0, body].double().numpy()
        return Pose(values[:3], values[3:])

    def label(self, body: int) -> str:
        """Return the placeholder of a body in a label."""
        return f"{{obj:{self.world.keys[body]}}}"

    def set_label(self, action_class: str, label: str) -> None:
        """Set the labels of the next actions: kind, and sentence with placeholders."""
        self.action_class, self.step_label = action_class, label

    def remembered(self, leaf: Leaf) -> GoalState:
        """Return the memory of a leaf of the goal."""
        return state_of(leaf, self.env.goal, self.env.outcome)

    def mark_failed(self, start: int) -> None:
        """Mark the actions since index ``start`` as failed."""
        if self.actions > start:
            self.failed.append((start, self.actions))

    def carry_out(
        self,
        actions: Actions,
        most_steps: int,
        on_step: Callable[[Step], None] | None = None,
        enough: Callable[[Step], bool] = lambda _: False,
    ) -> CarriedOut:
        """Take the actions of a skill.

        Args:
            actions: The actions.
            most_steps: Limit of control steps.
            on_step: Callback for each control step.
            enough: Whether to stop after a control step.
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
        """Return the action (7,) towards a pose, limited to one step; default: stay."""
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
        """Move on a straight line to an end-effector pose at constant speed, without collision
        checks.

        Args:
            target: The commanded end-effector pose, see :meth:`grip` for a held body.
            per_step_m: Distance per control step: 0.03 m is 0.6 m/s. Rotations of more than 0.1 rad
                per step slow it down.
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
        """Update the planner's obstacles from the world.

        Args:
            ignore: Slots of bodies to leave out.
            with_held: Whether to check collisions of the held body.
            grip: A body assumed to be held, and its pose in the end-effector frame.
            hollow: Whether hollow bodies may be entered, which makes checks slower.
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
        """Return the current pose of a held body in the end-effector frame: the body is at
        ``target`` if the end effector is at ``target * arm.grip(body).inv()``. It may shift during
        a motion.
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
        """Return collision-free joint angles of a pose near others (default: current), if any."""
        near = self.controller.target_qpos if near is None else near
        return self.planner.solve(self.base.inv() * target, near, self.generator)

    def effort_rad(self, start: np.ndarray, goal: np.ndarray) -> float:
        """Return the effort of a joint line (n,) to (n,): largest of joint motion and rotation."""
        line = start + (goal - start) * np.linspace(0.0, 1.0, EFFORT_POINTS)[:, None]
        return max(float(np.abs(goal - start).max()), sum(self._turns_rad(line)))

    def _turns_rad(self, path: np.ndarray) -> list[float]:
        """Return the rotations of the end effector between rows (n,) of a joint path."""
        turns = [Pose(q=self.planner.kinematics.forward(qpos).q) for qpos in path]
        return [
            float(np.linalg.norm(rotation_vector_np((a.inv() * b).q)))
            for a, b in itertools.pairwise(turns)
        ]

    def move(self, target: Pose, ignore: tuple[int, ...] = ()) -> Actions:
        """Move the end effector, with a held body, around obstacles to a pose.

        Limits are 2 rad/s and 8 rad/s² of the joints, and 0.1 m and 0.1 rad per control step of the
        end effector. If the start is in collision, the arm rises first.

        Args:
            target: The commanded end-effector pose, see :meth:`grip` for a held body.
            ignore: Slots of bodies that are not obstacles.

        Raises:
            PlanFailed: The pose cannot be reached, or no path was found.
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
    """Yield actions until ``done``."""
    for action in actions:
        if done():
            return
        yield action


def slerp(a: np.ndarray, b: np.ndarray, part: float) -> np.ndarray:
    """Return the interpolation of two orientations (4,)."""
    change = (Pose(q=a).inv() * Pose(q=b)).q
    return (Pose(q=a) * Pose(q=rotation_quaternion_np(rotation_vector_np(change) * part))).q
