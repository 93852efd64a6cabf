"""Blocks that form a shape on the table: a line, a circle, a letter, a rectangle."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import pi, radians

import numpy as np
import torch
from torch import Tensor

from clevrskills.core.goal.context import any_true
from clevrskills.core.goal.predicate import GoalState, Outcome
from clevrskills.predicates.physical import PhysicalPredicate
from clevrskills.predicates.shaping import (
    PUT_DOWN_REWARD,
    carry,
    closeness,
    descent,
    put_down,
    reach,
)
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.figures import (
    Circle,
    Figure,
    Fit,
    Line,
    Rectangle,
    Ring,
    Template,
    fitted,
)
from clevrskills.suites.lohoravens.predicates.lines_and_circles import (
    LINE_GAPS_M,
    algebraic_circle,
)
from clevrskills.suites.lohoravens.predicates.resting import (
    LOW_M,
    flat_share,
    left_alone,
    one_by_one,
)
from clevrskills.suites.lohoravens.predicates.templates import rectangle_points, rectangles

REWARD_PER_BLOCK = 6.0
MIDDLE_M = 0.02
"""How far from the middle of a circle its middle block is, or that of the other circle."""
RATIO = 1.5
"""Least ratio of the radii of two concentric circles."""
ZONE_SHARE = 0.9
"""Share of the footprint over the zone that a block of a rectangle has."""
SCALES, TURN_RAD = (0.8, 1.3), radians(20.0)
"""How letters may be scaled and turned."""
RECTANGLE_PITCH_M = 0.048
"""Distance of neighbors of a rectangle that is laid out."""


@dataclass(frozen=True, eq=False)
class Shape(PhysicalPredicate):
    """Blocks form a shape; each lies on the table, at rest and let go.

    Credit: the largest number of blocks that are consistent with one shape, of all; where the shape
    may be anywhere, less those that were so at the start, of those that were not.

    Reward: 6 for each block that the credit stands for, and for the next block reach 0 to 2, carry
    2 to 5.

    Args:
        objects: Indices of the blocks, -1 for none, (B, n).
    """

    handles = ("objects",)
    anywhere = False
    objects: Tensor

    @property
    def total(self) -> Tensor:
        """How many blocks there are, (B,)."""
        return (self.objects >= 0).sum(-1)

    @property
    def max_reward(self) -> Tensor:
        return REWARD_PER_BLOCK * self.total

    @abstractmethod
    def figure(self, world: World, env: int) -> Figure:
        """Return the shape of the blocks of one environment, those that are none left out."""

    @abstractmethod
    def spread(self, world: World, env: int) -> np.ndarray:
        """Return the places of all blocks that are sure to be right, (n, 2)."""

    def there(self, world: World) -> Tensor:
        """Return which blocks lie where they may count, at rest or not, (B, n) bool."""
        return _lie(world, self.objects)

    def fits(self, world: World) -> list[Fit]:
        """Return the best shape of each environment; members are as in :attr:`objects`."""
        used = self.there(world) & left_alone(world, self.objects.clamp(min=0), self.criteria)
        rows, counted = _rows(world, self.objects), used.cpu().numpy()
        found = []
        for env in range(world.num_envs):
            known = (self.objects[env] >= 0).cpu().numpy()
            fit = fitted(self.figure(world, env), rows[env, known], counted[env, known])
            members = np.zeros(len(known), bool)
            members[known] = fit.members
            found.append(Fit(members, fit.whole, fit.center, fit.radius_m))
        return found

    def initial_state(self, world: World) -> GoalState:
        if not self.anywhere:
            return {}
        return {"given": torch.tensor([fit.count for fit in self.fits(world)], device=world.device)}

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        fits, total = self.fits(world), self.total
        members = torch.tensor(np.stack([fit.members for fit in fits]), device=world.device)
        holds = torch.tensor([fit.whole for fit in fits], device=world.device)
        given = state["given"] if self.anywhere else torch.zeros_like(total)
        gained = (members.sum(-1) - given).clamp(min=0) / (total - given).clamp(min=1)
        credit = torch.where(holds, 1.0, torch.minimum(gained, 1.0 - 0.5 / total))
        shaping = REWARD_PER_BLOCK * total * gained + self._approach(world, members)
        return replace(self.outcome(holds, shaping, state=dict(state)), credit=credit)

    def _approach(self, world: World, members: Tensor) -> Tensor:
        """Return how near the next block is to its place, in [0, 5], (B,)."""
        slots, left = self.objects.clamp(min=0), (self.objects >= 0) & ~members
        nearest = torch.where(left, reach(world, slots, left), 0.0).amax(-1)
        held = world.is_held(slots) & left
        if not world.rewards or not any_true(held.any(-1)):
            return nearest
        targets = torch.zeros_like(world.position(slots[:, 0]))
        for env in held.any(-1).nonzero()[:, 0].tolist():
            place = self.spread(world, env)[int(held[env].int().argmax())]
            targets[env, :2] = torch.as_tensor(place)
        return world.evaluate_where(
            held.any(-1), nearest, lambda w, t: carry(w, w.held, t), targets
        )

    def _names(self, world: World, env: int) -> str:
        names = world.mention(env, self.objects)
        return f"{', '.join(names[:-1])} and {names[-1]}"

    def ground(self, world: World, env: int) -> float:
        """Return the height of what the blocks lie on."""
        del world, env
        return 0.0

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put all blocks where :meth:`spread` has them, turned as they are."""
        for env, only in one_by_one(world, where):
            places, height = self.spread(world, env), self.ground(world, env)
            for slot, place in zip(self.objects[env].tolist(), places, strict=True):
                if slot >= 0:
                    put(world, torch.full_like(self.objects[:, 0], slot), place, height, only)


