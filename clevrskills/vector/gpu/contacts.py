"""Contacts in many environments, from the impulses between pairs of bodies."""

import torch
from torch import Tensor

from clevrskills.sim.simulation import CONTACT_IMPULSE_NS

NEVER = 1 << 30
"""In place of a physics step."""


class Contacts:
    """Answers about contacts in B environments with K body slots.

    What may be touched, "other", is a body's slot or, behind them: the table ``K``, the gripper
    ``K + 1``, the rest of the arm ``K + 2``. Simulations on a GPU tell impulses only: bodies that
    overlap without pressing on each other do not touch.

    Args:
        pairs: What each pair consists of: environment, slot, other, (P, 3) int. A pair of bodies
            stands there once.
        count: B.
        slots: K.

    Attributes:
        asked: Whether somebody asks who touches whom, which costs a query for each physics step.
        lift: Upward impulse on each body from each body and the table in the last physics step,
            N s, (B, K, K + 1).
        first: In which physics step of the control step each body first touched each other,
            :data:`NEVER` if it did not, (B, K, K + 3).
    """

    def __init__(self, pairs: Tensor, count: int, slots: int) -> None:
        self._among = (pairs[:, 2] < slots).nonzero()[:, 0]  # pairs of two bodies
        shape = (count, slots, slots + 3)
        both = torch.cat((pairs, pairs[self._among][:, [0, 2, 1]]))
        self._places = (both * both.new_tensor([shape[1] * shape[2], shape[2], 1])).sum(-1)
        self._shape, self._steps = shape, 0
        self.asked = False
        self.lift = torch.zeros(count, slots, slots + 1, device=pairs.device)
        self.first = torch.full(shape, NEVER, dtype=torch.int32, device=pairs.device)

    def begin(self) -> None:
        """Begin a control step: nothing has touched yet."""
        self._steps = 0
        self.first.fill_(NEVER)

    def note(self, impulses: Tensor) -> None:
        """Note who touches whom by the impulses (P, 3) of a physics step on the first of pairs."""
        self._steps += 1
        press = impulses.abs().sum(-1)
        touching = self._spread(torch.cat((press, press[self._among]))) > CONTACT_IMPULSE_NS
        self.first.masked_fill_(touching & (self.first == NEVER), self._steps)

    def weigh(self, impulses: Tensor) -> None:
        """Note what carries what, by the impulses (P, 3) of a control step's last physics step."""
        up = impulses[:, 2]
        spread = self._spread(torch.cat((up, -up[self._among])))
        self.lift = spread[..., : self.lift.shape[-1]].clone()

    def restore(self, rows: Tensor, lift: Tensor) -> None:
        """Put environments (n,) back: what carried what (n, K, K + 1), and nothing has touched."""
        self.lift[rows], self.first[rows] = lift, NEVER

    def _spread(self, values: Tensor) -> Tensor:
        """Values of all pairs, both ways, by environment, body and other."""
        flat = values.new_zeros(self._shape).view(-1)
        return flat.index_add_(0, self._places, values).view(self._shape)

    def touched_before(self, rows: Tensor, body: Tensor, other: Tensor) -> Tensor:
        """Whether bodies (n,) touched anything but the robot before, or without, others (n,)."""
        first = self.first[rows, body]  # (n, K + 3)
        last = first.gather(1, other[:, None])
        things = first[:, :-2].scatter(1, other[:, None], NEVER)
        return (things < last).any(-1)
