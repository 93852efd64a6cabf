"""Clearance of an arm from the table and the bodies around it.

It is computed from points on the collision primitives. Unlike motion planning, this has no optional
dependencies.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
import torch
from sapien import Pose

from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.description import robot
from clevrskills.sim.robots.geometry import BoxGeometry, Primitive
from clevrskills.sim.world import World

SPACING_M = 0.02
"""Distance between neighboring points."""


@lru_cache(maxsize=4)
def arm_surface(robot_name: str) -> ArmSurface:
    """Return the surface of a robot, cached."""
    return ArmSurface(robot_name)


class ArmSurface:
    """Points on the collision primitives of a robot."""

    def __init__(self, robot_name: str) -> None:
        description = robot(robot_name)
        self._of = lru_cache(maxsize=16)(self._placed)  # the neutral pose recurs
        self._kinematics = kinematics(robot_name)
        self._base = Pose(description.base_position)
        # the first two links always stand on the table
        self._standing = [link.name for link in description.links[:2]]
        self._points = {
            link.name: np.concatenate([_points(part) for part in link.collision])
            for link in description.links
            if link.collision
        }

    def points(self, qpos: np.ndarray) -> dict[str, np.ndarray]:
        """Return the world points (P, 3) on each link at joint angles (n,)."""
        poses = self._kinematics.link_poses(qpos)
        placed = {}
        for name, points in self._points.items():
            matrix = (self._base * poses[name]).to_transformation_matrix()
            placed[name] = points @ matrix[:3, :3].T + matrix[:3, 3]
        return placed

    def clear(self, qpos: np.ndarray, world: World, margin_m: float) -> bool:
        """Return whether the robot at joint angles (n,) is clear of table and bodies, B = 1."""
        low, points = self._of(*qpos.tolist())
        return low >= margin_m and _clear_of_bodies(world, points, margin_m)

    def _placed(self, *qpos: float) -> tuple[float, np.ndarray]:
        """Return the lowest height of links not on the table, and all points (P, 3)."""
        points = self.points(np.array(qpos))
        low = min(p[:, 2].min() for name, p in points.items() if name not in self._standing)
        return float(low), np.concatenate(list(points.values()))


def _clear_of_bodies(world: World, points: np.ndarray, margin_m: float) -> bool:
    """Return whether world points (P, 3) keep a distance from all bodies except the held one."""
    for body, present in enumerate(world.solids.present[0].tolist()):
        if not present or body == int(world.held[0]):
            continue
        radius_m = float(world.solids.span[0, body])
        center = world.body_pose[0, body, :3].double().numpy()
        away = points - center
        near = points[np.einsum("pk,pk->p", away, away) < (radius_m + margin_m) ** 2]
        if len(near):
            near_points = torch.as_tensor(near, dtype=torch.float32)[None]
            distance = world.distance_to(torch.tensor([body]), near_points)
            if float(distance.min()) < margin_m:
                return False
    return True


def _ticks(low: float, high: float) -> np.ndarray:
    """Return evenly spaced numbers in a closed interval, at most a spacing apart."""
    return np.linspace(low, high, max(2, int(np.ceil((high - low) / SPACING_M)) + 1))


def _points(part: Primitive) -> np.ndarray:
    """Return points on the surface of a primitive in its link frame, (n, 3)."""
    if isinstance(part, BoxGeometry):
        x, y, z = (_ticks(-size / 2, size / 2) for size in part.size_m)
        grid = np.array(list(product(x, y, z)))
        points = grid[(np.abs(grid) >= np.array(part.size_m) / 2 - 1e-9).any(axis=1)]
    else:
        radius, half = part.radius_m, part.length_m / 2
        rings = [(radius, z) for z in _ticks(-half, half)]
        rings += [(inner, z) for inner in _ticks(0.0, radius)[:-1] for z in (-half, half)]
        points = np.concatenate([_ring(*ring) for ring in rings])
    pose = Pose(part.xyz_m)
    pose.set_rpy(part.rpy_rad)
    matrix = pose.to_transformation_matrix()
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def _ring(radius_m: float, z_m: float) -> np.ndarray:
    count = max(1, int(np.ceil(2 * np.pi * radius_m / SPACING_M)))
    angle = np.linspace(0.0, 2 * np.pi, count, endpoint=False)
    circle = radius_m * np.column_stack((np.cos(angle), np.sin(angle)))
    return np.column_stack((circle, np.full(count, z_m)))
