"""Board environments: sliding pieces and listing them, with their measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.goal.logical import Set
from clevrskills.suites.ivispar.board import DIRECTIONS, State, cell_name
from clevrskills.suites.ivispar.boards import Puzzle, palette
from clevrskills.suites.ivispar.commands import (
    UNKNOWN_OBJECT,
    UNKNOWN_WORD,
    UNPARSABLE,
    MoveCommand,
    drawn_shape,
    read,
    read_listing,
)
from clevrskills.suites.ivispar.predicates import AtCell, BoardWorld, Listed
from clevrskills.suites.ivispar.search import Distance, solve
from clevrskills.suites.ivispar.vector import observe_cells
from clevrskills.suites.ivispar.views import VIEWS, Marked, draw_view, text_view
from clevrskills.suites.symbolic import SymbolicEnv, SymbolicEpisode, TextPrompt

MOVED, OCCUPIED, OUT_OF_BOUNDS, LISTED = "MOVED", "OCCUPIED", "OUT_OF_BOUNDS", "LISTED"
CLASSES = {
    **{OCCUPIED: "occupied", OUT_OF_BOUNDS: "out_of_bounds"},
    **{UNPARSABLE: "illegal", UNKNOWN_WORD: "illegal", UNKNOWN_OBJECT: "unknown_geom"},
}
"""Class of a refused turn by code; moves are effective or ineffective."""
REWARD = 6.0
"""Reward of a solved puzzle."""


class BoardEnv(SymbolicEnv):
    """Environment of sliding pieces, one puzzle per episode.

    Attributes:
        listing: Whether pieces are listed instead of moved.
        puzzle: Puzzle of the episode.
        state: Cell of each piece.
    """

    listing = False
    puzzle: Puzzle
    state: State

    def __init__(self, config: EnvConfig, level: str) -> None:
        super().__init__(config, level)
        # names of drawn shapes are valid if a drawing is shown
        self._drawn = any(VIEWS[view].drawn for view in config.cameras if view in VIEWS)
        self._lenient = config.criteria == "released"

    def start(self, episode: SymbolicEpisode) -> None:
        puzzle = self.puzzle = Puzzle.from_json(episode.start["puzzle"])
        self.colors, self.shapes = palette(episode.start["set"])
        self.state = puzzle.start
        self.world = BoardWorld(tuple(puzzle.name_of), puzzle.size, torch.tensor([puzzle.start]))
        self._length = Distance(puzzle.board, puzzle.goal, puzzle.start, puzzle.c1)
        self.distances = [puzzle.c1]
        self.classes: Counter[str] = Counter()
        self._plan: list[tuple[int, int]] = []
        self._planned: State = ()
        apart = puzzle.board.manhattan
        self.goal = Set(
            tuple(
                AtCell(k, cell, weight=float(apart[puzzle.start[k]][cell]))
                for k, cell in enumerate(puzzle.goal)
            )
        )

    @property
    def prompt(self) -> TextPrompt:
        """Prompt of the episode, with the colors and shapes of its set."""
        about = {"size": self.puzzle.size, "colors": self.colors, "shapes": self.shapes}
        asked = "tiles" if self.puzzle.geoms[0][1] == "tile" else "geoms"
        return replace(super().prompt, about={"task": asked, **about})

    def training_observation(self) -> np.ndarray:
        """Return :func:`~clevrskills.suites.ivispar.vector.observe_cells` of the board."""
        cells, goals = np.array([self.state]), np.array([self.puzzle.goal])
        return observe_cells(cells, goals, self.puzzle.size)[0]

    def training_command(self, action: int) -> str:
        """Return the command of a move, 4 cell + direction."""
        piece = self.state.index(action // len(DIRECTIONS))
        return f"move {self.name_of(piece)} {DIRECTIONS[action % len(DIRECTIONS)]}"

    def apply(self, text: str | int) -> tuple[bool, str, Mapping[str, str]]:
        """Execute a command, or a move as a number, 4 piece + direction.

        Raises:
            PolicyError: The number is out of range.
        """
        words = (self.colors, self.shapes, self._drawn, self._lenient)
        command = read(text, self.puzzle.geoms, *words)
        args: Mapping[str, str] = command.args
        before, code = self.distances[-1], command.code
        if not code:
            code, direction = MOVED, DIRECTIONS[command.direction]
            args = {"piece": self.name_of(command.piece), "direction": direction}
            for _ in range(command.times):
                code = self._move(command.piece, command.direction)
                if code != MOVED:
                    break
        now = self._length.known(self.state)
        kind = "effective" if now < before else "ineffective"
        self.classes[CLASSES.get(code, kind)] += 1
        self.distances.append(now)
        return code == MOVED, code, args

    def _move(self, piece: int, direction: int) -> str:
        after = self.puzzle.board.moved(self.state, piece, direction)
        if after is None:
            beyond = self.puzzle.board.target(self.state, piece, direction) < 0
            return OUT_OF_BOUNDS if beyond else OCCUPIED
        self._length.after(self.state, after)
        self.state = after
        self.world.cells[0, piece] = after[piece]
        return MOVED

    def _look(self, state: Any) -> None:
        super()._look(state)
        nearer = 1 - self.distances[-1] / self.puzzle.c1
        progress = torch.tensor([min(max(nearer, 0.0), 1.0)])
        self.outcome = replace(self.outcome, progress=progress, reward=REWARD * progress)

    def solve(self) -> str:
        piece, direction = self.next_move()
        return f"move {self.name_of(piece)} {DIRECTIONS[direction]}"

    def name_of(self, piece: int) -> str:
        """Return the name of a piece, by its drawn shape if the configuration shows a drawing."""
        color, shape = self.puzzle.geoms[piece]
        drawn = self._drawn and shape != "tile"
        return f"{color} {drawn_shape(shape)}" if drawn else self.puzzle.name_of[piece]

    def next_move(self) -> tuple[int, int]:
        """Return the next move of a shortest solution."""
        if not self._plan or self.state != self._planned:
            found = solve(self.puzzle.board, self.state, self.puzzle.goal)
            assert found is not None
            self._plan = found[::-1]
        piece, direction = self._plan.pop()
        self._planned = self.puzzle.board.moved(self.state, piece, direction) or ()
        return piece, direction

    def measures(self) -> Mapping[str, float]:
        """Return the measures of the episode so far, as defined in ``docs/ivispar.md``."""
        c1, turns = self.puzzle.c1, len(self.distances) - 1
        solved = next((t for t, d in enumerate(self.distances) if d == 0), None)
        regret = self.curves()["regret"]
        return {
            "d_opt": float(self.distances[min(c1, turns)]),
            "r_end": regret[turns],
            "min_d": float(min(self.distances)),
            "progress_end": 100 * (1 - self.distances[-1] / c1),
            "solved_tight": float(solved is not None and solved <= max(2 * c1, c1 + 4)),
            "optimal": float(solved == c1),
            **{name: float(self.classes[name]) for name in COUNTED},
        }

    def curves(self) -> Mapping[str, Sequence[float]]:
        """Return the regret after each turn up to the limit: the distance to the goal in excess of
        a shortest solution, constant after the end of the episode.
        """
        regret, start = [0.0], self.distances[0]
        for turn in range(1, self.limit + 1):
            over = turn >= len(self.distances) or 0 in self.distances[:turn]
            regret.append(regret[-1] if over else float(self.distances[turn] - (start - turn)))
        return {"regret": regret}

    def get_state(self) -> np.ndarray:
        """Return the cell of each piece, (K,)."""
        return np.array(self.state)

    def capture(self) -> Mapping[str, np.ndarray]:
        """Return the images of the configured cameras, each (H, W, 3) uint8."""
        return {view: self._view(view) for view in self.config.cameras}

    def look(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return views by name: images (H, W, 3) uint8, or text."""
        return {name: self._view(name) for name in names}

    def _view(self, name: str) -> Any:
        view = VIEWS[name]
        cells = self.puzzle.goal if view.goal else self.state
        if view.base == "text":
            return text_view(self.puzzle, cells)
        mark = Marked.GOAL if view.goal else Marked.ACTIVE
        return draw_view(view, self.puzzle, cells, mark, self.episode.seed)


