"""Vector environment: thousands of boards of one size at once, for reinforcement learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.ivispar.board import DIRECTIONS, Board

__all__ = ["BoardVectorEnv"]

_FIRST = 1024  # boards that are drawn at once


class BoardVectorEnv:
    """Boards with k pieces each, moved by one number a board: 4 piece + direction.

    A board that is solved, or whose turns are over, begins anew within the same step. The reward is
    how much nearer to their goals the pieces have come, in rows and columns: 1, -1 or 0.

    Args:
        num_envs: Number of boards, B.
        pieces: Pieces on each, k.
        size: Cells in a row, n.
        turns: Turns until a board begins anew.
        scramble: Random moves between goal and start, at most.
        seed: Of all that is drawn.
        starts: Starts and goals to begin from, two arrays (M, k) of cells, one after the other;
            ``None``: they are drawn.

    Raises:
        ClevrSkillsError: There is no room for so many pieces.
    """

    def __init__(
        self,
        num_envs: int,
        pieces: int,
        size: int = 4,
        turns: int = 20,
        scramble: int = 24,
        seed: int = 0,
        starts: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        if not 1 <= pieces < size * size:
            raise ClevrSkillsError(f"{size} x {size} cells have room for 1 to {size * size - 1}")
        board = Board(size)
        self.num_envs, self.pieces, self.size, self.turns = num_envs, pieces, size, turns
        self.num_actions = len(DIRECTIONS) * pieces
        cells = size * size
        # one cell more, always taken, stands for all beyond the edge
        beside = np.array(board.neighbours, np.int64)
        self._beside = np.where(beside < 0, cells, beside).reshape(-1)
        apart = np.zeros((cells + 1, cells), np.int8)
        apart[:cells] = np.array(board.manhattan)
        self._apart = apart.reshape(-1)
        self._generator = np.random.default_rng(seed)
        self._rows = np.arange(num_envs)
        self._scramble, self._fixed = scramble, starts
        self._next = 0
        self._pool = starts or self._drawn()

    def reset(self) -> np.ndarray:
        """Begin all boards anew; returns what they show, see :meth:`planes`."""
        shape = self.num_envs, self.pieces
        self.cells, self.goals = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._taken = np.zeros((self.num_envs, self.size**2 + 1), bool)
        self._age = np.zeros(self.num_envs, np.int64)
        k, n2 = self.pieces, self.size**2
        self._planes = np.zeros((self.num_envs, 2 * k, n2), np.uint8)
        self._flat = self._planes.reshape(-1)
        self._first = self._rows * (2 * k * n2)
        self._begin(self._rows)
        return self.planes()

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make a move on each board; one that can't be made changes nothing and uses the turn up.

        Args:
            actions: (B,) int, 4 piece + direction.

        Returns:
            Planes as of :meth:`planes`, rewards (B,) float32, which boards were solved and which
            ran out of turns, (B,) bool, and ``{"moved": (B,) bool}``.
        """
        rows, n2 = self._rows, self.size**2
        piece, direction = actions >> 2, actions & 3
        before = self.cells[rows, piece]
        target = self._beside[4 * before + direction]
        moved = ~self._taken[rows, target]
        after = np.where(moved, target, before)
        goal = self.goals[rows, piece]
        reward = self._apart[before * n2 + goal] - self._apart[after * n2 + goal]
        self._taken[rows, before] = False
        self._taken[rows, after] = True
        self.cells[rows, piece] = after
        place = self._first + piece * n2
        self._flat[place + before] = 0
        self._flat[place + after] = 1
        self._left -= reward
        self._age += 1
        solved = self._left == 0
        over = (self._age >= self.turns) & ~solved
        ended = solved | over
        if ended.any():
            self._begin(np.flatnonzero(ended))
        return self.planes(), reward.astype(np.float32), solved, over, {"moved": moved}

    def planes(self) -> np.ndarray:
        """Where each piece is and is to be, one plane for each: (B, 2k, n, n) uint8. It is the
        environment's own array, which the next step changes.
        """
        return self._planes.reshape(self.num_envs, -1, self.size, self.size)

    def _begin(self, rows: np.ndarray) -> None:
        starts, goals = self._take(len(rows))
        k, n2 = self.pieces, self.size**2
        self.cells[rows], self.goals[rows] = starts, goals
        self._taken[rows] = False
        self._taken[rows[:, None], starts] = True
        self._taken[rows, n2] = True
        self._age[rows] = 0
        apart = self._apart[starts * n2 + goals].sum(1, dtype=np.int64)
        if not hasattr(self, "_left"):
            self._left = np.zeros(self.num_envs, np.int64)
        self._left[rows] = apart
        self._planes[rows] = 0
        place = self._first[rows, None] + n2 * np.arange(k)
        self._flat[place + starts] = 1
        self._flat[place + k * n2 + goals] = 1

    def _take(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The next starts and goals."""
        starts, goals = self._pool
        chosen = np.arange(self._next, self._next + count)
        if self._fixed is None and self._next + count > len(starts):
            parts = [(starts[self._next :], goals[self._next :])]
            have = len(parts[0][0])
            while have < count:
                self._pool = self._drawn()
                parts.append(self._pool)
                have += len(self._pool[0])
            self._next = len(self._pool[0]) - (have - count)
            joined = [np.concatenate(each)[:count] for each in zip(*parts, strict=True)]
            return joined[0], joined[1]
        self._next += count
        chosen %= len(starts)
        return starts[chosen], goals[chosen]

    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Starts and goals (M, k): goals at random, and random moves from there."""
        generator, k, n2 = self._generator, self.pieces, self.size**2
        count = max(_FIRST, self.num_envs)
        goals = generator.permuted(np.tile(np.arange(n2), (count, 1)), axis=1)[:, :k]
        rows, cells = np.arange(count), goals.copy()
        taken = np.zeros((count, n2 + 1), bool)
        taken[:, n2] = True
        taken[rows[:, None], cells] = True
        lengths = generator.integers(1, self._scramble + 1, count)
        for made in range(self._scramble):
            actions = generator.integers(self.num_actions, size=count)
            piece, direction = actions >> 2, actions & 3
            before = cells[rows, piece]
            target = self._beside[4 * before + direction]
            after = np.where(~taken[rows, target] & (made < lengths), target, before)
            taken[rows, before] = False
            taken[rows, after] = True
            cells[rows, piece] = after
        differ = (cells != goals).any(1)
        return cells[differ], goals[differ]
