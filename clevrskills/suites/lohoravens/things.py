"""Things on the field as one names them: kind, colour, size, and what stands on what."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from clevrskills.envs.recorder_view import RecorderView
from clevrskills.sim.setting import Workspace
from clevrskills.sim.world import World
from clevrskills.suites.lohoravens.setting import FIELD, FIELD_MIDDLE_M

BLOCKS = ("block", "box")
KINDS = (*BLOCKS, "bowl", "zone")
BIG_M = 0.05
"""Side from which a block is a bigger one."""
CENTER_M = 0.08
"""Side of the square that is the center."""
AREAS = ("top left", "top right", "bottom left", "bottom right", "center")
"""Quarters of the field, and its middle; the top is near the robot, left is world -y."""
SIDES = {"left": (0.0, -1.0), "right": (0.0, 1.0), "near": (-1.0, 0.0), "far": (1.0, 0.0)}
"""Directions in the world, (x, y), by the name of the side; the near side faces the robot."""
SIDE_WORDS = {
    "left": "to the left of",
    "right": "to the right of",
    "near": "nearer the robot than",
    "far": "farther from the robot than",
}
"""What a sentence calls the sides of a block."""
BESIDE_M = 0.16
"""Distance between the middles of a block and of what is put beside it."""
LEVEL_M = 0.006
"""How far the underside of a thing may be from the top of what it stands on."""


def area_bounds_m(area: str, field: Workspace = FIELD) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest x and y of an area, (2,) each."""
    middle = np.array(FIELD_MIDDLE_M)
    if area == "center":
        return middle - CENTER_M / 2, middle + CENTER_M / 2
    low, high = (np.array([field.x_m[k], field.y_m[k]]) for k in range(2))
    for k, word in enumerate(area.split()):
        (high if word in ("top", "left") else low)[k] = middle[k]
    return low, high


def area_of(low: np.ndarray, high: np.ndarray) -> str:
    """Return the area with some bounds in words, or the bounds of another rectangle."""
    for area in AREAS:
        if np.allclose((low, high), area_bounds_m(area), atol=1e-3):
            return f"the {area} area"
    return f"the rectangle from ({low[0]:.2f}, {low[1]:.2f}) to ({high[0]:.2f}, {high[1]:.2f})"


def quadrant_of(place: np.ndarray) -> str:
    """Return the quarter of the field that a place (2,) is in."""
    x, y = place - FIELD_MIDDLE_M
    return f"{'top' if x < 0 else 'bottom'} {'left' if y < 0 else 'right'}"


@dataclass(frozen=True)
class Thing:
    """A body of the scene.

    Attributes:
        slot: Its slot.
        key: Name of its slot.
        kind: One of :data:`KINDS`, or what else it is called.
        color: Its colour.
        side_m: Its largest side, seen from above.
        movable: Whether it can be taken.
        solid: Whether anything can touch it.
    """

    slot: int
    key: str
    kind: str
    color: str
    side_m: float
    movable: bool
    solid: bool

    @property
    def size(self) -> str:
        """``bigger`` or ``smaller``."""
        return "bigger" if self.side_m >= BIG_M else "smaller"

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return f"{self.color} {self.kind}"


class Scene:
    """What is where on the field now.

    Args:
        env: The environment; its first scene is told of.
        hidden: Keys of what something stood on at the start.
    """

    def __init__(self, env: RecorderView, hidden: Collection[str] = ()) -> None:
        self.world, self.hidden = env.world, frozenset(hidden)
        self.things: list[Thing] = []
        for slot, body in enumerate(env.layouts[0].bodies):
            if body is None:
                continue
            extents = 2 * np.asarray(body.geometry.half_extents)
            self.things.append(
                Thing(
                    slot,
                    body.key,
                    body.noun or body.shape,
                    (body.texture or "").rpartition("/")[2],
                    float(extents[:2].max()),
                    body.movable,
                    not body.ghost,
                )
            )
        self.by_slot: Mapping[int, Thing] = {thing.slot: thing for thing in self.things}

    @property
    def blocks(self) -> Sequence[Thing]:
        """What can be taken."""
        return [thing for thing in self.things if thing.movable]

    @cached_property
    def boxes(self) -> Mapping[int, np.ndarray]:
        """Lowest and highest corner of each solid thing, by slot, (2, 3)."""
        return {thing.slot: bounds(self.world, thing.slot) for thing in self.things if thing.solid}

    def place(self, thing: Thing) -> np.ndarray:
        """World position of a thing, (3,)."""
        place: np.ndarray = self.world.body_pose[0, thing.slot, :3].double().numpy()
        return place

    def yaw_rad(self, thing: Thing) -> float:
        """Its turn about the vertical, as far as its four sides tell it, in [-pi/4, pi/4)."""
        yaw = yaw_rad(self.world.body_pose[0, thing.slot, 3:])
        return float((yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4)

    def stands_on(self, upper: Thing, lower: Thing) -> bool:
        """Whether a thing stands on another one."""
        if upper is lower or not upper.movable or not lower.solid or lower.kind == "bowl":
            return False
        one, other = self.boxes[upper.slot], self.boxes[lower.slot]
        if abs(one[0, 2] - other[1, 2]) > LEVEL_M:
            return False
        away_m = np.abs(self.place(upper)[:2] - self.place(lower)[:2])
        return bool((away_m < (upper.side_m + lower.side_m) / 2).all())

    def inside(self, thing: Thing, bowl: Thing) -> bool:
        """Whether a thing is in a bowl."""
        if not thing.movable or bowl.kind != "bowl":
            return False
        away_m = float(np.hypot(*(self.place(thing)[:2] - self.place(bowl)[:2])))
        return away_m < bowl.side_m / 2 and bool(
            self.boxes[thing.slot][0, 2] < self.boxes[bowl.slot][1, 2]
        )

    def covered(self, thing: Thing) -> bool:
        """Whether something stands on it."""
        return any(self.stands_on(other, thing) for other in self.blocks)

    def area(self, thing: Thing) -> str:
        """The quarter of the field in which its middle is."""
        return quadrant_of(self.place(thing)[:2])

    def is_in(self, thing: Thing, area: str) -> bool:
        """Whether its middle is in an area."""
        low, high = area_bounds_m(area)
        place = self.place(thing)[:2]
        return bool((place > low).all() and (place < high).all())


def bounds(world: World, slot: int) -> np.ndarray:
    """Lowest and highest corner of a body's box along the world's axes, (2, 3)."""
    points = world.world_points(torch.tensor([slot]))[0].double().numpy()
    return np.stack((points.min(0), points.max(0)))


def yaw_rad(quaternions: torch.Tensor) -> np.ndarray:
    """Return the turns about the vertical of quaternions w, x, y, z (..., 4), (...)."""
    w, x, y, z = np.moveaxis(quaternions.double().cpu().numpy(), -1, 0)
    found: np.ndarray = np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
    return found
