"""Sampling of goals in the air for tasks about the end effector."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import numpy as np
from sapien import Pose

from clevrskills.assets import Shape, shape
from clevrskills.sim.body import Body
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.tasks.layout import EpisodeRng, LayoutError, TableLayout

GOAL_M = ((-0.25, -0.3, 0.1), (0.05, 0.3, 0.4))
"""Corners of the space of goals (released code of ClevrSkills 1.0.0)."""
APART_M = 0.15
"""Least distance between goals and from the initial end effector: three times the tolerance."""
STARTS_M = tuple(ROBOTS[name].start_position for name in ("xarm6", "panda"))
"""Initial positions of the end effectors of the robots."""
TILT_RAD = (np.pi / 2, 3 * np.pi / 2)
"""Range of the rotation about world x; at pi the gripper points straight down."""
GRIPPER_M = np.array([*product((-0.02, 0.02), (-0.045, 0.045), (-0.125, 0.0))])
"""Corners of a box around the gripper in the end-effector frame, (8, 3)."""
TRIES = 100

Propose = Callable[[Sequence[np.ndarray]], "np.ndarray | None"]


def goals(count: int, propose: Propose) -> list[np.ndarray]:
    """Sample goals at least :data:`APART_M` from each other and from the start.

    Args:
        count: Number of goals.
        propose: Function that samples a goal, an array that starts with its position, given those
            before; ``None`` if it is unsuitable.

    Raises:
        LayoutError: There is no room for another goal.
    """
    found: list[np.ndarray] = []
    for _ in range(count):
        for _ in range(TRIES):
            goal = propose(found)
            if goal is not None:
                taken = np.array([*STARTS_M, *(other[:3] for other in found)])
                if np.linalg.norm(taken - goal[:3], axis=1).min() >= APART_M:
                    found.append(goal)
                    break
        else:
            raise LayoutError("no room for another goal")
    return found


def goal_poses(rng: EpisodeRng, count: int) -> list[np.ndarray]:
    """Sample poses (7,) of the end effector with the gripper in view of the main camera.

    Raises:
        LayoutError: There is no room for another goal.
    """

    def propose(found: Sequence[np.ndarray]) -> np.ndarray | None:
        del found
        half = rng.places.uniform(*TILT_RAD) / 2
        pose = np.array([*rng.places.uniform(*GOAL_M), np.cos(half), np.sin(half), 0.0, 0.0])
        return pose if rng.setting.main_camera.sees(gripper_points(pose)) else None

    return goals(count, propose)


def gripper_points(pose: np.ndarray) -> np.ndarray:
    """Return corners (8, 3) around the gripper in the world for an end-effector pose (7,)."""
    matrix = Pose(pose[:3], pose[3:]).to_transformation_matrix()
    return GRIPPER_M @ matrix[:3, :3].T + matrix[:3, 3]


@cache
def corners_around(item: Shape) -> np.ndarray:
    """Return the corners (8, 3) of a box around an upright shape with any yaw."""
    x, y, z = item.half_extents
    radius = np.hypot(x, y)
    return np.array([*product((-radius, radius), (-radius, radius), (-z, z))])


def distractor(rng: EpisodeRng, key: str, table: TableLayout | None = None) -> Body:
    """Sample a distractor on the table.

    Raises:
        LayoutError: There is no free place.
    """
    pools = rng.pools
    (name,) = rng.choose(pools.movable, 1)
    (texture,) = rng.textures_for([name], pools.textures_1)
    size = rng.size_m(name)
    pose = (table or rng.table()).place(shape(name, size))
    return Body(key, name, texture, pose, size)
