"""Suction grasps: surface patches that the cups can seal, free of collisions."""

from dataclasses import dataclass

import numpy as np
import torch
from sapien import Pose
from scipy import ndimage
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.sim.suction import cup_samples
from clevrskills.sim.world import World

CELL_M = 0.004
WINDOW_M = 0.10
"""Margin of the height map around an object's outline."""
FLAT_M = 3.8e-3
"""Largest range of height under a cup."""
CENTER_DIP_M = 1e-3
"""Largest depth of the center of a patch below its surroundings."""
CUP_CLEARANCE_M = 1.5e-3
HEAD_CLEARANCE_M = 0.016
"""Height of the gripper's head above the tips of the cups, less a margin."""
CUP_SIDE_M, HEAD_M, BESIDE_M = 0.006, 0.04, 1e-3
"""Heights above the tips of checked points of cups and head, and their distance from the object."""
HEAD_HALF_SIZE_M = (0.036, 0.046)
YAWS = 8
MAX_SPOTS = 60
CURVED_M = 4.2e-3
"""``FLAT_M`` of tilted grasps, nearly the limit of a cup."""
PRESSED_M = 3e-3
"""Largest compression of a part of the rim."""
MIN_NORMAL_Z = -0.05
"""Least z of a grasped side's normal: the gripper tilts until it is horizontal."""
MAX_NORMALS = 48
OVERLAP_M = 3e-4
"""Tolerance for the rim of an outer cup inside the object."""


@dataclass(frozen=True)
class Grasp:
    """Pose of the cups for a grasp."""

    position: np.ndarray  # world position of the tip of the middle cup, (3,)
    orientation: np.ndarray  # world orientation of the end effector, z into the surface, (4,)
    cups: int  # number of cups that seal


def down(yaw_rad: float) -> np.ndarray:
    """Return the orientation (4,) of a gripper pointing down, turned about world z."""
    return np.array([0.0, np.cos(yaw_rad / 2), np.sin(yaw_rad / 2), 0.0])


