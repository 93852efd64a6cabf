"""Stable placements of one body on another."""

from functools import cache, cached_property

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true
from clevrskills.sim.world import World, reach_around

STABLE_MARGIN_M = 0.006
NEIGHBOUR_GAP_M = 0.006
EDGE_GAP_M = 0.004
"""Preferred distance from the edge of an area."""
OVERHANG_M = 0.004
"""Largest overhang over the edge, less than the criteria tolerate."""
MOST_MARGIN_M = 0.03
"""Margin above which placements count as equally stable."""
ROUNDING_M = 1e-6
"""Upper bound of rounding errors in bounds of the margin."""


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
        world: The world; the upper body keeps its tilt.
        upper: The body to place, (B,).
        lower: The body below, (B,).
        yaws_rad: Rotations about world z relative to the current orientation, (Y,).
        inside: Whether the upper body must stay within the outline of the lower one. Positions near
            its edge are then preferred, to leave room for others; otherwise the position with
            aligned centers of mass, for stable stacks.
        orientation: World orientation of the upper body before the rotations, (B, 4); default: the
            current one.
        per_side: Candidates are a grid of ``per_side`` by ``per_side`` positions, and the position
            with aligned centers of mass.

    Returns:
        Resting poses (B, M, 7) and scores (B, M) in meters. Larger is better; ``-PAD`` if the body
        would tip over, overlap a neighbor or, if ``inside``, overhang the edge.
    """
    return _Places(world, upper, lower, yaws_rad, inside, orientation, per_side).judged()


_Best = tuple[float, int, Tensor]
"""Score of a candidate, its negative index, and its pose (1, 7)."""


class _Places:
    """Candidate placements; arguments as in :func:`placements`, ``None`` for no rotations."""

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
        """World points of the lower body, (B, P, 3)."""
        return self._world.world_points(self._lower)

    @cached_property
    def _pose(self) -> Tensor:
        """All candidates, (B, M, 7): the grid, then the aligned centers of mass."""
        outline = (self._below - self._origin) @ self._frame
        low, high = outline[..., :2].amin(1), outline[..., :2].amax(1)  # (B, 2)
        grid = _grid(self._per_side, self._world.device)
        local = low[:, None] + grid * (high - low)[:, None]  # (B, G, 2)
        local = torch.cat((local, torch.zeros_like(local[..., :1])), dim=-1)
        xy = (local @ self._frame.mT + self._origin)[..., :2]  # (B, G, 2)
        xy = xy.repeat_interleave(self._turned.shape[1], dim=1)
        return self._at(torch.cat((xy, self._middle - self._from_origin), dim=1))

    def _at(self, xy: Tensor) -> Tensor:
        """Return poses (B, m, 7) at positions (B, m, 2), cycling through the rotations."""
        turned = self._turned.repeat(1, xy.shape[1] // self._turned.shape[1], 1)
        return torch.cat((xy, torch.zeros_like(xy[..., :1]), turned), dim=-1)

    @cached_property
    def _center(self) -> Tensor:
        """Horizontal center of mass of the upper body at all candidates, (B, M, 2)."""
        return self._center_at(self._pose)

    @cached_property
    def _offset(self) -> Tensor:
        """Distance of :attr:`_center` from the lower body's center of mass, (B, M)."""
        return (self._center - self._middle).norm(dim=-1)

    def _center_at(self, pose: Tensor) -> Tensor:
        """Return the horizontal center of mass of the upper body at poses (B, m, 7)."""
        places = pose.shape[1] // self._turned.shape[1]
        return pose[..., :2] + self._from_origin.repeat(1, places, 1)

    def judged(self) -> tuple[Tensor, Tensor]:
        """Return poses and scores of all candidates."""
        pose, score, points = self._scored(self._pose, self._offset)
        if self._neighbors and (score > -1.0).any():
            score = torch.where(self._is_free(points), score, -geometry.PAD)
        return pose, score

    def _scored(self, pose: Tensor, offset: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return resting poses, scores without regard to neighbors, and surface points of the upper
        body, (B, m, P, 3), for candidates (B, m, 7) with offsets (B, m).
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
        """Return the first pose (1, 7) with the highest score, and the score (1,), of one
        environment; candidates whose upper bound is lower are skipped.
        """
        best, ends = (-geometry.PAD, 0, self._base), [5, 21]
        if not self._inside:  # the center is best if its margin is maximal
            middle = self._at(self._middle - self._from_origin)
            offset = (self._center_at(middle) - self._middle).norm(dim=-1)
            last = self._per_side**2 * self._turned.shape[1]
            best, ends = self._better(best, [last], *self._scored(middle, offset)), [4, 20]
            if best[0] > MOST_MARGIN_M - ROUNDING_M:
                return best[2], torch.tensor([best[0]])
        # upper bound of the score; rounding does not change the order
        room = self._room() + ROUNDING_M
        stands, bound = room >= STABLE_MARGIN_M, self._score(room, self._offset, None)
        if self._inside:
            if self._frame[0, 2, :2].any():
                pose, score = self.judged()  # the overhang depends on the height
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
        """Return the best of the current best and of candidates with some indices, of one
        environment; collisions with neighbors are checked in descending order of scores.
        """
        rivals = zip(score[0].tolist(), [-number for number in numbers], strict=True)
        for rival, k in sorted(((rival, k) for k, rival in enumerate(rivals)), reverse=True):
            if rival[0] <= -1.0 or rival <= best[:2]:
                break
            if not self._neighbors or bool(self._is_free(points[:, k : k + 1])):
                return (*rival, pose[:, k])
        return best

    def _room(self) -> Tensor:
        """Return an upper bound of the margin, (B, M): the smallest extent of both bodies around
        the upper body's center of mass, over all directions.
        """
        center = self._world.at(self._world.solids.center, self._upper)[:, None]
        own = reach_around(self._aside - center @ self._turn).max(-2).values  # (B, 16)
        below = reach_around(self._below).max(-2).values  # (B, 16)
        return torch.minimum(own[:, None], below[:, None] - reach_around(self._center)).amin(-1)

    def _over_level(self) -> Tensor:
        """Return the overhang of the upper body over a level lower body, (B, M)."""
        edges = self._world.at(self._world.solids.footprint, self._lower)  # (B, E, 3)
        normals, plane = edges[..., :2].mT, self._frame[..., :2]
        own = (self._aside @ plane @ normals).amax(-2)  # (B, E)
        place = (self._pose[..., :2] - self._base[:, None, :2]) @ plane[:, :2]  # (B, M, 2)
        return (place @ normals + (own - edges[..., 2])[:, None]).amax(-1)

    @cached_property
    def _turn(self) -> Tensor:
        """Rotation of the upper body, the same for all candidates, (B, 3, 3)."""
        return geometry.rotation_matrix(self._turned[:, 0]).mT

    @cached_property
    def _aside(self) -> Tensor:
        """Rotated points of the upper body relative to its origin, (B, P, 3)."""
        return self._world.at(self._world.solids.points, self._upper) @ self._turn

    def _over(self, points: Tensor) -> Tensor:
        """Return the overhang of points (B, m, P, 3) over the lower body's outline, (B, m)."""
        footprint = self._world.at(self._world.solids.footprint, self._lower)
        flat = ((points.flatten(1, 2) - self._base[:, None, :3]) @ self._frame)[..., :2]
        beyond = flat @ footprint[..., :2].mT - footprint[:, None, :, 2]
        return beyond.amax(-1).unflatten(1, points.shape[1:3]).amax(-1)

    def _score(self, margin: Tensor, offset: Tensor, over: Tensor | None) -> Tensor:
        """Return scores of valid candidates from margin, offset and overhang, (B, m)."""
        score = margin.clamp(max=MOST_MARGIN_M) + (0.2 if self._inside else -0.2) * offset
        return score if over is None else score - 4.0 * (over + EDGE_GAP_M).clamp(min=0.0)

    @cached_property
    def _neighbors(self) -> dict[int, Tensor]:
        """Masks (B,) of environments in which other bodies may collide, by slot."""
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
        """Return whether points (B, m, P, 3) keep clear of neighbors, (B, m) bool."""
        gap = torch.full(points.shape[:2], geometry.PAD, device=points.device)
        for k, near in self._neighbors.items():
            body = torch.full_like(self._upper, k)
            distance = self._world.distance_to(body, points.flatten(1, 2))
            least = distance.view(points.shape[:-1]).amin(-1)
            gap = torch.where(near[:, None], torch.minimum(gap, least), gap)
        return gap >= NEIGHBOUR_GAP_M


@cache
def _grid(per_side: int, device: torch.device) -> Tensor:
    """Return a grid over the unit square, slightly inside its edges, (G, 2)."""
    ticks = torch.linspace(0.08, 0.92, per_side, device=device)
    return torch.stack(torch.meshgrid(ticks, ticks, indexing="ij"), dim=-1).reshape(-1, 2)


def put(
    world: World, upper: Tensor, lower: Tensor, inside: bool, where: Tensor | None = None
) -> None:
    """Place the upper body at the best pose on the lower one, keeping its orientation.

    Raises:
        ValueError: An environment has no valid placement.
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
