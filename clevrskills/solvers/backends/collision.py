"""Batched collision checker of an arm, a held box and obstacles.

Bounding spheres and face normals of bounding boxes separate nearly all pairs, in numpy for all
configurations at once. FCL checks the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import fcl
import numpy as np
from scipy.spatial.transform import Rotation

from clevrskills.core.geometry import rotation_matrices_np
from clevrskills.sim.robots.description import RobotDescription
from clevrskills.sim.robots.geometry import BoxGeometry, Cylinder, Joint, Primitive
from clevrskills.solvers.backends.backend import Solid

HELD = "held"
ROUNDING_M = 1e-9
"""Distance of bounds up to which pairs are checked by FCL."""


class CollisionChecker:
    """Checker for collisions of an arm with itself and with boxes, in the frame of its base."""

    def __init__(self, description: RobotDescription) -> None:
        parts = [(link.name, part) for link in description.links for part in link.collision]
        self._owners = [*(link for link, _ in parts), HELD]
        self._chain = _Chain(
            description, [*parts, (description.tcp_link, BoxGeometry((0, 0, 0), (0, 0, 0)))]
        )
        self._grip = self._chain.local[-1].copy()
        self._count = len(self._owners)
        self._half = np.stack([*(_half(part) for _, part in parts), np.zeros(3)])
        self._solids = [fcl.CollisionObject(_geometry(part)) for _, part in parts]
        apart = {frozenset(pair) for pair in description.disabled_pairs}
        apart |= {
            frozenset((HELD, link)) for link in (description.tcp_link, description.gripper_link)
        }
        self._self_pairs = np.array(
            [
                (i, j)
                for i, j in combinations(range(self._count), 2)
                if len(pair := frozenset((self._owners[i], self._owners[j]))) == 2
                and pair not in apart
            ]
        )
        base = description.links[0].name  # it stands on the table
        self._moving = np.array([k for k, owner in enumerate(self._owners) if owner != base])
        self.set_scene({}, None)

    def set_scene(self, boxes: Mapping[str, Solid], held: Solid | None) -> None:
        """Set the obstacles by name, and the held box in the end-effector frame."""
        arm, count = self._count, len(boxes)
        sizes = np.array([size for size, _ in boxes.values()]).reshape(count, 3)
        poses = np.array([pose for _, pose in boxes.values()]).reshape(count, 7)
        held_size = np.zeros(3) if held is None else held[0]
        if held is not None:
            moved = np.eye(4)
            moved[:3, 3] = held[1]
            self._chain.local[-1] = self._grip @ moved
        self._names = [*self._owners, *boxes]
        self._half[arm - 1] = held_size / 2
        self._half = np.concatenate((self._half[:arm], sizes / 2))
        self._box_frames = np.zeros((count, 4, 4))
        self._box_frames[:, :3, :3] = rotation_matrices_np(poses[:, 3:])
        self._box_frames[:, :3, 3] = poses[:, :3]
        self._solids[arm - 1 :] = [fcl.CollisionObject(fcl.Box(*held_size))]
        for size, pose in zip(sizes, poses, strict=True):
            place = fcl.Transform(pose[3:], pose[:3])
            self._solids.append(fcl.CollisionObject(fcl.Box(*size), place))
        with_boxes = np.empty((count, len(self._moving), 2), dtype=int)
        with_boxes[..., 0], with_boxes[..., 1] = self._moving, np.arange(count)[:, None] + arm
        pairs = np.concatenate((self._self_pairs, with_boxes.reshape(-1, 2)))
        self._pairs = pairs if held is not None else pairs[(pairs != arm - 1).all(1)]
        radius = np.sqrt((self._half**2).sum(1))
        self._reach_m2 = (radius[self._pairs].sum(1) + ROUNDING_M) ** 2

    def collisions(self, qpos: np.ndarray) -> Iterator[tuple[str, str]]:
        """Yield the names of colliding pairs in configurations (N, n)."""
        rows = len(qpos)
        frames = np.empty((rows, len(self._names), 4, 4))
        frames[:, : self._count] = self._chain.frames(qpos)
        frames[:, self._count :] = self._box_frames
        centers = np.ascontiguousarray(frames[:, :, :3, 3])
        first, second = self._pairs.T
        between = centers.take(second, 1) - centers.take(first, 1)
        row, pair = np.nonzero(np.einsum("npk,npk->np", between, between) < self._reach_m2)
        a, b, between = first[pair], second[pair], between[row, pair, None]
        turn_a, turn_b = frames[row, a, :3, :3], frames[row, b, :3, :3]
        overlap = np.abs(turn_a.swapaxes(1, 2) @ turn_b)
        half_a, half_b = self._half[a, :, None], self._half[b, :, None]
        # separating axes: face normals of a, then of b (Gottschalk et al. 1996)
        gap_a = np.abs(between @ turn_a)[:, 0] - (overlap @ half_b + half_a)[..., 0]
        gap_b = np.abs(between @ turn_b)[:, 0] - (overlap.swapaxes(1, 2) @ half_a + half_b)[..., 0]
        near = np.flatnonzero((np.maximum(gap_a, gap_b) < ROUNDING_M).all(1))
        for n, i, j in zip(row[near].tolist(), a[near].tolist(), b[near].tolist(), strict=True):
            for k in (i, j):
                if k < self._count:
                    frame = frames[n, k]
                    self._solids[k].setTransform(fcl.Transform(frame[:3, :3], frame[:3, 3]))
            if fcl.collide(self._solids[i], self._solids[j]):
                yield self._names[i], self._names[j]


class _Chain:
    """Batched forward kinematics of P primitives on links of an arm."""

    def __init__(
        self, description: RobotDescription, parts: Sequence[tuple[str, Primitive]]
    ) -> None:
        by_name = {joint.name: joint for joint in description.joints}
        joints = [by_name[name] for name in description.joint_names]
        self._by_child = {joint.child: joint for joint in description.joints}
        self._frame_of = {joint.child: k + 1 for k, joint in enumerate(joints)}  # 0: the base
        mounts = [self._mount(joint.parent) for joint in joints]
        self._parents = [frame for frame, _ in mounts]
        self._fixed = np.stack(
            [fixed @ _matrix(joint) for (_, fixed), joint in zip(mounts, joints, strict=True)]
        )
        mounts = [self._mount(link) for link, _ in parts]
        self._frames = np.array([frame for frame, _ in mounts])
        self.local = np.stack(
            [fixed @ _matrix(part) for (_, fixed), (_, part) in zip(mounts, parts, strict=True)]
        )

    def _mount(self, link: str) -> tuple[int, np.ndarray]:
        """Return the index of the moving frame of a link, and the fixed transform (4, 4) to it."""
        fixed = np.eye(4)
        while link not in self._frame_of and link in self._by_child:
            joint = self._by_child[link]
            fixed, link = _matrix(joint) @ fixed, joint.parent
        return self._frame_of.get(link, 0), fixed

    def frames(self, qpos: np.ndarray) -> np.ndarray:
        """Return the poses (N, P, 4, 4) of the primitives at joint angles (N, n)."""
        cos, sin = np.cos(qpos).T[..., None], np.sin(qpos).T[..., None]
        x, y = self._fixed[:, None, :, 0], self._fixed[:, None, :, 1]
        turned = np.repeat(self._fixed[:, None], len(qpos), 1)  # (n, N, 4, 4)
        turned[..., 0], turned[..., 1] = cos * x + sin * y, cos * y - sin * x
        moving = np.empty((len(turned) + 1, *turned.shape[1:]))
        moving[0] = np.eye(4)
        for k, parent in enumerate(self._parents):
            np.matmul(moving[parent], turned[k], out=moving[k + 1])
        return moving[self._frames].swapaxes(0, 1) @ self.local


def _matrix(placed: Primitive | Joint) -> np.ndarray:
    """Return the transform (4, 4) of a URDF origin."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("xyz", placed.rpy_rad).as_matrix()
    matrix[:3, 3] = placed.xyz_m
    return matrix


def _half(part: Primitive) -> np.ndarray:
    """Return half the size (3,) of a primitive's bounding box."""
    if isinstance(part, Cylinder):
        return np.array((part.radius_m, part.radius_m, part.length_m / 2))
    return np.array(part.size_m) / 2


def _geometry(part: Primitive) -> fcl.CollisionGeometry:
    if isinstance(part, Cylinder):
        return fcl.Cylinder(part.radius_m, part.length_m)
    return fcl.Box(*part.size_m)
