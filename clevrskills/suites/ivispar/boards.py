"""Puzzles: boards with pieces, start and goal, drawn from seeds.

The sets are those of iVISPAR (arXiv 2502.03214, section 4) and further ones that require detours;
``docs/ivispar.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from typing import Any, Self

import numpy as np

from clevrskills.core.episode import FROZEN
from clevrskills.suites.ivispar.board import Board, State
from clevrskills.suites.ivispar.search import Move, distances, solve

COLORS = ("red", "green", "blue", "yellow", "orange", "purple")
SHAPES = ("cube", "sphere", "pyramid", "cylinder", "cone", "prism")
BASE = 4
"""Number of colors and shapes in the base set."""
SETS = ("base", "interference", "sizes", "pilot")
RANDOM_MOVES = 100
LIMIT = 20
"""Turn limit of the base set, as published."""
_SCRAMBLE = (24, 41)  # random moves from the goal in sets with detours
_WALKS = {  # moves and pieces
    "base": (range(2, 12), range(2, 12)),
    "pilot": (range(6, 13), range(4, 7)),
    "arm base": (range(2, 12), range(2, 10)),
}
_DETOURS = {"interference": range(8, 15), "arm interference": range(5, 8)}  # pieces
_MOVES_WITH_DETOURS = range(4, 17)
_SIZES = {3: range(3, 8), 5: range(4, 17), 6: range(6, 21)}  # pieces by size of the board
_TILE_LENGTHS = {3: range(2, 21), 4: range(2, 15)}
_MOVE_LISTS = ("optimal", "random_valid", "random_any")  # of puzzles
_TRIES, _TRIES_OF_LENGTH = 20_000, 401

Geom = tuple[str, str]
"""Color and shape, or number and ``tile``."""


@dataclass(frozen=True)
class Puzzle:
    """Puzzle: pieces with their start and goal cells."""

    size: int  # cells in a row
    geoms: Sequence[Geom]  # pieces
    start: State  # start cell of each piece
    goal: State  # goal cell of each piece
    optimal: Sequence[Move] = ()  # a shortest solution
    random_valid: Sequence[Move] = ()  # sequence of random legal moves
    random_any: Sequence[Move] = ()  # random moves, legal or not

    @property
    def board(self) -> Board:
        """Board of the puzzle."""
        return Board(self.size)

    @property
    def c1(self) -> int:
        """Length of a shortest solution."""
        return len(self.optimal)

    @property
    def c2(self) -> int:
        """Number of detours: half of the moves in excess of the sum of distances."""
        return (self.c1 - self.board.bound(self.start, self.goal)) // 2

    @property
    def name_of(self) -> Sequence[str]:
        """Names of the pieces, such as ``red cube`` or ``tile 5``."""
        return [f"tile {a}" if b == "tile" else f"{a} {b}" for a, b in self.geoms]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data; moves as 4 piece + direction."""
        data = asdict(self)
        data |= {name: list(data[name]) for name in ("start", "goal")}
        data["geoms"] = [list(geom) for geom in self.geoms]
        for name in _MOVE_LISTS:
            data[name] = [4 * piece + direction for piece, direction in data[name]]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Construct a puzzle from the data of :meth:`to_json`."""
        moves = {name: [divmod(number, 4) for number in data[name]] for name in _MOVE_LISTS}
        geoms = [(str(a), str(b)) for a, b in data["geoms"]]
        return cls(data["size"], geoms, tuple(data["start"]), tuple(data["goal"]), **moves)


def palette(set_name: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the colors and shapes of a set."""
    every = set_name in ("sizes", "pilot")
    return (COLORS, SHAPES) if every else (COLORS[:BASE], SHAPES[:BASE])


def limit(set_name: str, c1: int) -> int:
    """Return the turn limit of an episode."""
    return LIMIT if set_name == "base" else max(2 * c1, c1 + 4)