@dataclass(frozen=True, eq=False)
class OnLine(Shape):
    """Blocks are on a line along y, in order from its left end, world -y, to its right one.

    Middles are 1.5 cm at most off the line and between its ends, gaps between edges 1 to 6 cm.

    Args:
        middle: Middle of the line, (B, 2) m.
        length_m: Length of the line, (B,).
        rank: Numbers that increase from left to right, (B, n).
    """

    name = "on_line"
    middle: Tensor
    length_m: Tensor
    rank: Tensor

    def figure(self, world: World, env: int) -> Line:
        x, y = self.middle[env].tolist()
        order, sides = _order(self, env), _sides(world, self.objects, env)
        return Line((x, y), float(self.length_m[env]), order, sides)

    def spread(self, world: World, env: int) -> np.ndarray:
        order = np.array(_order(self, env))
        sides = np.array(_sides(world, self.objects, env))[np.argsort(order)]
        room_m = float(self.length_m[env]) + (sides[0] + sides[-1]) / 2 - sides.sum()
        gap_m = min(sum(LINE_GAPS_M) / 2, room_m / max(1, len(sides) - 1))
        ends = np.cumsum(sides + gap_m)
        along = ends - sides / 2 - gap_m
        along -= (along[0] + along[-1]) / 2
        x, y = self.middle[env].tolist()
        return _all(self.objects, env, np.column_stack((np.full(len(along), x), y + along))[order])

    def describe(self, world: World, env: int = 0) -> str:
        return f"Align {self._names(world, env)} on the line"


@dataclass(frozen=True, eq=False)
class OnRing(Shape):
    """Blocks are on a given circle, in order counter-clockwise seen from above, from any phase on.

    Middles are less than 1.5 cm off the circle, neighbors at 0.5 to 1.6 of the even angle.

    Args:
        center: Middle of the circle, (B, 2) m.
        radius_m: Its radius, (B,).
        rank: Numbers that increase counter-clockwise, (B, n).
    """

    name = "on_ring"
    center: Tensor
    radius_m: Tensor
    rank: Tensor

    def figure(self, world: World, env: int) -> Ring:
        x, y = self.center[env].tolist()
        return Ring((x, y), float(self.radius_m[env]), _order(self, env))

    def spread(self, world: World, env: int) -> np.ndarray:
        order = np.array(_order(self, env))
        around = around_m(len(order), float(self.radius_m[env]))[order]
        return _all(self.objects, env, around + self.center[env].cpu().numpy())

    def describe(self, world: World, env: int = 0) -> str:
        return f"Place {self._names(world, env)} on the circle"


@dataclass(frozen=True, eq=False)
class OnCircle(Shape):
    """Blocks are on one circle of a radius in a range, anywhere.

    Middles are less than 1.5 cm off the circle that fits best, neighbors at 0.5 to 1.6 of the even
    angle.

    Args:
        low_m: Least radius, (B,).
        high_m: Greatest radius, (B,).
        center: Where :meth:`realize` has its middle, (B, 2) m.
    """

    name = "on_circle"
    anywhere = True
    low_m: Tensor
    high_m: Tensor
    center: Tensor

    def fits(self, world: World) -> list[Fit]:
        # what is in the middle of a circle asks for it once more
        numbers = [values.tolist() for values in (self.objects, self.low_m, self.high_m)]
        key = f"circle {numbers} {self.criteria.name} {world.rewards}"
        found: list[Fit] = world.cached(key, super().fits)
        return found

    def figure(self, world: World, env: int) -> Circle:
        return Circle((float(self.low_m[env]), float(self.high_m[env])), world.rewards)

    def spread(self, world: World, env: int) -> np.ndarray:
        radius = float(self.low_m[env] + self.high_m[env]) / 2
        around = around_m(int(self.total[env]), radius)
        return _all(self.objects, env, around + self.center[env].cpu().numpy())

    def describe(self, world: World, env: int = 0) -> str:
        return f"Arrange {self._names(world, env)} in a circle"


