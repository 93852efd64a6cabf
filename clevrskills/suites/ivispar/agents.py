"""Scripted policies: random moves and greedy moves."""

from __future__ import annotations

from typing import Any

from clevrskills.core.interface import BoxInterface, TextInterface
from clevrskills.core.policy import Observation
from clevrskills.evaluation.policies import Privileged
from clevrskills.suites.ivispar.board import DIRECTIONS, cell_name


class RandomMoves(Privileged):
    """Uniformly random legal moves, the paper's random policy; for its arguments see
    :class:`~clevrskills.evaluation.policies.Zero`.
    """

    def act(self, observation: Observation) -> Any:
        """Return the next move, or a random action of the arm in a control interface."""
        if isinstance(self._interface, BoxInterface):
            return self._interface.random(self.generator)
        if self.env.listing:
            return self._listing()
        piece, direction = self.choose()
        if not isinstance(self._interface, TextInterface):
            return 4 * piece + direction
        return f"move {self.env.name_of(piece)} {DIRECTIONS[direction]}"

    def choose(self) -> tuple[int, int]:
        """Return the piece and direction of the next move."""
        moves = [move[:2] for move in self.env.puzzle.board.moves(self.env.state)]
        return moves[int(self.generator.integers(len(moves)))]

    def _listing(self) -> str:
        """Return a listing of the pieces on random cells."""
        env = self.env
        cells = self.generator.permutation(env.puzzle.size**2)[: len(env.state)]
        names = [cell_name(int(cell), env.puzzle.size) for cell in cells]
        return "; ".join(f"{name} {env.name_of(piece)}" for piece, name in enumerate(names))


class RandomAny(RandomMoves):
    """Uniformly random moves, legal or not."""

    def choose(self) -> tuple[int, int]:
        return tuple(self.generator.integers((len(self.env.state), len(DIRECTIONS))).tolist())


class Greedy(RandomMoves):
    """Moves that minimize the sum of distances to the goals, with random ties."""

    def choose(self) -> tuple[int, int]:
        board, goal = self.env.puzzle.board, self.env.puzzle.goal
        moves = [(board.bound(after, goal), *move) for *move, after in board.moves(self.env.state)]
        best = [(piece, direction) for far, piece, direction in moves if far == min(moves)[0]]
        return best[int(self.generator.integers(len(best)))]
