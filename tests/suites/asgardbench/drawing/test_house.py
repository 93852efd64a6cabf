"""Images of households: visible states, segmentation, determinism."""

import numpy as np
import pytest

from clevrskills.suites.asgardbench.drawing.house import HAND, HouseScene
from clevrskills.suites.asgardbench.drawing.stage import RenderStage, model
from clevrskills.suites.asgardbench.drawing.views import draw_view
from clevrskills.suites.asgardbench.models.catalogue import STATES
from clevrskills.suites.asgardbench.models.model import State
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import Household
from clevrskills.suites.asgardbench.tasks.instances import TABLE
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.setup import set_up

pytestmark = pytest.mark.render
PAIRS = [(kind, state) for kind, states in STATES.items() for state in states]


@pytest.fixture(scope="module")
def stage():
    return RenderStage(1.0, 128)


def photo(stage: RenderStage, kind: str, state: State) -> np.ndarray:
    stage.clear()
    low, high = model(kind, State()).bounds_m()
    middle, far = (low + high) / 2, float(np.linalg.norm(high - low))
    stage.show("it", kind, (0, 0, 0), state)
    x, y, z = middle.tolist()
    stage.look((x - 0.4 * far, y - 0.8 * far, z + 0.7 * far), (x, y, z))
    return stage.image().astype(float)


@pytest.mark.parametrize(("kind", "state"), PAIRS, ids=str)
def test_states_are_visible(stage, kind, state):
    plain = photo(stage, kind, State())
    share = stage.pixels("it").mean()
    assert share > 0.01
    there = np.abs(photo(stage, kind, state) - plain).max(axis=-1) > 25
    assert there.mean() > 0.015 * share


def test_segmentation_after_many_entities():
    stage = RenderStage(1.0, 32)
    stage.look((-0.4, -0.4, 0.4), (0, 0, 0.03))
    for k in range(2060):  # half precision holds whole numbers up to 2048
        stage.show("it", ("Apple", "Egg")[k % 2], (0, 0, 0), State())
    stage.show("other", "Apple", (0.3, 0.3, 0), State())
    stage.show("it", "Apple", (0, 0, 0), State())
    stage.image()
    numbers, keys = stage.segmentation()
    assert {keys[number] for number in np.unique(numbers).tolist() if number} == {"it", "other"}


def test_low_contrast_shows_less():
    change = {}
    for contrast in ("high", "low"):
        stage = RenderStage(1.0, 128, contrast)
        plain, dirty = (photo(stage, "Plate", State(dirty=dirty)) for dirty in (False, True))
        change[contrast] = np.abs(dirty - plain).mean()
    assert 0 < change["low"] < 0.5 * change["high"]


SIZE_PX = 256


@pytest.fixture(scope="module")
def scene():
    return HouseScene(size_px=SIZE_PX)


def household(task: str = "coffee", seed: int = 0) -> Household:
    variant = TABLE[task][0]
    return Household(room(variant.label), set_up(task, variant, np.random.default_rng(seed)))


def do(world: Household, *commands: str) -> Household:
    for command in commands:
        result = apply(world, *command.split())
        assert result.ok, (command, result.code)
    return world


@pytest.mark.slow
def test_images_are_deterministic(scene):
    world = household()
    first = scene.image(world)
    scene.image(do(household("turn_on_tv"), "FIND RemoteControl"))
    np.testing.assert_array_equal(scene.image(world), first)


@pytest.mark.slow
def test_size_of_views():
    assert draw_view("first_person-no_hand", household(), 64).shape == (64, 64, 3)


def test_segmentation_has_only_existing_entities(scene):
    world = do(household(), "FIND Mug")
    scene.image(world)
    numbers, keys = scene.stage.segmentation()
    seen = {keys[number] for number in np.unique(numbers) if number}
    assert {"Mug", "room"} <= seen
    assert {key for key in seen if isinstance(key, str)} <= {"room", *world.entities}


def test_the_held_object_is_in_the_lower_middle_with_or_without_a_hand(scene):
    world = do(household(), "FIND Mug", "PICKUP Mug")
    scene.image(world)
    rows, columns = np.nonzero(scene.stage.pixels("Mug"))
    assert len(rows) > 150
    assert rows.mean() > SIZE_PX / 2
    assert SIZE_PX / 3 < columns.mean() < 2 * SIZE_PX / 3
    assert scene.stage.pixels(HAND).sum() > 150
    scene.image(world, hand=False)
    assert scene.stage.pixels("Mug").any() and not scene.stage.pixels(HAND).any()


def test_contents_of_the_fridge_are_visible_only_when_it_is_open(scene):
    world = Household(room(13), [PlacedObject("Apple", "Apple", "Fridge_1", 0)])
    scene.image(do(world, "FIND Apple"))
    assert not scene.stage.pixels("Apple").any()
    scene.image(do(world, "OPEN Fridge", "FIND Apple"))
    assert scene.stage.pixels("Apple").sum() > 30


@pytest.mark.parametrize(
    ("before", "command"),
    [
        ((), "FIND Faucet; TOGGLE_ON Faucet"),
        (("PICKUP Pan", "FIND StoveBurner", "PUT StoveBurner"), "TOGGLE_ON StoveBurner"),
        (("PICKUP Mug", "FIND CoffeeMachine", "PUT CoffeeMachine"), "TOGGLE_ON CoffeeMachine"),
        (("FIND Microwave",), "TOGGLE_ON Microwave"),
        (("FIND Microwave",), "OPEN Microwave"),
        (("FIND Toaster",), "TOGGLE_ON Toaster"),
        (("FIND Drawer",), "OPEN Drawer"),
        (("FIND Cabinet",), "OPEN Cabinet"),
        (("PICKUP Knife", "FIND Bread"), "SLICE Bread"),
    ],
    ids=str,
)
def test_effects_of_verbs_are_visible(scene, before, command):
    kinds = ("Mug", "Pan", "Bread", "Knife")
    world = Household(
        room(13), [PlacedObject(k, k, "CounterTop_1", 2 * n) for n, k in enumerate(kinds)]
    )
    for step in before:
        if step.startswith("PICKUP"):
            do(world, f"FIND {step.split()[1]}")
        do(world, step)
    *first, last = command.split("; ")
    do(world, *first)
    camera = world.camera
    earlier = scene.image(world).astype(float)
    do(world, last)
    world.camera = camera
    changed = np.abs(scene.image(world) - earlier).max(axis=-1) > 25
    assert changed.mean() > 0.003


def test_contents_of_a_held_dish_are_drawn_in_it(scene):
    world = Household(room(13), [PlacedObject("Bowl", "Bowl", "CounterTop_1", 0),
                             PlacedObject("Egg", "Egg", "Bowl", 0)])  # fmt: skip
    scene.image(do(world, "FIND Bowl", "PICKUP Bowl"))
    (rows, columns), bowl = np.nonzero(scene.stage.pixels("Egg")), scene.stage.pixels("Bowl")
    assert len(rows) > 20
    around = np.nonzero(bowl.any(axis=0))[0]
    assert around.min() < columns.mean() < around.max()
