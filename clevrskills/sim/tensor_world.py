"""World of tensors, for tests and imagined scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import any_true, broadcast_slots
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.world import CONTACT_TOLERANCE_M, World

__all__ = ["TensorWorld"]

BLUNT_M = 0.02
"""Gap between bounding spheres above which bodies cannot touch; their computed distance is a lower
bound beyond edges."""

OF_POSES = ("frame", "frame matrix", "matrix")
"""Cached values that depend on poses only and are valid for a copy."""

Evaluate = TypeVar("Evaluate", bound=Callable[..., Any])


def _cached(evaluate: Evaluate) -> Evaluate:
    """Cache the result of a method for slots (B,) until something moves, if B = 1."""

    @wraps(evaluate)
    def keep(world: TensorWorld, *slots: Tensor) -> Any:
        if (world._whole or world).num_envs > 1:
            return evaluate(world, *slots)
        name = f"{evaluate.__name__} {[slot.tolist() for slot in slots]}"
        return world.cached(name, lambda _: evaluate(world, *slots))

    return cast(Evaluate, keep)


class TensorWorld(World):
    """World of tensors.

    Args:
        keys: Names of the body slots.
        solids: Geometry of the bodies.
        body_pose: World poses, (B, K, 7).
        end_effector_pose: (B, 7); default: 0.4 m above the table, cups down.
        cup_tips: See :class:`~clevrskills.sim.world.World`.
        reaches: Returns whether the arm reaches an end-effector pose (7,); default: always.
    """

    def __init__(
        self,
        keys: Sequence[str],
        solids: Solids,
        body_pose: Tensor,
        end_effector_pose: Tensor | None = None,
        cup_tips: Tensor | None = None,
        reaches: Callable[[Tensor], bool] | None = None,
    ) -> None:
        super().__init__(keys, solids, cup_tips)
        self._reaches = reaches
        if end_effector_pose is None:
            home = torch.tensor([-0.09, 0.0, 0.4, 0.0, 1.0, 0.0, 0.0], device=self.device)
            end_effector_pose = home.expand(self.num_envs, 7)
        self._body_pose = body_pose.clone()
        self._end_effector_pose = end_effector_pose.clone()
        self._rest()
        self._held = torch.full((self.num_envs,), -1, device=self.device)

    @classmethod
    def snapshot(cls, world: World) -> TensorWorld:
        """Return a copy of another world, with everything at rest."""
        copy = object.__new__(cls)
        World.__init__(copy, world.keys, world.solids, world.cup_tips)
        copy._reaches = getattr(world, "_reaches", None)
        copy._body_pose = world.body_pose.clone()
        copy._end_effector_pose = world.end_effector_pose.clone()
        copy._held = world.held.clone()
        copy._rest()
        known = world._derived
        copy._derived = {name: known[name] for name in OF_POSES if name in known} | _surfaces(world)
        return copy

    def _rest(self) -> None:
        """Set all velocities to zero."""
        self._body_velocity = torch.zeros((*self._body_pose.shape[:2], 6), device=self.device)
        self._end_effector_speed = torch.zeros(self.num_envs, device=self.device)

    @property
    def body_pose(self) -> Tensor:
        return self._body_pose

    @property
    def body_velocity(self) -> Tensor:
        return self._body_velocity

    @property
    def end_effector_pose(self) -> Tensor:
        return self.select_rows(self._end_effector_pose)

    @property
    def end_effector_speed(self) -> Tensor:
        return self.select_rows(self._end_effector_speed)

    @property
    def held(self) -> Tensor:
        return self.select_rows(self._held)

    surface = _cached(World.surface)

    @broadcast_slots
    @_cached
    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        near = (self._gap(lower, upper) <= 0.0) & (upper != lower)
        return self.evaluate_where(near, near.float(), TensorWorld._carries, lower, upper)

    def _gap(self, body: Tensor, other: Tensor) -> Tensor:
        """Return the gap between two bounding spheres minus the tolerance, (B,)."""
        return self.cached("gaps", _gaps)[self._rows, body, other]

    @broadcast_slots
    def carries(self, lower: Tensor, upper: Tensor, share: float) -> Tensor:
        carried = self.supports(lower, upper) >= share
        return self.and_where(carried, lambda w, body: ~w.on_table(body), upper)

    def _carries(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return :meth:`supports` for bodies that may touch."""
        points = self.world_points(upper)
        surface = self.surface(lower).height(points[..., :2])
        return ((surface - points[..., 2]).abs() <= CONTACT_TOLERANCE_M).any(-1).float()

    @broadcast_slots
    @_cached
    def on_table(self, body: Tensor) -> Tensor:
        return self.bottom(body) <= CONTACT_TOLERANCE_M

    @property
    def piled(self) -> bool:
        piled: bool = self.cached("piled", lambda w: not w.spaced(0.0))
        return piled

    def spaced(self, gap_m: float) -> bool:
        """Return whether there is a gap between the bounding spheres of all movable bodies."""
        free = self.solids.movable
        near = (self.cached("gaps", _gaps) <= gap_m) & free[:, :, None] & free[:, None]
        return not bool(near.sum() > free.sum())  # each is near itself

    def set_body_pose(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        rows, let_go = self._rows, self._held == body
        if where is not None:
            rows, let_go = rows[where], let_go & where
            body, pose = body[rows], pose[rows]
        # not in place: results for single bodies are views of these tensors
        self._body_pose = self._body_pose.index_put((rows, body), pose)
        at_rest = self._body_velocity.new_zeros(())
        self._body_velocity = self._body_velocity.index_put((rows, body), at_rest)
        self._held = self._held.masked_fill(let_go, -1)
        still = _surfaces(self, body.tolist())
        self.invalidate()
        self._derived |= still

    @broadcast_slots
    @_cached
    def touches(self, body: Tensor, other: Tensor) -> Tensor:
        return self.and_where(self._gap(body, other) <= BLUNT_M, TensorWorld._meet, body, other)

    def _meet(self, body: Tensor, other: Tensor) -> Tensor:
        """Return :meth:`touches` for bodies that may touch."""
        there = self._has_points_at(body, other)
        return self.evaluate_where(~there, there, TensorWorld._has_points_at, other, body)

    def _has_points_at(self, body: Tensor, other: Tensor) -> Tensor:
        """Return whether any surface point of a body touches another body, (B,) bool."""
        gap = self.distance_to(other, self.world_points(body)).amin(-1)
        return gap <= CONTACT_TOLERANCE_M

    @_cached
    def touches_before(self, body: Tensor, other: Tensor) -> Tensor:
        return self.on_table(body) | self._near_any(body, torch.stack((body, other), dim=-1))

    @_cached
    def touches_body(self, body: Tensor) -> Tensor:
        return self._near_any(body, body[:, None])

    def _near_any(self, body: Tensor, but: Tensor) -> Tensor:
        """Return whether any body except some (B, n) touches a body, (B,) bool."""
        near = self.cached("gaps", _gaps)[self._rows, body] <= BLUNT_M
        near = near & self.select_rows(self.solids.present)
        return self.and_where(
            near.scatter(1, but, False).any(-1), TensorWorld._any_meets, body, but
        )

    def _any_meets(self, body: Tensor, but: Tensor) -> Tensor:
        """Return :meth:`_near_any` for bodies with others near them."""
        gap = self.distance(self.world_points(body)).amin(-1)  # (B, K)
        points = geometry.to_world(self.body_pose, self.solids.points).flatten(1, 2)
        points = geometry.to_local(self.pose(body), self.select_rows(points))
        theirs = geometry.signed_distance(self.planes(body), points)
        gap = torch.minimum(gap, theirs.unflatten(1, gap.shape[1:] + (-1,)).amin(-1))
        gap = torch.where(self.select_rows(self.solids.present), gap, geometry.PAD)
        return gap.scatter(1, but, geometry.PAD).amin(-1) <= CONTACT_TOLERANCE_M

    @broadcast_slots
    @_cached
    def gripper_touches(self, body: Tensor) -> Tensor:
        near = self.gripper_gap(body) <= BLUNT_M
        return self.and_where(near, lambda w, b: w.gripper_distance(b) <= CONTACT_TOLERANCE_M, body)

    def robot_touches(self, body: Tensor) -> Tensor:
        return self.gripper_touches(body)

    def set_end_effector_pose(self, pose: Tensor, where: Tensor | None = None) -> None:
        rows = self._rows if where is None else self._rows[where]
        if self._reaches and not all(self._reaches(pose[row]) for row in rows.tolist()):
            raise ValueError("the arm does not reach the pose")
        before = self._end_effector_pose
        self._end_effector_pose = before.index_put((rows,), pose[rows])
        if any_true(self._held >= 0):
            rows = rows[self._held[rows] >= 0]
            held = self._held[rows]
            change = geometry.compose(pose, geometry.invert(before))
            carried = geometry.compose(change[rows], self._body_pose[rows, held])
            self._body_pose = self._body_pose.index_put((rows, held), carried)
        self.invalidate()

    def set_body_velocity(self, body: Tensor, velocity: Tensor) -> None:
        """Set velocities (B, 6) of bodies (B,)."""
        self._body_velocity = self._body_velocity.index_put((self._rows, body), velocity)
        self.invalidate()

    def hold(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        self.set_body_pose(body, pose, where)
        self._held = body.clone() if where is None else torch.where(where, body, self._held)


def _surfaces(world: World, moved: Sequence[int] = ()) -> dict[str, Any]:
    """Return the cached surfaces of bodies that did not move."""
    names = [f"surface [[{slot}]]" for slot in range(len(world.keys)) if slot not in moved]
    return {name: world._derived[name] for name in names if name in world._derived}


def _gaps(world: World) -> Tensor:
    """Return the gaps between all bounding spheres minus the tolerance, (B, K, K)."""
    position, radius = world.body_pose[..., :3], world.solids.radius + CONTACT_TOLERANCE_M
    apart = geometry.length(position[:, :, None] - position[:, None])
    return apart - (radius[:, :, None] + radius[:, None])
