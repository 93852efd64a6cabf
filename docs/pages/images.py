"""Images of the pages: films of episodes, sheets of tasks and objects, a screenshot."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from imageio.v3 import imread
from PIL import Image, ImageDraw, ImageFont

from clevrskills.assets import pools
from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools.view.gallery import Solved, tiles
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_sampling import keystep_scenes
from clevrskills.evaluation.results import read_results, video_path
from clevrskills.sim.prompt_images import prompt_renderer
from clevrskills.solvers.oracle import Oracle
from pages import DOCS

SORT_SEED, LOOKS_SEED = 32, 4
FILMED = "checkpoint:zoo/compact-l0"
"""Policy that is filmed."""
MOMENTS = (0.0, 0.18, 0.38, 0.74, 1.0)
"""Fractions of the oracle's episode that are shown."""
COLUMNS, ROWS, TILE_PX = 12, 4, 128
FILM_TILE_PX, FILM_FRAMES, FILM_HOLD_MS, FILM_MS = 126, 20, 1200, 160
"""Size of a task in the film, number of frames, durations of the last and the other frames."""
SMALL_PX, THUMB_PX, GAP_PX, WIDTH_PX = 192, 60, 12, 1152
INK, PALE, PAPER, BOX = (20, 24, 28), (110, 116, 122), (255, 255, 255), (238, 242, 246)
VIEWER_PX = (1180, 846)
STOCK = ("PickCube-v1", "StackCube-v1", "PushCube-v1", "PegInsertionSide-v1")
OURS = ("stack", "sort", "balance", "swap_push")
"""Tasks of ManiSkill and of this package, side by side."""


def film(episodes: Sequence[Solved], name: str = "gallery.webp") -> None:
    """Write an animation of tasks, with all episodes scaled to the same duration."""
    frames = []
    for k in range(FILM_FRAMES):
        share = k / (FILM_FRAMES - 1)
        moments = [round(share * (len(episode.frames) - 1)) for episode in episodes]
        frames.append(Image.fromarray(tiles(episodes, moments, FILM_TILE_PX)))
    frames[0].save(
        DOCS / name, save_all=True, append_images=frames[1:], loop=0,
        duration=[*[FILM_MS] * (FILM_FRAMES - 1), FILM_HOLD_MS], quality=58, method=6,
    )  # fmt: skip


def policy() -> None:
    """Film the policy of the zoo."""
    film(acting(), "policy.webp")