COUNTED = ("effective", "ineffective", *dict.fromkeys(CLASSES.values()))


class ListingEnv(BoardEnv):
    """Environment in which one command lists all pieces with their cells."""

    listing = True

    def start(self, episode: SymbolicEpisode) -> None:
        super().start(episode)
        self._precision = self._recall = 0.0
        self.goal = Set((Listed(),))

    @property
    def prompt(self) -> TextPrompt:
        """Prompt of the episode."""
        prompt = super().prompt
        return replace(prompt, about={**prompt.about, "task": "listing"})

    def apply(self, text: str | int) -> tuple[bool, str, Mapping[str, str]]:
        """Compare a listing with the board."""
        given = read_listing(str(text), self.colors, self.shapes, self._drawn)
        if isinstance(given, MoveCommand):
            self.classes["illegal"] += 1
            return False, given.code, given.args
        geoms = zip(self.state, self.puzzle.geoms, strict=True)
        there = {(cell_name(cell, self.puzzle.size), *geom) for cell, geom in geoms}
        right = len(given & there)
        self._precision, self._recall = right / len(given), right / len(there)
        self.world.listed[0] = right / len(given | there)
        return True, LISTED, {}

    def _look(self, state: Any) -> None:
        SymbolicEnv._look(self, state)

    def solve(self) -> str:
        """Return the listing of all pieces."""
        cells = [cell_name(cell, self.puzzle.size) for cell in self.state]
        return "; ".join(sorted(f"{cell} {self.name_of(k)}" for k, cell in enumerate(cells)))

    def measures(self) -> Mapping[str, float]:
        """Return precision and recall of the listing, and whether it is exact."""
        shares = {"precision": self._precision, "recall": self._recall}
        return {**shares, "exact": float(self.world.listed[0] == 1.0)}

    def curves(self) -> Mapping[str, Sequence[float]]:
        """Return no curves, as there is one turn."""
        return {}
