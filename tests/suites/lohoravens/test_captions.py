"""Captions and views: counts, positions, moved objects; hidden objects are left out."""

import numpy as np
import pytest
import torch

from clevrskills.errors import UnknownNameError
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.field import FieldView, area_bounds_m
from clevrskills.suites.lohoravens.noise import Noise
from tests.suites.lohoravens.field import BIG_M, SMALL_M, block, bowl, field, zone

BODIES = (
    block("loose", "red", -0.25, -0.30),
    block("hidden", "green", 0.00, 0.20),
    block("upper", "blue", 0.00, 0.20, BIG_M, z=SMALL_M),
    bowl("bowl", "yellow", -0.20, 0.20),
    zone("zone", "cyan", -0.05, -0.20),
)


def put(env: LoHoRavensEnv, slot: int, x: float, y: float, z: float) -> None:
    """Put a body somewhere and let all come to rest."""
    pose = torch.tensor([[x, y, z, 1.0, 0.0, 0.0, 0.0]])
    env.world.set_body_pose(torch.tensor([slot]), pose)
    env._settle()


def test_captions_name_hidden_blocks_once_uncovered() -> None:
    env = field(*BODIES, onto=2)
    views = ("caption_objects", "caption_positions", "caption_change")
    given = env.look(views)
    counted = "There are 1 smaller red block, 1 bigger blue block, 1 yellow bowl and 1 cyan zone."
    assert given["caption_objects"] == counted.replace("are", "is", 1)
    assert "green" not in "".join(given.values())
    assert given["caption_positions"].splitlines()[1:] == [
        "The smaller red block is in the top left area.",
        "The bigger blue block is in the bottom right area.",
        "The yellow bowl is in the top right area.",
        "The cyan zone is in the bottom left area.",
    ]
    assert given["caption_change"].splitlines()[-1] == "Nothing has moved."
    env.begin_turn()
    put(env, 2, -0.05, -0.20, 0.001 + BIG_M / 2)
    change = env.look(views)["caption_change"]
    assert "1 smaller green block" in change
    assert change.splitlines()[-1] == (
        "The bigger blue block has moved: it was in the bottom right area and is now in the bottom "
        "left area, on the cyan zone."
    )
    put(env, 2, 0.00, 0.20, SMALL_M + BIG_M / 2)  # seen once, it is remembered
    assert "green block is in the bottom right" in env.look(views)["caption_positions"]


def test_captions_of_blocks_in_a_bowl_or_on_a_block() -> None:
    env = field(*BODIES, onto=2)
    put(env, 0, -0.20, 0.20, 0.04)
    assert "red block is in the top right area, in the yellow bowl." in _positions(env)
    put(env, 0, 0.00, 0.20, SMALL_M + BIG_M + SMALL_M / 2)
    assert "red block is in the bottom right area, on the bigger blue block." in _positions(env)
    scene = FieldView(env)
    loose, hidden, upper, *_ = scene.bodies
    assert scene.covered(hidden) and scene.covered(upper) and not scene.covered(loose)
    assert (loose.size, upper.size) == ("smaller", "bigger")
    put(env, 0, 0.00, 0.20 + 0.055, SMALL_M / 2)  # close by, but on the table
    assert not any(FieldView(env).stands_on(loose, other) for other in (hidden, upper))


def _positions(env: LoHoRavensEnv) -> str:
    return str(env.look(("caption_positions",))["caption_positions"])


def test_areas_cover_the_field() -> None:
    low, high = area_bounds_m("top left")
    np.testing.assert_allclose((*low, *high), (-0.33, -0.40, -0.13, 0.0))
    low, high = area_bounds_m("bottom right")
    np.testing.assert_allclose((*low, *high), (-0.13, 0.0, 0.07, 0.40))
    low, high = area_bounds_m("center")
    np.testing.assert_allclose((*low, *high), (-0.17, -0.04, -0.09, 0.04))


def test_other_views() -> None:
    env = field(*BODIES, onto=2)
    assert "loose" in env.look(("state",))["state"]
    with pytest.raises(UnknownNameError, match="unknown view 'caption'"):
        env.look(("caption",))


def test_limits_follow_from_the_moves_that_are_needed() -> None:
    env = field(*BODIES, onto=2)
    assert env.turn_limit == 8 and env.limit == 480
    env.limit = 7
    assert env.limit == 7


@pytest.mark.render
def test_observation_noise_is_reproducible() -> None:
    shown = []
    for noise in (Noise(), Noise(3.0, 3.0), Noise(3.0, 3.0)):
        env = field(
            *BODIES, onto=2, noise=noise, cameras=("map",), render_backend="cpu", look="flat"
        )
        shown.append((env.capture()["map"], env.look(("height",))["height"]))
        again = env.capture()["map"]
        np.testing.assert_array_equal(again, shown[-1][0])
    (clean, heights), (noisy, uneven), (same, as_uneven) = shown
    np.testing.assert_array_equal(noisy, same)
    np.testing.assert_array_equal(uneven, as_uneven)
    assert (noisy.astype(float) - clean).std() == pytest.approx(3.0, rel=0.1)
    assert (uneven - heights).std() == pytest.approx(3e-3, rel=0.05)
    env.turns += 1
    assert (env.capture()["map"] != noisy).any()