@dataclass(frozen=True, eq=False)
class FitsTemplate(Shape):
    """Blocks are at the points of a template, any block at any point.

    The template may be moved, scaled by 0.8 to 1.3 and turned by up to 20 degrees; then each middle
    is less than 2 cm from its point.

    Args:
        points: As many points as blocks, (B, n, 2) m.
        center: Where :meth:`realize` has the template's origin, (B, 2) m.
    """

    name = "fits_template"
    anywhere = True
    points: Tensor
    center: Tensor

    def figure(self, world: World, env: int) -> Template:
        known = self.points[env][self.objects[env] >= 0]
        return Template(tuple(map(tuple, known.tolist())), SCALES, TURN_RAD)

    def spread(self, world: World, env: int) -> np.ndarray:
        places: np.ndarray = (self.points[env] + self.center[env]).cpu().numpy()
        return places

    def describe(self, world: World, env: int = 0) -> str:
        return f"Build the letter with {self._names(world, env)}"


@dataclass(frozen=True, eq=False)
class RectangleIn(Shape):
    """Blocks form a rectangle in a zone, which has 90 % of the footprint of each.

    Middles are less than 1.5 cm off the outline of one rectangle, each corner has a block, and gaps
    between neighbors along its sides are 2 cm at most.

    Args:
        zone: Index of the zone, (B,).
    """

    name = "rectangle"
    zone: Tensor

    def there(self, world: World) -> Tensor:
        over = flat_share(world, self.objects.clamp(min=0), self.zone[:, None])
        return super().there(world) & (over >= ZONE_SHARE)

    def figure(self, world: World, env: int) -> Rectangle:
        return Rectangle(max(_sides(world, self.objects, env)))

    def spread(self, world: World, env: int) -> np.ndarray:
        points = RECTANGLE_PITCH_M * rectangle_points(*rectangles(int(self.total[env]))[0])
        return _all(self.objects, env, points + world.position(self.zone)[env, :2].cpu().numpy())

    def ground(self, world: World, env: int) -> float:
        return float(world.top(self.zone)[env])

    def describe(self, world: World, env: int = 0) -> str:
        zone = world.mention(env, self.zone)[0]
        return f"Build a rectangle with {self._names(world, env)} on {zone}"


