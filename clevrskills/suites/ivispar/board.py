"""Board: pieces on a square grid, slid one cell at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

State = tuple[int, ...]
"""Cell of each piece: z n + x, with x to the right and z away from the viewer."""
DIRECTIONS = ("left", "right", "up", "down")
"""Directions by number; up is away from the viewer."""
_STEPS = ((-1, 0), (1, 0), (0, 1), (0, -1))


def cell_name(cell: int, size: int) -> str:
    """Return the name of a cell, e.g. ``B4``: letter from the left, number from the viewer."""
    return f"{chr(ord('A') + cell % size)}{cell // size + 1}"


@dataclass(frozen=True)
class Board:
    """Board of n x n cells."""

    size: int  # cells in a row, n

    @cached_property
    def neighbors(self) -> Sequence[Sequence[int]]:
        """Neighbor of each cell in each of :data:`DIRECTIONS`, -1 beyond the edge."""
        n = self.size

        def beside(cell: int, step: tuple[int, int]) -> int:
            x, z = cell % n + step[0], cell // n + step[1]
            return z * n + x if 0 <= x < n and 0 <= z < n else -1

        return [[beside(cell, step) for step in _STEPS] for cell in range(n * n)]

    @cached_property
    def manhattan(self) -> Sequence[Sequence[int]]:
        """Manhattan distance of each pair of cells."""
        n, cells = self.size, range(self.size**2)
        return [[abs(a % n - b % n) + abs(a // n - b // n) for b in cells] for a in cells]

    def target(self, state: State, piece: int, direction: int) -> int:
        """Return the cell that a piece would move to; -1: beyond the edge."""
        return self.neighbors[state[piece]][direction]

    def moved(self, state: State, piece: int, direction: int) -> State | None:
        """Return the state after a move; ``None``: the target is taken or beyond the edge."""
        cell = self.target(state, piece, direction)
        if cell < 0 or cell in state:
            return None
        return (*state[:piece], cell, *state[piece + 1 :])

    def moves(self, state: State) -> Iterator[tuple[int, int, State]]:
        """Yield piece, direction and next state of each legal move."""
        for piece in range(len(state)):
            for direction in range(len(DIRECTIONS)):
                after = self.moved(state, piece, direction)
                if after is not None:
                    yield piece, direction, after

    def bound(self, state: State, goal: State) -> int:
        """Return the sum of distances to the goals, a lower bound of the solution length."""
        return sum(self.manhattan[a][b] for a, b in zip(state, goal, strict=True))
