"""Blocks at rest: what they stand on, their share over a zone, and places to put them down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import broadcast_slots
from clevrskills.predicates.criteria import Criteria
from clevrskills.sim.world import CONTACT_TOLERANCE_M, World

REWARD_PER_BLOCK = 6.0
SAMPLES = 24
"""Number of sample points along each side of a footprint."""
LOW_M = 0.004
"""Greatest height of the underside of a block on the table or on a mat of 1 mm."""


@dataclass(frozen=True, eq=False)
class InRectangle:
    """Part of a predicate: a rectangle of the table, given by its last two fields."""

    low: Tensor  # least x and y, (B, 2) m
    high: Tensor  # greatest x and y, (B, 2) m; the border is outside

    def contains(self, world: World, bodies: Tensor) -> Tensor:
        """Return whether the middles of bodies (B, n) are inside, at any height, (B, n) bool."""
        xy = world.position(bodies)[..., :2]
        return ((xy > self.low[:, None]) & (xy < self.high[:, None])).all(-1)

    def bounds_m(self, env: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and greatest x and y, (2,) each."""
        return self.low[env].double().numpy(), self.high[env].double().numpy()


def left_alone(world: World, bodies: Tensor, criteria: Criteria) -> Tensor:
    """Return whether bodies (B, ...) are at rest and released, (B, ...) bool."""
    clear = world.gripper_clear(bodies, criteria.release_distance_m)
    return clear & ~world.is_held(bodies) & world.is_static(bodies)


def loads(world: World, share: float) -> Tensor:
    """Return which body (dimension 1) rests with a share of its weight on which (dimension 2), of
    the movable bodies that are not held, (B, K, K) bool.
    """
    found: Tensor = world.cached(f"loads {share}", lambda whole: _loads(whole, share))
    return world.select_rows(found)


def _loads(world: World, share: float) -> Tensor:
    movable = world.solids.movable.clone()  # (B, K)
    held = world.held
    movable[held >= 0, held[held >= 0]] = False
    on = movable[:, :, None] & movable[:, None]
    on &= ~torch.eye(on.shape[1], dtype=torch.bool, device=on.device)
    rows, upper, lower = on.nonzero(as_tuple=True)
    if len(rows):
        on[rows, upper, lower] = world.select(rows).supports(lower, upper) >= share
    return on


@broadcast_slots
def flat_share(world: World, body: Tensor, zone: Tensor) -> Tensor:
    """Return the share of a block's footprint over a zone, seen from above, in [0, 1], (B,).

    The footprint is that of the face nearest to level, sampled at :data:`SAMPLES` points a side.
    """
    apart_m = (world.position(body) - world.position(zone))[:, :2].norm(dim=-1)
    reach_m = world.at(world.solids.radius, body) + world.at(world.solids.radius, zone)
    near = apart_m < reach_m
    return world.evaluate_where(near, torch.zeros_like(apart_m), _flat_share, body, zone)


def _flat_share(world: World, body: Tensor, zone: Tensor) -> Tensor:
    matrix = world.at(world.matrix, body)  # (B, 3, 3), columns: the axes of the block
    level = matrix[:, 2].abs().argmax(-1)
    sides = torch.stack(((level + 1) % 3, (level + 2) % 3), dim=-1)  # (B, 2)
    axes = matrix.gather(2, sides[:, None].expand(-1, 3, -1))  # (B, 3, 2)
    lengths = world.at(world.solids.size, body).gather(1, sides)  # (B, 2)
    offsets = (axes * lengths[:, None]) @ _grid(world.device)  # (B, 3, N)
    points = (world.position(body)[..., None] + offsets).transpose(1, 2)
    local = geometry.to_local(world.pose(zone), points)
    half = world.at(world.solids.size, zone)[:, None, :2] / 2
    return (local[..., :2].abs() <= half).all(-1).float().mean(-1)


@cache
def _grid(device: torch.device) -> Tensor:
    """Return sample points of a unit square around its middle, (2, N)."""
    tick = (torch.arange(SAMPLES, device=device) + 0.5) / SAMPLES - 0.5
    return torch.cartesian_prod(tick, tick).T.contiguous()


def lowest_share(world: World, bodies: Tensor, zone: Tensor, share: float) -> Tensor:
    """Return whether blocks (B, n) have a share of their footprint over their zones (B, n), and
    are on the mat or the table, or in a chain whose lowest block is, (B, n) bool.
    """
    over, low = flat_share(world, bodies, zone) >= share, world.bottom(bodies) <= LOW_M
    if bool((low | ~over).all()):
        return over & low
    slots = torch.arange(len(world.keys), device=world.device).expand(len(bodies), -1)
    on, bottom = loads(world, 0.5), world.bottom(slots) <= LOW_M
    based = torch.zeros_like(over)
    for k in range(bodies.shape[1]):  # zones differ, so each block has its own chain
        chain = bottom & (flat_share(world, slots, zone[:, k, None]) >= share)
        for _ in range(slots.shape[1]):
            chain = chain | (on & chain[:, None]).any(-1)
        based[:, k] = chain.gather(1, bodies[:, k, None])[:, 0]
    return over & (low | based)


