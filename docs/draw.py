"""Draws the pictures of the README with the project's own renderer.

python docs/draw.py
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from clevrskills.assets import pools
from clevrskills.env import ClevrSkillsEnv
from clevrskills.scenes import keystep_scenes
from clevrskills.solvers.oracle import Oracle
from clevrskills.studio import Studio

HERE = Path(__file__).parent
SORT_SEED = 39
MOMENTS = (0, 30, 64, 123, 165)
"""Control steps of the oracle's episode that are shown."""
COLUMNS, ROWS, TILE_PX = 12, 4, 128


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
    return Image.fromarray(np.concatenate([*(frames[k] for k in MOMENTS), goal], axis=1))


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


def main() -> None:
    """Draw and save all."""
    studio = Studio()
    sort_strip(studio).save(HERE / "sort.jpg", quality=90)
    object_sheet(studio).save(HERE / "objects.jpg", quality=90)


if __name__ == "__main__":
    main()
