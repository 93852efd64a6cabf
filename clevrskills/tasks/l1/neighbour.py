"""Put an object in an area, then the one that was next to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import dist

import numpy as np
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Inside, InsideAfter, Predicate
from clevrskills.predicates import Sequence as InSequence
from clevrskills.sim.body import Body, Pose
from clevrskills.tasks.arguments import Count, choice, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import (
    EpisodeRng,
    Layout,
    LayoutError,
    Workspace,
    pose_on_table,
)

AREA_SIZE_M = (0.28, 0.28, 0.01)
AREAS = Workspace(x_m=(-0.42, -0.02), y_m=(-0.34, 0.36), reach_m=(0.26, 0.54))
RADIUS_M = {"cube": 0.06, "cylinder": 0.06, "hexagon": 0.06}
NARROW_RADIUS_M = 0.046
"""Outer radius of the largest objects of which two fit into an area of some shape, and into one of
any other."""
DISTANCE_M = 0.10
"""How far the neighbour is away, beside its own size."""
DIRECTIONS = {"north": (1, 0), "south": (-1, 0), "west": (0, 1), "east": (0, -1)}
"""World x and y: north is away from the robot."""
ASIDE_COS = 0.25
"""Cosine up to which of two directions neither is the other, 75 degrees."""


@dataclass(kw_only=True, eq=False)
class Neighbour(Task):
    """An object and, put there after it, its neighbour lie at once in an area (paper, appendix A.2,
    task 4).

    Seen from the object, the neighbour is the only one in the direction named. Whatever is put in
    before the other counts only when it has been taken out, clear of the outline of the area seen
    from above, and put in again, while the released code accepts any order.

    Args:
        num_areas: Areas, one of them meant.
        num_distractors: Objects beside the two, in other directions; the paper has none.
        directions: Directions that the neighbour may be in.
    """

    key = "neighbour"
    level = "L1"
    sentence = "Put the object in the area, then the one that was next to it"
    predicates = (InSequence, Inside, InsideAfter)
    slots = ("area_0", "area_1", "area_2", "object_0", "object_1", "object_2", "object_3")
    max_steps = 500

    num_areas: Count = count(1, 3)
    num_distractors: Count = count(0, 1, most=2)
    directions: tuple[str, ...] = choice(*DIRECTIONS)

    def layout(self, rng: EpisodeRng) -> Layout:
        areas, objects = rng.number(self.num_areas), 2 + rng.number(self.num_distractors)
        area = rng.assign(areas)[0]
        direction = self.directions[rng.roles.integers(len(self.directions))]
        pools = rng.pools
        tiles = [shape(name, AREA_SIZE_M) for name in rng.choose(pools.primitive, areas)]
        most_m = min(RADIUS_M.get(tile.name, NARROW_RADIUS_M) for tile in tiles)
        small = [name for name in pools.movable if shape(name).radius_m <= most_m]
        items = [shape(name) for name in rng.choose(small, objects)]
        textures = rng.choose(pools.textures_2, areas, "textures")
        colours = rng.choose(pools.textures_1, objects, "textures")
        space, table = rng.setting.workspace, rng.table()
        poses = [table.place(items[0])]
        away_m = DISTANCE_M + 2 * max(items[1].half_extents[:2])
        x, y = np.add(poses[0][:2], np.multiply(away_m, DIRECTIONS[direction])).tolist()
        yaw = rng.places.uniform(0.0, 2 * np.pi)
        on_it = space.x_m[0] <= x <= space.x_m[1] and space.y_m[0] <= y <= space.y_m[1]
        if not (on_it and space.contains(x, y) and table.take(items[1], x, y, yaw)):
            raise LayoutError("no room for the neighbour")
        poses.append(pose_on_table(items[1], x, y, yaw))
        bodies: list[Body | None] = [None] * len(self.slots)
        for i, tile in enumerate(tiles):
            pose = table.place(tile, workspace=AREAS)
            bodies[i] = Body(self.slots[i], tile.name, textures[i], pose, AREA_SIZE_M, True)
        for item in items[2:]:
            poses.append(table.place(item))
            if _cosine(poses[0], poses[-1], direction) > ASIDE_COS:
                raise LayoutError("two neighbours in the same direction")
        for i, pose in enumerate(poses):
            bodies[3 + i] = Body(self.slots[3 + i], items[i].name, colours[i], pose)
        roles = {"area": np.array(area), "direction": np.array(list(DIRECTIONS).index(direction))}
        return Layout(tuple(bodies), roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        area = roles["area"]
        first, second = area * 0 + 3, area * 0 + 4
        return InSequence((Inside(first, area), InsideAfter(second, area, first)))

    def prompts(self, layout: Layout) -> Sequence[str]:
        area = self.slots[int(layout.roles["area"])]
        direction = list(DIRECTIONS)[int(layout.roles["direction"])]
        return [
            f"First put {{obj:object_0}} in {{obj:{area}}} and then put the object that was at its"
            f" {direction} in the same {{obj:{area}}}"
        ]


def _cosine(start: Pose, end: Pose, direction: str) -> float:
    """Cosine of the angle between the way from one place to another and a direction."""
    way = float(np.subtract(end[:2], start[:2]) @ DIRECTIONS[direction])
    return way / dist(start[:2], end[:2])
