"""Schematic drawing of a board from above: grid and outlines of the pieces."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clevrskills.suites.ivispar.board import State
from clevrskills.suites.ivispar.boards import Puzzle

WIDTH, HEIGHT = 1200, 900
"""Size of images, in pixels."""
INK = {
    **{"red": (214, 39, 40), "green": (44, 160, 44), "blue": (31, 87, 196)},
    **{"yellow": (240, 200, 20), "orange": (245, 130, 32), "purple": (128, 60, 170)},
}
"""Colors of the geoms."""
RINGS = ((44, 160, 44), (214, 39, 40), (31, 87, 196))
"""Colors of numbered tiles by the ring of their goal cell, from the outermost to the innermost."""

MARGIN_PX = 90
"""Margin above and below the board."""
FINE = 2
"""Supersampling factor."""


def draw_board(
    puzzle: Puzzle, cells: State, behind: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a board.

    Args:
        puzzle: The puzzle.
        cells: Cells of the pieces.
        behind: Color of the background.

    Returns:
        The image (900, 1200, 3) uint8, and the pixel coordinates (right, down) of cell centers by z
        and x, padded by one cell on each side, (n + 2, n + 2, 2).
    """
    n = puzzle.size
    pitch = (HEIGHT - 2 * MARGIN_PX) / n
    left = (WIDTH - n * pitch) / 2
    canvas = Image.new("RGB", (FINE * WIDTH, FINE * HEIGHT), behind)
    pen = ImageDraw.Draw(canvas)
    for row in range(n):
        for column in range(n):
            corner = left + column * pitch, MARGIN_PX + row * pitch
            box = [FINE * v for v in (*corner, corner[0] + pitch, corner[1] + pitch)]
            pen.rectangle(box, fill="white", outline="black", width=4 * FINE)
    x, z = np.meshgrid(np.arange(-1, n + 1), np.arange(-1, n + 1))
    right = left + (x + 0.5) * pitch
    down = HEIGHT - MARGIN_PX - (z + 0.5) * pitch
    centers = np.stack([right, down], axis=-1)
    for (first, shape), cell in zip(puzzle.geoms, cells, strict=True):
        middle = centers[cell // n + 1, cell % n + 1]
        if shape == "tile":
            _tile(pen, middle, pitch, int(first), n)
        else:
            _outline(pen, middle, 0.34 * pitch, shape, INK[first])
    return np.asarray(canvas.resize((WIDTH, HEIGHT), Image.Resampling.BOX)), centers


def _outline(
    pen: ImageDraw.ImageDraw, middle: np.ndarray, radius: float, shape: str, ink: tuple[int, ...]
) -> None:
    x, y, r = (FINE * float(v) for v in (*middle, radius))
    corners = {"cube": (4, 45), "pyramid": (3, -90), "cylinder": (6, 0), "prism": (4, 0)}
    if shape in corners:
        count, turn = corners[shape]
        angles = [turn * pi / 180 + 2 * pi * k / count for k in range(count)]
        wide = 0.62 if shape == "prism" else 1.0
        points = [(x + wide * r * cos(a), y + r * sin(a)) for a in angles]
        pen.polygon(points, fill=ink, outline="black", width=3 * FINE)
        return
    r *= 0.92
    pen.ellipse((x - r, y - r, x + r, y + r), fill=ink, outline="black", width=3 * FINE)
    if shape == "cone":  # a disc with a ring
        for part, fill in ((0.62, "white"), (0.4, ink)):
            box = (x - part * r, y - part * r, x + part * r, y + part * r)
            pen.ellipse(box, fill=fill, outline="black", width=2 * FINE)


def _tile(pen: ImageDraw.ImageDraw, middle: np.ndarray, pitch: float, tile: int, size: int) -> None:
    x, y, r = (FINE * float(v) for v in (*middle, 0.42 * pitch))
    pen.rounded_rectangle((x - r, y - r, x + r, y + r), r / 6, RINGS[ring(tile, size)], "black", 6)
    font = ImageFont.load_default(FINE * 0.4 * pitch)
    pen.text((x, y), str(tile), fill="white", font=font, anchor="mm")


def ring(tile: int, size: int) -> int:
    """Return the ring of a tile's goal cell: 0 is the outermost, 2 the maximum."""
    z, x = divmod(tile - 1, size)
    return min(x, z, size - 1 - x, size - 1 - z, 2)
