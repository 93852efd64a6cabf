"""Seals of suction cups: on a patch that is flat under the whole rim."""

from functools import cache

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.sim.world import World

CENTER_GAP_M = 1.5e-3
"""Largest distance of the centre of a cup from the surface: the cup must really touch."""
RIM_GAP_M = 4.5e-3
"""Largest distance of its rim from the surface before pressing: the stroke of a bellows cup, so
that a lying can holds."""
DEPTH_M = 4e-3
"""Largest depth of a cup in the surface, by inaccuracy."""
RIM_POINTS = 8
SPOTS_PER_SIDE = 15
"""Resolution of the grid of spots that are looked at."""
FIRST_SPOTS = 8
"""Spots nearest to the centre of mass that are looked at before all others."""
CUP_RADIUS_M = 0.0142
"""Radius of the xArm 6 gripper's cups, the smallest of all robots."""


def cup_samples(centers: Tensor, radius_m: float) -> Tensor:
    """Return points under the suction cups in the frame of their centres: centre first, then the
    rim.

    Args:
        centers: Centres of the cups' tips, (N, 3); the cups open along +z.
        radius_m: Radius of a cup.

    Returns:
        (N, 1 + RIM_POINTS, 3) metres.
    """
    angle = torch.arange(RIM_POINTS, device=centers.device) * (2 * torch.pi / RIM_POINTS)
    rim = radius_m * torch.stack((angle.cos(), angle.sin(), torch.zeros_like(angle)), dim=-1)
    offsets = torch.cat((torch.zeros(1, 3, device=centers.device), rim))
    return centers[:, None] + offsets


def sealed_cups(world: World, samples: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cups that seal on each body, and the distance of the body from the plane of the
    cups.

    Args:
        world: Where everything is.
        samples: Points under the cups in the end-effector frame, (N, S, 3), see
            :func:`cup_samples`.

    Returns:
        Sealed, (B, K, N) bool; least distance in metres of any point under the cups to the body,
        (B, K), negative if the cups are pressed into it.
    """
    count, per_cup = samples.shape[:2]
    points = geometry.to_world(
        world.end_effector_pose, samples.reshape(1, -1, 3).expand(world.num_envs, -1, 3)
    )
    distance = world.distance(points).unflatten(-1, (count, per_cup))  # (B, K, N, S)
    center = distance[..., 0]
    flat = distance.amax(-1) <= RIM_GAP_M
    lowest = distance.amin(-1)
    sealed = flat & (center <= CENTER_GAP_M) & (lowest >= -DEPTH_M)
    return sealed, lowest.amin(-1)


def sealable_spot(world: World, body: Tensor) -> Tensor:
    """Return the spot on top of a body, nearest to its centre of mass, on which a vertical cup
    seals.

    Args:
        world: Where everything is.
        body: Index of the body, (B,).

    Returns:
        World position, (B, 3).

    Raises:
        ValueError: A body has no such spot.
    """
    points = world.world_points(body)[..., :2]
    low, high = points.amin(1), points.amax(1)
    grid, rim = _search(world.device)
    xy = low[:, None] + grid * (high - low)[:, None]  # (B, G, 2)
    center = geometry.to_world(world.pose(body), world.at(world.solids.center, body)[:, None])
    away = (xy - center[..., :2]).norm(dim=-1)  # (B, G)
    nearest = away.argsort(dim=-1, stable=True)
    surface = world.surface(body)
    for count in (FIRST_SPOTS, xy.shape[1]):  # most often one of the first will do
        spots = xy.gather(1, nearest[:, :count, None].expand(-1, -1, 2))
        places = (spots[:, :, None] + rim).flatten(1, 2)
        height = surface.height(places).view(len(spots), -1, len(rim))
        flat = (height - height[..., :1]).abs().amax(-1) <= RIM_GAP_M / 2
        flat &= height[..., 0] > -1.0
        if flat.any(-1).all():
            rows, best = torch.arange(world.num_envs, device=world.device), flat.int().argmax(-1)
            return torch.cat((spots[rows, best], height[rows, best, :1]), dim=-1)
    raise ValueError("no flat spot on top for a suction cup")


@cache
def _search(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return places all over a square of 1 by 1, (G, 2), and those under a cup, (S, 2)."""
    ticks = torch.linspace(0.0, 1.0, SPOTS_PER_SIDE, device=device)
    grid = torch.stack(torch.meshgrid(ticks, ticks, indexing="ij"), dim=-1).reshape(-1, 2)
    return grid, cup_samples(torch.zeros(1, 3, device=device), CUP_RADIUS_M)[0, :, :2]


def fits_under_cups(world: World, body: Tensor) -> Tensor:
    """Return whether nothing of a held body (B,) reaches up between the cups, where the gripper
    would push it off, (B,) bool.
    """
    tips = world.cup_tips[:, :2]
    low, high = tips.amin(0) - CUP_RADIUS_M, tips.amax(0) + CUP_RADIUS_M
    xy = low + _search(world.device)[0] * (high - low)
    z = float(world.cup_tips[0, 2])
    points = torch.cat((xy, torch.full_like(xy[:, :1], z)), dim=-1).expand(world.num_envs, -1, 3)
    points = geometry.to_world(world.end_effector_pose, points)
    height = world.surface(body).height(points[..., :2])
    return (height <= points[..., 2] + DEPTH_M).all(-1)


def pose_in_gripper(world: World, body: Tensor) -> Tensor:
    """Return the pose of a body, its orientation kept, for the gripper to hold it as it is now: (B,
    7).

    Raises:
        ValueError: A body has no flat spot on top.
    """
    spot = sealable_spot(world, body)
    tip = world.end_effector_pose.new_tensor([0.0, 0.0, float(world.cup_tips[0, 2])])
    tip = geometry.to_world(world.end_effector_pose, tip.expand(world.num_envs, 1, 3))[:, 0]
    pose = world.pose(body).clone()
    pose[:, :3] += tip - spot
    return pose
