"""Preconditions of the verbs, in order: the first violated one is reported."""

from itertools import chain, combinations
from math import radians

import pytest

from clevrskills.suites.asgardbench.rules.camera import AgentCamera
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.verbs import VERBS, apply
from clevrskills.suites.asgardbench.rules.world import GONE, HAND, Household
from clevrskills.suites.asgardbench.tasks.rooms import room

AWAY = AgentCamera(0.0, 0.0, 9.0, 0.0, radians(-30))
"""Camera that sees nothing."""
ITEMS = ("Mug", "Plate", "Pan", "Bread", "Egg", "Knife", "DishSponge", "Apple", "Fork", "Cup")
BATH = ("SprayBottle", "Cloth", "HandTowel")


def world_of(label):
    if label == 13:
        items = [PlacedObject(k, k, "CounterTop_1", n) for n, k in enumerate(ITEMS)]
        items.append(PlacedObject("Bowl", "Bowl", "CounterTop_2", 0))
        return Household(room(label), items)
    if label == 406:
        items = [PlacedObject(k, k, "CounterTop_1", n) for n, k in enumerate(BATH)]
        return Household(room(label), items, ("Mirror_1",))
    items = [PlacedObject("RemoteControl", "RemoteControl", "CoffeeTable_1", 0)]
    items.append(PlacedObject("Book", "Book", "CoffeeTable_1", 5))
    return Household(room(label), items)


def there(name, container, slot=0):
    def change(world):
        entity = world.entities[name]
        entity.parent, entity.slot = container, slot

    return change


def held(name):
    return there(name, HAND)


def state(name, **values):
    def change(world):
        for key, value in values.items():
            setattr(world.entities[name], key, value)

    return change


def look(name):
    return lambda world: world.look_at(world.entities[name])


def away(world):
    world.camera, world.focus = AWAY, "LightSwitch_1" if world.room.label == 13 else "Sofa_1"
    if world.focus not in world.entities:
        world.focus = "Toilet_1"


def nothing(world):
    pass


