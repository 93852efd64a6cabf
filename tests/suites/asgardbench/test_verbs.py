"""Rules of the household: checks of the verbs in order, their effects, invariants."""

from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest

from clevrskills.suites.asgardbench.rules.camera import aimed
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.slots import cells_of
from clevrskills.suites.asgardbench.rules.verbs import VERBS, allowed, apply
from clevrskills.suites.asgardbench.rules.world import GONE, HAND, Household
from clevrskills.suites.asgardbench.tasks.instances import TABLE
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.setup import set_up


def kitchen():
    kinds = ("Mug", "Plate", "Pan", "Bread", "Egg", "Knife", "DishSponge", "Apple")
    items = [PlacedObject(k, k, "CounterTop_1", n) for n, k in enumerate(kinds)]
    items.append(PlacedObject("Bowl", "Bowl", "CounterTop_2", 0, dirty=True))
    items.append(PlacedObject("Tomato", "Tomato", "Fridge_1", 0))
    return Household(room(13), items)


CASES = (
    ("FIND Tomato; PICKUP Tomato", "NOT_VISIBLE"),
    ("FIND Fridge; OPEN Fridge; PICKUP Tomato", "DONE"),
    ("PICKUP Apple; FIND Plate; PUT Plate", "DONE"),
    ("FIND Microwave; TOGGLE_ON Microwave; OPEN Microwave", "DEVICE_ON"),
    ("PICKUP Knife; FIND Bread; SLICE Bread; SLICE BreadSliced", "ALREADY_SLICED"),
    ("PICKUP Knife; FIND Bread; SLICE Bread; FIND Bread", "ALREADY_SLICED"),
    ("PICKUP Egg; SLICE Egg", "DONE"),
    ("PICKUP Apple; FIND SinkBasin; PUT SinkBasin; FIND Faucet; TOGGLE_ON Faucet", "SINK_BLOCKED"),
)
"""Several commands in a row; of single ones see ``test_checks``."""


@pytest.mark.parametrize(("commands", "code"), CASES, ids=[c for c, _ in CASES])
def test_code_of_the_last_command(commands, code):
    world = kitchen()
    *before, last = commands.split("; ")
    for command in before:
        result = apply(world, *command.split())
        assert result.ok, (command, result.code)
    hashed = world.state_hash
    result = apply(world, *last.split())
    assert (result.code, result.ok) == (code, code == "DONE")
    assert (world.state_hash == hashed) == (not result.ok)


def test_a_refused_verb_moves_the_agent_near_a_visible_object():
    world = kitchen()
    for command in ("PICKUP Apple", "FIND Fridge"):
        assert apply(world, *command.split()).ok
    world.camera = aimed((0.0, 0.0, 1.58), world.place(world.entities["Fridge_1"]))
    assert world.visible(world.entities["Fridge_1"])
    hashed, far = world.state_hash, world.turn_to(world.entities["Fridge_1"])[1]
    assert apply(world, "PUT", "Fridge").code == "CLOSED"
    assert world.turn_to(world.entities["Fridge_1"])[1] < far
    assert (world.focus, world.state_hash) == ("Fridge_1", hashed)
    there = world.camera
    assert apply(world, "PICKUP", "Tomato").code == "HAND_FULL"
    assert world.camera == there  # the tomato is not seen


def test_the_head_turns_to_objects_on_the_same_fixture():
    world = kitchen()
    world.look_at(world.entities["Mug"])
    here = world.camera
    world.camera = replace(here, heading_rad=here.heading_rad + 1.2)
    assert not world.visible(world.entities["Mug"])
    assert apply(world.copy(), "PICKUP", "Mug").ok
    world.focus = "Fridge_1"
    assert apply(world, "PICKUP", "Mug").code == "NOT_VISIBLE"


