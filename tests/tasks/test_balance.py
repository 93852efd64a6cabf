"""Task ``balance``: blocks that can be balanced, are visible and have one appearance."""

import numpy as np
import pytest
import torch

from clevrskills.assets import pools
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.sim.setting import TABLETOP
from clevrskills.tasks import task
from tests.tasks.scenes import SPLITS, scenes

CAMERA = TABLETOP.main_camera


def blocks_of(drawn):
    return [body for body in drawn.layout.bodies[4:] if body]


@pytest.mark.parametrize("split", SPLITS)
def test_blocks_differ_in_height_only_and_weigh_as_they_are_high(split):
    seen = set()
    for drawn in scenes("balance", split):
        blocks = blocks_of(drawn)
        seen.add((len(blocks), blocks[0].shape))
        assert len({(b.shape, b.texture, b.size[:2], b.density) for b in blocks}) == 1
        heights = np.array([b.size[2] for b in blocks])
        assert heights.min() >= 0.021 and heights.max() <= 0.08 and heights.sum() <= 0.3 + 1e-9
        mass = drawn.start.solids.mass[0, 4 : 4 + len(blocks)].numpy()
        assert np.ptp(mass / heights) < 1e-3
    assert {count for count, _ in seen} == {2, 3, 4}
    shapes = {name for _, name in seen}
    assert shapes == {"cube", "cylinder"} or (
        split == "test" and shapes <= {*pools(split).primitive}
    )


@pytest.mark.parametrize("split", SPLITS)
def test_the_middle_of_every_block_is_visible_past_the_scale(split):
    eye = np.array(CAMERA.eye_m)
    for drawn in scenes("balance", split):
        for block in blocks_of(drawn):
            top = np.array(block.pose[:3]) + (0.0, 0.0, block.size[2] / 2)
            on_the_way = top + (eye - top) * np.linspace(0.05, 1.0, 400)[:, None]
            points = torch.as_tensor(on_the_way, dtype=torch.float32)[None]
            distance = drawn.start.distance(points)[0, 2:4]  # the plates
            assert float(distance.min()) > 0.0, block


def test_equal_blocks_where_there_are_two():
    for seed in range(5):
        one, other = blocks_of(draw_scene(task("balance", num_objects=2), seed, "train"))
        assert one.size == other.size


def test_a_prompt_names_the_texture_of_the_blocks():
    drawn = draw_scene(task("balance"), 0, "train", prompt_index=2)
    looks = f"all objects with {blocks_of(drawn)[0].texture} texture"
    assert drawn.prompt.plain() == f"Place {looks} on the scale while keeping it in balance."
