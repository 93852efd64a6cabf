"""Suction cup seals: a cup seals where the surface is flat under its whole rim."""

from functools import cache

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.sim.world import World

CENTER_GAP_M = 1.5e-3
"""Largest distance of the center of a cup from the surface."""
RIM_GAP_M = 4.5e-3
"""Largest distance of the rim from the surface: the stroke of a bellows cup, enough to hold a can
that lies on its side."""
DEPTH_M = 4e-3
"""Largest penetration of a cup into the surface."""
RIM_POINTS = 8
SPOTS_PER_SIDE = 15
"""Resolution of the grid of candidate spots."""
FIRST_SPOTS = 8
"""Spots nearest to the center of mass, which are tested first."""
CUP_RADIUS_M = 0.0142
"""Radius of the xArm 6 gripper's cups, the smallest of all robots."""


def cup_samples(centers: Tensor, radius_m: float) -> Tensor:
    """Return the center and the rim points of each suction cup.

    Args:
        centers: Centers of the cup tips, (N, 3); the cups open along +z.
        radius_m: Radius of a cup.

    Returns:
        (N, 1 + RIM_POINTS, 3) in meters.
    """
    angle = torch.arange(RIM_POINTS, device=centers.device) * (2 * torch.pi / RIM_POINTS)
    rim = radius_m * torch.stack((angle.cos(), angle.sin(), torch.zeros_like(angle)), dim=-1)
    offsets = torch.cat((torch.zeros(1, 3, device=centers.device), rim))
    return centers[:, None] + offsets


def sealed_cups(world: World, samples: Tensor) -> tuple[Tensor, Tensor]:
    """Return which cups seal on each body, and the distance of the bodies from the cups.

    Args:
        world: The world.
        samples: Sample points of the cups in the end-effector frame, (N, S, 3), see
            :func:`cup_samples`.

    Returns:
        Sealed, (B, K, N) bool; smallest distance in meters between sample points and body, (B, K),
        negative if the cups penetrate the body.
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
    """Return the world position (B, 3) on top of bodies (B,), nearest to their center of mass, on
    which a vertical cup seals.

    Raises:
        ValueError: A body has no such position.
    """
    points = world.world_points(body)[..., :2]
    low, high = points.amin(1), points.amax(1)
    grid, rim = _search(world.device)
    xy = low[:, None] + grid * (high - low)[:, None]  # (B, G, 2)
    center = geometry.to_world(world.pose(body), world.at(world.solids.center, body)[:, None])
    away = (xy - center[..., :2]).norm(dim=-1)  # (B, G)
    nearest = away.argsort(dim=-1, stable=True)
    surface = world.surface(body)
    for count in (FIRST_SPOTS, xy.shape[1]):  # usually one of the first seals
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
    """Return a grid over the unit square, (G, 2), and the sample points of a cup, (S, 2)."""
    ticks = torch.linspace(0.0, 1.0, SPOTS_PER_SIDE, device=device)
    grid = torch.stack(torch.meshgrid(ticks, ticks, indexing="ij"), dim=-1).reshape(-1, 2)
    return grid, cup_samples(torch.zeros(1, 3, device=device), CUP_RADIUS_M)[0, :, :2]


def fits_under_cups(world: World, body: Tensor) -> Tensor:
    """Return whether no part of a held body (B,) protrudes between the cups, (B,) bool."""
    tips = world.cup_tips[:, :2]
    low, high = tips.amin(0) - CUP_RADIUS_M, tips.amax(0) + CUP_RADIUS_M
    xy = low + _search(world.device)[0] * (high - low)
    z = float(world.cup_tips[0, 2])
    points = torch.cat((xy, torch.full_like(xy[:, :1], z)), dim=-1).expand(world.num_envs, -1, 3)
    points = geometry.to_world(world.end_effector_pose, points)
    height = world.surface(body).height(points[..., :2])
    return (height <= points[..., 2] + DEPTH_M).all(-1)


def pose_in_gripper(world: World, body: Tensor) -> Tensor:
    """Return the poses (B, 7) of bodies at the gripper's cups; orientations are kept.

    Raises:
        ValueError: A body has no flat spot on top.
    """
    spot = sealable_spot(world, body)
    tip = world.end_effector_pose.new_tensor([0.0, 0.0, float(world.cup_tips[0, 2])])
    tip = geometry.to_world(world.end_effector_pose, tip.expand(world.num_envs, 1, 3))[:, 0]
    pose = world.pose(body).clone()
    pose[:, :3] += tip - spot
    return pose
