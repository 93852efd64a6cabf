"""Base of tasks in which objects are rotated."""

from dataclasses import dataclass

from clevrskills.assets import Shape, shape
from clevrskills.assets.topside import outline_symmetry
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import choice
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, TableLayout

DIRECTIONS = {"clockwise": -1, "anti-clockwise": 1}
"""Sign of a rotation about world z, as seen from above."""


@dataclass(kw_only=True, eq=False)
class TurningTask(Task):
    """Base of tasks in which objects are rotated by an angle."""

    angles_deg: tuple[int, ...] = choice(30, 60, 90, 120, 150)  # angles
    directions: tuple[str, ...] = choice(*DIRECTIONS)  # directions, as seen from above

    def angle_deg(self, rng: EpisodeRng) -> int:
        """Sample a rotation; positive is anti-clockwise."""
        angle = self.angles_deg[rng.roles.integers(len(self.angles_deg))]
        direction = self.directions[rng.roles.integers(len(self.directions))]
        return DIRECTIONS[direction] * angle


def turnable(rng: EpisodeRng) -> tuple[str, ...]:
    """Return the shapes without rotational symmetry, whose rotation is visible without texture."""
    names = dict.fromkeys(rng.pools.movable)
    return tuple(n for n in names if outline_symmetry(shape(n, rng.size_m(n))) == 1)


def turnable_body(key: str, name: str, texture: str, rng: EpisodeRng, table: TableLayout) -> Body:
    """Return a body with room to be rotated on the spot.

    Raises:
        LayoutError: No place was found.
    """
    size = rng.size_m(name)
    item = shape(name, size)
    place = table.place(room_to_turn(item))
    return Body(key, name, texture, (*place[:2], item.half_extents[2], *place[3:]), size)


def room_to_turn(*shapes: Shape) -> Shape:
    """Return a disc that contains each of some shapes at any yaw, as high as the highest one."""
    diameter = 2 * max(item.radius_m for item in shapes)
    height = 2 * max(item.half_extents[2] for item in shapes)
    return shape("cylinder", (diameter, diameter, height))
