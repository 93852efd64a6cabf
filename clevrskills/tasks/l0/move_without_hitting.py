"""Task ``move_without_hitting``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
import torch
from torch import Tensor

from clevrskills.assets import shape
from clevrskills.predicates import Avoiding, EndEffectorAtPose, Predicate
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import Count, count
from clevrskills.tasks.base import Task
from clevrskills.tasks.end_effector import GOAL_M, STARTS_M, TRIES, corners_around, goal_poses
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError

SIZE_M = (0.05, 0.05, 0.05)
"""Half the size of primitives in the released code."""
GAP_M = 0.03
"""Least distance between the spheres around two obstacles."""
BETWEEN, SPREAD_M = (0.3, 0.7), 0.03
"""Position of the first obstacle as a share of the straight line to the goal, and its spread."""


@dataclass(kw_only=True, eq=False)
class MoveWithoutHitting(Task):
    """The end effector is at the pose in the image, and the robot has touched none of the obstacles
    (paper, appendix A.1, task 2).

    One obstacle is near the straight line to the goal. In the released code all are anywhere, and
    touches are not checked.
    """

    key = "move_without_hitting"
    level = "L0"
    sentence = "Match the pose of the end effector without hitting any objects"
    predicates = (Avoiding, EndEffectorAtPose)
    slots = ("obstacle_0", "obstacle_1", "obstacle_2", "obstacle_3", "obstacle_4")
    composition = ("combinations",)
    count_argument, extra_slot = "num_obstacles", "obstacle_5"
    max_steps = 200
    shows_robot = True

    num_obstacles: Count = count(1, 5, most=6)  # obstacles

    def layout(self, rng: EpisodeRng) -> Layout:
        number = rng.number(self.num_obstacles)
        pools = rng.pools
        (goal,) = goal_poses(rng, 1)
        names = rng.choose(pools.primitive, number)
        textures = rng.textures_for(names, pools.textures_2)
        places = _places(rng, names, goal[:3])
        bodies: list[Body | None] = [None] * len(self.slots)
        for k in range(number):
            half = rng.places.uniform(0.0, pi)
            pose = (*places[k].tolist(), cos(half), 0.0, 0.0, sin(half))
            bodies[k] = Body(self.slots[k], names[k], textures[k], pose, SIZE_M, static=True)
        return Layout(tuple(bodies), {"goal": goal})

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        pose = roles["goal"]
        obstacles = torch.arange(len(self.slots), device=pose.device).expand(len(pose), -1)
        return Avoiding(EndEffectorAtPose(pose[:, :3], pose[:, 3:]), obstacles)


def _places(rng: EpisodeRng, names: Sequence[str], goal: np.ndarray) -> list[np.ndarray]:
    """Sample positions (3,) of obstacles in view, apart from each other, the first between start
    and goal.
    """
    places: list[np.ndarray] = []
    start = np.array(STARTS_M[0])
    apart = float(np.linalg.norm(SIZE_M)) + GAP_M
    for name in names:
        for _ in range(TRIES):
            place = rng.places.uniform(*GOAL_M)
            if not places:
                share = rng.places.uniform(*BETWEEN)
                place = start + share * (goal - start) + SPREAD_M * rng.places.normal(size=3)
            free = all(np.linalg.norm(place - other) >= apart for other in places)
            corners = place + corners_around(shape(name, SIZE_M))
            if free and rng.setting.main_camera.sees(corners):
                places.append(place)
                break
        else:
            raise LayoutError("no room for another obstacle")
    return places
