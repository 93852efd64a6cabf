"""Sleep of bodies: which are at rest.

In a simulation on the CPU, PhysX puts what hardly moves to sleep; on a GPU it does not, and what
lies still has a speed for ever that takes it nowhere. So what would sleep is told by its rule: that
a body has moved by less than a millimetre, in 0.4 s.
"""

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.sim.robots.delta_action import CONTROL_HZ

REST_STEPS = round(0.4 * CONTROL_HZ)


class Rest:
    """Watches where the bodies of B environments are after each control step.

    Args:
        limit: How far each may move and still be at rest, metres, (B, K).
        gyration: Distance from the centre of mass that makes a turn a way, metres, (B, K).
    """

    def __init__(self, limit: Tensor, gyration: Tensor) -> None:
        self._limit, self._gyration = limit, gyration
        self._since = torch.zeros_like(limit, dtype=torch.long)
        self._pose = limit.new_zeros(*limit.shape, 7)

    @property
    def still(self) -> Tensor:
        """Which bodies are at rest, (B, K) bool."""
        return self._since >= REST_STEPS

    def note(self, pose: Tensor) -> None:
        """Note where the bodies are after a control step, (B, K, 7)."""
        way = (pose[..., :3] - self._pose[..., :3]).norm(dim=-1)
        turn = geometry.rotation_angle(pose[..., 3:], self._pose[..., 3:]) * self._gyration
        moved = torch.hypot(way, turn) > self._limit
        self._pose = torch.where(moved[..., None], pose, self._pose)
        self._since = torch.where(moved, 0, self._since + 1)

    def restore(self, where: Tensor, pose: Tensor) -> None:
        """All bodies rest at poses (B, K, 7) in the environments ``where`` (B,) is true."""
        self._pose = torch.where(where[:, None, None], pose, self._pose)
        self._since = torch.where(where[:, None], REST_STEPS, self._since)