def _height_map(world: World, body: int, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """Return the height of a body's upper side on a grid (len(xs), len(ys)); ``-PAD`` outside."""
    heights = np.full((len(xs), len(ys)), -geometry.PAD)
    pose = world.body_pose[0, body]
    points = geometry.to_world(pose, world.solids.points[0, body])[:, :2].numpy()
    low, high = points.min(0) - CELL_M, points.max(0) + CELL_M
    rows = np.flatnonzero((xs >= low[0]) & (xs <= high[0]))
    columns = np.flatnonzero((ys >= low[1]) & (ys <= high[1]))
    if not len(rows) or not len(columns):
        return heights
    planes = world.planes(torch.tensor([body]))[0]
    grid = np.stack(np.meshgrid(xs[rows], ys[columns], indexing="ij"), -1).reshape(-1, 2)
    inside = geometry.surface_height(planes, pose, torch.as_tensor(grid, dtype=torch.float32))
    heights[np.ix_(rows, columns)] = inside.numpy().reshape(len(rows), len(columns))
    return heights


def _head_points() -> np.ndarray:
    """Return points (N, 2) on the gripper head's underside, in the end-effector frame."""
    side = [np.arange(-h, h + CELL_M, 2 * CELL_M) for h in HEAD_HALF_SIZE_M]
    return np.stack(np.meshgrid(*side), -1).reshape(-1, 2)


def vertical_grasps(
    world: World, body: int, cup_centers: np.ndarray, cup_radius_m: float, near_yaw_rad: float = 0.0
) -> list[Grasp]:
    """Return vertical grasps of an object, the best first: near the center of mass, with many cups
    and little rotation of the wrist.

    Args:
        world: The world, B = 1.
        body: Slot of the object.
        cup_centers: Centers of the cups in the end-effector frame, (N, 2); one is the origin.
        cup_radius_m: Radius of a cup.
        near_yaw_rad: Current yaw of the gripper.
    """
    points = geometry.to_world(world.body_pose[0, body], world.solids.points[0, body]).numpy()
    low, high = points[:, :2].min(0) - WINDOW_M, points[:, :2].max(0) + WINDOW_M
    xs, ys = (np.arange(a, b, CELL_M) for a, b in zip(low, high, strict=True))
    target = _height_map(world, body, xs, ys)
    everything = target.copy()
    for other in range(len(world.keys)):
        if other != body and bool(world.solids.present[0, other]):
            everything = np.maximum(everything, _height_map(world, other, xs, ys))
    cells = int(np.ceil(cup_radius_m / CELL_M))
    offset = np.arange(-cells, cells + 1) * CELL_M
    disc = np.hypot(*np.meshgrid(offset, offset)) <= cup_radius_m
    highest = ndimage.maximum_filter(target, footprint=disc, mode="constant", cval=-geometry.PAD)
    lowest = ndimage.minimum_filter(target, footprint=disc, mode="constant", cval=-geometry.PAD)
    around = ndimage.maximum_filter(everything, footprint=disc, mode="constant", cval=-geometry.PAD)
    flat = (lowest > -1.0) & (highest - lowest <= FLAT_M) & (highest - target <= CENTER_DIP_M)
    flat &= around <= highest + CUP_CLEARANCE_M
    spots = np.argwhere(flat)
    if not len(spots):
        return []
    center = geometry.to_world(world.body_pose[0, body], world.solids.center[0, body][None])[
        0, :2
    ].numpy()
    aside = np.hypot(xs[spots[:, 0]] - center[0], ys[spots[:, 1]] - center[1])
    spots = spots[np.argsort(aside, kind="stable")]
    spots = spots[:: max(1, len(spots) // MAX_SPOTS)]
    height = highest[spots[:, 0], spots[:, 1]]
    uneven = height - lowest[spots[:, 0], spots[:, 1]]
    tips = np.column_stack((xs[spots[:, 0]], ys[spots[:, 1]], height))
    place = tips[:, :2]
    aside = np.hypot(*(place - center).T)

    def look(field: np.ndarray, xy: np.ndarray) -> np.ndarray:
        i = np.clip(np.round((xy[..., 0] - xs[0]) / CELL_M).astype(int), 0, len(xs) - 1)
        j = np.clip(np.round((xy[..., 1] - ys[0]) / CELL_M).astype(int), 0, len(ys) - 1)
        return field[i, j]

    head = _head_points()
    others = cup_centers[np.hypot(*cup_centers.T) > 1e-6]
    found: list[tuple[float, Grasp]] = []
    for yaw in near_yaw_rad + (np.arange(YAWS) - YAWS // 2) * (np.pi / YAWS):
        # the gripper points down: its y axis is the world's -y at yaw 0
        turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        flip = np.array([1.0, -1.0])
        head_xy = place[:, None] + (head * flip) @ turn
        cups_xy = place[:, None] + (others * flip) @ turn
        free = (look(everything, head_xy) <= height[:, None] + HEAD_CLEARANCE_M).all(1)
        free &= (look(around, cups_xy) <= height[:, None] + CUP_CLEARANCE_M).all(1)
        sealed = look(flat, cups_xy) & (
            np.abs(look(highest, cups_xy) - height[:, None]) <= FLAT_M / 2
        )
        cups = 1 + sealed.sum(1)
        turning = abs((yaw - near_yaw_rad + np.pi / 2) % np.pi - np.pi / 2)
        score = -aside / 0.02 - uneven / 0.002 + 0.25 * cups - 0.4 * turning
        orientation = down(float(yaw))
        for k in np.flatnonzero(free).tolist():
            found.append((float(score[k]), Grasp(tips[k], orientation, int(cups[k]))))
    found.sort(key=lambda item: -item[0])
    return [grasp for _, grasp in found]


def tilted_grasps(
    world: World, body: int, cup_centers: np.ndarray, cup_radius_m: float
) -> list[Grasp]:
    """Return grasps perpendicular to the sides of an object without a vertical grasp, the steepest
    last; arguments as of :func:`vertical_grasps`.
    """
    index = torch.tensor([body])
    pose, planes = world.pose(index), world.planes(index)
    matrix = geometry.rotation_matrix(pose[:, 3:])[0]
    normals = torch.unique((planes[0, ..., :3].reshape(-1, 3) @ matrix.T).round(decimals=2), dim=0)
    normals = normals[(normals[:, 2] > MIN_NORMAL_Z) & (normals.norm(dim=-1) > 0.9)]
    normals = normals / normals.norm(dim=-1, keepdim=True)
    normals = normals[:: max(1, len(normals) // MAX_NORMALS)]
    points = world.world_points(index)[0]
    middle = points.mean(0)
    found: list[tuple[float, Grasp]] = []
    centers = cup_centers[np.argsort(np.hypot(*cup_centers.T))]  # the middle one first
    flat = torch.as_tensor(np.pad(centers, ((0, 0), (0, 1))), dtype=torch.float32)
    samples = cup_samples(flat, cup_radius_m)  # (N, S, 3)
    per_cup = samples.shape[1]
    head = torch.as_tensor(_head_points(), dtype=torch.float32)
    above = [torch.nn.functional.pad(head, (0, 1), value=-z) for z in (HEAD_CLEARANCE_M, HEAD_M)]
    above.append(samples.reshape(-1, 3) - samples.new_tensor([0.0, 0.0, CUP_SIDE_M]))
    gripper = torch.cat(above)
    for normal in normals:
        for yaw in (0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4):
            orientation = _towards(normal.double().numpy(), yaw)
            turn = geometry.rotation_matrix(torch.as_tensor(orientation, dtype=torch.float32))
            # slide a grid in the plane across the object's middle along the normal until it touches
            ticks = torch.linspace(-0.035, 0.035, 11)
            grid = torch.cartesian_prod(ticks, ticks) @ turn[:, :2].T + middle
            depth = _touch(planes, pose, grid, normal)
            tips = (grid + depth[:, None] * normal)[depth < geometry.PAD / 2]
            if not len(tips):
                continue
            spots = tips[:, None] + samples.reshape(-1, 3) @ turn.T  # (T, N S, 3)
            distances = geometry.signed_distance(
                planes, geometry.to_local(pose, spots.reshape(1, -1, 3))
            ).reshape(len(tips), -1)
            distance, others = distances[:, :per_cup], distances[:, per_cup:]
            seals = (distance.amax(-1) <= CURVED_M) & (distance.amin(-1) >= -PRESSED_M)
            seals &= (distance[:, 0] <= CENTER_DIP_M) & (others.amin(-1) >= -OVERLAP_M)
            tips = tips[seals]
            around = tips[:, None] + gripper @ turn.T
            beside = geometry.signed_distance(
                planes, geometry.to_local(pose, around.reshape(1, -1, 3))
            ).reshape(len(tips), len(gripper))
            for tip in tips[(beside >= BESIDE_M).all(-1)]:
                off = float((tip - middle - ((tip - middle) @ normal) * normal).norm())
                grasp = Grasp(tip.double().numpy(), orientation, 1)
                found.append((off / 0.02 + 3.0 * float(1.0 - normal[2]), grasp))
    found.sort(key=lambda item: item[0])
    return [grasp for _, grasp in found]


def _touch(planes: Tensor, pose: Tensor, points: Tensor, direction: Tensor) -> Tensor:
    """Return the distance (N,) at which rays from points (N, 3) leave a body; ``PAD``: a miss."""
    local = geometry.to_local(pose, points[None])[0]
    along = direction @ geometry.rotation_matrix(pose[0, 3:])
    slope = planes[0, ..., :3] @ along  # (C, F)
    rest = planes[0, ..., 3] - torch.einsum("cfk,nk->ncf", planes[0, ..., :3], local)
    bound = rest / torch.where(slope.abs() < 1e-6, torch.ones_like(slope), slope)
    leave = torch.where(slope > 1e-6, bound, geometry.PAD).amin(-1)
    enter = torch.where(slope < -1e-6, bound, -geometry.PAD).amax(-1)
    misses = ((slope.abs() < 1e-6) & (rest < 0)).any(-1) | (leave < enter)
    best = torch.where(misses, -geometry.PAD, leave).amax(-1)
    return torch.where(best < -1.0, geometry.PAD, best)


def _towards(normal: np.ndarray, yaw_rad: float) -> np.ndarray:
    """Return the orientation (4,) whose z axis points against a normal (3,), turned about it."""
    z = -normal
    x = np.array([1.0, 0.0, 0.0]) - z[0] * z
    x = x / np.linalg.norm(x) if np.linalg.norm(x) > 1e-3 else np.array([0.0, 1.0, 0.0])
    x = np.cos(yaw_rad) * x + np.sin(yaw_rad) * np.cross(z, x)
    matrix = np.eye(4)
    matrix[:3, :3] = np.column_stack((x, np.cross(z, x), z))
    return np.asarray(Pose(matrix).q, dtype=np.float64)