def draw(set_name: str, seed: int, generator: np.random.Generator) -> Puzzle:
    """Draw a puzzle of a set.

    Args:
        set_name: One of :data:`SETS`, ``tiles``, or, with fewer pieces, ``arm base`` or ``arm
            interference``.
        seed: Seed of the episode, which determines the number of pieces and the difficulty.
        generator: Generator of everything else.
    """
    number = seed - FROZEN.start
    if set_name == "tiles":
        return _tiles(number, generator)
    size = 4
    if set_name == "sizes":
        size = list(_SIZES)[number // 40 % 3]
        k = _SIZES[size][number % 40 % len(_SIZES[size])]
        start, goal = _of_length(size, k, int(generator.integers(4, 15)), generator)
    elif set_name in _DETOURS:
        kinds = list(product(_DETOURS[set_name], (1, 2)))
        k, c2 = kinds[number % len(kinds)]
        start, goal = _scrambled(size, k, c2, generator)
    else:
        kinds = list(product(*_WALKS[set_name]))
        c1, k = kinds[number % len(kinds)]
        start, goal = _walked(size, k, c1, generator)
    pairs = list(product(*palette(set_name)))
    geoms = [pairs[index] for index in generator.permutation(len(pairs))[:k]]
    return finished(size, geoms, start, goal, generator)


def arm_board(split: str, number: int) -> int | None:
    """Return the number of the frozen board of ``geoms`` that the arm's board of a number equals:
    those with at most nine pieces, in order. ``None``: the arm's board is drawn separately.
    """
    if split == "base" and 0 <= number < 240:
        row, column = divmod(number, 8)  # the first 8 of the 10 numbers of pieces, 2 to 11
        return 10 * row + column
    if split == "interference" and 0 <= number < 40:
        return 14 * (number // 4) + number % 4
    return None


def finished(
    size: int, geoms: Sequence[Geom], start: State, goal: State, generator: np.random.Generator
) -> Puzzle:
    """Return a puzzle with its solution and lists of random moves."""
    board = Board(size)
    optimal = solve(board, start, goal)
    assert optimal is not None
    valid, state = [], start
    for _ in range(RANDOM_MOVES):
        moves = list(board.moves(state))
        piece, direction, state = moves[int(generator.integers(len(moves)))]
        valid.append((piece, direction))
    every = generator.integers((len(geoms), 4), size=(RANDOM_MOVES, 2))
    return Puzzle(size, geoms, start, goal, optimal, valid, [(int(a), int(b)) for a, b in every])


def _placed(size: int, k: int, generator: np.random.Generator) -> State:
    return tuple(int(cell) for cell in generator.permutation(size * size)[:k])


def _walked(size: int, k: int, c1: int, generator: np.random.Generator) -> tuple[State, State]:
    """Return a start and a goal c1 moves apart without detours: each move of the walk increases the
    sum of distances.
    """
    board = Board(size)
    for _ in range(_TRIES):
        state = goal = _placed(size, k, generator)
        for made in range(c1):
            further = [after for *_, after in board.moves(state) if board.bound(after, goal) > made]
            if not further:
                break
            state = further[int(generator.integers(len(further)))]
        if board.bound(state, goal) == c1:
            return state, goal
    raise AssertionError(f"no walk of {c1} moves with {k} pieces found")


def _scrambled(size: int, k: int, c2: int, generator: np.random.Generator) -> tuple[State, State]:
    """Return a start and a goal that require c2 detours."""
    board = Board(size)
    for start, goal in _scrambles(board, k, generator):
        length = len(solve(board, start, goal) or ())
        detours = (length - board.bound(start, goal)) // 2
        if length in _MOVES_WITH_DETOURS and detours == c2:
            return start, goal
    raise AssertionError(f"no start with {c2} detours found")


def _scrambles(
    board: Board, k: int, generator: np.random.Generator, moves: tuple[int, int] = _SCRAMBLE
) -> Iterator[tuple[State, State]]:
    for _ in range(_TRIES):
        state = goal = _placed(board.size, k, generator)
        for _ in range(int(generator.integers(*moves))):
            every = list(board.moves(state))
            state = every[int(generator.integers(len(every)))][2]
        yield state, goal


def _of_length(size: int, k: int, c1: int, generator: np.random.Generator) -> tuple[State, State]:
    """Return a start and a goal c1 moves apart, or fewer if none is found."""
    board = Board(size)
    scrambles = _scrambles(board, k, generator, (c1, 3 * c1 + 6))
    for _, (start, goal) in zip(range(_TRIES_OF_LENGTH), scrambles, strict=False):
        if board.bound(start, goal) <= c1 and len(solve(board, start, goal, c1) or ()) == c1:
            return start, goal
    return _of_length(size, k, int(generator.integers(4, c1)), generator)


def _tiles(number: int, generator: np.random.Generator) -> Puzzle:
    """Return numbered tiles, whose goal is rows from the far left corner; starts of the same
    solution length repeat only when exhausted.
    """
    size = 3 + number // 50 % 2
    lengths = _TILE_LENGTHS[size]
    turn, place = divmod(number, len(lengths))
    states = _tile_states(size)[lengths[place]]
    goal = _tile_goal(size)
    geoms = [(str(k + 1), "tile") for k in range(len(goal))]
    return finished(size, geoms, states[turn % len(states)], goal, generator)


def _tile_goal(size: int) -> State:
    return tuple((size - 1 - k // size) * size + k % size for k in range(size * size - 1))


@cache
def _tile_states(size: int) -> Mapping[int, Sequence[State]]:
    """Return the starts of tiles by solution length, shuffled."""
    found: dict[int, list[State]] = {}
    for state, length in distances(Board(size), _tile_goal(size), _TILE_LENGTHS[size][-1]).items():
        found.setdefault(length, []).append(state)
    for length, states in found.items():
        order = np.random.default_rng((size, length)).permutation(len(states))
        found[length] = [states[k] for k in order]
    return found
