"""Rules of the household: checks of the verbs in order, their effects, invariants."""

from zlib import crc32

import numpy as np
import pytest

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.layout import Placed
from clevrskills.suites.asgardbench.rules.verbs import VERBS, apply
from clevrskills.suites.asgardbench.rules.world import GONE, HAND, World
from clevrskills.suites.asgardbench.tasks.instances import TABLE
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.setup import set_up


def kitchen():
    kinds = ("Mug", "Plate", "Pan", "Bread", "Egg", "Knife", "DishSponge", "Apple")
    things = [Placed(k, k, "CounterTop_1", n) for n, k in enumerate(kinds)]
    things.append(Placed("Bowl", "Bowl", "CounterTop_2", 0, dirty=True))
    things.append(Placed("Tomato", "Tomato", "Fridge_1", 0))
    return World(room(13), things)


CASES = (
    ("PICKUP Mug; PICKUP Plate", "HAND_FULL"),
    ("PICKUP Tomato", "NOT_VISIBLE"),
    ("FIND Tomato; PICKUP Tomato", "NOT_VISIBLE"),
    ("FIND Fridge; PICKUP Fridge", "NOT_PICKUPABLE"),
    ("FIND Fridge; OPEN Fridge; PICKUP Tomato", "DONE"),
    ("PUT CounterTop", "NOT_HELD"),
    ("PICKUP Apple; FIND Bowl; PUT Bowl", "TARGET_DIRTY"),
    ("PICKUP Apple; FIND Fridge; PUT Fridge", "CLOSED"),
    ("PICKUP Bread; FIND Plate; PUT Plate", "INCOMPATIBLE"),
    ("PICKUP Apple; FIND Plate; PUT Plate", "DONE"),
    ("FIND Fridge; OPEN Fridge; OPEN Fridge", "ALREADY_OPEN"),
    ("FIND Fridge; CLOSE Fridge", "ALREADY_CLOSED"),
    ("FIND Plate; OPEN Plate", "NOT_OPENABLE"),
    ("FIND Microwave; TOGGLE_ON Microwave; OPEN Microwave", "DEVICE_ON"),
    ("FIND Microwave; OPEN Microwave; TOGGLE_ON Microwave", "DOOR_OPEN"),
    ("FIND Bread; SLICE Bread", "NEEDS_KNIFE"),
    ("FIND Mug; SLICE Mug", "NOT_SLICEABLE"),
    ("PICKUP Knife; FIND Bread; SLICE Bread; SLICE BreadSliced", "ALREADY_SLICED"),
    ("PICKUP Knife; FIND Bread; SLICE Bread; FIND Bread", "ALREADY_SLICED"),
    ("FIND BreadSliced", "NO_SUCH_OBJECT"),
    ("FIND Television", "UNKNOWN_OBJECT"),
    ("PICKUP Egg; SLICE Egg", "DONE"),
    ("FIND Bowl; CLEAN Bowl", "FAUCET_OFF"),
    ("FIND Faucet; TOGGLE_ON Faucet; FIND Bowl; CLEAN Bowl", "NOT_IN_SINK"),
    ("FIND Plate; TOGGLE_ON Plate", "NOT_TOGGLEABLE"),
    ("FIND Faucet; TOGGLE_OFF Faucet", "ALREADY_OFF"),
    ("FIND CoffeeMachine; TOGGLE_ON CoffeeMachine", "MACHINE_EMPTY"),
    ("PICKUP Apple; FIND SinkBasin; PUT SinkBasin; FIND Faucet; TOGGLE_ON Faucet", "SINK_BLOCKED"),
    ("FIND Mug; EMPTY Mug", "NOT_FILLED"),
    ("FIND Mug; DRINK Mug", "NOT_HELD"),
    ("PICKUP Mug; DRINK Mug", "NOT_FILLED"),
    ("FIND Mug; SPRAY Mug", "NEEDS_SPRAYER"),
)


@pytest.mark.parametrize(("commands", "code"), CASES, ids=[c for c, _ in CASES])
def test_the_last_command_ends_in_its_code(commands, code):
    world = kitchen()
    *before, last = commands.split("; ")
    for command in before:
        result = apply(world, *command.split())
        assert result.ok or command.startswith("PICKUP"), (command, result.code)
    hashed = world.state_hash
    result = apply(world, *last.split())
    assert (result.code, result.ok) == (code, code == "DONE")
    assert (world.state_hash == hashed) == (not result.ok)


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


def test_contents_come_along_and_a_copy_is_another_world():
    world = kitchen()
    for command in ("PICKUP Apple", "FIND Plate", "PUT Plate"):
        assert apply(world, *command.split()).ok
    other = world.copy()
    assert apply(other, "PICKUP", "Plate").ok
    assert other.visible(other.entities["Apple"])
    assert world.entities["Plate"].parent == "CounterTop_1"
    assert world.state_hash != other.state_hash


def _whole(world):
    """Each thing has one parent, no slot is taken twice, at most one thing is held."""
    places = [(e.parent, e.slot) for e in world.entities.values() if e.parent not in ("", GONE)]
    assert len(places) == len(set(places))
    assert sum(parent == HAND for parent, _ in places) <= 1
    for entity in world.entities.values():
        parent = world.entities.get(entity.parent)
        if entity.type in catalogue().sizes:
            assert parent is not None or entity.parent in (HAND, GONE)
        if parent is not None:
            assert entity not in world.parents(entity)


@pytest.mark.parametrize("task", ["coffee", "distribute", "clean_mirror", "turn_on_tv"])
def test_random_commands_break_nothing(task):
    rng = np.random.default_rng((7, crc32(task.encode())))
    variant = TABLE[task][0]
    world = World(room(variant.label), set_up(task, variant, rng))
    accepted = 0
    for _ in range(400):
        hashed = world.state_hash
        verb = VERBS[int(rng.integers(len(VERBS)))]
        result = apply(world, verb, world.types[int(rng.integers(len(world.types)))])
        accepted += result.ok
        assert result.ok or world.state_hash == hashed
        _whole(world)
    assert accepted > 20