ROWS = [
    # verb and type, room, preparation, faults in order
    ("PICKUP Apple", 13, look("Apple"), {"HAND_FULL": held("Fork"), "NOT_VISIBLE": away}),
    (
        "PICKUP Apple",
        13,
        lambda w: (
            there("Apple", "Microwave_1")(w),
            state("Microwave_1", open=True)(w),
            look("Apple")(w),
        ),
        {
            "HAND_FULL": held("Fork"),
            "NOT_VISIBLE": away,
            "INSIDE_CLOSED": state("Microwave_1", open=False),
        },
    ),
    (
        "PICKUP Toaster",
        13,
        None,
        {"HAND_FULL": held("Fork"), "NOT_VISIBLE": away, "NOT_PICKUPABLE": look("Toaster_1")},
    ),
    (
        "PUT Bowl",
        13,
        lambda w: (held("Apple")(w), look("Bowl")(w)),
        {
            "NOT_HELD": there("Apple", "CounterTop_1", 7),
            "NOT_VISIBLE": away,
            "TARGET_DIRTY": state("Bowl", dirty=True),
            "NO_SPACE": lambda w: (there("Egg", "Bowl", 0)(w), there("Fork", "Bowl", 1)(w)),
        },
    ),
    (
        "PUT Bowl",
        13,
        lambda w: (held("Bread")(w), look("Bowl")(w)),
        {"NOT_VISIBLE": away, "TARGET_DIRTY": state("Bowl", dirty=True), "INCOMPATIBLE": nothing},
    ),
    (
        "PUT Microwave",
        13,
        lambda w: (held("Apple")(w), state("Microwave_1", open=True)(w), look("Microwave_1")(w)),
        {
            "NOT_HELD": there("Apple", "CounterTop_1", 7),
            "NOT_VISIBLE": away,
            "CLOSED": state("Microwave_1", open=False),
            "NO_SPACE": there("Mug", "Microwave_1"),
        },
    ),
    (
        "PUT Toaster",
        13,
        lambda w: (held("Apple")(w), look("Toaster_1")(w)),
        {"NOT_VISIBLE": away, "INCOMPATIBLE": nothing},
    ),
    (
        "OPEN Microwave",
        13,
        look("Microwave_1"),
        {
            "NOT_VISIBLE": away,
            "ALREADY_OPEN": state("Microwave_1", open=True),
            "DEVICE_ON": state("Microwave_1", on=True),
        },
    ),
    (
        "OPEN Fridge",
        13,
        look("Fridge_1"),
        {"NOT_VISIBLE": away, "ALREADY_OPEN": state("Fridge_1", open=True)},
    ),
    (
        "OPEN Book",
        203,
        look("Book"),
        {"NOT_VISIBLE": away, "ALREADY_OPEN": state("Book", open=True)},
    ),
    ("OPEN Apple", 13, None, {"NOT_VISIBLE": away, "NOT_OPENABLE": look("Apple")}),
    (
        "CLOSE Fridge",
        13,
        lambda w: (state("Fridge_1", open=True)(w), look("Fridge_1")(w)),
        {"NOT_VISIBLE": away, "ALREADY_CLOSED": state("Fridge_1", open=False)},
    ),
    ("CLOSE Apple", 13, None, {"NOT_VISIBLE": away, "NOT_OPENABLE": look("Apple")}),
    (
        "SLICE Bread",
        13,
        lambda w: (held("Knife")(w), look("Bread")(w)),
        {
            "ALREADY_SLICED": lambda w: setattr(w.entities["Bread"], "parent", GONE),
            "NOT_VISIBLE": away,
            "NOT_ON_TOP": lambda w: (
                there("Bread", "Fridge_1")(w),
                state("Fridge_1", open=True)(w),
                look("Bread")(w),
            ),
            "NEEDS_KNIFE": there("Knife", "CounterTop_1", 5),
        },
    ),
    ("SLICE Egg", 13, look("Egg"), {"NOT_VISIBLE": away}),
    (
        "SLICE Mug",
        13,
        look("Mug"),
        {"NOT_VISIBLE": away, "NOT_SLICEABLE": nothing, "NEEDS_KNIFE": nothing},
    ),
    (
        "CLEAN Mug",
        13,
        lambda w: (
            there("Mug", "SinkBasin_1")(w),
            state("Faucet_1", on=True)(w),
            held("DishSponge")(w),
            look("Mug")(w),
        ),
        {
            "NOT_VISIBLE": away,
            "FAUCET_OFF": state("Faucet_1", on=False),
            "NOT_IN_SINK": lambda w: (there("Mug", "CounterTop_1")(w), look("Mug")(w)),
            "NEEDS_SPONGE": there("DishSponge", "CounterTop_1", 6),
        },
    ),
    (
        "CLEAN Mirror",
        406,
        lambda w: (state("Mirror_1", sprayed=True)(w), held("Cloth")(w), look("Mirror_1")(w)),
        {
            "NOT_VISIBLE": away,
            "NOT_SPRAYED": state("Mirror_1", sprayed=False),
            "NEEDS_CLOTH": there("Cloth", "CounterTop_1", 1),
        },
    ),
    (
        "TOGGLE_ON CoffeeMachine",
        13,
        lambda w: (there("Mug", "CoffeeMachine_1")(w), look("CoffeeMachine_1")(w)),
        {
            "ALREADY_ON": state("CoffeeMachine_1", on=True),
            "NOT_VISIBLE": away,
            "MACHINE_EMPTY": there("Mug", "CounterTop_1"),
            "MUG_FULL": state("Mug", filled="water"),
            "MUG_DIRTY": state("Mug", dirty=True),
        },
    ),
    (
        "TOGGLE_ON CoffeeMachine",
        13,
        None,
        {
            "ALREADY_ON": state("CoffeeMachine_1", on=True),
            "NOT_VISIBLE": away,
            "WRONG_CONTENT": lambda w: (
                there("Cup", "CoffeeMachine_1")(w),
                look("CoffeeMachine_1")(w),
            ),
        },
    ),
    (
        "TOGGLE_ON Faucet",
        13,
        look("Faucet_1"),
        {
            "ALREADY_ON": state("Faucet_1", on=True),
            "NOT_VISIBLE": away,
            "SINK_BLOCKED": there("Fork", "SinkBasin_1"),
        },
    ),
    (
        "TOGGLE_ON Microwave",
        13,
        look("Microwave_1"),
        {
            "ALREADY_ON": state("Microwave_1", on=True),
            "NOT_VISIBLE": away,
            "DOOR_OPEN": state("Microwave_1", open=True),
        },
    ),
    ("TOGGLE_ON Apple", 13, look("Apple"), {"NOT_TOGGLEABLE": nothing, "NOT_VISIBLE": away}),
    (
        "TOGGLE_ON Television",
        203,
        lambda w: (held("RemoteControl")(w), look("Television_1")(w)),
        {
            "ALREADY_ON": state("Television_1", on=True),
            "NOT_VISIBLE": away,
            "NEEDS_REMOTE": there("RemoteControl", "CoffeeTable_1"),
        },
    ),
    (
        "TOGGLE_OFF Television",
        203,
        lambda w: (
            held("RemoteControl")(w),
            state("Television_1", on=True)(w),
            look("Television_1")(w),
        ),
        {
            "ALREADY_OFF": state("Television_1", on=False),
            "NOT_VISIBLE": away,
            "NEEDS_REMOTE": there("RemoteControl", "CoffeeTable_1"),
        },
    ),
    (
        "TOGGLE_OFF Toaster",
        13,
        lambda w: (state("Toaster_1", on=True)(w), look("Toaster_1")(w)),
        {"ALREADY_OFF": state("Toaster_1", on=False), "NOT_VISIBLE": away},
    ),
    ("TOGGLE_OFF Apple", 13, look("Apple"), {"NOT_TOGGLEABLE": nothing, "NOT_VISIBLE": away}),
    (
        "EMPTY Bowl",
        13,
        lambda w: (state("Bowl", filled="water")(w), look("Bowl")(w)),
        {"NOT_VISIBLE": away, "NOT_FILLED": state("Bowl", filled="")},
    ),
    (
        "DRINK Bowl",
        13,
        lambda w: (state("Bowl", filled="water")(w), held("Fork")(w), look("Bowl")(w)),
        {
            "NOT_VISIBLE": away,
            "NOT_HELD": there("Fork", "CounterTop_1", 8),
            "NOT_FILLED": state("Bowl", filled=""),
        },
    ),
    (
        "SPRAY Mirror",
        406,
        lambda w: (held("SprayBottle")(w), look("Mirror_1")(w)),
        {"NOT_VISIBLE": away, "NEEDS_SPRAYER": there("SprayBottle", "CounterTop_1", 0)},
    ),
    (
        "FIND Apple",
        13,
        away,
        {"ALREADY_SLICED": lambda w: setattr(w.entities["Apple"], "parent", GONE)},
    ),
    ("FIND AppleSliced", 13, None, {"NO_SUCH_OBJECT": nothing}),
    *[
        (f"{verb} {kind}", 13, None, {code: nothing})
        for verb in VERBS
        for kind, code in (("Television", "UNKNOWN_OBJECT"), ("BreadSliced", "NO_SUCH_OBJECT"))
    ],
    *[
        (f"{verb} Bread", 13, None, {"ALREADY_SLICED": ROW})
        for ROW in [lambda w: setattr(w.entities["Bread"], "parent", GONE)]
        for verb in VERBS
    ],
]
TOGETHER = ({"MACHINE_EMPTY", "MUG_FULL"}, {"MACHINE_EMPTY", "MUG_DIRTY"})
"""Faults that exclude each other."""


