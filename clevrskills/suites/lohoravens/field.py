"""Bodies on the field: where they are, free places, and names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from clevrskills.envs.recorder_view import RecorderView
from clevrskills.sim.setting import Workspace
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.predicates.resting import flat_share, loads
from clevrskills.suites.lohoravens.setting import FIELD, FIELD_MIDDLE_M

BLOCKS = ("block", "box")
KINDS = (*BLOCKS, "bowl", "zone")
SIZES = ("smaller", "bigger")
BIG_M = 0.05
"""Least side of a bigger block, in meters."""
CENTER_M = 0.08
"""Side of the square called the center, in meters."""
AREAS = ("top left", "top right", "bottom left", "bottom right", "center")
"""Quadrants of the field, and its center. The top is near the robot, left is world -y."""
SIDES = {"left": (0.0, -1.0), "right": (0.0, 1.0), "near": (-1.0, 0.0), "far": (1.0, 0.0)}
"""World direction (x, y) of each side of a block. The near side faces the robot."""
SIDE_WORDS = {
    "left": "to the left of",
    "right": "to the right of",
    "near": "nearer the robot than",
    "far": "farther from the robot than",
}
"""Words for the sides of a block in sentences."""
BESIDE_M = 0.16
"""Distance between the middles of a block and of a block put beside it."""
AROUND_M = 0.04
"""Greatest distance of a block from the place beside another one."""
MOVED_M = 0.02
"""Least distance for a block to count as moved."""
LEVEL_M = 0.006
"""Greatest gap between the underside of a body and the top of the body it stands on."""
GRID_M, GAPS_M = 0.01, (0.03, 0.01)
"""Spacing of the grid of candidate places, and the gaps to other bodies that are tried in turn: a
gripper beside high blocks needs more room.
"""
MAT_TOP_M = 0.005
"""Greatest height of a mat; higher fixed bodies are bowls."""
OVER_SHARE = 0.01
CARRIED_SHARE = 0.05
"""Least share of its weight with which a block rests on another one."""

Rectangle = tuple[np.ndarray, np.ndarray]
"""Least and greatest x and y."""


def area_bounds_m(area: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest x and y of an area, (2,) each."""
    middle = np.array(FIELD_MIDDLE_M)
    if area == "center":
        return middle - CENTER_M / 2, middle + CENTER_M / 2
    low, high = (np.array([FIELD.x_m[k], FIELD.y_m[k]]) for k in range(2))
    for k, word in enumerate(area.split()):
        (high if word in ("top", "left") else low)[k] = middle[k]
    return low, high


def area_of(low: np.ndarray, high: np.ndarray) -> str:
    """Return the name of the area with some bounds, or the bounds if it has no name."""
    for area in AREAS:
        if np.allclose((low, high), area_bounds_m(area), atol=1e-3):
            return f"the {area} area"
    return f"the rectangle from ({low[0]:.2f}, {low[1]:.2f}) to ({high[0]:.2f}, {high[1]:.2f})"


def quadrant_of(place: np.ndarray) -> str:
    """Return the quadrant of the field that contains a place (2,)."""
    x, y = place - FIELD_MIDDLE_M
    return f"{'top' if x < 0 else 'bottom'} {'left' if y < 0 else 'right'}"


def size_word(side_m: float) -> str:
    """Return the word for the size of a block, one of :data:`SIZES`."""
    return SIZES[side_m >= BIG_M]


class FieldBody(NamedTuple):
    """A body of the scene."""

    slot: int
    key: str  # name of the slot
    kind: str  # one of :data:`KINDS`, or another noun
    color: str
    side_m: float  # largest side, seen from above
    movable: bool  # whether it can be picked
    solid: bool  # whether other bodies collide with it

    @property
    def size(self) -> str:
        """``bigger`` or ``smaller``."""
        return size_word(self.side_m)

    @property
    def name(self) -> str:
        """Color and kind."""
        return f"{self.color} {self.kind}"


