"""Goal of the arm: pieces that rest on their cells, and moves that keep the rules."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians

import torch
from torch import Tensor

from clevrskills.core.geometry import rotation_matrix
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.at_position import AtPosition
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.sim.world import World
from clevrskills.suites.ivispar.arm.field import MIDDLE_M, PITCH_M, SIZE, cell_at
from clevrskills.suites.ivispar.board import cell_name

WITHIN_M = 0.25 * PITCH_M
"""How far along each axis a piece may be from the middle of its cell."""
UPRIGHT_RAD = radians(15.0)
"""How far a piece that stands may be tilted."""
AGAINST_RULES = "a move against the rules"
RULES = ("counted", "free", "strict")
"""What comes of moves against the rules: they are counted; nothing; they are counted, and a single
one is the end of success."""


def upright(world: World, body: Tensor) -> Tensor:
    """Whether a body stands, tilted by 15 degrees at most, (B,) bool."""
    return rotation_matrix(world.orientation(body))[:, 2, 2] >= cos(UPRIGHT_RAD)


@dataclass(frozen=True, eq=False)
class RestsAtCell(AtPosition):
    """A piece stands in the middle of a cell of the board, let go and at rest.

    In the middle: along each axis at most a quarter of the pitch away from it. It stands: on the
    table, tilted by 15 degrees at most. For its arguments see
    :class:`~clevrskills.predicates.at_position.AtPosition`.
    """

    name = "rests_at_cell"

    def placed(self, world: World, state: GoalState) -> Tensor:
        del state
        offset = world.position(self.object)[:, :2] - self.position[:, :2]
        inside = (offset.abs() <= WITHIN_M).all(-1)
        return inside & upright(world, self.object) & self.resting(world)

    def describe(self, world: World, env: int = 0) -> str:
        cell = cell_at(*(float(v) for v in self.position[env, :2]))
        name = "the side of the board" if cell is None else cell_name(cell, SIZE)
        return f"Move {{obj:{world.keys[int(self.object[env])]}}} to {name}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = world.pose(self.object).clone()
        pose[:, 3:] = pose.new_tensor([1.0, 0.0, 0.0, 0.0])
        pose[:, :2] = self.position[:, :2]
        pose[:, 2] = self.position[:, 2]
        world.set_body_pose(self.object, pose, where)


@dataclass(frozen=True, eq=False)
class Legal(PhysicalPredicate):
    """Pieces are moved as on a board: one after the other, by one cell, into a free one.

    The board is looked at whenever it is settled: nothing is held, all pieces are at rest, each
    stands in the middle of a cell, no two in the same. Between two such looks exactly one piece may
    have changed, to a cell beside its own. Anything else is against the rules, and counted. A piece
    is lost where it rests, let go, on its side or beside the board.

    Args:
        pieces: Indices of the pieces, -1 for none, (B, n).
        veto: Whether it ceases to hold with the first move against the rules, or piece lost, (B,)
            bool.
    """

    name = "legal"
    max_reward = 1.0
    pieces: Tensor
    veto: Tensor

    @property
    def spoilers(self) -> tuple[str, ...]:
        return ("broken",)

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        return {AGAINST_RULES: state["broken"] & self.veto}

    def initial_state(self, world: World) -> GoalState:
        none = torch.zeros(world.num_envs, dtype=torch.long, device=world.device)
        cells, _, _ = self._board(world)
        return {
            "cells": cells,
            "moves": none,
            "illegal": none.clone(),
            "lost": none.bool(),
            "broken": none.bool(),
        }

    def _board(self, world: World) -> tuple[Tensor, Tensor, Tensor]:
        """Cell of each piece, -1 where it is in the middle of none, (B, n); whether it is lost; and
        whether the board is settled, (B,).
        """
        count = self.pieces.shape[1]
        several, body = world.repeat(count), self.pieces.clamp(min=0).flatten()
        place = several.position(body)
        rests = several.is_static(body) & ~several.is_held(body)
        stands = upright(several, body) & several.on_table(body)
        middle = place.new_tensor(MIDDLE_M)
        steps = (place[:, :2] - middle) / PITCH_M + (SIZE - 1) / 2
        row, column = SIZE - 1 - steps[:, 0], steps[:, 1]
        nearest = torch.stack((row, column), -1).round()
        off = (torch.stack((row, column), -1) - nearest).abs() * PITCH_M
        on_board = ((nearest >= 0) & (nearest < SIZE)).all(-1)
        inside = on_board & (off <= WITHIN_M).all(-1) & stands
        cell = (nearest[:, 0] * SIZE + nearest[:, 1]).long()
        shape = self.pieces.shape
        there = self.pieces >= 0
        cells = torch.where(inside, cell, -1).view(shape).masked_fill(~there, -1)
        lost = (rests & ~(on_board & stands)).view(shape) & there
        taken = (cells[:, :, None] == cells[:, None]) & there[:, :, None] & there[:, None]
        alone = taken.sum((1, 2)) == there.sum(1)
        settled = ((rests.view(shape) & (cells >= 0)) | ~there).all(1) & alone
        return cells, lost.any(1), settled & (world.held < 0)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        broken = state["broken"]
        if world.rewards:  # else it is a world in which pieces are put, not moved
            cells, lost, settled = self._board(world)
            before = state["cells"]
            changed = (cells != before) & (self.pieces >= 0)
            row, column = cells // SIZE, cells % SIZE
            apart = (row - before // SIZE).abs() + (column - before % SIZE).abs()
            far = ((apart != 1) & changed).any(1) | (changed.sum(1) > 1)
            moved = settled & changed.any(1)
            broken = broken | (moved & far) | lost
            state = {
                "cells": torch.where(settled[:, None], cells, before),
                "moves": state["moves"] + (moved & ~far),
                "illegal": state["illegal"] + (moved & far),
                "lost": lost,
                "broken": broken,
            }
        return self.outcome(~(broken & self.veto), torch.zeros_like(broken).float(), state=state)

    def describe(self, world: World, env: int = 0) -> str:
        return "Move one piece at a time, by one cell, into a free one"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Nothing: it is so at the start."""
