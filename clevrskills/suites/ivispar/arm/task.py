"""Task of the arm: the boards of ``geoms`` with up to nine pieces, on the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

from clevrskills.core.episode import FROZEN
from clevrskills.core.goal.logical import Keeping, Set
from clevrskills.core.goal.predicate import Predicate
from clevrskills.sim.setting import Setting
from clevrskills.suites.ivispar.arm.field import HEIGHT_M, SETTING, SIZE, mat, piece, place_of
from clevrskills.suites.ivispar.arm.predicates import RULES, Legal, RestsAtCell
from clevrskills.suites.ivispar.board import cell_name
from clevrskills.suites.ivispar.boards import Geom, Puzzle, arm_board, draw, limit
from clevrskills.tasks.arguments import Allowed
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, Layout

KEY = "geoms_arm"
SPLITS = ("train", "val", "base", "interference")
MOST_PIECES = 9
STEPS_PER_TURN = 60
"""Control steps per turn in the limit of episodes without turns."""
_NONE = -1


@dataclass(kw_only=True, eq=False)
class GeomsArm(Task):
    """All pieces are slid to their cells, one cell at a time."""

    # consequence of illegal moves, one of :data:`~clevrskills.suites.ivispar.arm.predicates.RULES`
    rules: tuple[str, ...] = field(default=RULES[:1], metadata={"allowed": Allowed(RULES, False)})

    key = KEY
    suite: ClassVar[str] = "ivispar"
    level = "arm"
    sentence = "Move the pieces on the table, one by one cell at a time, until all are as shown"
    predicates = (Keeping, Set, RestsAtCell, Legal)
    slots = (*(f"piece_{k}" for k in range(MOST_PIECES)), *(body.key for body in mat()))
    max_steps = 20 * STEPS_PER_TURN
    setting: ClassVar[Setting] = SETTING

    @classmethod
    def splits(cls) -> tuple[str, ...]:
        return SPLITS

    @property
    def all_robots(self) -> tuple[str, ...]:
        return self.robots

    def in_split(self, name: str) -> GeomsArm:
        self.board_of(0, 0, name)
        return self

    def draw(self, seed: int, attempt: int, split: str) -> tuple[Layout, EpisodeRng]:
        """Draw the layout of a seed, as :class:`~clevrskills.tasks.base.Task`."""
        rng = self.rng(seed, attempt, "train")
        return self._laid_out(self.board_of(seed, attempt, split), split), rng

    def board_of(self, seed: int, attempt: int, split: str) -> Puzzle:
        """Return the puzzle of a seed; frozen ones are those of ``geoms`` with at most nine pieces,
        as far as there are.
        """
        of = split if split == "interference" else "base"
        number = seed - FROZEN.start
        twin = arm_board(split, number)
        if twin is not None and attempt == 0:
            seed = FROZEN.start + twin
            entropy = (seed, crc32(b"geoms"), crc32(split.encode()))
            return draw(of, seed, np.random.default_rng(entropy))
        drawn = (seed, crc32(KEY.encode()), crc32(split.encode()), attempt)
        return draw(f"arm {of}", seed, np.random.default_rng(drawn))

    def _laid_out(self, board: Puzzle, split: str) -> Layout:
        bodies = [
            piece(k, geom, cell)
            for k, (geom, cell) in enumerate(zip(board.geoms, board.start, strict=True))
        ]
        spare = [None] * (MOST_PIECES - len(bodies))
        goal = np.full(MOST_PIECES, _NONE)
        goal[: len(bodies)] = board.goal
        far = np.zeros(MOST_PIECES)
        apart = board.board.manhattan
        far[: len(bodies)] = [apart[a][b] for a, b in zip(board.start, board.goal, strict=True)]
        of = split if split == "interference" else "base"
        roles = {
            "goal": goal,
            "far": far.astype(np.float32),
            "turns": np.array(limit(of, board.c1)),
            "c1": np.array(board.c1),
            "c2": np.array(board.c2),
        }
        return Layout((*bodies, *spare, *mat()), roles)

    def layout(self, rng: EpisodeRng) -> Layout:
        seed = FROZEN.start + int(rng.roles.integers(80))
        return self._laid_out(draw("arm base", seed, rng.places), "base")

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        cells = roles["goal"]
        places = torch.tensor([(*place_of(c), HEIGHT_M / 2) for c in range(SIZE * SIZE)])
        spots = places.to(cells.device)[cells.clamp(min=0)]  # (B, n, 3)
        numbers = torch.arange(MOST_PIECES, device=cells.device).expand_as(cells)
        parts = tuple(
            RestsAtCell(numbers[:, k].clone(), spots[:, k], weight=roles["far"][:, k])
            for k in range(MOST_PIECES)
        )
        veto = torch.full_like(cells[:, 0], "strict" in self.rules, dtype=torch.bool)
        pieces = torch.where(cells >= 0, numbers, _NONE)
        return Keeping(Set(parts, cells >= 0), Legal(pieces, veto))

    def prompts(self, layout: Layout) -> Sequence[str]:
        cells = [int(cell) for cell in layout.roles["goal"] if cell >= 0]
        named = ", ".join(f"{{obj:piece_{k}}} to {cell_name(c, SIZE)}" for k, c in enumerate(cells))
        rule = "one piece at a time, by one cell, into a free one"
        return [
            f"Move the pieces, {rule}: {named}",
            f"Move the pieces, {rule}, until the board looks like {{ks:{len(cells)}}}",
        ]


def geoms_of(layout: Layout) -> list[Geom]:
    """Return color and shape of each piece of a layout."""
    pieces = [body for body in layout.bodies[:MOST_PIECES] if body]
    return [(body.color, body.noun) for body in pieces]
