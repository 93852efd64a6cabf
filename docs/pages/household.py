"""Images for the page of AsgardBench: all objects, pairs of states, rooms, solved tasks."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clevrskills.assets.solids import box
from clevrskills.suites.asgardbench.drawing.house import HouseScene
from clevrskills.suites.asgardbench.drawing.stage import RenderStage, model
from clevrskills.suites.asgardbench.models.catalogue import STATES, fixture_builders, item_builders
from clevrskills.suites.asgardbench.models.model import FixtureModel, Piece, State
from clevrskills.suites.asgardbench.models.surfaces import Appearance
from clevrskills.suites.asgardbench.rules.camera import aimed
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import Household
from clevrskills.suites.asgardbench.tasks.instances import TABLE, Variant
from clevrskills.suites.asgardbench.tasks.rooms import BATHROOMS, KITCHENS, LIVING_ROOMS, room
from clevrskills.suites.asgardbench.tasks.setup import set_up
from clevrskills.suites.asgardbench.tasks.solver import solve
from pages import DOCS

TILE_PX, COLUMNS, ROOM_PX = 118, 10, 400
FRAME_PX, MOMENTS = 128, 5
"""Size of an image of a strip, and images per strip."""
FILM_PX, FILM_MS, FILM_HOLD_MS = 300, 550, 2500
FILMED = ("cook_egg", 3)
SHOWN = {task: 0 for task in TABLE} | {"coffee": 3, "cook_potato": 3, "put_away_dishes": 6}
"""Instance shown of each family."""
INK = (40, 40, 44)
FAMILIES = {"kitchen": "coffee", "bathroom": "clean_mirror", "living": "turn_on_tv"}


def write(folder: Path = DOCS) -> None:
    """Write the sheets, the strips and the film."""
    shown = [(kind, State()) for kind in (*item_builders(), *fixture_builders())]
    _save(_photos(shown), folder / "household_objects.webp")
    pairs = [(kind, state) for kind, states in STATES.items() for state in (State(), *states)]
    _save(_photos(pairs), folder / "household_states.webp")
    _save(_rooms(), folder / "household_rooms.webp")
    scene = HouseScene(size_px=4 * FRAME_PX)
    _save(_strips(scene), folder / "household_strips.webp")
    frames = _film(scene)
    frames[0].save(
        folder / "household_film.webp", save_all=True, append_images=frames[1:], loop=0,
        duration=[*[FILM_MS] * (len(frames) - 1), FILM_HOLD_MS], quality=40, method=6,
    )  # fmt: skip


def _solved(task: str, index: int) -> Iterator[tuple[str, Household]]:
    """Yield the solver's commands with the world after each; first an empty command."""
    variant = TABLE[task][index]
    rng = np.random.default_rng((0, crc32(task.encode()), index))
    dirty = ("Mirror_1",) if task == "clean_mirror" else ()
    world = Household(room(variant.label), set_up(task, variant, rng), dirty)
    plan = solve(task, variant, world)
    yield "", world
    for command in plan:
        apply(world, *command.split())
        yield command, world


def _strips(scene: HouseScene) -> Image.Image:
    """Return five images along the solver's plan of each family, two families per row."""
    font = ImageFont.load_default(10)
    each, top = MOMENTS * FRAME_PX, 15
    sheet = Image.new("RGB", (2 * each + 8, -(-len(SHOWN) // 2) * (FRAME_PX + 2 * top)), (255,) * 3)
    pen = ImageDraw.Draw(sheet)
    for k, (task, index) in enumerate(SHOWN.items()):
        x, y = k % 2 * (each + 8), k // 2 * (FRAME_PX + 2 * top)
        pen.text((x + 2, y + 1), task, INK, font)
        length = sum(1 for _ in _solved(task, index))
        at = [round(n * (length - 1) / (MOMENTS - 1)) for n in range(MOMENTS)]
        for n, (command, world) in enumerate(_solved(task, index)):
            for column in (column for column, moment in enumerate(at) if moment == n):
                small = _small(scene.image(world), FRAME_PX)
                sheet.paste(small, (x + column * FRAME_PX, y + top))
                place = (x + column * FRAME_PX + 2, y + top + FRAME_PX + 1)
                pen.text(place, command or "start", INK, ImageFont.load_default(8))
    return sheet


def _film(scene: HouseScene) -> list[Image.Image]:
    """Return an image of each turn of a solved task, with its command."""
    font = ImageFont.load_default(13)
    frames = []
    for n, (command, world) in enumerate(_solved(*FILMED)):
        frame = Image.new("RGB", (FILM_PX, FILM_PX + 22), (255, 255, 255))
        frame.paste(_small(scene.image(world), FILM_PX), (0, 0))
        words = f"{n}  {command}" if n else "egg on a plate; the pan is dirty"
        ImageDraw.Draw(frame).text((6, FILM_PX + 2), words, INK, font)
        frames.append(frame)
    return frames


def _small(image: np.ndarray, size: int) -> Image.Image:
    return Image.fromarray(image).resize((size, size), Image.Resampling.LANCZOS)


def _photos(shown: Sequence[tuple[str, State]]) -> Image.Image:
    """Return a sheet with a labeled image of each object."""
    stage = RenderStage(1.5, 2 * TILE_PX)
    floor = FixtureModel(Piece(box(60000, 60000, 10, bottom=-10.2), Appearance((0.88, 0.86, 0.82))))
    font = ImageFont.load_default(11)
    rows = -(-len(shown) // COLUMNS)
    sheet = Image.new("RGB", (TILE_PX * COLUMNS, TILE_PX * rows), (255, 255, 255))
    for k, (kind, state) in enumerate(shown):
        stage.clear()
        stage.show_at("floor", floor, np.eye(4), State())
        low, high = model(kind, State()).bounds_m()
        stage.show("it", kind, (0, 0, -low[2]), state)
        (x, y, z), far = (high + low) / 2, float(np.linalg.norm(high - low))
        z -= low[2]
        if kind in fixture_builders():  # from where one sees into what opens
            stage.look((x + 0.55 * far, y - 1.15 * far, z + 0.6 * far), (x, y, z))
        else:
            stage.look((x - 0.4 * far, y - 0.8 * far, z + 0.75 * far), (x, y, z))
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
    """Return a sheet of all rooms of the split ``test``, each from its front to its north wall."""
    labels = (*KITCHENS, *BATHROOMS, *LIVING_ROOMS)
    columns = 6
    size = ROOM_PX // 2
    rows = -(-len(labels) // columns)
    sheet = Image.new("RGB", (columns * size, rows * size), (255, 255, 255))
    scene = HouseScene(size_px=2 * size)
    for k, label in enumerate(labels):
        made = room(label)
        items = set_up(FAMILIES[made.kind], Variant(label), np.random.default_rng(label))
        world = Household(made, items)
        aside = 0.35 * made.width_m * (1 if made.fixtures[0].x_m < 0 else -1)
        south = any(f.type == "CounterTop" and f.yaw_rad > 3 for f in made.fixtures)
        eye = (aside, (0.75 if south else 0.2) - made.depth_m / 2, 1.58)
        world.camera = aimed(eye, (-0.4 * aside, made.depth_m / 2, 0.85))
        small = Image.fromarray(scene.image(world)).resize((size, size), Image.Resampling.LANCZOS)
        sheet.paste(small, (k % columns * size, k // columns * size))
    return sheet


def _save(sheet: Image.Image, path: Path) -> None:
    sheet.save(path, quality=74, method=6)
