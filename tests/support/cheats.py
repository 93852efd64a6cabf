"""Scripted motions for cheats: an arm that knows all poses, but acts by actions alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from sapien import Pose

from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Arm
from clevrskills.solvers.skills.pick import pick
from clevrskills.solvers.skills.put_down import on_table, place_at
from clevrskills.tasks import task
from tests.support.envs import base, make_env

SAFE_M = 0.32
"""Height in which the gripper may go anywhere."""
FULL_M = 0.1
"""The most that it goes in a control step: 2 m/s."""


class Trial:
    """An episode in which something is tried.

    Attributes:
        won: Whether the goal has held after any step.
        progress: The progress after each step.
    """

    def __init__(self, key: str, seed: int = 1, *, robot: str = "xarm6", **task_args) -> None:
        task(key, **task_args)
        self.env = make_env(key, robot=robot, task_args=task_args)
        self.env.reset(seed=seed)
        self.base = base(self.env)
        self.arm = Arm(self.base, np.random.default_rng(0))
        self.won, self.unsolvable, self.progress = False, "", [0.0]

    # ---- what is where ----

    @property
    def roles(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(v) for name, v in self.base.layouts[0].roles.items()}

    def role(self, name: str) -> int:
        return int(self.roles[name])

    def xy(self, body: int) -> np.ndarray:
        return self.base.world.position(torch.tensor([body]))[0, :2].double().numpy()

    def top(self, body: int) -> float:
        return float(self.base.world.top(torch.tensor([body])))

    def bottom(self, body: int) -> float:
        return float(self.base.world.bottom(torch.tensor([body])))

    def reach(self, body: int) -> float:
        """Half the width of a body, whichever way it is turned."""
        points = self.base.world.world_points(torch.tensor([body]))[0, :, :2].double().numpy()
        return float(np.linalg.norm(points - self.xy(body), axis=1).max())

    @property
    def tip(self) -> np.ndarray:
        return self.arm.pose.p.astype(float)

    # ---- motions ----

    def do(self, actions: Iterator[np.ndarray]) -> Trial:
        for action in actions:
            _, _, _, _, info = self.env.step(action)
            self.won |= bool(info["success"])
            self.unsolvable = info["unsolvable"]
            self.progress.append(float(info["progress"]))
        return self

    def wait(self, steps: int = 30) -> Trial:
        return self.do(self.arm.wait(steps))

    def to(self, x: float, y: float, z: float, per_step_m: float = 0.03) -> Trial:
        """Go straight to a place of the tool center point, turned as now."""
        return self.do(self.arm.straight(Pose([x, y, z], self.arm.pose.q), per_step_m))

    def by(self, x: float = 0, y: float = 0, z: float = 0, per_step_m: float = 0.03) -> Trial:
        at_x, at_y, at_z = (self.tip + [x, y, z]).tolist()
        return self.to(at_x, at_y, at_z, per_step_m)

    def upright(self) -> Trial:
        """Point the cups down, at a safe height."""
        self.by(z=max(0.0, SAFE_M - self.tip[2]))
        return self.do(self.arm.straight(Pose(self.tip, down(self.arm.yaw_rad)), 0.03))

    def above(self, body: int, gap_m: float = 0.05, aside=(0.0, 0.0)) -> Trial:
        """Go to above a body, the cups some way from it."""
        x, y = self.xy(body) + aside
        self.upright().to(x, y, SAFE_M)
        return self.to(x, y, self.top(body) + self.arm.cup_tip_z_m + gap_m)

    def lower(self, depth_m: float, per_step_m: float) -> Trial:
        return self.by(z=-depth_m, per_step_m=per_step_m)

    def touch(self, body: int, aside=(0.0, 0.0)) -> Trial:
        """Touch a body from above, gently; the cups stay on it."""
        return self.above(body, 0.01, aside).lower(0.0105, 0.002)

    def rise(self, height_m: float = 0.1) -> Trial:
        return self.by(z=height_m)

    def behind(self, body: int, way: np.ndarray, gap_m: float = 0.03, z: float = 0.0) -> Trial:
        """Move behind a body along a direction (2,), the cups at a height over the table."""
        x, y = self.xy(body) - way * (self.reach(body) + 0.05 + gap_m)
        self.upright().to(x, y, SAFE_M)
        return self.to(x, y, self.arm.cup_tip_z_m + max(z, 0.012))

    def along(self, way: np.ndarray, length_m: float, per_step_m: float = 0.01) -> Trial:
        x, y = way * length_m
        return self.by(x, y, per_step_m=per_step_m)

    def take(self, body: int) -> Trial:
        return self.do(pick(self.arm, body))

    def put(self, xy, turn_deg: float = 0.0, on: int | None = None, hold: bool = False) -> Trial:
        """Put the held body at a place on the table, or on another body, turned by an angle."""
        body, half = self.arm.held, np.radians(turn_deg) / 2
        turn = Pose(q=[np.cos(half), 0, 0, np.sin(half)])
        pose = on_table(self.arm, body, np.asarray(xy), (turn * Pose(q=self.pose(body).q)).q)
        lift = 0.0 if on is None else self.top(on)
        pose = Pose([*pose.p[:2], pose.p[2] + lift], pose.q)
        actions = place_at(self.arm, body, pose)
        for action in actions:
            if hold and not self.arm.vacuum:
                self.arm.vacuum = True
                break
            self.do(iter([action]))
        return self.wait(8)

    def put_on(self, body: int, aside=(0.0, 0.0), hold: bool = False) -> Trial:
        return self.put(self.xy(body) + aside, on=body, hold=hold)

    def let_go(self) -> Trial:
        self.arm.vacuum = False
        return self.wait(3)

    def pose(self, body: int) -> Pose:
        return self.arm.body_pose(body)

    def end(self) -> Trial:
        """Rise and wait, so that all comes to rest."""
        self.wait(20)
        self.env.close()
        return self


def towards(start: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Direction (2,) from one place to another."""
    return (goal - start) / np.linalg.norm(goal - start)
