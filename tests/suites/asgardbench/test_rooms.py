"""Rooms: fixtures, overlaps, slots, visibility."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from clevrskills.suites.asgardbench.env import house_of
from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.rules import sight
from clevrskills.suites.asgardbench.rules.camera import EYE_M, PITCH_DEG
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.slots import free_slots, grids
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import Household
from clevrskills.suites.asgardbench.suite import AsgardBenchSuite
from clevrskills.suites.asgardbench.tasks.instances import TABLE, Variant
from clevrskills.suites.asgardbench.tasks.rooms import (
    BATHROOMS,
    KITCHENS,
    LIVING_ROOMS,
    TRAIN,
    WITH_TABLE,
    box_of,
    room,
)
from clevrskills.suites.asgardbench.tasks.setup import set_up

LABELS = (*KITCHENS, *BATHROOMS, *LIVING_ROOMS)
NEEDED = {
    "kitchen": "Sink SinkBasin Faucet Fridge Microwave CoffeeMachine Toaster GarbageCan "
    "LightSwitch Window StoveBurner StoveKnob Cabinet Drawer CounterTop",
    "bathroom": "Sink SinkBasin Faucet Mirror CounterTop Shelf Toilet Bathtub",
    "living": "Television TVStand Sofa ArmChair CoffeeTable SideTable Shelf FloorLamp HousePlant",
}
HELD_THERE = {
    "Sofa": "RemoteControl",
    "ArmChair": "RemoteControl",
    "Drawer": "Fork",
    "GarbageCan": "DishSponge",
    "Toaster": "BreadSliced",
}
BUILT_IN = {"Sink", "SinkBasin", "SinkCabinet", "Faucet", "CounterTop", "Stove", "StoveBurner",
            "StoveKnob", "BackSplash", "Mirror", "Rug"}  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_rooms_have_the_required_fixtures(label):
    made = room(label)
    kinds = Counter(f.type for f in made.fixtures)
    assert set(NEEDED[made.kind].split()) <= set(kinds)
    assert len({f.id for f in made.fixtures}) == len(made.fixtures)
    if made.kind == "kitchen":
        assert 4 <= kinds["StoveBurner"] == kinds["StoveKnob"] <= 6
        assert kinds["DiningTable"] == (label in WITH_TABLE)
        assert 4 <= kinds["Cabinet"] <= 16 and kinds["Drawer"] <= 10
        assert 1 <= kinds["CounterTop"] <= 4


@pytest.mark.parametrize("label", LABELS)
def test_nothing_overlaps_or_sticks_out(label):
    made = room(label)
    bodies = [f for f in (*made.fixtures, *made.scenery)]
    for each in bodies:
        box = box_of(each)
        assert max(abs(box[0]), abs(box[3])) <= made.width_m / 2 + 0.01, each.id
        assert max(abs(box[1]), abs(box[4])) <= made.depth_m / 2 + 0.01, each.id
    for a, b in combinations(bodies, 2):
        if {a.model, b.model} & BUILT_IN or "Chair" in (a.model, b.model):
            continue  # built in, or tucked under the table
        one, other = box_of(a), box_of(b)
        depth = min(min(one[k + 3], other[k + 3]) - max(one[k], other[k]) for k in range(3))
        assert depth < 0.07, (a.id, b.id)  # a handle may stand before a neighbour


def test_rooms_differ():
    plans = {tuple((f.model, f.x_m, f.y_m) for f in room(label).fixtures) for label in LABELS}
    assert len(plans) == len(LABELS)
    assert len({(room(label).width_m, room(label).depth_m) for label in KITCHENS}) > 20


@pytest.mark.parametrize("label", [13, 4, 28, 408, 203])
def test_objects_in_slots_do_not_overlap(label):
    made = room(label)
    for fixture in made.fixtures:
        if fixture.type in ("Sofa", "ArmChair"):  # take only remote controls
            continue
        for kind in ("Plate", "Pan", "Knife", "Apple"):
            world = Household(made, ())
            container = world.entities[fixture.id]
            boxes = []
            for number in range(60):
                item = type(container)(f"{kind}_{number}", kind, fixture.id)
                slot = world.free_slot(container, item)
                if slot is None:
                    break
                item.slot = slot
                world.entities[item.id] = item
                x, y, z, yaw, tilt = world.pose(item)
                wide, deep, high = shape(kind).size_m
                if tilt or (kind != "Plate" and abs(math.sin(2 * yaw)) > 0.5):
                    wide = deep = min(wide, deep)
                if abs(math.sin(yaw)) > 0.7:
                    wide, deep = deep, wide
                boxes.append((x, y, z, wide, deep, high))
            for a, b in combinations(boxes, 2):
                gap = [abs(a[k] - b[k]) - (a[k + 3] + b[k + 3]) / 2 for k in range(3)]
                assert max(gap) > -0.012, (fixture.id, kind, a, b)


def test_large_objects_need_a_block_of_cells():
    made = next(f for f in room(13).fixtures if f.type == "CounterTop")
    free = free_slots(made, made.model, "Plate", ())
    assert free
    grid = grids(made.model, made.width_m)[0]
    most = 4 * len(free_slots(made, made.model, "Apple", ()))
    assert len(free) < most
    left = free_slots(made, made.model, "Plate", [("Plate", free[0])])
    assert len(left) < len(free) and free[0] not in left
    assert all(slot % grid.columns not in made.taken for slot in free)


@pytest.mark.parametrize("label", LABELS)
def test_every_slot_and_fixture_of_an_empty_room_is_visible(label):
    made = room(label)
    world = Household(made, ())
    low, high = PITCH_DEG
    for fixture in made.fixtures:
        entity = world.entities[fixture.id]
        world.look_at(entity)
        assert world.visible(entity), fixture.id
        assert math.radians(low) <= world.camera.pitch_rad <= math.radians(high)
        eye = world.camera
        assert abs(eye.x_m) < made.width_m / 2 and abs(eye.y_m) < made.depth_m / 2
        for each in made.fixtures:
            x0, y0, z0, x1, y1, z1 = box_of(each)
            inside = x0 < eye.x_m < x1 and y0 < eye.y_m < y1 and z0 < eye.z_m < z1
            assert not inside or each.type == "Chair", (fixture.id, each.id)
        if fixture.type not in catalogue().containers:
            continue
        kind = HELD_THERE.get(fixture.type, "Mug")
        item = type(entity)("it", kind, fixture.id)
        entity.open = True
        for slot in world.free_slots(entity, item):
            item.slot = slot
            world.entities["it"] = item
            world.look_at(item)
            assert world.visible(item), (fixture.id, slot)
            del world.entities["it"]
        entity.open = False


def test_training_rooms():
    for label in (k for labels in TRAIN.values() for k in labels[::5]):
        assert room(label).fixtures


def test_occluded_objects_are_not_visible():
    items = [PlacedObject("Apple", "Apple", "CounterTop_1", 0)]
    world = Household(room(13), items)
    apple = world.entities["Apple"]
    world.look_at(apple)
    assert world.visible(apple)
    x, y, z = world.place(apple)
    camera = world.camera
    ahead = np.array((x, y, z)) - camera.eye
    flat = ahead[:2] / np.linalg.norm(ahead[:2])
    pot = type(apple)("Pot", "Pot", "CounterTop_1", 0)
    world.entities["Pot"] = pot
    world.pose = lambda e: (  # type: ignore[method-assign]
        (*(np.array((x, y)) - 0.15 * flat), z + 0.03, 0.0, 0.0)
        if e is pot
        else Household.pose(world, e)
    )
    world._key = []
    assert world.visible(pot) and not world.visible(apple)


def test_no_occluding_box_is_skipped(monkeypatch):
    asked = []

    def compared(eye, rays, columns, owner):
        found = fast(eye, rays, columns, owner)
        every = sight.behind(eye, rays, columns[:, columns[8] != owner])
        asked.append(int(every.sum()))
        assert (found == every).all()
        return found

    fast = sight._hidden
    monkeypatch.setattr(sight, "_hidden", compared)
    for task, which in (("cook_egg", 3), ("clean_mirror", 0)):
        variant = TABLE[task][which]
        world = Household(room(variant.label), set_up(task, variant, np.random.default_rng(1)))
        for kind in world.types[::3]:
            apply(world, "FIND", kind)
            apply(world, "OPEN", kind)
    assert len(asked) > 20 and any(asked)


@pytest.mark.parametrize("task", ["coffee", "set_table", "clean_mirror", "turn_on_tv"])
def test_found_objects_are_visible(task):
    variant = TABLE[task][1]
    world = Household(room(variant.label), set_up(task, variant, np.random.default_rng(1)))
    start = world
    for kind in start.types:
        world = start.copy()
        if apply(world, "FIND", kind).ok:
            found = world.entities[world.found[kind]]
            assert world.visible(world.shut_in(found) or found), kind


@pytest.mark.parametrize("split", ["test", pytest.param("val", marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", TABLE)
def test_exposed_objects_are_visible_from_their_fixture(task, split):
    for episode in (
        *AsgardBenchSuite().frozen(task, split),
        AsgardBenchSuite().draw(task, "train", 5),
    ):
        variant = Variant.from_json(episode.start["variant"])
        items = [PlacedObject(**item) for item in episode.start["things"]]
        start = house_of(task, variant, items)
        for fixture in start.fixtures.values():
            there = start.contents(start.entities[fixture.id])
            if fixture.type in catalogue().openable or not there:
                continue
            world = start.copy()
            world.look_at(world.entities[fixture.id])
            seen = [world.visible(world.entities[item.id]) for item in there]
            assert all(seen), (fixture.id, [item.id for item in there], seen)


def test_the_agent_stands_to_look_at_a_table():
    made = next(f for f in room(4).fixtures if f.type == "DiningTable")
    world = Household(room(4), ())
    world.look_at(world.entities[made.id])
    assert world.camera.z_m == EYE_M
