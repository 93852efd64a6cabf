"""Draws the pictures of the README, and the page of all tasks, with the project's own renderer.

python docs/draw.py [--seed 0]
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tyro
from PIL import Image

from clevrskills.assets import pools
from clevrskills.dataset_tools.view.gallery import card, page, solve, tiles
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_sampling import keystep_scenes
from clevrskills.sim.prompt_images import Studio
from clevrskills.solvers.oracle import Oracle
from clevrskills.tasks import tasks

HERE = Path(__file__).parent
SORT_SEED = 39
MOMENTS = (0.0, 0.18, 0.38, 0.74, 1.0)
"""Shares of the oracle's episode after which it is shown."""
COLUMNS, ROWS, TILE_PX = 12, 4, 128
POSTER_TILE_PX = 144
TELLING_SHARE = 0.75
"""Part of an episode after which its picture is taken for the picture of them all."""


def sort_strip(studio: Studio) -> Image.Image:
    """Some moments of an oracle episode of ``sort``, then its goal image."""
    env = ClevrSkillsEnv("sort", obs_mode="none", render_backend="cpu", cameras=("base_camera",))
    env.reset(seed=SORT_SEED)
    oracle = Oracle(env)
    frames = [env.capture()["base_camera"]]
    while not oracle.done:
        env.step(oracle.act())
        frames.append(env.capture()["base_camera"])
    goal = keystep_scenes(env.goal, env.start, env.layouts[0])[-1].image(studio)
    return Image.fromarray(
        np.concatenate([*(frames[round(m * (len(frames) - 1))] for m in MOMENTS), goal], axis=1)
    )


def object_sheet(studio: Studio) -> Image.Image:
    """Objects of both splits in textures of their split."""
    tiles = [*_objects(studio, "train", 3 * COLUMNS), *_objects(studio, "test", COLUMNS)]
    rows = [np.concatenate(tiles[k * COLUMNS : (k + 1) * COLUMNS], axis=1) for k in range(ROWS)]
    return Image.fromarray(np.concatenate(rows))


def _objects(studio: Studio, split: str, count: int) -> Sequence[np.ndarray]:
    generator = np.random.default_rng(0)
    names, textures = pools(split).shapes, pools(split).textures
    pictures = [
        studio.object_image(str(name), textures[k % len(textures)])
        for k, name in enumerate(generator.permutation(names)[:count])
    ]
    size = (TILE_PX, TILE_PX)
    return [np.asarray(Image.fromarray(p).resize(size, Image.Resampling.BOX)) for p in pictures]


def tasks_page(seed: int) -> None:
    """The page of all tasks with a card of each, and one picture of them all."""
    episodes = [solve(key, seed) for key in tasks()]
    folder = HERE / "tasks"
    folder.mkdir(exist_ok=True)
    for episode in episodes:
        card(episode).save(folder / f"{episode.key}.jpg", quality=85)
    (HERE / "tasks.md").write_text(page(episodes, "tasks"), encoding="utf-8")
    shown = [int(TELLING_SHARE * (len(episode.frames) - 1)) for episode in episodes]
    Image.fromarray(tiles(episodes, shown, POSTER_TILE_PX)).save(HERE / "gallery.jpg", quality=88)


def main(seed: int = 0) -> None:
    """Draw and save all.

    Args:
        seed: Seed of the episodes on the page of tasks.
    """
    studio = Studio()
    sort_strip(studio).save(HERE / "sort.jpg", quality=90)
    object_sheet(studio).save(HERE / "objects.jpg", quality=90)
    tasks_page(seed)


if __name__ == "__main__":
    tyro.cli(main)
