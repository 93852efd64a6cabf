"""Sight of the household: whether what the rules call visible is what the images show.

Along the solver's paths, each entity that the rules see is looked for in the segmentation of the
image, and each one that the image shows is asked of the rules. An image shows an entity if at least
150 of its pixels (of 1024 x 1024) and a tenth of those that would be there if nothing hid it are
the entity's, or if it shows something that is in or on it.

    python benchmarks/household_sight.py --every 12
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import tyro
from common import print_table

from clevrskills.suites.asgardbench.drawing.house import HouseScene, state_of
from clevrskills.suites.asgardbench.drawing.stage import Stage, model
from clevrskills.suites.asgardbench.rules.camera import HALF_VIEW
from clevrskills.suites.asgardbench.rules.sight import LEAST_PX, SHARE, fixture_points, turned
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import GONE, Entity, World
from clevrskills.suites.asgardbench.tasks.instances import TABLE
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.setup import set_up
from clevrskills.suites.asgardbench.tasks.solver import StuckError, solve


@dataclass
class SightArgs:
    """What is looked at."""

    every: int = 12
    """One of so many steps of the paths."""
    size: int = 512
    """Width and height of the images, in pixels."""
    instances: int = 108
    """How many instances, spread over the families; up to 12: the first of each family."""


def paths(instances: int) -> Iterator[tuple[str, Iterator[World]]]:
    """Families and the worlds along the solver's path of an instance, spread over the families."""
    pairs = [(task, k) for task, table in TABLE.items() for k in range(len(table))]
    if instances <= len(TABLE):
        pairs = [(task, 0) for task in TABLE][:instances]
    for task, k in pairs[:: max(1, len(pairs) // instances)]:
        variant = TABLE[task][k]
        rng = np.random.default_rng((0, crc32(task.encode()), k))
        dirty = ("Mirror_1",) if task == "clean_mirror" else ()
        world = World(room(variant.label), set_up(task, variant, rng), dirty)
        try:
            plan = solve(task, variant, world)
        except StuckError:
            continue
        yield task, _along(world, plan)


def _along(world: World, plan: Iterable[str]) -> Iterator[World]:
    yield world
    for command in plan:
        apply(world, *command.split())
        yield world


def worlds(args: SightArgs) -> Iterator[World]:
    """The world at steps of the solver's paths."""
    step = 0
    for _, path in paths(args.instances):
        for world in path:
            step += 1
            if step % args.every == 0:
                yield world


class Looker:
    """What images show."""

    def __init__(self, size: int) -> None:
        self._scene, self._size = HouseScene(size_px=size), size
        self._alone = Stage(1.0, size // 2)

    def shown(self, world: World) -> dict[str, bool]:
        """Whether each entity is seen in the image."""
        self._scene.image(world)
        numbers, keys = self._scene.stage.segmentation()
        count: Counter[object] = Counter()
        for number, pixels in zip(*np.unique(numbers, return_counts=True), strict=True):
            count[keys.get(int(number))] += int(pixels)
        least = LEAST_PX * (self._size / 1024) ** 2
        own = {
            e.id: count[e.id] >= least and self._share(world, e, count[e.id]) >= SHARE
            for e in world.entities.values()
        }
        return {e.id: self._any(world, e, own) for e in world.entities.values()}

    def _any(self, world: World, entity: Entity, own: dict[str, bool]) -> bool:
        return own[entity.id] or any(self._any(world, e, own) for e in world.contents(entity))

    def _share(self, world: World, entity: Entity, count: int) -> float:
        """Share of what would be in the image of an entity that is there."""
        if count > 0.05 * self._size**2 or world.in_hand(entity):
            return 1.0
        if count >= SHARE * self._most(world, entity):
            return 1.0  # however much of the box around it it fills
        fixture = world.fixtures.get(entity.id)
        state = state_of(entity)
        if fixture is not None:
            drawn = model(fixture.model, state, "high", width_m=fixture.width_m)
            pose = (fixture.x_m, fixture.y_m, fixture.z_m, fixture.yaw_rad)
            self._alone.show_model("it", drawn, pose, state)
        else:
            self._alone.show_at(
                "it", model(entity.type, state), self._scene.pose_of(world, entity), state
            )
        camera = world.camera
        ahead = [a + b for a, b in zip(camera.eye, camera.forward, strict=True)]
        self._alone.look(camera.eye, ahead)
        self._alone.image()
        return count / max(4 * int(self._alone.pixels("it").sum()), 1)

    def _most(self, world: World, entity: Entity) -> float:
        """Pixels that an entity can fill: those of the box around its points, in the image."""
        fixture = world.fixtures.get(entity.id)
        if fixture is not None:
            points = fixture_points(fixture, entity.open)
        else:
            *place, yaw, tilt = world.pose(entity)
            points = turned(entity.type, entity.open, yaw, tilt) + place
        at = (points - world.camera.eye) @ world.camera.matrix
        if at[:, 0].min() < 0.05:
            return float(self._size**2)
        spread = (at[:, 1:] / at[:, :1] / HALF_VIEW).clip(-1, 1) * self._size / 2
        wide, high = np.ptp(spread, axis=0) + 0.02 * self._size  # points miss the very edges
        return float(wide * high)


def main(args: SightArgs) -> None:
    """Look and print a table."""
    looker = Looker(args.size)
    agree: Counter[bool] = Counter()
    either: Counter[bool] = Counter()
    wrong: Counter[str] = Counter()
    steps = 0
    for world in worlds(args):
        steps += 1
        shown = looker.shown(world)
        for entity in world.entities.values():
            if entity.parent == GONE:
                continue
            rule, image = world.visible(entity), shown[entity.id]
            agree[rule == image] += 1
            if rule or image:
                either[rule == image] += 1
            if rule != image:
                wrong[f"{entity.type} {'rules' if rule else 'image'}"] += 1
    rows: list[list[object]] = [
        ["all entities", agree.total(), f"{100 * agree[True] / agree.total():.2f}"],
        ["those that either sees", either.total(), f"{100 * either[True] / either.total():.2f}"],
    ]
    print_table(f"{steps} steps, {args.size} px", ["of", "entities", "% agree"], rows)
    most: list[list[object]] = [list(each) for each in wrong.most_common(15)]
    print_table("seen by one alone", ["type, and by which", "times"], most)


if __name__ == "__main__":
    main(tyro.cli(SightArgs, description=__doc__))
