"""States of the household: how much of the image they change, from where the agent looks at things.

Each type stands on a counter, or is a fixture of its room, and is looked at; small things are also
held. It is drawn in the plain state and in another: of the pixels that show it in both images, how
many are others (by more than 10 in CIELAB), by how much on average; and which share of the whole
image changes, in color and in grey.

    python benchmarks/household_states.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import tyro
from common import print_table
from household_legibility import put_into, told

from clevrskills.suites.asgardbench.drawing.house import HouseScene
from clevrskills.suites.asgardbench.models.catalogue import STATES, THINGS
from clevrskills.suites.asgardbench.models.model import State
from clevrskills.suites.asgardbench.models.surfaces import Contrast
from clevrskills.suites.asgardbench.rules.layout import Placed
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import Entity, World
from clevrskills.suites.asgardbench.tasks.rooms import room

KITCHEN = 13
ROOMS = {"Mirror": 406, "Toilet": 406, "Television": 202, "FloorLamp": 202}
"""Rooms of fixtures that no kitchen has."""
OTHER, SHOWS = 10.0, 25
"""By how much a pixel is another: in CIELAB, and of 255 in the whole image."""


@dataclass
class StatesArgs:
    """What is looked at."""

    contrast: Contrast = "high"
    """How strongly states show."""
    size: int = 1024
    """Width and height of the images, in pixels."""


def scenes() -> Iterator[tuple[str, str, World, Entity]]:
    """Types, where they are (``there`` or ``held``), and the world in which they are looked at."""
    for kind in STATES:
        thing = kind in THINGS
        placed = [Placed(kind, kind, "CounterTop_1", 2)] if thing else []
        world = World(room(ROOMS.get(kind, KITCHEN)), placed)
        models = {name: fixture.model for name, fixture in world.fixtures.items()}
        entity = next(e for e in world.entities.values() if models.get(e.id, e.type) == kind)
        world.look_at(entity)
        yield kind, "there", world, entity
        if thing and apply(world, "PICKUP", kind).ok:
            yield kind, "held", world, entity


def lab(image: np.ndarray) -> np.ndarray:
    """CIELAB colors of an image (n, n, 3) uint8."""
    color = image / 255
    light = np.where(color > 0.04045, ((color + 0.055) / 1.055) ** 2.4, color / 12.92)
    to_xyz = [[0.4339, 0.2126, 0.0178], [0.3762, 0.7152, 0.1095], [0.1899, 0.0722, 0.8727]]
    xyz = light @ np.array(to_xyz)  # as shares of white
    x, y, z = np.moveaxis(np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def main(args: StatesArgs) -> None:
    """Look and print a table."""
    scene = HouseScene(args.contrast, args.size)
    rows: list[list[object]] = []
    for kind, where, world, entity in scenes():
        put_into(entity, State())
        before = scene.image(world)
        there = scene.pixels(entity.id)
        for state in STATES[kind]:
            put_into(entity, state)
            after = scene.image(world)
            both = there & scene.pixels(entity.id)
            far = np.linalg.norm(lab(after) - lab(before), axis=-1)[both]
            other = far > OTHER
            shows = np.abs(after.astype(float) - before).max(-1) > SHOWS
            grey = np.abs(after.mean(-1) - before.mean(-1)) > SHOWS / 2
            numbers = [100 * other.mean(), far[other].mean() if other.any() else 0.0]
            numbers += [100 * shows.mean(), 100 * grey.mean()]
            rows.append([kind, told(state), where, *(f"{n:.2f}" for n in numbers), other.sum()])
        put_into(entity, State())
    columns = ["type", "state", "where", "% of its pixels", "distance", "% of the image", "in grey"]
    print_table(f"contrast {args.contrast}, {args.size} px", [*columns, "pixels"], rows)


if __name__ == "__main__":
    main(tyro.cli(StatesArgs, description=__doc__))