def test_rules_of_the_released_code():
    world = kitchen()
    world.locations, world.released = frozenset({("Apple", "Plate")}), True
    for command in ("PICKUP Apple", "FIND Plate", "PUT Plate"):
        assert apply(world, *command.split()).ok
    assert apply(world, "PICKUP", "Apple").code == "SERVES_GOAL"
    world.entities["Bowl"].filled = "water"
    world.look_at(world.entities["Toaster_1"])
    assert not allowed(world, "FIND", "Apple")
    for verb in ("TOGGLE_ON", "TOGGLE_OFF"):
        assert apply(world, verb, "Toaster").ok
    assert world.entities["Bowl"].filled == ""
    world.released = False
    world.look_at(world.entities["Apple"])
    assert apply(world, "PICKUP", "Apple").ok


def test_coffee_fills_a_clean_mug_and_drinking_soils_it():
    world = kitchen()
    for command in (
        *("PICKUP Mug", "FIND CoffeeMachine", "PUT CoffeeMachine", "TOGGLE_ON CoffeeMachine"),
        *("TOGGLE_OFF CoffeeMachine", "PICKUP Mug"),
    ):
        assert apply(world, *command.split()).ok, command
    assert world.entities["Mug"].filled == "coffee"
    assert apply(world, "DRINK", "Mug").ok
    mug = world.entities["Mug"]
    assert (mug.filled, mug.dirty, world.events) == ("", True, [("DRINK", "coffee")])


@pytest.mark.parametrize(("released", "soiled"), [(False, True), (True, False)])
def test_drinking_soils_the_mug_whatever_is_held(released, soiled):
    world = kitchen()
    world.released, world.entities["Mug"].filled = released, "coffee"
    for command in ("FIND Knife", "PICKUP Knife", "FIND Mug", "DRINK Mug"):
        assert apply(world, *command.split()).ok, command
    assert world.entities["Mug"].dirty is soiled


def test_contents_move_along_and_copies_are_independent():
    world = kitchen()
    for command in ("PICKUP Apple", "FIND Plate", "PUT Plate"):
        assert apply(world, *command.split()).ok
    other = world.copy()
    assert apply(other, "PICKUP", "Plate").ok
    assert other.visible(other.entities["Apple"])
    assert world.entities["Plate"].parent == "CounterTop_1"
    assert world.state_hash != other.state_hash


def _whole(world):
    """Assert that slots and cells are not shared, and that at most one object is held."""
    for fixture in world.fixtures.values():
        about = fixture.model, fixture.width_m
        cells = [
            cells_of(*about, e.type, e.slot) for e in world.contents(world.entities[fixture.id])
        ]
        assert len(frozenset().union(*cells)) == sum(map(len, cells)), fixture.id
    places = [(e.parent, e.slot) for e in world.entities.values() if e.parent not in ("", GONE)]
    assert len(places) == len(set(places))
    assert sum(parent == HAND for parent, _ in places) <= 1
    for entity in world.entities.values():
        parent = world.entities.get(entity.parent)
        if entity.type in catalogue().sizes:
            assert parent is not None or entity.parent in (HAND, GONE)
        if parent is not None:
            assert entity not in world.parents(entity)


RANDOM = [(task, 500) for task in ("coffee", "distribute", "clean_mirror", "turn_on_tv")]


@pytest.mark.parametrize(
    ("task", "many"),
    [*RANDOM, *(pytest.param(task, 8_400, marks=pytest.mark.slow) for task in TABLE)],
)
def test_invariants_under_random_commands(task, many):
    rng = np.random.default_rng((7, crc32(task.encode())))
    variant = TABLE[task][0]
    world = Household(room(variant.label), set_up(task, variant, rng))
    accepted = 0
    for _ in range(many):
        hashed = world.state_hash
        verb = VERBS[int(rng.integers(len(VERBS)))]
        result = apply(world, verb, world.types[int(rng.integers(len(world.types)))])
        accepted += result.ok
        assert result.ok or world.state_hash == hashed
        _whole(world)
    assert accepted > 20
