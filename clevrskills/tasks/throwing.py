"""Base of tasks in which objects are thrown at targets out of reach."""

from collections.abc import Mapping
from math import cos, pi, radians, sin
from typing import ClassVar

import numpy as np
from torch import Tensor

from clevrskills.assets import Shape, shape
from clevrskills.predicates import Hit, Predicate
from clevrskills.sim.body import Body, Pose
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import (
    BASE_X_M,
    EpisodeRng,
    Layout,
    LayoutError,
    TableLayout,
    pose_on_table,
)

REACH_M = 0.72
"""Distance from the base beyond which the xArm 6 cannot drop an object; the Panda reaches 0.1 m
further."""
TRIES = 100


def place_beyond(
    table: TableLayout,
    generator: np.random.Generator,
    item: Shape,
    angles_deg: tuple[float, float],
    beyond_m: tuple[float, float],
    yaw_rad: float | None = None,
) -> Pose:
    """Sample a free, visible place for a shape that is completely out of reach.

    Args:
        table: The table.
        generator: Source of the random place.
        item: The shape.
        angles_deg: Range of its direction from the base; 90 is to the left.
        beyond_m: Range of its least distance beyond reach.
        yaw_rad: Its yaw; ``None``: it faces the base.

    Raises:
        LayoutError: No place was found.
    """
    corners = np.concatenate(item.parts)[:, :2]
    for _ in range(TRIES):
        angle = radians(generator.uniform(*angles_deg))
        yaw = angle if yaw_rad is None else yaw_rad
        turned = corners @ [cos(yaw - angle), -sin(yaw - angle)]  # along the way from the base
        distance = REACH_M + generator.uniform(*beyond_m) - float(turned.min())
        x, y = BASE_X_M + distance * cos(angle), distance * sin(angle)
        if table.take(item, x, y, yaw):
            return pose_on_table(item, x, y, yaw)
    raise LayoutError(f"no free place beyond reach for {item.name}")


class Throwing(Task):
    """Base of tasks with an object in the gripper and a target out of reach.

    The released code puts the target 0.75 to 0.85 m in front of the robot, where it is often
    outside the image and partly within reach. Here it is completely in view and out of reach, which
    is possible only to the robot's left. An area is therefore up to 0.1 m further away.
    """

    level = "L0"
    slots = ("object_0", "target_0")
    composition = ("combinations",)
    max_steps = 150
    predicate: ClassVar[type[Hit]] = Hit
    size_m: ClassVar[tuple[float, float, float]] = (0.125, 0.125, 0.025)
    area_m: ClassVar[tuple[float, float, float]] = (0.20, 0.20, 0.01)
    target_m: ClassVar[tuple[float, float, float]]
    density: ClassVar[float] = 100.0
    angles_deg: ClassVar[tuple[float, float]] = (62.0, 115.0)
    beyond_m: ClassVar[tuple[float, float]] = (0.0, 0.06)

    def scene(self, rng: EpisodeRng, target: str) -> Layout:
        """Sample a scene with an ``area`` or an ``object`` as the target.

        Raises:
            LayoutError: The scene does not fit on the table.
        """
        pools = rng.pools
        thrown, aimed = rng.choose(pools.primitive, 2)
        (texture,) = rng.textures_for([thrown], pools.textures_1)
        (other,) = rng.textures_for([aimed], pools.textures_2)
        is_area = target == "area"
        size_m = self.area_m if is_area else self.target_m
        yaw, turn = rng.places.uniform(-pi, pi, 2)
        item = shape(thrown, self.size_m)
        goal = shape(aimed, size_m)
        pose = place_beyond(rng.table(), rng.places, goal, self.angles_deg, self.beyond_m, yaw)
        density, noun = (None, "area") if is_area else (self.density, "")
        bodies = (
            Body(self.slots[0], thrown, texture, pose_on_table(item, 0.0, 0.0, turn), self.size_m),
            Body(self.slots[1], aimed, other, pose, size_m, is_area, density=density, noun=noun),
        )
        return Layout(bodies, {"target": np.array(1)}, in_gripper=0)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        target = roles["target"]
        return self.predicate(target - 1, target)
