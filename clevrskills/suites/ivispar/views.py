"""Views of the current or goal board: 3D images, schematic drawings, text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clevrskills.suites.ivispar.board import State, cell_name
from clevrskills.suites.ivispar.boards import Puzzle
from clevrskills.suites.ivispar.schematic import WIDTH, draw_board

IMAGES = ("view3d", "schematic", "random3d", "top3d")
SINGLE = "single3d"
"""3D view of the goal (left) and the current board (right) in one image."""
LABELS = ("both", "edge", "cell", "none")


class Marked(Enum):
    """Caption and background color of a board in an image."""

    ACTIVE = ("active", (82, 138, 174))
    GOAL = ("goal", (100, 191, 106))
    PAST = ("past", (141, 153, 174))


@dataclass(frozen=True)
class BoardView:
    """Settings of a view."""

    base: str  # ``text``, one of :data:`IMAGES`, or :data:`SINGLE`
    # labels of cells, one of :data:`LABELS`: at the edge, on free cells, both
    labels: Literal["both", "edge", "cell", "none"] = "both"
    goal: bool = False  # whether the goal is shown instead of the current board

    @property
    def drawn(self) -> bool:
        """``True`` if shapes are drawn as outlines."""
        return self.base == "schematic"

    @property
    def name(self) -> str:
        """Name of the view, e.g. ``view3d-none@goal``."""
        labels = "" if self.labels == "both" else f"-{self.labels}"
        return self.base + labels + "@goal" * self.goal


def _all_views() -> dict[str, BoardView]:
    views = [BoardView("text", goal=goal) for goal in (False, True)]
    views += [BoardView(*entry) for entry in product(IMAGES, LABELS, (False, True))]  # type: ignore[arg-type]
    views.append(BoardView(SINGLE))
    return {view.name: view for view in views}


VIEWS: Mapping[str, BoardView] = _all_views()
"""All views by name."""


def text_view(puzzle: Puzzle, cells: State) -> str:
    """Return a board as text: a line ``<cell> <color> <shape>`` for each piece."""
    names = [cell_name(cell, puzzle.size) for cell in cells]
    return "\n".join(f"{cell} {name}" for cell, name in zip(names, puzzle.name_of, strict=True))


def draw_view(
    view: BoardView, puzzle: Puzzle, cells: State, mark: Marked, seed: int = 0
) -> np.ndarray:
    """Return an image of a board, (900, 1200, 3) uint8; :data:`SINGLE` is twice as wide.

    Args:
        view: The view.
        puzzle: The puzzle.
        cells: Cells of the pieces.
        mark: Caption and background.
        seed: Seed of the episode, for random cameras.

    Raises:
        ClevrSkillsError: The renderer for 3D views is not available.
    """
    if view.base == SINGLE:
        boards = (
            (BoardView("view3d"), puzzle.goal, Marked.GOAL),
            (BoardView("view3d"), cells, mark),
        )
        return np.hstack([draw_view(of, puzzle, there, shown) for of, there, shown in boards])
    if view.drawn:
        image, centers = draw_board(puzzle, cells, mark.value[1])
    else:
        from clevrskills.suites.ivispar.scene import board_scene

        camera = {"view3d": "front", "random3d": "random", "top3d": "top"}[view.base]
        image, centers = board_scene(puzzle.size).render(puzzle, cells, mark.value[1], camera, seed)
    canvas, size = Image.fromarray(image), puzzle.size
    pen = ImageDraw.Draw(canvas)
    if view.labels in ("both", "edge"):
        for k in range(size):
            letter, number = cell_name(k, size)[0], str(k + 1)
            _write(pen, _edge(centers, 0, k + 1, 1, k + 1), letter, 40, "white")
            _write(pen, _edge(centers, k + 1, 0, k + 1, 1), number, 40, "white")
    if view.labels in ("both", "cell"):
        for cell in set(range(size * size)) - set(cells):
            z, x = divmod(cell, size)
            ink = (70, 70, 70) if (x + z) % 2 or view.drawn else (210, 210, 210)
            _write(pen, centers[z + 1, x + 1], cell_name(cell, size), 30, ink)
    if not view.drawn and puzzle.geoms[0][1] == "tile":
        for (tile, _), cell in zip(puzzle.geoms, cells, strict=True):
            z, x = divmod(cell, size)
            _write(pen, centers[z + 1, x + 1], tile, 44, "white")
    _caption(pen, mark)
    return np.asarray(canvas)


def in_one(image: np.ndarray, past: Sequence[np.ndarray]) -> np.ndarray:
    """Return an image of goal and current board with up to two past boards below.

    Args:
        image: Current image of :data:`SINGLE`, (900, 2400, 3) uint8.
        past: Images of :data:`SINGLE` of past turns, the latest last and shown on the right.
    """
    if not past:
        return image
    boards = [as_past(seen[:, WIDTH:]) for seen in past]
    blank = np.zeros_like(boards[0])
    return np.vstack([image, np.hstack([blank] * (2 - len(boards)) + boards)])


def as_past(image: np.ndarray) -> np.ndarray:
    """Return the image of a board, (H, W, 3) uint8, marked as past."""
    image = image.copy()
    image[(image == Marked.ACTIVE.value[1]).all(-1)] = Marked.PAST.value[1]
    canvas = Image.fromarray(image)
    _caption(ImageDraw.Draw(canvas), Marked.PAST)
    return np.asarray(canvas)


def _caption(pen: ImageDraw.ImageDraw, mark: Marked) -> None:
    caption, color = mark.value
    box = (WIDTH - 210, 20, WIDTH - 20, 90)
    pen.rectangle(box, fill=color, outline="white", width=4)
    _write(pen, ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), caption, 44, "white")


def _edge(centers: np.ndarray, z: int, x: int, to_z: int, to_x: int) -> np.ndarray:
    """Return the position of a label beside the board."""
    return 0.7 * centers[z, x] + 0.3 * centers[to_z, to_x]


def _write(
    pen: ImageDraw.ImageDraw,
    place: np.ndarray | tuple[float, float],
    text: str,
    size: int,
    ink: str | tuple[int, int, int],
) -> None:
    x, y = (float(v) for v in place)
    pen.text((x, y), text, fill=ink, font=ImageFont.load_default(size), anchor="mm")
