"""Predicates of the arm's goal: pieces rest on their cells, and moves are legal."""

from __future__ import annotations

from dataclasses import dataclass
from math import radians, sin

import torch
from torch import Tensor

from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.at_position import AtPosition
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.sim.world import World
from clevrskills.suites.ivispar.arm.field import HEIGHT_M, MIDDLE_M, PITCH_M, SIZE, cell_at
from clevrskills.suites.ivispar.board import cell_name

WITHIN_M = 0.25 * PITCH_M
"""Maximum distance of a piece from the center of its cell, along each axis."""
UPRIGHT_RAD = radians(15.0)
"""Maximum tilt of a standing piece."""
LEANING_M = 0.01
"""Maximum height of a standing piece's center above its upright height."""
AGAINST_RULES = "a move against the rules"
RULES = ("counted", "free", "strict")
"""Consequence of illegal moves: they are counted, ignored, or counted and prevent success."""


def upright(pose: Tensor) -> Tensor:
    """Return whether a body with a pose (..., 7) is tilted by at most 15 degrees, (...) bool."""
    return pose[..., 4:6].square().sum(-1) <= sin(UPRIGHT_RAD / 2) ** 2  # unit quaternion


@dataclass(frozen=True, eq=False)
class RestsAtCell(AtPosition):
    """A piece stands at the center of a cell, released and at rest.

    It is on the table, at most a quarter of the pitch off the center along each axis, and tilted by
    at most 15 degrees. For its arguments see
    :class:`~clevrskills.predicates.at_position.AtPosition`.
    """

    name = "rests_at_cell"

    def placed(self, world: World, state: GoalState) -> Tensor:
        del state
        pose = world.pose(self.object)
        inside = ((pose[:, :2] - self.position[:, :2]).abs() <= WITHIN_M).all(-1)
        return world.and_where(
            inside & upright(pose), lambda w, body: w.on_table(body), self.object
        )

    def describe(self, world: World, env: int = 0) -> str:
        cell = cell_at(*(float(v) for v in self.position[env, :2]))
        name = "the side of the board" if cell is None else cell_name(cell, SIZE)
        return f"Move {world.mention(env, self.object)[0]} to {name}"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        pose = world.pose(self.object).clone()
        pose[:, 3:] = pose.new_tensor([1.0, 0.0, 0.0, 0.0])
        pose[:, :2] = self.position[:, :2]
        pose[:, 2] = self.position[:, 2]
        world.set_body_pose(self.object, pose, where)


@dataclass(frozen=True, eq=False)
class Legal(PhysicalPredicate):
    """Pieces are moved as on a board: one at a time, by one cell, into a free one.

    The board is compared whenever it is settled: nothing is held, and all pieces rest at the
    centers of different cells. Between two settled boards at most one piece may have moved, to an
    adjacent cell; anything else is counted as illegal. A released piece that rests on its side or
    off the board is lost.
    """

    name = "legal"
    max_reward = 1.0
    pieces: Tensor  # indices of the pieces, -1 for none, (B, n)
    veto: Tensor  # whether an illegal move or a lost piece ends it, (B,) bool

    @property
    def failure_flags(self) -> tuple[str, ...]:
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
        """Return the cell of each piece, -1 if it is at the center of none, (B, n), and whether a
        piece is lost and whether the board is settled, (B,).
        """
        there, body = self.pieces >= 0, self.pieces.clamp(min=0)
        pose = world.pose(body)  # (B, n, 7)
        rests = world.is_static(body) & (world.held[:, None] != body)
        steps = (pose[..., :2] - pose.new_tensor(MIDDLE_M)) / PITCH_M + (SIZE - 1) / 2
        nearest = steps.round()
        on_board = ((nearest >= 0) & (nearest < SIZE)).all(-1)
        stands = on_board & upright(pose) & (pose[..., 2] <= HEIGHT_M / 2 + LEANING_M)
        lost = (rests & ~stands & there).any(1)
        inside = ((steps - nearest).abs() * PITCH_M <= WITHIN_M).all(-1) & stands & there
        cell = (SIZE - 1 - nearest[..., 0]) * SIZE + nearest[..., 1]
        cells = torch.where(inside, cell, -1.0).long()
        settled = ((rests & inside) | ~there).all(1) & (world.held < 0)
        if any_true(settled):
            twice = (cells[:, :, None] == cells[:, None]) & there[:, :, None]
            settled = settled & (twice.sum((1, 2)) == there.sum(1))
        return cells, lost, settled

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        if world.rewards:  # otherwise pieces are placed, not moved
            state = self._remember(world, state)
        broken = state["broken"]
        return self.outcome(~(broken & self.veto), torch.zeros_like(broken).float(), state=state)

    def _remember(self, world: World, state: GoalState) -> GoalState:
        """Return the updated state."""
        before = state["cells"]
        cells, lost, settled = self._board(world)
        state = {**state, "lost": lost, "broken": state["broken"] | lost}
        changed = (cells != before) & settled[:, None]
        moved = changed.any(1)
        if not any_true(moved):
            return state
        apart = (cells // SIZE - before // SIZE).abs() + (cells % SIZE - before % SIZE).abs()
        against = ((apart != 1) & changed).any(1) | (changed.sum(1) > 1)
        return {
            **state,
            "cells": torch.where(changed, cells, before),
            "moves": state["moves"] + (moved & ~against),
            "illegal": state["illegal"] + (moved & against),
            "broken": state["broken"] | (moved & against),
        }

    def describe(self, world: World, env: int = 0) -> str:
        return "Move one piece at a time, by one cell, into a free one"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Do nothing, as it holds at the start."""
