"""``clevrskills gallery``: video and cards of one solved episode of every task."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import (
    RATE,
    Suite,
    TaskInfo,
    all_levels,
    all_robots,
    all_splits,
    find_suite,
    image_views,
    load_suite,
)
from clevrskills.dataset_tools.view.page_data import PLACEHOLDER
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import TaskArgs, check_names, select_tasks
from clevrskills.jobs.files import storage_errors

SEEDS = 20
"""Maximum number of seeds tried for each task."""
TILE_PX, GAP_PX, THUMB_PX, FONT_PX = 256, 8, 56, 15
CARD_PX = (2 * TILE_PX + 3 * GAP_PX, TILE_PX + 2 * GAP_PX + 150)
INK, PAPER, PALE = (20, 24, 28), (255, 255, 255), (110, 116, 122)
LABEL_PX = 20
TURNS_HZ = 2
"""Frame rate of turns."""
HOLD_STEPS = 20
"""Number of repeated last frames of the longest episode."""


@dataclass(kw_only=True)
class GalleryArgs(TaskArgs):
    """Record one solved episode of some or all tasks: a grid video and a sheet of prompts and
    images.
    """

    seed: int = 0
    """Seed of the episodes; the next one if the oracle fails."""
    split: str | None = None
    """Split of the episodes, e.g. train or test; by default the suite's first split."""
    robot: str | None = None
    """Robot, e.g. panda; by default the suite's first one."""
    out: Path | None = None
    """Folder for gallery.mp4, gallery.jpg and a card of each task."""
    package: Path | None = None
    """Folder of your own distribution, whose tasks are shown; --out is then its folder gallery by
    default."""


@dataclass(frozen=True)
class Solved:
    """A solved episode."""

    key: str
    level: str
    seed: int
    prompt: str
    parts: tuple[str | np.ndarray, ...]  # words and images (256, 256, 3) uint8 of the prompt
    frames: tuple[np.ndarray, ...]  # images of the suite's first camera, (256, 256, 3) uint8


def gallery(args: GalleryArgs) -> int:
    """Write video, sheet and cards; return exit code 0.

    Raises:
        ClevrSkillsError: An unknown name, no renderer, or a task was not solved.
    """
    from rich.progress import track

    from clevrskills.core.registry import OwnDistribution
    from clevrskills.sim.render.video import VideoWriter

    own = OwnDistribution.at(args.package) if args.package else None
    out = args.out or (own.folder / "gallery" if own else None)
    if out is None:
        raise ClevrSkillsError("name a folder with --out, or a distribution with --package")
    named = own.select(args.tasks) if own else args.tasks
    suite = find_suite(None, named)
    keys = select_tasks(all_levels(suite), named, args.level) or list(suite.tasks)
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    watched = track(keys, "solving", transient=True)
    try:
        episodes = [solve(key, args.seed, args.split, args.robot, suite) for key in watched]
    except BaseException:
        with contextlib.suppress(OSError):  # not empty
            out.rmdir()
        raise
    for episode in episodes:
        card(episode).save(out / f"{episode.key}.jpg", quality=88)
    sheet([card(e) for e in episodes]).save(out / "gallery.jpg", quality=85)
    grid = list(_grid(episodes))
    height, width = grid[0].shape[:2]
    fps = _interface(suite.tasks[keys[0]]).spec.get(RATE, TURNS_HZ)
    video = VideoWriter(out / "gallery.mp4", width, height, fps)
    for frame in grid:
        video.write(frame)
    video.close()
    print(f"{out / 'gallery.mp4'}, {out / 'gallery.jpg'}: {len(episodes)} tasks")
    return 0


def solve(
    key: str,
    seed: int,
    split: str | None = None,
    robot: str | None = None,
    suite: Suite | None = None,
) -> Solved:
    """Record the first episode that the oracle solves, starting at a seed.

    Raises:
        ClevrSkillsError: It solves none of :data:`SEEDS` seeds.
    """
    suite = suite or load_suite()
    check_names(split=((split,), all_splits(suite)), robot=((robot,), all_robots(suite)))
    task = suite.tasks[key]
    camera, interface = image_views(task.views)[0], _interface(task)
    split, robot = split or next(iter(task.splits)), robot or task.robots[0]
    env = suite.make(EnvConfig(key, split, robot, cameras=(camera,)))
    oracle, reason = suite.oracle(env, interface), ""
    try:
        for tried in range(seed, seed + SEEDS):
            drawn = suite.draw(key, split, tried, robot=robot, wording=None)
            env.reset(options={"episode": drawn})
            oracle.reset()
            frames = [env.capture()[camera]]

            def film(*_: object, frames: list[np.ndarray] = frames) -> None:
                frames.append(env.capture()[camera])

            reason, _ = Rollout(env, actuator=interface.begin(env)).run(oracle.act, film)
            if not reason:
                prompt = env.prompt
                images = prompt.images()
                parts = tuple(
                    images[part] if part in images else prompt.plain(part)
                    for part in PLACEHOLDER.split(prompt.text)
                )
                return Solved(key, env.task.level, tried, prompt.plain(), parts, tuple(frames))
    finally:
        env.close()
    raise ClevrSkillsError(f"{key} was not solved with seeds {seed} to {tried}: {reason}")