def _cases():
    """Yield each row without faults, with each fault, and with each pair; NOT_VISIBLE comes last,
    as other changes move the camera.
    """
    for number, (command, label, ready, faults) in enumerate(ROWS):
        order, begin = list(faults), (ready,) if ready else ()
        always = [code for code, change in faults.items() if change is nothing]
        if ready is not None and not always:
            yield number, command, label, begin, "DONE"
        for codes in chain(combinations(order, 1), combinations(order, 2)):
            if set(codes) in TOGETHER or "ALREADY_SLICED" in codes[:-1]:
                continue
            changes = [faults[code] for code in sorted(codes, key=lambda c: c == "NOT_VISIBLE")]
            expected = min((*codes, *always), key=order.index)
            yield number, command, label, (*begin, *changes), expected


CASES = list(_cases())


@pytest.mark.parametrize(
    ("command", "label", "steps", "code"),
    [case[1:] for case in CASES],
    ids=[f"{number}-{command}-{code}-{k}" for k, (number, command, _, _, code) in enumerate(CASES)],
)
def test_the_first_violated_precondition_is_reported(command, label, steps, code):
    world = world_of(label)
    for step in steps:
        step(world)
    hashed = world.state_hash
    result = apply(world, *command.split())
    assert (result.code, result.ok) == (code, code == "DONE")
    assert result.ok or world.state_hash == hashed