def acting() -> Sequence[Solved]:
    """Return the first frozen test episode of each skill, as the policy does it."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = (sys.executable, "-m", "clevrskills", "evaluate", "--policy", FILMED)
        some = ("--level", "L0", "--split", "test", "--episodes", "1", "--video", "1")
        subprocess.run([*command, *some, "--out", run], check=True)
        shown = {result.task: result for result in read_results(run)}
        return [
            Solved(key, "L0", of.seed, "", (), tuple(imread(video_path(run, of.id))))
            for key in load_suite().tasks
            if (of := shown.get(key))
        ]


def sort() -> None:
    """Draw an episode of ``sort``."""
    task_sheet().save(DOCS / "sort.jpg", quality=85)


def objects() -> None:
    """Draw objects of both splits."""
    object_sheet().save(DOCS / "objects.jpg", quality=70)


def looks() -> None:
    """Draw tasks in all looks."""
    looks_sheet().save(DOCS / "looks.jpg", quality=58)


def task_sheet() -> Image.Image:
    """Return a sheet of a ``sort`` episode: prompt, start, goal tree, moments, goal image."""
    env = ClevrSkillsEnv("sort", obs_mode="none", render_backend="cpu", cameras=("base_camera",))
    env.reset(seed=SORT_SEED)
    oracle = Oracle(env)
    frames = [env.capture()["base_camera"]]
    while not oracle.done:
        env.step(oracle.act())
        frames.append(env.capture()["base_camera"])
    goal = keystep_scenes(env.goal, env.start, env.layouts[0])[-1].image(prompt_renderer())
    thumbs = {name: _scaled(image, THUMB_PX) for name, image in env.prompt.images().items()}

    sheet = Image.new("RGB", (WIDTH_PX, 660), PAPER)
    draw = ImageDraw.Draw(sheet)
    big, font = ImageFont.load_default(20), ImageFont.load_default(17)
    draw.text((0, THUMB_PX // 2), "Prompt", PALE, font, anchor="lm")
    _flow(sheet, draw, env.prompt.text, thumbs, (90, 0), big)

    top = 84
    draw.text((0, top), "Start", PALE, font)
    sheet.paste(_scaled(frames[0], 320), (0, top + 28))
    left = 400
    draw.text((left, top), "Goal tree", PALE, font)
    trunk = top + 28 + 160
    root = (left, trunk - 34, left + 230, trunk + 34)
    draw.rounded_rectangle(root, 8, BOX)
    draw.text((left + 14, trunk - 14), "set", INK, big, anchor="lm")
    draw.text((left + 14, trunk + 14), "all hold, in any order", PALE, font, anchor="lm")
    leaves = [node for node in env.nodes if node["leaf"] is not None]
    height = 320 // len(leaves)
    for k, leaf in enumerate(leaves):
        y, x = top + 28 + k * height, left + 320
        middle = y + (height - 8) // 2
        fork = (root[2] + x) // 2
        draw.line([(root[2], trunk), (fork, trunk), (fork, middle), (x, middle)], PALE, 2)
        draw.rounded_rectangle((x, y, WIDTH_PX, y + height - 8), 8, BOX)
        draw.text((x + 14, middle), "inside", INK, big, anchor="lm")
        _flow(sheet, draw, leaf["text"], thumbs, (x + 110, middle - THUMB_PX // 2), font)

    top += 28 + 320 + GAP_PX
    shown = [*(frames[round(moment * (len(frames) - 1))] for moment in MOMENTS), goal]
    captions = [f"step {round(moment * (len(frames) - 1))}" for moment in MOMENTS]
    for k, (image, caption) in enumerate(zip(shown, [*captions, "goal image"], strict=True)):
        draw.text((k * SMALL_PX + 2, top), caption, PALE, font)
        sheet.paste(_scaled(image, SMALL_PX - 4), (k * SMALL_PX, top + 26))
    return sheet


def _flow(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    text: str,
    thumbs: dict[str, Image.Image],
    corner: tuple[int, int],
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
) -> None:
    """Draw words and images in lines, starting at a corner."""
    x, y = corner
    for word in re.findall(r"\{[^}]+\}|[^\s{]+", text):
        width = THUMB_PX if word in thumbs else int(draw.textlength(word, font))
        if x + width > WIDTH_PX:
            x, y = corner[0], y + THUMB_PX + 6
        if word in thumbs:
            sheet.paste(thumbs[word], (x, y))
        else:
            draw.text((x, y + THUMB_PX // 2), word, INK, font, anchor="lm")
        x += width + 8


def _scaled(image: np.ndarray, size_px: int) -> Image.Image:
    return Image.fromarray(image).resize((size_px, size_px), Image.Resampling.LANCZOS)


def object_sheet() -> Image.Image:
    """Return a sheet of objects of both splits, in textures of their split."""
    images = [*_objects("train", 2 * COLUMNS), *_objects("test", 2 * COLUMNS)]
    rows = [np.concatenate(images[k * COLUMNS : (k + 1) * COLUMNS], axis=1) for k in range(ROWS)]
    return Image.fromarray(np.concatenate(rows))


def _objects(split: str, count: int) -> Sequence[np.ndarray]:
    generator = np.random.default_rng(0)
    names, textures = pools(split).shapes, pools(split).textures
    images = [
        prompt_renderer().object_image(str(name), textures[k % len(textures)])
        for k, name in enumerate(generator.permutation(names)[:count])
    ]
    size = (TILE_PX, TILE_PX)
    return [np.asarray(Image.fromarray(p).resize(size, Image.Resampling.BOX)) for p in images]


def looks_sheet() -> Image.Image:
    """Return a sheet of ManiSkill's tasks, and below them tasks of this package, soft and flat."""
    size = {"width": 256, "height": 256}
    shown = {"render_backend": "cpu", "render_mode": "rgb_array"}
    rows = [
        [_rendered(gym.make(key, human_render_camera_configs=size, **shown)) for key in STOCK],
        *([_first_image(key, look) for key in OURS] for look in ("soft", "flat")),
    ]
    return Image.fromarray(np.concatenate([np.concatenate(row, axis=1) for row in rows]))


def _rendered(env: gym.Env[Any, Any]) -> np.ndarray:
    env.reset(seed=0)
    image: np.ndarray = env.render()[0].numpy()
    env.close()
    return image


def _first_image(key: str, look: str) -> np.ndarray:
    env = ClevrSkillsEnv(key, cameras=("base_camera",), look=look, render_backend="cpu")
    observation, _ = env.reset(seed=LOOKS_SEED)
    image: np.ndarray = observation["sensor_data"]["base_camera"]["rgb"][0].numpy()
    env.close()
    return image


def viewer() -> None:
    """Take a screenshot of the page of ``clevrskills view`` for one episode, with Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("a screenshot of the viewer needs Chromium")
    with tempfile.TemporaryDirectory() as folder:
        demo, html, shot = (Path(folder) / name for name in ("demo", "page.html", "shot.png"))
        command = (sys.executable, "-m", "clevrskills")
        seeds = ("--episodes", "1", "--seed", str(SORT_SEED))
        subprocess.run([*command, "generate", "sort", *seeds, "--out", demo], check=True)
        subprocess.run([*command, "view", demo, "--out", html], check=True)
        width, height = VIEWER_PX
        subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--hide-scrollbars"),
                *(f"--window-size={width},{height}", "--virtual-time-budget=8000"),
                *(f"--screenshot={shot}", f"file://{html}#sort/train_{SORT_SEED:08d}"),
            ],
            check=True,
        )
        with Image.open(shot) as image:
            image.convert("RGB").save(DOCS / "viewer.jpg", quality=74)
