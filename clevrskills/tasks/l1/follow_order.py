"""Task ``follow_order``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import atan2, cos, pi, sin
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from clevrskills.assets import Shape, shape
from clevrskills.assets.topside import heights
from clevrskills.predicates import Inside, Order, Predicate, Strict
from clevrskills.sim.body import Body, Pose
from clevrskills.tasks.arguments import Count, count, switch
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, Layout, LayoutError, Workspace, pose_on_table

AREA_SIZE_M = (0.18, 0.18, 0.01)
AREAS = Workspace(x_m=(-0.40, 0.0), y_m=(-0.32, 0.32), reach_m=(0.24, 0.58))
SPARE_M = 0.005
"""Least distance between an object in the middle of an area and the edge of the area."""
NEVER = 99
"""Number of visits that is never reached."""
RISE_M = 1e-5
"""Initial gap between an object and an area of several convex parts; without it, PhysX may push
parts in exact contact apart sideways."""


@dataclass(kw_only=True, eq=False)
class FollowOrder(Task):
    """The object, in an area at the start, has been in other areas in order (paper, appendix A.2,
    task 2).

    A visit counts only in its turn, and only if the object is released in the area. Visits out of
    turn have no effect, unless the task is strict.
    """

    key = "follow_order"
    level = "L1"
    sentence = "Bring the object to the areas in the order given"
    predicates: ClassVar[tuple[type[Predicate], ...]] = (Order, Inside)
    slots = ("area_0", "area_1", "area_2", "area_3", "object_0")
    parts = ("route",)
    composition = ("combinations", "orders")
    count_argument, extra_slot = "num_visits", "area_4"
    max_steps = 500

    num_areas: Count = count(2, 4)  # areas; more if the visits need them
    num_visits: Count = count(1, 3, most=4)  # areas to visit, without the first one
    # whether a visit out of turn, except to the first area, makes the task unsolvable
    strict: bool = switch()

    def layout(self, rng: EpisodeRng) -> Layout:
        least, most = self.num_visits
        areas = max(rng.number(self.num_areas), least + 1)
        visits = rng.number((least, min(most, areas - 1)))
        most_areas = len(self.slots) - 1
        route = np.zeros(most_areas, dtype=np.int64)
        route[:areas] = rng.assign(areas)
        pools = rng.pools
        names = rng.choose(pools.primitive, areas)
        tiles = [shape(name, AREA_SIZE_M) for name in names]
        textures = rng.textures_for(names, pools.textures_2, in_turn=True)
        table = rng.table(AREAS)
        bodies: list[Body | None] = [None] * len(self.slots)
        for i, (key, tile) in enumerate(zip(self.slots, tiles, strict=False)):
            pose = table.place(tile)
            bodies[i] = Body(key, tile.name, textures[i], pose, AREA_SIZE_M, True, noun="area")
        room_m = min(_room_m(tile) for tile in tiles) - SPARE_M
        small = [name for name in pools.movable if shape(name).radius_m <= room_m]
        if not small:
            raise LayoutError("all objects are too large for the areas")
        (name,) = rng.choose(small, 1)
        (texture,) = rng.textures_for([name], pools.textures_1)
        first = bodies[route[0]]
        assert first is not None
        start = _in_the_middle(shape(name), first, rng.places.uniform(0.0, 2 * pi))
        bodies[-1] = Body(self.slots[-1], name, texture, start)
        active = np.arange(most_areas - 1) < visits
        roles = {"route": route, "active": active, "start": np.array(start)}
        return Layout(tuple(bodies), roles)

    def goal(self, roles: Mapping[str, Tensor]) -> Predicate:
        return self._in_turn(roles, self._visits(roles))

    def _visits(self, roles: Mapping[str, Tensor]) -> Order:
        """Return the visits in order."""
        route, block = roles["route"], len(self.slots) - 1  # (B, areas)
        visits = [Inside(area * 0 + block, area) for area in route[:, 1:].unbind(-1)]
        return Order(tuple(visits), roles["active"])

    def _in_turn(self, roles: Mapping[str, Tensor], order: Order) -> Predicate:
        """Return the order, which a visit out of turn ends if the task is strict."""
        if not self.strict:
            return order
        route, visits = roles["route"], roles["active"].sum(-1, keepdim=True)
        block = len(self.slots) - 1
        areas = torch.arange(block, device=route.device)
        at = areas[:, None] == route[:, None]  # (B, areas, places of the route)
        place = torch.where(at, torch.arange(route.shape[1], device=route.device), NEVER).amin(-1)
        due = torch.where(place <= visits, (place - 1).clamp(min=0), NEVER)
        zero = route[:, 0] * 0
        inside = (Inside(zero + block, zero + area) for area in areas.tolist())
        return Strict(order, tuple(inside), due)


@cache
def _room_m(tile: Shape) -> float:
    """Return the distance from the middle of an area to its edge, with 1 mm precision."""
    angles = np.linspace(0.0, 2 * pi, 72, endpoint=False)
    around = np.column_stack((np.cos(angles), np.sin(angles)))
    radii = np.arange(0.0, AREA_SIZE_M[0], 0.001)
    points = tile.center_of_mass[:2] + radii[:, None, None] * around
    inside = np.isfinite(heights(tile, points.reshape(-1, 2))).reshape(points.shape[:2])
    return float(radii[int(np.argmin(inside.all(axis=1)))] - 0.001)


def _in_the_middle(item: Shape, area: Body, yaw_rad: float) -> Pose:
    """Return the pose of a shape in the middle of an area."""
    x, y, _, w, _, _, z = area.pose
    angle = 2 * atan2(z, w)
    turn = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    x, y = (turn @ area.geometry.center_of_mass[:2] + (x, y)).tolist()
    x, y, height, *turned = pose_on_table(item, x, y, yaw_rad)
    height += AREA_SIZE_M[2] + (RISE_M if len(area.geometry.parts) > 1 else 0.0)
    return (x, y, height, turned[0], turned[1], turned[2], turned[3])
