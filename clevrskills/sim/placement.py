"""Placements of one body on another at which it will stay."""

from functools import cache, cached_property

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true
from clevrskills.sim.world import World, reach_around

STABLE_MARGIN_M = 0.006
NEIGHBOUR_GAP_M = 0.006
EDGE_GAP_M = 0.004
"""Distance to keep from the edge of an area, where there is room."""
OVERHANG_M = 0.004
"""Reach over the edge where there is none: less than the criteria tolerate."""
MOST_MARGIN_M = 0.03
"""A greater margin is no better."""
ROUNDING_M = 1e-6
"""More than what is lost where a margin is bounded."""


def placements(
    world: World,
    upper: Tensor,
    lower: Tensor,
    yaws_rad: Tensor,
    inside: bool,
    orientation: Tensor | None = None,
    per_side: int = 8,
) -> tuple[Tensor, Tensor]:
    """Return candidate poses of one body on another, with a score for each.

    Args:
        world: Where everything is; the upper body keeps its present tilt.
        upper: The body to put down, (B,).
        lower: The body below, (B,).
        yaws_rad: Turns about world z relative to the present orientation, (Y,).
        inside: Whether the upper body must stay within the outline of the lower one; places at its
            edge are then preferred, so that there is room for others, else the place with the
            centres of mass above each other, so that high stacks stand.
        orientation: World orientation of the upper body before the turns, (B, 4); default: as it
            is.
        per_side: Places are a grid of ``per_side`` by ``per_side``, and one more with the centre of
            mass above that of the lower body.

    Returns:
        Poses (B, M, 7) at which the body rests, and scores (B, M) in metres: larger is better,
        ``-PAD`` for places where the body would tip, overlap a neighbour or, if ``inside``, reach
        over the edge.
    """
    places = _Places(world, upper, lower, yaws_rad, inside, orientation, per_side)
    return places.judged()


_Best = tuple[float, int, Tensor]
"""Score of a place, its number, negative, and the pose (1, 7) there."""


