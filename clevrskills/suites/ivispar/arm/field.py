"""Geometry of the board on the table: cells, camera, bodies of pieces and mat."""

from __future__ import annotations

from math import pi

from clevrskills.sim.body import Body
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.sim.setting import TABLETOP, Setting
from clevrskills.suites.ivispar.boards import Geom

SIZE = 4
"""Cells in a row."""
PITCH_M = 0.10
MIDDLE_M = (round(ROBOTS["xarm6"].base_position[0] + 0.44, 3), 0.0)
"""World x and y of the board's center; all cells are within 0.61 m of the base."""
PIECE_M, HEIGHT_M = 0.056, 0.046
"""Width and height of the pieces; their flat tops are at least 0.032 m wide."""
DENSITY = 500.0
_FORMS = {
    **{"cube": "cube", "sphere": "flattened ball", "pyramid": "frustum"},
    **{"cylinder": "cylinder", "cone": "cone frustum", "prism": "hexagonal prism"},
}
_MAT_M, _DARK_M = 0.0006, 0.001
_MARGIN_M = 0.02
_EYE_M = 0.75

SETTING = Setting(
    "board",
    {
        "board_camera": FixedCamera(
            (*MIDDLE_M, _EYE_M), (*MIDDLE_M, 0.0), pi / 4, up=(-1.0, 0.0, 0.0)
        ),
        **TABLETOP.cameras,
    },
    watch=("base_camera", "hand_camera"),
)
"""Table of ClevrSkills with an additional overhead camera. Columns run along world +y, rows along
world -x: to the right and away in the image of the base camera."""


def place_of(cell: int) -> tuple[float, float]:
    """Return the world x and y of the center of a cell."""
    row, column = divmod(cell, SIZE)
    half = (SIZE - 1) / 2
    return MIDDLE_M[0] - (row - half) * PITCH_M, MIDDLE_M[1] + (column - half) * PITCH_M


def cell_at(x_m: float, y_m: float) -> int | None:
    """Return the cell at a position; ``None``: off the board."""
    row = round((MIDDLE_M[0] - x_m) / PITCH_M + (SIZE - 1) / 2)
    column = round((y_m - MIDDLE_M[1]) / PITCH_M + (SIZE - 1) / 2)
    inside = 0 <= row < SIZE and 0 <= column < SIZE
    return row * SIZE + column if inside else None


def piece(number: int, geom: Geom, cell: int) -> Body:
    """Return the body of a piece on a cell."""
    color, shape = geom
    size = (PIECE_M, PIECE_M, HEIGHT_M)
    pose = (*place_of(cell), HEIGHT_M / 2, 1.0, 0.0, 0.0, 0.0)
    texture = f"ivispar/{color}"
    return Body(f"piece_{number}", _FORMS[shape], texture, pose, size, density=DENSITY, noun=shape)


def mat() -> list[Body]:
    """Return the visual bodies of the board: a light mat with dark cells."""
    side_m = SIZE * PITCH_M + _MARGIN_M
    found = [_printed("mat", MIDDLE_M, side_m, _MAT_M, "ivispar/light")]
    dark = [cell for cell in range(SIZE * SIZE) if sum(divmod(cell, SIZE)) % 2 == 0]
    for number, cell in enumerate(dark):
        found.append(_printed(f"cell_{number}", place_of(cell), PITCH_M, _DARK_M, "ivispar/dark"))
    return found


def _printed(
    key: str, place_m: tuple[float, float], side_m: float, height_m: float, texture: str
) -> Body:
    pose = (*place_m, height_m / 2, 1.0, 0.0, 0.0, 0.0)
    size = (side_m, side_m, height_m)
    return Body(key, "cube", texture, pose, size, static=True, ghost=True, noun="board")
