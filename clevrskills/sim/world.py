"""World: the interface to a simulation for predicates, prompts and solvers.

A :class:`World` represents ``B`` parallel environments; the first dimension of every result is
``B``. Bodies are addressed by slot indices ``(B,)`` into the ``K`` body slots of the scene, so each
environment can query a different body. Batching is implemented in
:class:`~clevrskills.core.goal.context.Context`.

:class:`World` holds the geometry. Poses come from a subclass:
:class:`~clevrskills.sim.simulation.SimWorld` reads a simulation,
:class:`~clevrskills.sim.tensor_world.TensorWorld` stores tensors.
"""

from collections.abc import Sequence
from functools import cache, cached_property

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.context import FEW, Context, broadcast_slots
from clevrskills.errors import UnknownNameError
from clevrskills.sim.body_geometry import Solids

__all__ = ["CONTACT_TOLERANCE_M", "World"]

GRAVITY = 9.81
CONTACT_TOLERANCE_M = 2e-3
"""Largest distance of bodies in contact, and largest overlap that is ignored."""
STATIC_SPEED_M_PER_S = 3e-3
STATIC_SPIN_RAD_PER_S = 3e-2
"""Largest speeds of a body at rest. The released code uses a third of them at five times the
physics rate. Here, resting bodies jitter by up to 1 mm/s and 0.017 rad/s until they fall asleep
half a second later."""