@dataclass(frozen=True, eq=False)
class Concentric(PhysicalPredicate):
    """The circles that fit two groups of blocks best have their middles less than 2 cm apart, and
    the second one is 1.5 times as large, or larger.

    Args:
        inner: Indices of the blocks of the first circle, -1 for none, (B, n).
        outer: Those of the second one, (B, m).
    """

    name = "concentric"
    max_reward = PUT_DOWN_REWARD
    inner: Tensor
    outer: Tensor

    def circles(self, world: World, env: int) -> list[tuple[np.ndarray, float]]:
        """Return the middle and radius of both circles."""
        return [
            algebraic_circle(_rows(world, slots)[env, (slots[env] >= 0).cpu().numpy(), :2])
            for slots in (self.inner, self.outer)
        ]

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        apart, ratio = [], []
        for env in range(world.num_envs):
            (center, radius), (other, larger) = self.circles(world, env)
            apart.append(float(np.linalg.norm(center - other)))
            ratio.append(larger / max(radius, 1e-9))
        apart_m = torch.tensor(apart, device=world.device)
        holds = (apart_m < MIDDLE_M) & (torch.tensor(ratio, device=world.device) >= RATIO)
        near = closeness((apart_m - MIDDLE_M).clamp(min=0.0))
        return self.outcome(holds, near, near)

    def describe(self, world: World, env: int = 0) -> str:
        return "Let both circles have the same middle"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Move the first circle to the middle of the second.

        Raises:
            ValueError: The second one is not large enough.
        """
        for env, only in one_by_one(world, where):
            (center, radius), (other, larger) = self.circles(world, env)
            if larger < RATIO * radius:
                raise ValueError("the outer circle is too small")
            for slot in self.inner[env].tolist():
                if slot >= 0:
                    body = torch.full_like(self.inner[:, 0], slot)
                    place = world.position(body)[env, :2].cpu().numpy() + other - center
                    put(world, body, place, float(world.bottom(body)[env]), only)


@dataclass(frozen=True, eq=False)
class InMiddle(PhysicalPredicate):
    """A block is within 2 cm of the middle of the circle that most blocks of a group are on, more
    of them than at the start; it lies on the table, at rest and let go.

    Args:
        object: Index of the block, (B,).
        objects: Indices of the blocks of the circle, -1 for none, (B, n).
        low_m: Least radius, (B,).
        high_m: Greatest radius, (B,).
    """

    name = "in_middle"
    max_reward = PUT_DOWN_REWARD
    handles = ("object",)
    object: Tensor
    objects: Tensor
    low_m: Tensor
    high_m: Tensor

    def circle(self) -> OnCircle:
        """Return the predicate of the blocks around it."""
        center = torch.zeros_like(self.low_m)[:, None].expand(-1, 2)
        return OnCircle(self.objects, self.low_m, self.high_m, center, criteria=self.criteria)

    def initial_state(self, world: World) -> GoalState:
        return self.circle().initial_state(world)

    def evaluate(self, world: World, state: GoalState) -> Outcome:
        fits = self.circle().fits(world)
        target = world.position(self.object).clone()
        target[:, :2] = torch.tensor(np.stack([fit.center for fit in fits])).to(target)
        more = torch.tensor([fit.count for fit in fits], device=world.device) > state["given"]
        near = (world.position(self.object) - target)[:, :2].norm(dim=-1) < MIDDLE_M
        placed, held = more & near & _lie(world, self.object), world.is_held(self.object)
        holds = placed & left_alone(world, self.object, self.criteria)

        def carried() -> Tensor:
            way = descent(world.position(self.object) - target)
            return torch.stack((carry(world, self.object, target), way), dim=-1)

        shaping = put_down(world, self.object, held, placed, carried)
        return self.outcome(holds, *shaping, state=dict(state))

    def describe(self, world: World, env: int = 0) -> str:
        return f"Put {world.mention(env, self.object)[0]} in the middle of the circle"

    def realize(self, world: World, where: Tensor | None = None) -> None:
        """Put the block in the middle of the circle as it is."""
        places = _rows(world, self.objects)[..., :2]
        for env, only in one_by_one(world, where):
            center, _ = algebraic_circle(places[env, (self.objects[env] >= 0).cpu().numpy()])
            put(world, self.object, center, 0.0, only)


def around_m(count: int, radius_m: float, phase_rad: float = 0.0) -> np.ndarray:
    """Return places evenly spread on a circle about the origin, (n, 2)."""
    angle = phase_rad + np.arange(count) * 2 * pi / count
    return radius_m * np.column_stack((np.cos(angle), np.sin(angle)))


def put(world: World, body: Tensor, place: np.ndarray, height_m: float, where: Tensor) -> None:
    """Put bodies (B,) down at a place (2,) at a height, turned as they are, ``where`` (B,)."""
    pose = world.pose(body).clone()
    pose[:, :2] = torch.as_tensor(place).to(pose)
    pose[:, 2] += height_m - world.bottom(body)
    world.set_body_pose(body, pose, where)


def _lie(world: World, bodies: Tensor) -> Tensor:
    """Return which bodies (B, ...), -1 for none, lie on the table or on a mat, (B, ...) bool."""
    return (world.bottom(bodies.clamp(min=0)) <= LOW_M) & (bodies >= 0)


def _rows(world: World, bodies: Tensor) -> np.ndarray:
    """Return world x, y of bodies (B, n), and half of their reach along y, (B, n, 3)."""
    slots = bodies.clamp(min=0)
    turn = world.at(world.matrix, slots)[..., 1, :].abs()  # (B, n, 3)
    half = (turn * world.at(world.solids.size, slots) / 2).sum(-1, keepdim=True)
    rows: np.ndarray = (
        torch.cat((world.position(slots)[..., :2], half), dim=-1).double().cpu().numpy()
    )
    return rows


def _order(leaf: OnLine | OnRing, env: int) -> tuple[int, ...]:
    """Return the number of each block of one environment in the order that is asked for."""
    rank = leaf.rank[env][leaf.objects[env] >= 0].cpu().numpy()
    return tuple(rank.argsort(kind="stable").argsort(kind="stable").tolist())


def _sides(world: World, bodies: Tensor, env: int) -> tuple[float, ...]:
    """Return the sides of the blocks of one environment."""
    known = bodies[env][bodies[env] >= 0]
    return tuple(np.round(world.solids.size[env, known, 0].double().cpu().numpy(), 5).tolist())


def _all(bodies: Tensor, env: int, places: np.ndarray) -> np.ndarray:
    """Return places (k, 2) of the bodies that one environment has, zeros between, (n, 2)."""
    known = (bodies[env] >= 0).cpu().numpy()
    found = np.zeros((len(known), 2))
    found[known] = places
    return found


SHAPES = (OnLine, OnRing, OnCircle, FitsTemplate, RectangleIn, InMiddle, Concentric)
"""The predicates of shapes."""