def _interface(task: TaskInfo) -> Interface:
    """Return the interface of control steps, else the default one."""
    known = task.interfaces.values()
    return next((one for one in known if RATE in one.spec), next(iter(known)))


def card(episode: Solved) -> Image.Image:
    """Return a card with prompt, first and last image of an episode."""
    image = Image.new("RGB", CARD_PX, PAPER)
    draw = ImageDraw.Draw(image)
    draw.text((GAP_PX, GAP_PX), f"{episode.key}", INK, _font(FONT_PX + 2))
    right = CARD_PX[0] - GAP_PX
    draw.text((right, GAP_PX), episode.level, PALE, _font(FONT_PX), anchor="ra")
    _write(image, draw, episode.parts, GAP_PX + 26)
    top = CARD_PX[1] - TILE_PX - GAP_PX
    for k, frame in enumerate((episode.frames[0], episode.frames[-1])):
        image.paste(Image.fromarray(frame), (GAP_PX + k * (TILE_PX + GAP_PX), top))
    return image


def _write(
    image: Image.Image, draw: ImageDraw.ImageDraw, parts: Sequence[str | np.ndarray], top: int
) -> None:
    """Draw words and images with line breaks."""
    font = _font(FONT_PX)
    pictures = sum(not isinstance(part, str) for part in parts)
    thumb = THUMB_PX if pictures <= 6 else THUMB_PX * 2 // 3
    x, y = GAP_PX, top
    line = thumb + 4 if pictures else FONT_PX + 6
    for part in parts:
        words: list[str | np.ndarray] = list(part.split()) if isinstance(part, str) else [part]
        for word in words:
            wide = draw.textlength(word + " ", font) if isinstance(word, str) else thumb + 5
            if x + wide > CARD_PX[0] - GAP_PX:
                x, y = GAP_PX, y + line
            if isinstance(word, str):
                draw.text((x, y + (line - FONT_PX) // 2), word, INK, font)
            else:
                image.paste(Image.fromarray(word).resize((thumb, thumb)), (int(x), y))
            x += int(wide)


def sheet(cards: Sequence[Image.Image], columns: int = 4) -> Image.Image:
    """Return a grid of images of one size."""
    width, height = cards[0].size
    rows = -(-len(cards) // columns)
    whole = Image.new("RGB", (columns * width, rows * height), PAPER)
    for k, one in enumerate(cards):
        whole.paste(one, (k % columns * width, k // columns * height))
    return whole


def _grid(episodes: Sequence[Solved]) -> Iterator[np.ndarray]:
    """Yield the frames of the video; episodes that have ended show their last frame."""
    for t in range(max(len(e.frames) for e in episodes) + HOLD_STEPS):
        yield tiles(episodes, [min(t, len(e.frames) - 1) for e in episodes])


def tiles(episodes: Sequence[Solved], moments: Sequence[int], tile_px: int = 192) -> np.ndarray:
    """Return a grid of labeled frames of episodes, (H, W, 3) uint8."""
    labeled = []
    for episode, moment in zip(episodes, moments, strict=True):
        tile, frame = _label(episode.key, tile_px).copy(), Image.fromarray(episode.frames[moment])
        tile.paste(frame.resize((tile_px, tile_px), Image.Resampling.BOX), (0, LABEL_PX))
        labeled.append(tile)
    return np.asarray(sheet(labeled, columns=int(np.ceil(np.sqrt(1.4 * len(episodes))))))


@cache
def _label(text: str, width: int) -> Image.Image:
    """Return a tile with a label and space for a frame."""
    tile = Image.new("RGB", (width, LABEL_PX + width), PAPER)
    font = _font(min(13, width // 11))
    ImageDraw.Draw(tile).text((width // 2, LABEL_PX // 2), text, INK, font, anchor="mm")
    return tile


def _font(size_px: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size_px)
