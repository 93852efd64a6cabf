"""Sheets of what AsgardBench draws: all things, pairs of states, rooms."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clevrskills.assets.solids import box
from clevrskills.suites.asgardbench.drawing.house import HouseScene
from clevrskills.suites.asgardbench.drawing.stage import Stage, model
from clevrskills.suites.asgardbench.models.catalogue import FIXTURES, STATES, THINGS
from clevrskills.suites.asgardbench.models.model import Model, Piece, State
from clevrskills.suites.asgardbench.models.surfaces import Surface
from clevrskills.suites.asgardbench.rules.camera import aimed
from clevrskills.suites.asgardbench.rules.world import World
from clevrskills.suites.asgardbench.tasks.instances import Variant
from clevrskills.suites.asgardbench.tasks.rooms import BATHROOMS, KITCHENS, LIVING_ROOMS, room
from clevrskills.suites.asgardbench.tasks.setup import set_up

TILE_PX, COLUMNS, ROOM_PX = 144, 10, 480
INK = (40, 40, 44)
FAMILIES = {"kitchen": "coffee", "bathroom": "clean_mirror", "living": "turn_on_tv"}


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
    """All rooms of the split ``test``, each from its front to its north wall."""
    labels = (*KITCHENS, *BATHROOMS, *LIVING_ROOMS)
    columns = 6
    size = ROOM_PX // 2
    sheet = Image.new("RGB", (columns * size, -(-len(labels) // columns) * size))
    scene = HouseScene(size_px=2 * size)
    for k, label in enumerate(labels):
        made = room(label)
        things = set_up(FAMILIES[made.kind], Variant(label), np.random.default_rng(label))
        world = World(made, things)
        aside = 0.35 * made.width_m * (1 if made.fixtures[0].x_m < 0 else -1)
        south = any(f.type == "CounterTop" and f.yaw_rad > 3 for f in made.fixtures)
        eye = (aside, (0.75 if south else 0.2) - made.depth_m / 2, 1.58)
        world.camera = aimed(eye, (-0.4 * aside, made.depth_m / 2, 0.85))
        small = Image.fromarray(scene.image(world)).resize((size, size), Image.Resampling.LANCZOS)
        sheet.paste(small, (k % columns * size, k // columns * size))
    return sheet


def _save(sheet: Image.Image, path: Path) -> None:
    sheet.save(path, quality=78, method=6)
