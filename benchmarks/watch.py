"""Looks out for bodies that do what none should: sink, fly off, move or tremble by themselves."""

from __future__ import annotations

import torch
from torch import Tensor

from clevrskills.env import CONTROL_HZ, ClevrSkillsEnv

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
        self._alone = {slot: ALONE_STEPS for slot in self._slots}
        self._disturbed: set[int] = set()
        self.faults = dict.fromkeys(("sunk", "flew", "moved alone", "restless"), 0)

    def look(self) -> None:
        """Look at the world after a control step."""
        world = self._env.world
        speed = world.body_velocity[0, :, :3].norm(dim=-1)
        moved = (world.body_pose[0, :, :3] - self._start).norm(dim=-1)
        touched = {slot for slot in self._slots if self._moved_by_robot(slot)}
        touched |= {s for s in self._slots if any(self._touch(s, k) for k in self._swinging)}
        for _ in self._slots:  # what is pushed pushes others
            touched |= {
                slot
                for slot in self._slots
                if slot not in touched and any(self._touch(slot, other) for other in touched)
            }
        self._disturbed |= touched
        for slot in self._slots:
            self._alone[slot] = 0 if slot in touched else self._alone[slot] + 1
            alone = self._alone[slot] >= ALONE_STEPS
            self.faults["sunk"] += bool(world.bottom(_index(slot))[0] < -SINK_M)
            self.faults["flew"] += bool(speed[slot] > FAST_M_PER_S)
            self.faults["moved alone"] += slot not in self._disturbed and bool(
                moved[slot] > MOVED_M
            )
            self.faults["restless"] += alone and bool(speed[slot] > RESTLESS_M_PER_S)

    def _moved_by_robot(self, slot: int) -> bool:
        world = self._env.world
        return bool(world.is_held(_index(slot))[0] | world.robot_touches(_index(slot))[0])

    def _touch(self, one: int, other: int) -> bool:
        return bool(self._env.world.touches(_index(one), _index(other))[0])


def _index(slot: int) -> Tensor:
    return torch.tensor([slot])
