"""Images of rooms: states are seen, pixels belong to entities, the same images each time."""

from dataclasses import replace

import numpy as np
import pytest

from clevrskills.suites.asgardbench.models.catalogue import STATES
from clevrskills.suites.asgardbench.models.model import State
from clevrskills.suites.asgardbench.drawing.room_scene import HAND, HELD, SHELL, RoomScene
from clevrskills.suites.asgardbench.drawing.rooms import Placed, room
from clevrskills.suites.asgardbench.drawing.stage import Stage, model

pytestmark = pytest.mark.render
PAIRS = [(kind, state) for kind, states in STATES.items() for state in states]


@pytest.fixture(scope="module")
def stage():
    return Stage(1.0, 128)


def photo(stage: Stage, kind: str, state: State) -> np.ndarray:
    stage.clear()
    low, high = model(kind, State()).bounds_m()
    middle, far = (low + high) / 2, float(np.linalg.norm(high - low))
    stage.show("it", kind, (0, 0, 0, 0), state)
    x, y, z = middle.tolist()
    stage.look((x - 0.4 * far, y - 0.8 * far, z + 0.7 * far), (x, y, z))
    return stage.image().astype(float)


@pytest.mark.parametrize(("kind", "state"), PAIRS, ids=str)
def test_states_are_seen(stage, kind, state):
    plain = photo(stage, kind, State())
    share = stage.pixels("it").mean()
    assert share > 0.01
    there = np.abs(photo(stage, kind, state) - plain).max(axis=-1) > 25
    assert there.mean() > 0.015 * share


def test_low_contrast_shows_less():
    change = {}
    for contrast in ("high", "low"):
        stage = Stage(1.0, 128, contrast)
        plain, dirty = (photo(stage, "Plate", State(dirty=dirty)) for dirty in (False, True))
        change[contrast] = np.abs(dirty - plain).mean()
    assert 0 < change["low"] < 0.5 * change["high"]


@pytest.fixture(scope="module")
def kitchen():
    return RoomScene(room("kitchen", 1), size_px=256)


VIEW = (0.2, -1.4, 1.58), (0.0, 1.8, 0.95)


def test_the_same_image_each_time(kitchen):
    first = kitchen.image(*VIEW)
    kitchen.image((0, 0, 1.5), (1, 0, 1))
    np.testing.assert_array_equal(kitchen.image(*VIEW), first)


def test_pixels_belong_to_entities(kitchen):
    kitchen.image(*VIEW)
    numbers, keys = kitchen.stage.segmentation()
    seen = {keys[number] for number in np.unique(numbers) if number}
    assert {SHELL, "Fridge", "Sink", "Stove"} <= seen
    assert seen <= {SHELL, *(placed.id for placed in room("kitchen", 1).placed)}


def test_what_is_held_is_in_the_lower_middle_and_the_hand_can_be_left_out(kitchen):
    mug = Placed("Mug", "Mug", (0, 0, 0, 0))
    kitchen.image(*VIEW, held=mug)
    rows, columns = np.nonzero(kitchen.pixels(HELD))
    assert len(rows) > 150
    assert rows.mean() > 256 / 2
    assert 256 / 3 < columns.mean() < 2 * 256 / 3
    assert kitchen.pixels(HAND).sum() > 150
    kitchen.image(*VIEW, held=mug, hand=False)
    assert kitchen.pixels(HELD).any()
    assert not kitchen.pixels(HAND).any()
    kitchen.image(*VIEW)
    assert not kitchen.pixels(HELD).any()


def test_contents_of_the_fridge_are_seen_only_when_it_is_open():
    made = room("kitchen", 1)
    fridge = next(placed for placed in made.placed if placed.kind == "Fridge")
    x, y, _, _ = fridge.pose
    apple = Placed("inside", "Apple", (x, y - 0.35, 0.976, 0.0))
    scene = RoomScene(made, size_px=256)
    for opened in (False, True):
        state = State(open=opened)
        scene.sync([replace(fridge, state=state), apple])
        scene.image((x + 0.2, y - 2.0, 1.5), (x, y - 0.35, 0.95))
        assert scene.pixels("inside").any() == opened


def test_what_leaves_the_list_leaves_the_room():
    made = room("bathroom", 0)
    scene = RoomScene(made, size_px=128)
    scene.sync([placed for placed in made.placed if placed.kind != "Mirror"])
    scene.image((0.0, -1.2, 1.58), (-0.3, 1.5, 1.3))
    assert not scene.pixels("Mirror").any()
    scene.sync(made.placed)
    scene.image((0.0, -1.2, 1.58), (-0.3, 1.5, 1.3))
    assert scene.pixels("Mirror").any()