def one_by_one(world: World, where: Tensor | None) -> Iterator[tuple[int, Tensor]]:
    """Yield the index of each environment in which ``where`` (B,) is true, by default all, and its
    mask (B,) bool.
    """
    for env in range(world.num_envs) if where is None else where.nonzero()[:, 0].tolist():
        only = torch.zeros(world.num_envs, dtype=torch.bool, device=world.device)
        only[env] = True
        yield env, only


def lay(
    world: World, body: Tensor, xy: Tensor, on: Tensor | None, where: Tensor | None = None
) -> None:
    """Put blocks (B,) down at places (B, 2) of the table or of other bodies (B,); they keep their
    orientation.

    Raises:
        ValueError: A place is occupied.
    """
    pose = world.pose(body).clone()
    pose[:, :2] = xy
    base = torch.zeros_like(pose[:, 2]) if on is None else world.top(on)
    pose[:, 2] += base - world.bottom(body)
    world.set_body_pose(body, pose, where)
    taken = _others_gap(world, body, on) < -CONTACT_TOLERANCE_M
    if bool((taken if where is None else taken & where).any()):
        raise ValueError("the place is occupied")


def lay_in_zone(world: World, body: Tensor, zone: Tensor, where: Tensor | None) -> None:
    """Put blocks (B,) down at the first free places wholly inside zones (B,), middles first.

    Raises:
        ValueError: There is none.
    """
    half = (world.at(world.solids.size, zone) - world.at(world.solids.size, body))[:, :2] / 2
    middle = world.position(zone)[:, :2]
    lay_within(world, body, middle - half, middle + half, zone, where, margin=0.0)


def lay_within(
    world: World,
    body: Tensor,
    low: Tensor,
    high: Tensor,
    on: Tensor | None,
    where: Tensor | None,
    margin: float = 0.1,
) -> None:
    """Put blocks (B,) down at the first free place of a grid over rectangles, middles first.

    Args:
        world: The world.
        body: The blocks.
        low: Least x and y, (B, 2).
        high: Greatest x and y, (B, 2).
        on: Bodies to put them on, (B,); ``None`` for the table.
        where: Mask of environments, (B,) bool; ``None`` for all.
        margin: Share of the rectangle left out at each side.

    Raises:
        ValueError: There is none.
    """
    ticks = torch.linspace(margin, 1.0 - margin, 9)
    grid = torch.cartesian_prod(ticks, ticks)
    grid = grid[(grid - 0.5).norm(dim=-1).sort(stable=True).indices]
    for _, only in one_by_one(world, where):
        lay_first(world, body, (low + tick * (high - low) for tick in grid), on, only)


def lay_first(
    world: World, body: Tensor, places: Iterable[Tensor], on: Tensor | None, where: Tensor
) -> None:
    """Put blocks (B,) down at the first free place out of some (B, 2), see :func:`lay`.

    Raises:
        ValueError: There is none.
    """
    for xy in places:
        try:
            return lay(world, body, xy, on, where)
        except ValueError:
            continue
    raise ValueError("no free place")


def highest(
    world: World, slots: Sequence[int], places: Tensor, level_m: float = 0.0
) -> tuple[float, tuple[int, ...]]:
    """Return the greatest height of bodies at places (N, 2), at least that of the table, and the
    slots of the bodies that are lower than it by ``level_m`` at most.
    """
    middle = places.mean(0)
    wide_m = (places - middle).norm(dim=-1).amax() + world.solids.radius[0]
    near = (world.body_pose[0, :, :2] - middle).norm(dim=-1) <= wide_m
    found = {}
    for slot in (k for k in slots if near[k]):
        planes = world.planes(torch.tensor([slot]))[0]
        height = geometry.surface_height(planes, world.body_pose[0, slot], places)
        found[slot] = float(height.max())
    top_m = max((0.0, *found.values()))
    return top_m, tuple(k for k, height_m in found.items() if height_m >= top_m - level_m)


def _others_gap(world: World, body: Tensor, on: Tensor | None) -> Tensor:
    """Return the distance from a body to the nearest other movable one, (B,)."""
    distance = world.distance(world.world_points(body)).amin(-1)  # (B, K)
    slots = torch.arange(distance.shape[1], device=distance.device).expand_as(distance)
    ignored = ~world.at(world.solids.movable, slots) | (slots == body[:, None])
    if on is not None:
        ignored |= slots == on[:, None]
    return distance.masked_fill(ignored, geometry.PAD).amin(-1)
