"""Hidden blocks: in camera images, captions and instructions."""

from typing import Any

import numpy as np
import pytest
import torch

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import load_suite
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.sim.body import Body
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.field import FieldView
from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
from clevrskills.suites.lohoravens.setting import SETTING
from clevrskills.suites.lohoravens.tasks import tasks
from clevrskills.tasks.base import task
from tests.suites.lohoravens.field import block
from tests.support.visibility import visible_share

KEYS = [key for key in tasks() if key.startswith("hidden")]
UNDER = [key for key in KEYS if "pyramid" not in key]
TOP, MAP = SETTING.cameras["top"], SETTING.cameras["map"]


def shares(key: str, seed: int, split: str) -> list[tuple[float, float]]:
    """What `top` and `map` see of each block that is asked for."""
    layout = draw_scene(task(key), seed, split, "ur5e", prompt_index=0).layout
    blocks = {k: body for k, body in enumerate(layout.bodies) if body and body.movable}
    found = []
    for slot in (int(k) for k in layout.roles["objects"] if k >= 0):
        others = [body for k, body in blocks.items() if k != slot]
        seen = [visible_share(blocks[slot], others, camera) for camera in (TOP, MAP)]
        found.append((seen[0], seen[1]))
    return found


@pytest.mark.parametrize("key", UNDER)
def test_hidden_blocks_are_not_visible(key: str) -> None:
    for seed, split in enumerate(4 * ("train", "val", "test")):
        for from_above, in_map in shares(key, seed, split):
            assert from_above <= 0.02 and in_map == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_drawn_towers_stay_as_they_are_laid(seed: int) -> None:
    """Of these seeds, blocks turned alike slid by 2 mm."""
    suite = load_suite("lohoravens")
    env: Any = suite.make(EnvConfig("hidden_in_three_layers"))
    env.reset(options={"episode": suite.draw("hidden_in_three_layers", "train", seed)})
    assert not any(env.faults().values())
    env.close()


def test_half_of_the_tops_of_the_outer_blocks_of_a_pyramid_is_visible() -> None:
    for seed in range(3):
        (_, left), (_, middle), (_, right) = shares("hidden_in_pyramid", seed, "train")
        assert 0.4 <= left <= 0.65 and 0.4 <= right <= 0.65 and middle <= 0.15


def test_visible_share() -> None:
    low, x = block("low", "red", -0.13, 0.0), -0.13
    assert visible_share(low, [], TOP) == visible_share(low, [], MAP) == 1.0
    cover = block("cover", "blue", x, 0.0, 0.06, z=0.04)
    assert visible_share(low, [cover], MAP) == visible_share(low, [cover], TOP) == 0.0
    half = block("half", "blue", x, 0.02, z=0.04)
    assert visible_share(low, [half], MAP) == pytest.approx(0.5, abs=0.03)
    assert visible_share(low, [block("beside", "blue", x, 0.1)], MAP) == 1.0
    far, roof = block("far", "red", x, 0.38), block("roof", "blue", x, 0.38, 0.06, z=0.04)
    assert visible_share(far, [roof], MAP) == 0.0 < visible_share(far, [roof], TOP)


def test_blocks_are_named_by_one_color_only() -> None:
    """Besides the hidden block there is one of its color, and none like the one on it."""
    for seed in range(5):
        layout = draw_scene(task("hidden_under_block"), seed, "test", "ur5e").layout
        colors = [body.color for body in _blocks(layout.bodies)]
        assert colors.count(layout.body("objects", 0).color) == 2
        assert colors.count(layout.body("top").color) == 1
        bowls = [body.color for body in layout.bodies if body and body.noun == "bowl"]
        assert len(set(bowls)) == len(bowls) and set(bowls) == set(colors)


@pytest.mark.parametrize("key", UNDER)
def test_bowls_of_hidden_blocks_are_one_of_each_color(key: str) -> None:
    layout = draw_scene(task(key), 3, "train", "ur5e").layout
    right = layout.roles["bowls"]
    for slot, bowl in zip(layout.roles["objects"], right, strict=True):
        if slot >= 0:
            body, its = layout.bodies[int(slot)], layout.bodies[int(bowl[0])]
            assert body and its and its.noun == "bowl" and its.color == body.color


def _blocks(bodies: tuple[Body | None, ...]) -> list[Body]:
    return [body for body in bodies if body and body.movable]


def test_hidden_blocks_are_found_in_words_once_uncovered() -> None:
    """Captions do not tell of it before."""
    pytest.importorskip("fcl")
    env = LoHoRavensEnv("hidden_under_block", obs_mode="none", render_backend="none")
    env.reset(seed=2)
    layout, act = env.layouts[0], PICK_PLACE_TEXT.begin(env).act
    hidden, top = layout.body("objects", 0).color, layout.body("top").color
    caption = "caption_objects"
    assert f"1 smaller {hidden} block" in env.look((caption,))[caption]
    fetch = f"Pick up the {hidden} block hidden and place it in the {hidden} bowl."
    assert act(fetch).code == "COVERED"
    assert act(f"pick up the {top} block and place it on the free area").code == "PLACED"
    assert f"2 smaller {hidden} blocks" in env.look((caption,))[caption]
    turn = act(fetch)
    assert turn.code == "PLACED" and turn.success


def test_the_solver_takes_a_pyramid_apart_from_the_top() -> None:
    env = LoHoRavensEnv("hidden_in_pyramid", obs_mode="none", render_backend="none")
    env.reset(seed=1)
    scene = FieldView(env)
    lowest = [scene.by_slot[int(k)] for k in env.layouts[0].roles["objects"]]
    assert all(scene.covered(body) for body in lowest)
    assert {body.key for body in lowest} < set(env.memory.hidden_at_start)


@pytest.mark.render
@pytest.mark.parametrize("key", ["hidden_under_block", "hidden_in_three_layers"])
def test_hidden_blocks_do_not_change_images_from_above(key: str) -> None:
    env = LoHoRavensEnv(
        key, obs_mode="none", render_backend="cpu", cameras=("top", "map"), look="flat"
    )
    env.reset(seed=4)
    before = env.capture()
    for slot in (int(k) for k in env.layouts[0].roles["objects"] if k >= 0):
        away = torch.tensor([[2.0, 2.0, 0.02, 1.0, 0.0, 0.0, 0.0]])
        env.world.set_body_pose(torch.tensor([slot]), away)
    for name, image in env.capture().items():
        changed = (np.abs(image.astype(int) - before[name]).max(-1) > 8).sum()
        assert changed <= 12, name
