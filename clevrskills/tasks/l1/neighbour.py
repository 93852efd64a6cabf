"""Task ``neighbour``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import dist

import numpy as np
from torch import Tensor

from clevrskills.assets import Shape, shape
from clevrskills.predicates import Inside, InsideAfter, Predicate
from clevrskills.predicates import Sequence as InSequence
from clevrskills.sim.body import Body, Pose
from clevrskills.tasks.arguments import Count, choice, count
from clevrskills.tasks.bank import Fields
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import (
    ROOMY,
    EpisodeRng,
    Layout,
    LayoutError,
    TableLayout,
    Workspace,
    pose_on_table,
)

AREA_SIZE_M = (0.28, 0.28, 0.01)
AREAS = Workspace(x_m=(-0.42, -0.02), y_m=(-0.34, 0.36), reach_m=(0.26, 0.54))
RADIUS_M, NARROW_RADIUS_M = 0.06, 0.046
"""Greatest radius of objects of which two fit into an area of a roomy or of any other shape."""
DISTANCE_M = 0.18
"""Distance of the neighbour."""
DIRECTIONS = {"away": (1, 0), "towards": (-1, 0), "right": (0, 1), "left": (0, -1)}
"""World x and y of the directions as seen by the base camera, from across the table: ``away`` from
the robot is down in its image, ``right`` is the robot's left."""
PHRASES = {
    "away": "on the side away from the robot",
    "towards": "on the side towards the robot",
    "right": "on the right",
    "left": "on the left",
}
"""Phrases for the directions."""
TRIES = 30
"""Maximum number of sampled places."""
ASIDE_COS = 0.0
"""Greatest cosine to the direction for other objects, 90 degrees."""
IN_IMAGE = {"away": (0, 1), "towards": (0, -1), "right": (1, 0), "left": (-1, 0)}
"""Image x and y of the directions in the base camera."""
IMAGE_COS = 0.8
"""Least cosine to the direction in the image for the neighbour."""
ASIDE_IMAGE_COS = 0.5
"""Greatest cosine to the direction in the image for other objects."""


@dataclass(kw_only=True, eq=False)
class Neighbour(Task):
    """An object and its neighbour are in an area, where the neighbour was put second (paper,
    appendix A.2, task 4).

    The neighbour is the only object in the given direction. If it is put in first, it must be taken
    out of the outline of the area and put in again. The released code accepts any order.
    """

    key = "neighbour"
    level = "L1"
    sentence = "Put the object in the area, then the one that was next to it"
    predicates = (InSequence, Inside, InsideAfter)
    slots = ("area_0", "area_1", "area_2", "object_0", "object_1", "object_2", "object_3")
    parts = ("area", "first", "second")
    composition = ("combinations", "orders")
    count_argument, extra_slot = "num_distractors", "object_4"
    max_steps = 500

    num_areas: Count = count(1, 3)  # areas, including the target
    # other objects, in other directions, so that the direction matters; none in the paper
    num_distractors: Count = count(1, 2, most=3)
    # possible directions of the neighbour as seen by the base camera, see :data:`DIRECTIONS`
    directions: tuple[str, ...] = choice(*DIRECTIONS)

    def layout(self, rng: EpisodeRng) -> Layout:
        areas, objects = rng.number(self.num_areas), 2 + rng.number(self.num_distractors)
        area = rng.assign(areas)[0]
        direction = self.directions[rng.roles.integers(len(self.directions))]
        pools = rng.pools
        tile_names = rng.choose(pools.primitive, areas)
        tiles = [shape(name, AREA_SIZE_M) for name in tile_names]
        most_m = RADIUS_M if all(name in ROOMY for name in tile_names) else NARROW_RADIUS_M
        names = rng.choose(_small(tuple(pools.movable), most_m), objects)
        items = [shape(name) for name in names]
        table, poses = _beside_each_other(rng, items, direction)
        tile_poses = [table.place(tile, workspace=AREAS) for tile in tiles]
        for item in items[2:]:
            poses.append(table.place(item))
            aside = _cosine(poses[0], poses[-1], direction) <= ASIDE_COS
            if not aside or _image_cosine(rng, poses[0], poses[-1], direction) > ASIDE_IMAGE_COS:
                raise LayoutError("two neighbors in the same direction")
        textures = rng.textures_for(tile_names, pools.textures_2)
        colors = rng.textures_for(names, pools.textures_1, in_turn=True)
        bodies: list[Body | None] = [None] * len(self.slots)
        for i, pose in enumerate(tile_poses):
            name = tile_names[i]
            bodies[i] = Body(self.slots[i], name, textures[i], pose, AREA_SIZE_M, True, noun="area")
        for i, pose in enumerate(poses):
            bodies[3 + i] = Body(self.slots[3 + i], items[i].name, colors[i], pose)
        roles = {"area": area, "direction": list(DIRECTIONS).index(direction)}
        roles |= {"first": 3, "second": 4}
        return Layout(tuple(bodies), {name: np.array(role) for name, role in roles.items()})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        area, first, second = roles["area"], roles["first"], roles["second"]
        return InSequence((Inside(first, area), InsideAfter(second, area, first)))

    def fields(self, layout: Layout) -> Fields:
        return {"direction": PHRASES[list(DIRECTIONS)[int(layout.roles["direction"])]]}


@cache
def _small(names: tuple[str, ...], radius_m: float) -> list[str]:
    """Return the shapes up to a radius."""
    return [name for name in names if shape(name).radius_m <= radius_m]


def _beside_each_other(
    rng: EpisodeRng, items: list[Shape], direction: str
) -> tuple[TableLayout, list[Pose]]:
    """Return a table with the first two of some shapes, the second in a direction of the first."""
    space = rng.setting.workspace
    for _ in range(TRIES):
        table = rng.table()
        pose = table.place(items[0])
        x, y = np.add(pose[:2], np.multiply(DISTANCE_M, DIRECTIONS[direction])).tolist()
        yaw = rng.places.uniform(0.0, 2 * np.pi)
        in_space = space.x_m[0] <= x <= space.x_m[1] and space.y_m[0] <= y <= space.y_m[1]
        if not in_space or not space.contains(x, y):
            continue
        beside = pose_on_table(items[1], x, y, yaw)
        in_image = _image_cosine(rng, pose, beside, direction) >= IMAGE_COS
        if in_image and table.take(items[1], x, y, yaw):
            return table, [pose, beside]
    raise LayoutError("no room for the neighbour")


def _cosine(start: Pose, end: Pose, direction: str) -> float:
    """Return the cosine of the angle from one place to another and a direction."""
    way = float(np.subtract(end[:2], start[:2]) @ DIRECTIONS[direction])
    return way / dist(start[:2], end[:2])


def _image_cosine(rng: EpisodeRng, start: Pose, end: Pose, direction: str) -> float:
    """Return the cosine of this angle in the image of the base camera."""
    feet = np.array([[*start[:2], 0.0], [*end[:2], 0.0]])
    one, other = rng.setting.main_camera.pixels(feet)
    return float((other - one) @ IN_IMAGE[direction] / np.linalg.norm(other - one))