class FieldLayout:
    """Layout of one environment: poses, supports and zones by slot.

    Args:
        world: The world, of which environment 0 is used.
    """

    def __init__(self, world: World) -> None:
        self.world = world

    @cached_property
    def blocks(self) -> list[int]:
        """Slots of the movable bodies."""
        return self.world.solids.movable[0].nonzero()[:, 0].tolist()

    @cached_property
    def furniture(self) -> list[int]:
        """Slots of the fixed bodies: bowls and zones."""
        fixed = self.world.solids.present[0] & ~self.world.solids.movable[0]
        return fixed.nonzero()[:, 0].tolist()

    @cached_property
    def bowls(self) -> list[int]:
        """Slots of bowls."""
        return [k for k in self.furniture if self.boxes[k][1, 2] > MAT_TOP_M]

    @cached_property
    def boxes(self) -> Mapping[int, np.ndarray]:
        """Lowest and highest corner of each body along the world's axes, by slot, (2, 3)."""
        slots = (*self.blocks, *self.furniture)
        points = (self.world.world_points(torch.tensor([k]))[0].double().numpy() for k in slots)
        return {k: np.stack((of.min(0), of.max(0))) for k, of in zip(slots, points, strict=True)}

    def xy(self, slot: int) -> np.ndarray:
        """Return the world x and y of a body, (2,)."""
        place: np.ndarray = self.world.body_pose[0, slot, :2].double().numpy()
        return place

    def yaw_rad(self, slot: int) -> float:
        """Return a body's turn about the vertical modulo a quarter turn, in [-pi/4, pi/4)."""
        yaw = yaw_rad(self.world.body_pose[0, slot, 3:])
        return float((yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4)

    def side_m(self, slot: int) -> float:
        """Return the greatest side of a body, seen from above."""
        return float(self.world.solids.size[0, slot, :2].max())

    def radius_m(self, slot: int) -> float:
        """Return the radius of the circle that a body covers, seen from above."""
        return self.side_m(slot) / (2 if slot in self.bowls else 2**0.5)

    @cached_property
    def _on(self) -> torch.Tensor:
        return loads(self.world, CARRIED_SHARE)[0]

    def above(self, slot: int) -> list[int]:
        """Return slots of the blocks that rest directly on a block."""
        return self._on[:, slot].nonzero()[:, 0].tolist()

    def below(self, slot: int) -> list[int]:
        """Return slots of the blocks on which a block rests directly."""
        return self._on[slot].nonzero()[:, 0].tolist()

    def topmost(self, slot: int) -> int:
        """Return the block to pick first to free a block: itself if nothing is on it."""
        seen = {slot}
        while above := [k for k in self.above(slot) if k not in seen]:
            slot = above[0]
            seen.add(slot)
        return slot

    def over(self, zone: int) -> list[int]:
        """Return slots of blocks at least partly over a zone; -1 stands for no zone."""
        slots = torch.tensor([self.blocks])
        share = flat_share(self.world, slots, torch.tensor([[max(zone, 0)]]))[0]
        return [
            k for k, of in zip(self.blocks, share, strict=True) if zone >= 0 and of > OVER_SHARE
        ]

    def in_bowl(self, bowl: int) -> list[int]:
        """Return slots of blocks in a bowl or on its rim."""
        radius_m, middle = self.radius_m(bowl), self.xy(bowl)
        return [k for k in self.blocks if np.hypot(*(self.xy(k) - middle)) < radius_m]

    def rectangle(self, slot: int) -> Rectangle:
        """Return the rectangle that a zone or bowl covers."""
        low, high = self.boxes[slot][:, :2]
        return low, high

    def free_place(
        self,
        slot: int,
        within: Rectangle,
        *,
        near: np.ndarray | None = None,
        avoid: Sequence[Rectangle] = (),
        gaps_m: Sequence[float] = GAPS_M,
        side_m: float = 0.0,
        field: Workspace = FIELD,
    ) -> np.ndarray | None:
        """Return the place nearest to a point at which a block is clear of other bodies, (2,).

        Args:
            slot: Slot of the block.
            within: Rectangle for its middle.
            near: The point, (2,), around which a grid is searched; ``None`` for the middle of the
                rectangle.
            avoid: Rectangles that it must not overlap.
            gaps_m: Gaps to other bodies that are tried in turn.
            side_m: Side of the block if it is parallel to the axes; 0 if it may be turned.
            field: Part of the table that the arm reaches.

        Returns:
            ``None`` if there is no free place.
        """
        low, high = within
        near = (low + high) / 2 if near is None else near
        first, last = (np.round((end - near) / GRID_M, 6) for end in (low, high))
        spans = zip(np.ceil(first), np.floor(last), strict=True)
        ticks = [np.arange(a, b + 1) for a, b in spans]
        grid = near + GRID_M * np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        grid = grid[np.argsort(np.round(np.hypot(*(grid - near).T), 6), kind="stable")]
        half_m = (side_m or 2 * self.radius_m(slot)) / 2
        grid = grid[[field.contains(*at) for at in grid.tolist()]] if len(grid) else grid
        if avoid:
            grid = grid[_gap_m(grid, np.array(avoid)) > half_m]
        around = [self.boxes[k][:, :2] for k in (*self.blocks, *self.bowls) if k != slot]
        gap_m = _gap_m(grid, np.array(around)) - half_m
        return next((grid[gap_m >= least][0] for least in gaps_m if (gap_m >= least).any()), None)


def _gap_m(places: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return the gap (N,) between places (N, 2) and the nearest of some boxes (M, 2, 2), the lowest
    and highest corners, along an axis.
    """
    away = np.maximum(boxes[:, 0] - places[:, None], places[:, None] - boxes[:, 1]).max(-1)
    found: np.ndarray = away.min(-1, initial=np.inf)
    return found


class FieldView(FieldLayout):
    """Present scene of the field, by name.

    Args:
        env: The environment, of which scene 0 is used.
        hidden: Keys of the bodies that were covered at the start.
    """

    def __init__(self, env: RecorderView, hidden: Collection[str] = ()) -> None:
        super().__init__(env.world)
        self.hidden = frozenset(hidden)
        self.by_slot: dict[int, FieldBody] = {}
        for slot, body in enumerate(env.layouts[0].bodies):
            if body is not None:
                side_m = 2 * float(np.max(body.geometry.half_extents[:2]))
                kind = body.noun or body.shape
                self.by_slot[slot] = FieldBody(
                    slot, body.key, kind, body.color, side_m, body.movable, not body.ghost
                )
        self.bodies = [*self.by_slot.values()]
        self.movable = [body for body in self.bodies if body.movable]

    def stands_on(self, upper: FieldBody, lower: FieldBody) -> bool:
        """Return whether a body stands on another one."""
        if upper is lower or not upper.movable or not lower.solid or lower.kind == "bowl":
            return False
        if abs(self.boxes[upper.slot][0, 2] - self.boxes[lower.slot][1, 2]) > LEVEL_M:
            return False
        away_m = np.abs(self.xy(upper.slot) - self.xy(lower.slot))
        return bool((away_m < (upper.side_m + lower.side_m) / 2).all())

    def holds(self, body: FieldBody, other: FieldBody) -> bool:
        """Return whether a body is on another one, or in it if that is a bowl."""
        if other.kind != "bowl":
            return self.stands_on(body, other)
        inside = body.slot in self.in_bowl(other.slot)
        return inside and bool(self.boxes[body.slot][0, 2] < self.boxes[other.slot][1, 2])

    def covered(self, body: FieldBody, but_by: FieldBody | None = None) -> bool:
        """Return whether a body other than ``but_by`` stands on it."""
        return any(self.stands_on(o, body) for o in self.movable if o is not but_by)

    def stacked(self, body: FieldBody) -> bool:
        """Return whether it stands on a movable body."""
        return any(self.stands_on(body, other) for other in self.movable)

    def area(self, body: FieldBody) -> str:
        """Return the quadrant with its middle."""
        return quadrant_of(self.xy(body.slot))


def in_area(place: np.ndarray, area: str) -> bool:
    """Return whether an area contains a place (2,)."""
    low, high = area_bounds_m(area)
    return bool((place > low).all() and (place < high).all())


def yaw_rad(quaternions: torch.Tensor) -> np.ndarray:
    """Return the angles (...) about the vertical of quaternions w, x, y, z (..., 4)."""
    w, x, y, z = np.moveaxis(quaternions.double().cpu().numpy(), -1, 0)
    found: np.ndarray = np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
    return found
