"""Board: pieces on the cells of a square, of which one slides by one cell at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

State = tuple[int, ...]
"""The cell of each piece; cell (x, z), x to the right and z away from the viewer, is z n + x."""
DIRECTIONS = ("left", "right", "up", "down")
"""Ways to slide, in the order of their numbers; up is away from the viewer."""
_STEPS = ((-1, 0), (1, 0), (0, 1), (0, -1))


def cell_name(cell: int, size: int) -> str:
    """Return the name of a cell, e.g. ``B4``: a letter from left to right, a number from near to
    far.
    """
    return f"{chr(ord('A') + cell % size)}{cell // size + 1}"


@dataclass(frozen=True)
class Board:
    """A board of n x n cells."""

    size: int  # number of cells in a row, n

    @cached_property
    def neighbours(self) -> Sequence[Sequence[int]]:
        """The cell beside each cell in each of :data:`DIRECTIONS`, -1 beyond the edge."""
        n = self.size

        def beside(cell: int, step: tuple[int, int]) -> int:
            x, z = cell % n + step[0], cell // n + step[1]
            return z * n + x if 0 <= x < n and 0 <= z < n else -1

        return [[beside(cell, step) for step in _STEPS] for cell in range(n * n)]

    @cached_property
    def manhattan(self) -> Sequence[Sequence[int]]:
        """The distance of each two cells in rows and columns."""
        n, cells = self.size, range(self.size**2)
        return [[abs(a % n - b % n) + abs(a // n - b // n) for b in cells] for a in cells]

    def target(self, state: State, piece: int, direction: int) -> int:
        """Return the cell that a piece would slide to; -1: beyond the edge."""
        return self.neighbours[state[piece]][direction]

    def moved(self, state: State, piece: int, direction: int) -> State | None:
        """Return the state after a move; ``None``: there is no such cell, or it is taken."""
        cell = self.target(state, piece, direction)
        if cell < 0 or cell in state:
            return None
        return (*state[:piece], cell, *state[piece + 1 :])

    def moves(self, state: State) -> Iterator[tuple[int, int, State]]:
        """Yield the moves that can be made: piece, direction, the state after it."""
        for piece in range(len(state)):
            for direction in range(len(DIRECTIONS)):
                after = self.moved(state, piece, direction)
                if after is not None:
                    yield piece, direction, after

    def bound(self, state: State, goal: State) -> int:
        """Return the sum of distances of all pieces from their goals: no solution is shorter."""
        return sum(self.manhattan[a][b] for a, b in zip(state, goal, strict=True))
