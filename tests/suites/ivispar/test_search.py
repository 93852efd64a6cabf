"""Shortest solutions, compared with an exhaustive search."""

import numpy as np
import pytest

from clevrskills.suites.ivispar.board import DIRECTIONS, Board, cell_name
from clevrskills.suites.ivispar.search import Distance, distances, solve


def placed(generator: np.random.Generator, size: int, k: int) -> tuple[int, ...]:
    return tuple(generator.permutation(size * size)[:k].tolist())


@pytest.mark.parametrize(
    ("size", "k", "states"),
    [
        (3, 3, 504),
        (3, 5, 15_120),
        pytest.param(3, 7, 181_440, marks=pytest.mark.slow),
        (4, 2, 240),
        pytest.param(4, 3, 3_360, marks=pytest.mark.slow),
    ],
)
def test_lengths_equal_those_of_an_exhaustive_search(size: int, k: int, states: int) -> None:
    board, generator = Board(size), np.random.default_rng(k)
    goal = placed(generator, size, k)
    known = distances(board, goal)
    assert len(known) == states
    drawn = sorted(known)
    for index in generator.permutation(states)[: 2000 if states > 20_000 else 300]:
        start = drawn[index]
        found = solve(board, start, goal)
        assert found is not None and len(found) == known[start]
        state = start
        for piece, direction in found:
            after = board.moved(state, piece, direction)
            assert after is not None
            state = after
        assert state == goal
        nearer = solve(board, start, goal, known[start] - 1) if start != goal else None
        assert nearer is None
        for *_, after in board.moves(start):
            assert abs(known[after] - known[start]) == 1


def test_no_solution() -> None:
    board = Board(3)  # two of eight tiles are exchanged: wrong parity
    goal = tuple(range(8))
    assert solve(board, (1, 0, *range(2, 8)), goal, 8) is None


def test_lengths_along_an_episode() -> None:
    board, generator = Board(4), np.random.default_rng(3)
    goal, state = placed(generator, 4, 9), placed(generator, 4, 9)
    length = Distance(board, goal, state, len(solve(board, state, goal) or ()))
    for _ in range(30):
        moves = list(board.moves(state))
        after = moves[int(generator.integers(len(moves)))][2]
        assert length.after(state, after) == len(solve(board, after, goal) or ())
        state = after


def test_cells_and_directions() -> None:
    board = Board(4)
    assert [cell_name(cell, 4) for cell in (0, 3, 12, 13)] == ["A1", "D1", "A4", "B4"]
    names = {way: cell_name(board.neighbors[5][k], 4) for k, way in enumerate(DIRECTIONS)}
    assert names == {"left": "A2", "right": "C2", "up": "B3", "down": "B1"}
    assert board.neighbors[0] == [-1, 1, 4, -1]
    assert board.moved((0, 1), 0, DIRECTIONS.index("right")) is None  # taken
    assert board.moved((0, 1), 0, DIRECTIONS.index("up")) == (4, 1)
