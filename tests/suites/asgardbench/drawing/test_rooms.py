"""Rooms: the same for the same seed, furnished as their kind asks, nothing outside or doubled."""

import numpy as np
import pytest

from clevrskills.suites.asgardbench.drawing.catalogue import FIXTURES, THINGS
from clevrskills.suites.asgardbench.drawing.rooms import ROOM_KINDS, room

NEEDED = {
    "kitchen": {"Fridge", "Sink", "Faucet", "Microwave", "Toaster", "CoffeeMachine", "Stove"},
    "bathroom": {"Mirror", "Sink", "Toilet", "Bathtub", "SprayBottle", "Cloth"},
    "living_room": {"Television", "Sofa", "CoffeeTable", "RemoteControl"},
}


@pytest.mark.parametrize("kind", ROOM_KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_rooms_are_whole(kind, seed):
    made = room(kind, seed)
    assert made == room(kind, seed)
    kinds = [placed.kind for placed in made.placed]
    assert set(kinds) <= {*THINGS, *FIXTURES}
    assert set(kinds) >= NEEDED[kind]
    ids = [placed.id for placed in made.placed]
    assert len(set(ids)) == len(ids)
    places = np.array([placed.pose[:2] for placed in made.placed])
    assert (np.abs(places) <= np.array(made.size_m) / 2 + 1e-6).all()


def test_seeds_make_different_kitchens():
    rooms = {room("kitchen", seed).placed for seed in range(20)}
    assert len(rooms) == 20


def test_kitchens_have_four_burners_with_knobs():
    kinds = [placed.kind for placed in room("kitchen", 3).placed]
    assert kinds.count("StoveBurner") == kinds.count("StoveKnob") == 4


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="no room 'attic'; there are: kitchen, bathroom, living"):
        room("attic", 0)