class World(Context):
    """State of the bodies and the robot in ``B`` environments.

    Queries used by goals, such as :meth:`on_table`, take slots (B,) or, for several bodies, (B, n);
    the result has the same shape.

    Args:
        keys: Names of the ``K`` body slots, the same in all environments.
        solids: Geometry of the bodies.
        cup_tips: Centers of the rims of the suction cups in the end-effector frame, (N, 3).
    """

    def __init__(self, keys: Sequence[str], solids: Solids, cup_tips: Tensor | None = None) -> None:
        super().__init__(keys, solids.mass.shape[0], solids.mass.device)
        self.solids = solids
        self.cup_tips = solids.mass.new_zeros(1, 3) if cup_tips is None else cup_tips

    # ---- implemented by subclasses ----

    @property
    def body_pose(self) -> Tensor:
        """World poses of all bodies, (B, K, 7)."""
        raise NotImplementedError

    @property
    def body_velocity(self) -> Tensor:
        """Linear (m/s) and angular (rad/s) velocity of all bodies in world axes, (B, K, 6)."""
        raise NotImplementedError

    @property
    def end_effector_pose(self) -> Tensor:
        """World pose of the tool center point; z points out of the suction cups, (B, 7)."""
        raise NotImplementedError

    @property
    def end_effector_speed(self) -> Tensor:
        """Speed of the tool center point in m/s, (B,)."""
        raise NotImplementedError

    @property
    def held(self) -> Tensor:
        """Slot of the held body, -1 for none, (B,)."""
        raise NotImplementedError

    def supports(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return the share of the weight of ``upper`` supported by ``lower``, about 0..1, (B,)."""
        raise NotImplementedError

    def on_table(self, body: Tensor) -> Tensor:
        """Return whether the body touches the table, (B,) bool."""
        raise NotImplementedError

    def carries(self, lower: Tensor, upper: Tensor, share: float) -> Tensor:
        """Return whether ``lower`` supports a share of the weight of ``upper``, the table none."""
        return (self.supports(lower, upper) >= share) & ~self.on_table(upper)

    @property
    def piled(self) -> bool:
        """``False`` if no body rests on another movable body."""
        return True

    def expect_touches(self) -> None:
        """Track contacts from now on, for goals that do not query them in every step."""

    def touches(self, body: Tensor, other: Tensor) -> Tensor:
        """Return whether two bodies touched during the last control step, (B,) bool."""
        raise NotImplementedError

    def touches_before(self, body: Tensor, other: Tensor) -> Tensor:
        """Return whether a body touched the table or a third body during the last control step,
        before ``other`` or without touching ``other``, (B,) bool. If the order is unknown, the
        contact counts as earlier.
        """
        raise NotImplementedError

    def gripper_touches(self, body: Tensor) -> Tensor:
        """Return whether the gripper touched the body during the last control step, (B,) bool."""
        raise NotImplementedError

    def robot_touches(self, body: Tensor) -> Tensor:
        """Return whether the robot touched the body during the last control step, (B,) bool."""
        raise NotImplementedError

    def touches_body(self, body: Tensor) -> Tensor:
        """Return whether the body touched another body during the last control step, (B,) bool."""
        raise NotImplementedError

    def strike_speed(self, body: Tensor) -> Tensor:
        """Return the speed in m/s at which the gripper struck the body during the last control
        step, (B,); 0 without contact.

        The speed is the maximum during contact, or the maximum approach speed along the contact
        normal in this step and the previous one. If only the speed at the end of a step is known,
        it is used instead.
        """
        return self.end_effector_speed * self.gripper_touches(body)

    def set_body_pose(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        """Set the world poses (B, 7) of bodies (B,) at rest ``where`` (B,) is true."""
        raise NotImplementedError

    def set_end_effector_pose(self, pose: Tensor, where: Tensor | None = None) -> None:
        """Move the tool center point and any held body to world poses (B, 7) ``where`` (B,) is
        true.

        Raises:
            ValueError: A pose is unreachable.
        """
        raise NotImplementedError

    def hold(self, body: Tensor, pose: Tensor, where: Tensor | None = None) -> None:
        """Attach bodies (B,) at world poses (B, 7) to the gripper ``where`` (B,) is true.

        The arm does not move. A simulated gripper loses bodies that are not at its cups.
        """
        raise NotImplementedError

    # ---- computed for all bodies and cached until something moves ----

    @property
    def frame(self) -> Tensor:
        """World poses of all bodies and, as body -1, the end effector, (B, K + 1, 7)."""
        return self.cached(
            "frame", lambda w: torch.cat((w.body_pose, w.end_effector_pose[:, None]), dim=1)
        )

    @property
    def frame_matrix(self) -> Tensor:
        """Rotation matrices of :attr:`frame`, (B, K + 1, 3, 3)."""
        return self.cached("frame matrix", lambda w: geometry.rotation_matrix(w.frame[..., 3:]))

    @property
    def matrix(self) -> Tensor:
        """Rotation matrices of all bodies, (B, K, 3, 3)."""
        return self.cached("matrix", lambda w: w.frame_matrix[:, :-1])

    @property
    def end_effector_matrix(self) -> Tensor:
        """Rotation matrix of the end effector, (B, 3, 3)."""
        return self.select_rows(self.cached("end effector matrix", lambda w: w.frame_matrix[:, -1]))

    @property
    def offset(self) -> Tensor:
        """World offset from the TCP to each body's origin and best cup spot, (B, K, 2, 3)."""
        return self.cached("offset", _offset)

    # ---- robot ----

    @broadcast_slots
    def gripper_distance(self, body: Tensor) -> Tensor:
        """Return the distance from the tips of the suction cups to a body, (B,)."""
        tips = self.cup_tips.expand(self.num_envs, -1, 3)
        tips = geometry.to_world(self.end_effector_pose, tips)
        local = geometry.to_local(self.pose(body), tips)
        return geometry.signed_distance(self.planes(body), local).amin(-1)

    @broadcast_slots
    def gripper_clear(self, body: Tensor, distance_m: float) -> Tensor:
        """Return whether all suction cups are farther than a distance from a body, (B,) bool."""
        clear = self.gripper_gap(body) > distance_m
        return self.evaluate_where(
            ~clear, clear, lambda w, b: w.gripper_distance(b) > distance_m, body
        )

    def gripper_gap(self, body: Tensor) -> Tensor:
        """Return the gap between the bounding spheres of the suction cups and a body, (B,)."""
        away = geometry.length(self.end_effector_pose[:, :3] - self.position(body))
        return away - self.at(self.solids.radius, body) - (self._whole or self).cup_reach_m

    @cached_property
    def cup_reach_m(self) -> float:
        """Distance of the outermost suction cup from the tool center point."""
        return float(geometry.length(self.cup_tips).max())

    # ---- bodies ----

    def index(self, key: str) -> Tensor:
        """Return the slot (B,) of a body key.

        Raises:
            UnknownNameError: The key is unknown.
        """
        if key not in self.keys:
            raise UnknownNameError("body", key, self.keys)
        return torch.full((self.num_envs,), self.keys.index(key), device=self.device)

    def at(self, values: Tensor, body: Tensor) -> Tensor:
        """Select values of bodies (B,) or (B, n): (B, K, ...) -> (B, ...) or (B, n, ...).

        ``values`` has one row per environment without repeats. For one body of a single
        environment the result is a view.
        """
        if values.shape[0] == 1:  # faster
            return values.select(1, int(body)) if body.shape == (1,) else values[0][body]
        if values.dim() > 3 and body.dim() == 1 and len(body) > FEW:  # copies whole rows
            slots = values.shape[1]
            return values.flatten(0, 1).index_select(0, self._rows * slots + body % slots)
        rows = self._rows if body.dim() == 1 else self._rows[:, None]
        return values[rows, body]

    def pose(self, body: Tensor) -> Tensor:
        """Return the world pose, (B, 7)."""
        return self.at(self.body_pose, body)

    def position(self, body: Tensor) -> Tensor:
        """Return the world position of the body's origin, (B, 3)."""
        return self.pose(body)[..., :3]

    def orientation(self, body: Tensor) -> Tensor:
        """Return the world orientation, (B, 4)."""
        return self.pose(body)[..., 3:]

    def velocity(self, body: Tensor) -> Tensor:
        """Return the linear (m/s) and angular (rad/s) velocity in world axes, (B, 6)."""
        return self.at(self.body_velocity, body)

    def is_static(self, body: Tensor) -> Tensor:
        """Return whether the body is at rest, (B,) bool."""
        return self.at(self.cached("still", _still), body)

    def is_held(self, body: Tensor) -> Tensor:
        """Return whether the gripper holds this body, (B,) bool."""
        return self.held.view(-1, *(1,) * (body.ndim - 1)) == body

    def world_points(self, body: Tensor) -> Tensor:
        """Return the surface points of the body in world coordinates, (B, P, 3)."""
        points = self.at(self.solids.points, body)
        turned = points @ self.at(self.matrix, body).transpose(-1, -2)
        return turned + self.position(body)[:, None]

    def top(self, body: Tensor) -> Tensor:
        """Return the world z of the body's highest point, (B,)."""
        return self._heights(body).amax(-1)

    def bottom(self, body: Tensor) -> Tensor:
        """Return the world z of the body's lowest point, (B,)."""
        return self._heights(body).amin(-1)

    def _heights(self, body: Tensor) -> Tensor:
        """Return the world z of the body's surface points, (B, P)."""
        up = self.at(self.matrix, body)[..., 2, :, None]
        heights = (self.at(self.solids.coordinates, body) * up).sum(-2)
        return heights + self.pose(body)[..., 2:3]

    def planes(self, body: Tensor) -> Tensor:
        """Return the half-spaces of bodies in their frames without shared padding, (B, C, F, 4)."""
        parts, facets, _ = self.at(self.solids.counts, body).amax(0).tolist()
        return self.at(self.solids.planes[:, :, :parts, :facets], body)

    def surface(self, body: Tensor) -> geometry.Surface:
        """Return the top surfaces of bodies."""
        return geometry.Surface(self.planes(body), self.pose(body))

    def distance(self, points: Tensor) -> Tensor:
        """Return the distance of points (B, N, 3) to all bodies, (B, K, N); PAD for empty slots."""
        position, matrix = self.select_rows(self.body_pose[..., :3]), self.select_rows(self.matrix)
        local = (points[:, None] - position[:, :, None]) @ matrix  # (B, K, N, 3)
        return geometry.signed_distance(self.select_rows(self.solids.planes), local)

    def distance_to(self, body: Tensor, points: Tensor) -> Tensor:
        """Return the distance from points (B, N, 3) to a body, (B, N)."""
        local = (points - self.position(body)[:, None]) @ self.at(self.matrix, body)
        return geometry.signed_distance(self.planes(body), local)

    def clearance(self, body: Tensor) -> Tensor:
        """Return the distance from a body to the nearest other body or the table, (B,)."""
        points = self.world_points(body)
        distance = self.distance(points).amin(-1)  # (B, K)
        distance.scatter_(1, body[:, None], geometry.PAD)
        return torch.minimum(distance.amin(-1), points[..., 2].amin(-1))

    def overhang(self, upper: Tensor, lower: Tensor) -> Tensor:
        """Return how far ``upper`` overhangs the outline of ``lower``, (B,); negative inside."""
        turn, offset = self._seen_from_above(upper, lower)
        points = turn.mT @ self.at(self.solids.coordinates, upper) + offset.mT  # (B, 2, P)
        edges = self._outline(lower)  # (B, E, 3)
        furthest = (edges[..., :2] @ points).amax(-1)  # (B, E)
        return (furthest - edges[..., 2]).amax(-1)

    def within(self, upper: Tensor, lower: Tensor, margin_m: float) -> Tensor:
        """Return whether ``upper`` overhangs the outline of ``lower`` by at most a margin, (B,)."""
        edges = self._outline(lower)
        turn, offset = self._seen_from_above(upper, lower)
        middle = self.at(self.solids.middle, upper)[:, None] @ turn + offset  # (B, 1, 2)
        # extent of the bounding box or of its bounding sphere
        half = self.at(self.solids.size, upper)[..., None] * (0.5 * turn)  # (B, 3, 2)
        box = (half @ edges[..., :2].mT).abs().sum(-2)  # (B, E)
        reach = torch.minimum(box, self.at(self.solids.reach, upper)[:, None])
        beyond = (middle @ edges[..., :2].mT)[:, 0] - edges[..., 2]
        inside = (beyond + reach).amax(-1) <= margin_m
        return self.evaluate_where(
            ~inside, inside, lambda w, *two: w.overhang(*two) <= margin_m, upper, lower
        )

    def beside(self, upper: Tensor, lower: Tensor) -> Tensor:
        """Return whether ``upper`` lies beyond an edge of the outline of ``lower``, (B,)."""
        turn, offset = self._seen_from_above(upper, lower)
        points = turn.mT @ self.at(self.solids.coordinates, upper) + offset.mT  # (B, 2, P)
        edges = self._outline(lower)  # (B, E, 3)
        nearest = (edges[..., :2] @ points).amin(-1)  # (B, E)
        return (nearest - edges[..., 2]).amax(-1) > 0.0

    def _outline(self, body: Tensor) -> Tensor:
        """Return the outline half-planes of bodies without shared padding, (B, E, 3)."""
        edges = int(self.at(self.solids.counts, body)[:, 2].amax())
        return self.at(self.solids.footprint[:, :, :edges], body)

    def _seen_from_above(self, upper: Tensor, lower: Tensor) -> tuple[Tensor, Tensor]:
        """Return the projection of ``upper``'s frame to ``lower``'s plane: (B, 3, 2), (B, 1, 2)."""
        over, under = self.pose(upper), self.pose(lower)
        plane = self.at(self.matrix, lower)[..., :2]
        turn = self.at(self.matrix, upper).mT @ plane
        return turn, (over[:, None, :3] - under[:, None, :3]) @ plane

    def rest(self, body: Tensor, pose: Tensor, on: Tensor) -> tuple[Tensor, Tensor]:
        """Return where a body comes to rest when lowered vertically onto another body.

        Args:
            body: The body to lower, (B,).
            pose: Candidate poses; their height is ignored, (B, M, 7).
            on: The body below, (B,).

        Returns:
            World z of the body's origin at first contact, (B, M), and the stability margin in
            meters, (B, M): the distance of the center of mass from the edge of the support polygon,
            negative if the body would tip over.
        """
        height, margin, _ = self.lowered(body, pose, on)
        return height, margin

    def lowered(self, body: Tensor, pose: Tensor, on: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the results of :meth:`rest` and the surface points at rest, (B, M, P, 3)."""
        turn = geometry.rotation_matrix(pose[..., 3:]).mT  # (B, M, 3, 3)
        place = torch.nn.functional.pad(pose[..., None, :2], (0, 1))  # (B, M, 1, 3)
        points = self.at(self.solids.points, body)[:, None] @ turn + place  # (B, M, P, 3)
        center = self.at(self.solids.center, body)[:, None, None] @ turn + place
        below = self.surface(on).height(points[..., :2].flatten(1, 2)).view(points.shape[:-1])
        gap = below - points[..., 2]  # (B, M, P)
        height = gap.amax(-1, keepdim=True)
        # -inf excludes points without contact
        apart = torch.zeros_like(gap).masked_fill(gap <= height - CONTACT_TOLERANCE_M, -torch.inf)
        reach = reach_around(points - center) + apart[..., None]  # (B, M, P, 16)
        points[..., 2] += height
        # amax takes three times as long
        return height[..., 0], reach.max(-2).values.amin(-1), points


def _offset(world: World) -> Tensor:
    origin = world.body_pose[..., :3]
    spot = (world.matrix @ world.solids.spot[..., None])[..., 0] + origin
    return torch.stack((origin, spot), dim=2) - world.end_effector_pose[:, None, None, :3]


def _still(world: World) -> Tensor:
    velocity = world.body_velocity
    speed = geometry.length(velocity.view(*velocity.shape[:-1], 2, 3))  # (B, K, 2)
    return (speed <= _static_limits(speed.device)).all(-1)


def reach_around(offsets: Tensor) -> Tensor:
    """Return the horizontal extent of offsets (..., 2) or (..., 3) in 16 directions, (..., 16)."""
    return offsets[..., :2] @ _directions(offsets.device)


@cache
def _directions(device: torch.device) -> Tensor:
    """Return 16 unit vectors in the plane, (2, 16)."""
    angle = torch.arange(16, device=device) * (torch.pi / 8)
    return torch.stack((angle.cos(), angle.sin()))


@cache
def _static_limits(device: torch.device) -> Tensor:
    return torch.tensor([STATIC_SPEED_M_PER_S, STATIC_SPIN_RAD_PER_S], device=device)
