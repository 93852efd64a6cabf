"""Environment of the arm: board state, turns, rules and measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.jobs.arguments import check_names
from clevrskills.predicates import GoalState
from clevrskills.sim.prompt import Prompt
from clevrskills.suites.ivispar.arm.field import SIZE, cell_at
from clevrskills.suites.ivispar.arm.task import MOST_PIECES, STEPS_PER_TURN, geoms_of
from clevrskills.suites.ivispar.board import State
from clevrskills.suites.ivispar.boards import Puzzle, palette
from clevrskills.suites.ivispar.views import VIEWS, Marked, draw_view, text_view

KEPT = "1/"
"""Prefix of the rules in the goal state."""
BESIDE = -1
"""Cell of a piece that is off the board."""


class GeomsArmEnv(ClevrSkillsEnv):
    """Environment of the task ``geoms_arm``.

    Args:
        task_key: Key of the task.
        board_views: Views of the board that :meth:`capture` draws besides the camera images.
        kwargs: Arguments of :class:`~clevrskills.envs.environment.ClevrSkillsEnv`.

    Attributes:
        turns: Number of turns taken.
        classes: Number of turns by class.
        disturbance_m: Maximum displacement of another piece in a turn.
    """

    listing = False

    def __init__(self, task_key: str, *, board_views: Sequence[str] = (), **kwargs: Any) -> None:
        self.board_views = tuple(board_views)
        super().__init__(task_key, **kwargs)

    def _start(self, options: dict[str, Any]) -> None:
        super()._start(options)
        self.turns, self.classes, self.disturbance_m = 0, Counter[str](), 0.0
        layout = self.layouts[0]
        goal = tuple(int(cell) for cell in layout.roles["goal"] if cell >= 0)
        self.puzzle = Puzzle(SIZE, geoms_of(layout), self.state, goal)
        self.colors, self.shapes = palette("base")

    @property
    def turn_limit(self) -> int:
        """Maximum number of turns."""
        return int(self.layouts[0].roles["turns"])

    def _default_limit(self) -> int:
        return STEPS_PER_TURN * self.turn_limit  # for episodes without turns

    @property
    def prompt(self) -> Prompt:
        """Prompt of the episode, with the colors and shapes of its set."""
        colors, shapes = palette("base")
        about = {"task": "geoms", "size": SIZE, "colors": colors, "shapes": shapes}
        return replace(super().prompt, about=about)

    @property
    def state(self) -> State:
        """Nearest cell of each piece, or :data:`BESIDE`."""
        pieces = [k for k, body in enumerate(self.layouts[0].bodies[:MOST_PIECES]) if body]
        places = self.world.body_pose[0, pieces, :2].tolist()
        cells = (cell_at(x, y) for x, y in places)
        return tuple(BESIDE if cell is None else cell for cell in cells)

    @property
    def rules_kept(self) -> GoalState:
        """State of the rules, see :class:`~.predicates.Legal`."""
        state = self.outcome.state
        return {key.removeprefix(KEPT): v for key, v in state.items() if key.startswith(KEPT)}

    def name_of(self, piece: int) -> str:
        """Return the name of a piece, e.g. ``red cube``."""
        return str(self.puzzle.name_of[piece])

    def capture(self) -> dict[str, np.ndarray]:
        """Return an image (H, W, 3) uint8 of every camera and every board view."""
        images = super().capture() if self._camera_names else {}
        return {**images, **{name: self._drawn(name) for name in self.board_views}}

    def _drawn(self, name: str) -> np.ndarray:
        view = VIEWS[name]
        cells = self.puzzle.goal if view.goal else self.state
        mark = Marked.GOAL if view.goal else Marked.ACTIVE
        return draw_view(view, self.puzzle, cells, mark, self.episode_seed)

    def look(self, views: Sequence[str]) -> Mapping[str, Any]:
        """Return text views of the board, with each piece on its nearest cell.

        Raises:
            UnknownNameError: A view is unknown.
        """
        check_names(view=(views, [name for name, view in VIEWS.items() if view.base == "text"]))
        cells = {False: self.state, True: self.puzzle.goal}
        return {view: text_view(self.puzzle, cells[VIEWS[view].goal]) for view in views}

    def measures(self) -> dict[str, float]:
        """Return the measures of the episode so far."""
        kept, roles = self.rules_kept, self.layouts[0].roles
        solved, c1 = bool(self.outcome.holds[0]), int(roles["c1"])
        found = {
            "legal_moves": float(kept["moves"][0]),
            "illegal_transitions": float(kept["illegal"][0]),
            "lost": float(kept["lost"][0]),
        }
        if not self.turns:
            return found
        return {
            **found,
            "disturbance_mm": 1000 * self.disturbance_m,
            "solved_tight": float(solved and self.turns <= max(2 * c1, c1 + 4)),
            "optimal": float(solved and self.turns == c1),
            **{name: float(count) for name, count in self.classes.items()},
        }