class _Places:
    """Places of one body on another, before they are judged; arguments as of :func:`placements`, or
    ``None`` for no turns.
    """

    def __init__(
        self,
        world: World,
        upper: Tensor,
        lower: Tensor,
        yaws_rad: Tensor | None,
        inside: bool,
        orientation: Tensor | None = None,
        per_side: int = 8,
    ) -> None:
        self._world, self._upper, self._lower, self._inside = world, upper, lower, inside
        self._per_side = per_side
        self._base = world.pose(lower)
        self._origin = self._base[:, None, :3]
        self._frame = world.at(world.matrix, lower)
        present = world.orientation(upper) if orientation is None else orientation
        self._turned = present[:, None]  # (B, Y, 4)
        if yaws_rad is not None:
            yaws = geometry.yaw_quaternion(yaws_rad)
            self._turned = geometry.quaternion_multiply(yaws, self._turned)
        middle = world.at(world.solids.center, lower)[:, None] @ self._frame.mT + self._origin
        self._middle = middle[..., :2]
        center = world.at(world.solids.center, upper)[:, None]
        self._from_origin = geometry.rotate(self._turned, center)[..., :2]  # (B, Y, 2)

    @cached_property
    def _below(self) -> Tensor:
        """Points of the lower body in the world, (B, P, 3)."""
        return self._world.world_points(self._lower)

    @cached_property
    def _pose(self) -> Tensor:
        """All places, (B, M, 7): those of the grid, then with the centre of mass in the middle."""
        outline = (self._below - self._origin) @ self._frame
        low, high = outline[..., :2].amin(1), outline[..., :2].amax(1)  # (B, 2)
        grid = _grid(self._per_side, self._world.device)
        local = low[:, None] + grid * (high - low)[:, None]  # (B, G, 2)
        local = torch.cat((local, torch.zeros_like(local[..., :1])), dim=-1)
        xy = (local @ self._frame.mT + self._origin)[..., :2]  # (B, G, 2)
        xy = xy.repeat_interleave(self._turned.shape[1], dim=1)
        return self._at(torch.cat((xy, self._middle - self._from_origin), dim=1))

    def _at(self, xy: Tensor) -> Tensor:
        """Return poses (B, m, 7) at places (B, m, 2), one turn after the other."""
        turned = self._turned.repeat(1, xy.shape[1] // self._turned.shape[1], 1)
        return torch.cat((xy, torch.zeros_like(xy[..., :1]), turned), dim=-1)

    @cached_property
    def _center(self) -> Tensor:
        """Centre of mass of the upper body at all places, from above, (B, M, 2)."""
        return self._center_at(self._pose)

    @cached_property
    def _offset(self) -> Tensor:
        """Distance of that from the middle of the lower body, (B, M)."""
        return (self._center - self._middle).norm(dim=-1)

    def _center_at(self, pose: Tensor) -> Tensor:
        """Return the upper body's centre of mass at some places (B, m, 7)."""
        places = pose.shape[1] // self._turned.shape[1]
        return pose[..., :2] + self._from_origin.repeat(1, places, 1)

    def judged(self) -> tuple[Tensor, Tensor]:
        """Return poses and scores of all places."""
        pose, score, points = self._scored(self._pose, self._offset)
        if self._neighbours and (score > -1.0).any():
            score = torch.where(self._is_free(points), score, -geometry.PAD)
        return pose, score

    def _scored(self, pose: Tensor, offset: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return poses at rest, and scores whatever the neighbours, of places (B, m, 7) by their
        offset (B, m); and the points on the upper body there, (B, m, P, 3).
        """
        world, upper, lower = self._world, self._upper, self._lower
        height, margin, points = world.lowered(upper, pose, lower)
        pose = torch.cat((pose[..., :2], height[..., None], pose[..., 3:]), dim=-1)
        valid = (margin >= STABLE_MARGIN_M) & (height > -1.0)
        over = self._over(points) if self._inside else None
        if over is not None:
            valid &= over <= OVERHANG_M
        score = torch.where(valid, self._score(margin, offset, over), -geometry.PAD)
        return pose, score, points

    def best(self) -> tuple[Tensor, Tensor]:
        """Return the pose (1, 7) with the greatest score, the first of them, and that score (1,),
        of one environment; places that cannot have it are not judged.
        """
        best, ends = (-geometry.PAD, 0, self._base), [5, 21]
        if not self._inside:  # in the middle is best if the margin there is as great as it can be
            middle = self._at(self._middle - self._from_origin)
            offset = (self._center_at(middle) - self._middle).norm(dim=-1)
            last = self._per_side**2 * self._turned.shape[1]
            best, ends = self._better(best, [last], *self._scored(middle, offset)), [4, 20]
            if best[0] > MOST_MARGIN_M - ROUNDING_M:
                return best[2], torch.tensor([best[0]])
        # what it would be for a margin as great as it can be; rounding does not change the order
        room = self._room() + ROUNDING_M
        stands, bound = room >= STABLE_MARGIN_M, self._score(room, self._offset, None)
        if self._inside:
            if self._frame[0, 2, :2].any():
                pose, score = self.judged()  # how far a place is over the edge depends on height
                found, index = score.max(dim=-1)
                return pose[:, index[0]], found
            over = self._over_level() - ROUNDING_M
            stands, bound = stands & (over <= OVERHANG_M), self._score(room, self._offset, over)
        else:
            stands, bound = stands[:, :-1], bound[:, :-1]
        bound = torch.where(stands, bound, -geometry.PAD)
        bound, order = bound[0].sort(descending=True, stable=True)
        limits, start = [*bound.tolist(), -geometry.PAD], 0
        for end in (*ends, len(order)):
            if limits[start] <= -1.0 or best[0] > limits[start]:
                break
            chosen, start = order[start:end], end
            scored = self._scored(self._pose[:, chosen], self._offset[:, chosen])
            best = self._better(best, chosen.tolist(), *scored)
        return best[2], torch.tensor([best[0]])

    def _better(
        self, best: _Best, numbers: list[int], pose: Tensor, score: Tensor, points: Tensor
    ) -> _Best:
        """Return the best of places by their numbers and of what was best so far, of one
        environment; neighbours are looked at from the greatest score on, until they leave room.
        """
        rivals = zip(score[0].tolist(), [-number for number in numbers], strict=True)
        for rival, k in sorted(((rival, k) for k, rival in enumerate(rivals)), reverse=True):
            if rival[0] <= -1.0 or rival <= best[:2]:
                break
            if not self._neighbours or bool(self._is_free(points[:, k : k + 1])):
                return (*rival, pose[:, k])
        return best

    def _room(self) -> Tensor:
        """Return the upper bound of the margin, (B, M): the least distance, over sides, that the
        upper body, and also the lower one, reaches around the upper one's centre of mass.
        """
        center = self._world.at(self._world.solids.center, self._upper)[:, None]
        own = reach_around(self._aside - center @ self._turn).max(-2).values  # (B, 16)
        below = reach_around(self._below).max(-2).values  # (B, 16)
        return torch.minimum(own[:, None], below[:, None] - reach_around(self._center)).amin(-1)

    def _over_level(self) -> Tensor:
        """Return the length by which the upper body overhangs the outline of the lower one, which
        lies level, (B, M).
        """
        edges = self._world.at(self._world.solids.footprint, self._lower)  # (B, E, 3)
        normals, plane = edges[..., :2].mT, self._frame[..., :2]
        own = (self._aside @ plane @ normals).amax(-2)  # (B, E)
        place = (self._pose[..., :2] - self._base[:, None, :2]) @ plane[:, :2]  # (B, M, 2)
        return (place @ normals + (own - edges[..., 2])[:, None]).amax(-1)

    @cached_property
    def _turn(self) -> Tensor:
        """Rotation of the upper body, whose turns are the same at all places, (B, 3, 3)."""
        return geometry.rotation_matrix(self._turned[:, 0]).mT

    @cached_property
    def _aside(self) -> Tensor:
        """Points of the upper body from its origin, turned as it is put down, (B, P, 3)."""
        return self._world.at(self._world.solids.points, self._upper) @ self._turn

    def _over(self, points: Tensor) -> Tensor:
        """Return the overhang of points (B, m, P, 3) over the lower body's outline, (B, m)."""
        footprint = self._world.at(self._world.solids.footprint, self._lower)
        flat = ((points.flatten(1, 2) - self._base[:, None, :3]) @ self._frame)[..., :2]
        beyond = flat @ footprint[..., :2].mT - footprint[:, None, :, 2]
        return beyond.amax(-1).unflatten(1, points.shape[1:3]).amax(-1)

    def _score(self, margin: Tensor, offset: Tensor, over: Tensor | None) -> Tensor:
        """Return scores of valid places by their margin, offset and reach over the edge, (B, m)."""
        score = margin.clamp(max=MOST_MARGIN_M) + (0.2 if self._inside else -0.2) * offset
        return score if over is None else score - 4.0 * (over + EDGE_GAP_M).clamp(min=0.0)

    @cached_property
    def _neighbours(self) -> dict[int, Tensor]:
        """Other bodies near enough to be in the way, (B,) bool, by slot; those that are nowhere are
        left out.
        """
        world, upper, lower = self._world, self._upper, self._lower
        others = world.solids.present.scatter(1, torch.stack((upper, lower), dim=-1), False)
        if not others.any():
            return {}
        radius = world.solids.span
        away = (world.body_pose[..., :2] - world.position(lower)[:, None, :2]).norm(dim=-1)
        near = away < radius + world.at(radius, lower)[:, None] + world.at(radius, upper)[:, None]
        near &= others
        return {k: near[:, k] for k in near.any(0).nonzero()[:, 0].tolist()}

    def _is_free(self, points: Tensor) -> Tensor:
        """Return whether points (B, m, P, 3) keep their distance from neighbours, (B, m) bool."""
        gap = torch.full(points.shape[:2], geometry.PAD, device=points.device)
        for k, near in self._neighbours.items():
            body = torch.full_like(self._upper, k)
            distance = self._world.distance_to(body, points.flatten(1, 2))
            least = distance.view(points.shape[:-1]).amin(-1)
            gap = torch.where(near[:, None], torch.minimum(gap, least), gap)
        return gap >= NEIGHBOUR_GAP_M


@cache
def _grid(per_side: int, device: torch.device) -> Tensor:
    """Return places all over a square of 1 by 1, a little off its edges, (G, 2)."""
    ticks = torch.linspace(0.08, 0.92, per_side, device=device)
    return torch.stack(torch.meshgrid(ticks, ticks, indexing="ij"), dim=-1).reshape(-1, 2)


def put(
    world: World, upper: Tensor, lower: Tensor, inside: bool, where: Tensor | None = None
) -> None:
    """Set the upper body down at the best place on the lower one, its orientation kept.

    Raises:
        ValueError: There is no such place in some environment.
    """
    if where is not None and not any_true(where):
        return
    places = _Places(world, upper, lower, None, inside)
    if world.num_envs == 1:
        pose, best = places.best()
    else:
        poses, scores = places.judged()
        best, index = scores.max(dim=-1)
        pose = poses[torch.arange(world.num_envs, device=world.device), index]
    impossible = best <= -1.0 if where is None else (best <= -1.0) & where
    if impossible.any():
        raise ValueError("no stable, free place on the lower body")
    world.set_body_pose(upper, pose, where)
