"""Looks out for bodies that do what none should: sink, fly off, move or tremble by themselves."""

from __future__ import annotations

import torch
from torch import Tensor

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.sim.robots.delta_action import CONTROL_HZ

SINK_M = 2e-3
FAST_M_PER_S = 4.0
"""The arm throws at 2 m/s at most, and what falls from its height gets as fast."""
MOVED_M = 5e-3
ALONE_STEPS = 2 * CONTROL_HZ
RESTLESS_M_PER_S = 0.05


class Watch:
    """Watches one episode, from its first step on.

    Attributes:
        faults: What was seen, by name: the number of steps.
    """

    def __init__(self, env: ClevrSkillsEnv) -> None:
        self._env = env
        world = env.world
        self._slots = world.solids.movable[0].nonzero()[:, 0].tolist()
        bodies = env.layouts[0].bodies
        self._swinging = [k for k, body in enumerate(bodies) if body and body.hinge]
        self._start = world.body_pose[0, :, :3].clone()
        self._before = self._start
        self._alone = {slot: ALONE_STEPS + 1 for slot in self._slots}
        self._disturbed: set[int] = set()
        self.faults = dict.fromkeys(("sunk", "flew", "moved alone", "restless"), 0)

    def look(self) -> None:
        """Look at the world after a control step."""
        world = self._env.world
        position = world.body_pose[0, :, :3].clone()
        # reported velocities are no measure: in stacks, PhysX gives some to what does not move
        speed = (position - self._before).norm(dim=-1) * CONTROL_HZ
        self._before = position
        moved = (position - self._start).norm(dim=-1)
        for slot in self._slots:
            swings = any(self._touch(slot, other) for other in self._swinging)
            robot = self._moved_by_robot(slot)
            self._alone[slot] = 0 if robot or swings else self._alone[slot] + 1
        for _ in self._slots:  # what was pushed pushes others
            for slot in self._slots:
                near = [self._alone[k] + 1 for k in self._slots if self._touch(slot, k)]
                self._alone[slot] = min(self._alone[slot], *near, ALONE_STEPS + 1)
        for slot in self._slots:
            alone = self._alone[slot] > ALONE_STEPS
            if not alone:
                self._disturbed.add(slot)
            sunk = bool(world.bottom(_index(slot))[0] < -SINK_M)
            self.faults["sunk"] += sunk and bool(speed[slot] < RESTLESS_M_PER_S)
            self.faults["flew"] += bool(speed[slot] > FAST_M_PER_S)
            left_alone = slot not in self._disturbed
            self.faults["moved alone"] += left_alone and bool(moved[slot] > MOVED_M)
            self.faults["restless"] += alone and bool(speed[slot] > RESTLESS_M_PER_S)

    def _moved_by_robot(self, slot: int) -> bool:
        world = self._env.world
        return bool(world.is_held(_index(slot))[0] | world.robot_touches(_index(slot))[0])

    def _touch(self, one: int, other: int) -> bool:
        return bool(self._env.world.touches(_index(one), _index(other))[0])


def _index(slot: int) -> Tensor:
    return torch.tensor([slot])
