"""Sheets of what AsgardBench draws: all things, pairs of states, rooms."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clevrskills.assets.solids import box
from clevrskills.suites.asgardbench.models.catalogue import FIXTURES, STATES, THINGS
from clevrskills.suites.asgardbench.models.model import Model, Piece, State
from clevrskills.suites.asgardbench.drawing.room_scene import RoomScene
from clevrskills.suites.asgardbench.drawing.rooms import ROOM_KINDS, Placed, room
from clevrskills.suites.asgardbench.drawing.stage import Stage, model
from clevrskills.suites.asgardbench.models.surfaces import Surface

TILE_PX, COLUMNS, ROOM_PX = 144, 10, 480
INK = (40, 40, 44)
VIEWS = {
    "kitchen": ((0.2, -1.5, 1.58), (0.0, 1.8, 0.95)),
    "bathroom": ((0.3, -1.3, 1.58), (0.0, 1.5, 0.95)),
    "living_room": ((0.0, -1.9, 1.58), (0.0, 2.1, 0.7)),
}


def draw(folder: Path) -> None:
    """Write the three sheets."""
    shown = [(kind, State()) for kind in (*THINGS, *FIXTURES)]
    _save(_photos(shown), folder / "household_things.webp")
    pairs = [(kind, state) for kind, states in STATES.items() for state in (State(), *states)]
    _save(_photos(pairs), folder / "household_states.webp")
    _save(_rooms(), folder / "household_rooms.webp")


def _photos(shown: Sequence[tuple[str, State]]) -> Image.Image:
    """A labelled photo of each."""
    stage = Stage(1.5, 2 * TILE_PX)
    floor = Model((Piece(box(60000, 60000, 10, bottom=-11), Surface((0.88, 0.86, 0.82))),))
    font = ImageFont.load_default(11)
    rows = -(-len(shown) // COLUMNS)
    sheet = Image.new("RGB", (TILE_PX * COLUMNS, TILE_PX * rows), (255, 255, 255))
    for k, (kind, state) in enumerate(shown):
        stage.clear()
        stage.show_model("floor", floor, (0, 0, 0, 0), State())
        stage.show("it", kind, (0, 0, 0, 0), state)
        low, high = model(kind, State()).bounds_m()
        (x, y, z), far = (low + high) / 2, float(np.linalg.norm(high - low))
        stage.look((x - 0.45 * far, y - 0.85 * far, z + 0.55 * far), (x, y, z))
        tile = Image.fromarray(stage.image()).resize((TILE_PX, TILE_PX), Image.Resampling.LANCZOS)
        ImageDraw.Draw(tile).text((5, 3), " ".join((kind, *_words(state))), INK, font)
        sheet.paste(tile, (TILE_PX * (k % COLUMNS), TILE_PX * (k // COLUMNS)))
    return sheet


def _words(state: State) -> list[str]:
    return [
        str(value) if isinstance(value, str) else name
        for name, value in vars(state).items()
        if value
    ]


def _rooms() -> Image.Image:
    """Two rooms of each kind; in the first kitchen a mug is held."""
    sheet = Image.new("RGB", (3 * ROOM_PX, 2 * ROOM_PX))
    mug = Placed("Mug", "Mug", (0, 0, 0, 0), State(filled="coffee"))
    for column, kind in enumerate(ROOM_KINDS):
        for row in range(2):
            scene = RoomScene(room(kind, row + 1), size_px=2 * ROOM_PX)
            held = mug if kind == "kitchen" and row == 0 else None
            image = Image.fromarray(scene.image(*VIEWS[kind], held))
            small = image.resize((ROOM_PX, ROOM_PX), Image.Resampling.LANCZOS)
            sheet.paste(small, (column * ROOM_PX, row * ROOM_PX))
    return sheet


def _save(sheet: Image.Image, path: Path) -> None:
    sheet.save(path, quality=80, method=6)
