"""Puzzle files of iVISPAR: one JSON object per puzzle, with the field names of its repository.

Moves are sentences; ``start`` and ``done`` in the lists of older files are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.ivispar.board import DIRECTIONS, Board, State
from clevrskills.suites.ivispar.boards import COLORS, SHAPES, Puzzle
from clevrskills.suites.ivispar.search import Move, solve
from clevrskills.suites.symbolic import SymbolicEpisode

GEOMS, TILES = "SlidingGeomPuzzle", "SlidingTilePuzzle"
_IGNORED = ("start", "done")
_LISTS = {
    "optimal": "shortest_move_sequence",
    "random_valid": "random_valid_move_sequence",
    "random_any": "random_invalid_move_sequence",
}
"""Field of each list of moves."""


def export_config(episode: SymbolicEpisode) -> dict[str, Any]:
    """Return a puzzle in iVISPAR's format, with ``version``, ``seed`` and ``set`` added."""
    puzzle, of = Puzzle.from_json(episode.start["puzzle"]), str(episode.start["set"])
    n, k = puzzle.size, len(puzzle.geoms)
    bins = f"b_{n}_g_{k}_c1_{puzzle.c1}_c2_{puzzle.c2}_i_{episode.index}"
    return {
        "config_instance_id": f"config_{of}_{bins}",
        "experiment_type": TILES if puzzle.geoms[0][1] == "tile" else GEOMS,
        "complexity_c1": puzzle.c1,
        "complexity_c2": puzzle.c2,
        "grid_size": n,
        "landmarks": [
            {
                "geom_nr": number,
                "body": shape,
                "color": color,
                "start_coordinate": [start % n, start // n],
                "goal_coordinate": [goal % n, goal // n],
            }
            for number, ((color, shape), start, goal) in enumerate(
                zip(puzzle.geoms, puzzle.start, puzzle.goal, strict=True), start=1
            )
        ],
        **{theirs: _sentences(puzzle, getattr(puzzle, ours)) for ours, theirs in _LISTS.items()},
        "version": 1,
        "seed": episode.seed,
        "set": of,
    }


def read_config(path: Path) -> Puzzle:
    """Read a puzzle file of iVISPAR.

    Raises:
        ClevrSkillsError: The file is invalid or inconsistent: unknown pieces, two pieces in a cell,
            or a solution that is wrong or not shortest.
    """
    try:
        puzzle = _puzzle(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is not a puzzle of iVISPAR: {error!r}") from error
    fault = _fault(puzzle)
    if fault:
        raise ClevrSkillsError(f"{path}: {fault}")
    return puzzle


def _puzzle(data: Mapping[str, Any]) -> Puzzle:
    n, pieces = int(data["grid_size"]), data["landmarks"]
    tiles = data.get("experiment_type") == TILES
    geoms = [
        (str(p["geom_nr"] if tiles else p["color"]), "tile" if tiles else str(p["body"]))
        for p in pieces
    ]
    start, goal = (
        tuple(int(p[name][1]) * n + int(p[name][0]) for p in pieces)
        for name in ("start_coordinate", "goal_coordinate")
    )
    empty = Puzzle(n, geoms, start, goal)
    moves = {ours: _moves(empty, data.get(theirs, ())) for ours, theirs in _LISTS.items()}
    return Puzzle(n, geoms, start, goal, **moves)


def _fault(puzzle: Puzzle) -> str:
    """Return the fault of a puzzle; empty: it is valid."""
    cells = puzzle.size**2
    for (color, shape), *places in zip(puzzle.geoms, puzzle.start, puzzle.goal, strict=True):
        if shape != "tile" and (color not in COLORS or shape not in SHAPES):
            return f"there is no {color} {shape}"
        if not all(0 <= place < cells for place in places):
            return f"the {color} {shape} is not on the board"
    for name, state in (("start", puzzle.start), ("goal", puzzle.goal)):
        if len(set(state)) < len(state):
            return f"two pieces are in one cell at the {name}"
    if len(set(puzzle.geoms)) < len(puzzle.geoms):
        return "two pieces are alike"
    if puzzle.start == puzzle.goal:
        return "the start is the goal"
    shortest = solve(puzzle.board, puzzle.start, puzzle.goal)
    if shortest is None:
        return "it has no solution"
    if _played(puzzle.board, puzzle.start, puzzle.optimal) != puzzle.goal:
        return "its shortest_move_sequence does not solve it"
    if len(shortest) != puzzle.c1:
        return f"its shortest_move_sequence has {puzzle.c1} moves, {len(shortest)} are enough"
    return ""


def _played(board: Board, state: State, moves: Sequence[Move]) -> State | None:
    """Return the state after moves; ``None``: a move is illegal."""
    for piece, direction in moves:
        after = board.moved(state, piece, direction)
        if after is None:
            return None
        state = after
    return state


def _sentences(puzzle: Puzzle, moves: Sequence[Move]) -> list[str]:
    return [f"move {puzzle.name_of[piece]} {DIRECTIONS[way]}" for piece, way in moves]


def _moves(puzzle: Puzzle, sentences: Sequence[str]) -> list[Move]:
    """Parse sentences into moves."""
    found = []
    for sentence in sentences:
        if sentence in _IGNORED:
            continue
        name, _, direction = sentence.removeprefix("move ").rpartition(" ")
        if name not in puzzle.name_of or direction not in DIRECTIONS:
            raise ValueError(f"{sentence!r} is not a move of this board")
        found.append((list(puzzle.name_of).index(name), DIRECTIONS.index(direction)))
    return found
