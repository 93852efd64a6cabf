"""Base of tasks about turning objects: which objects, by how much, with room to turn."""

from dataclasses import dataclass

from clevrskills.assets import Shape, shape
from clevrskills.assets.topside import outline_symmetry
from clevrskills.sim.body import Body
from clevrskills.tasks.arguments import choice
from clevrskills.tasks.base import Task
from clevrskills.tasks.layout import EpisodeRng, TableLayout

DIRECTIONS = {"clockwise": -1, "anti-clockwise": 1}
"""Sign of a turn about world z, which is seen from above."""


@dataclass(kw_only=True, eq=False)
class TurningTask(Task):
    """A task in which objects are turned by an angle."""

    angles_deg: tuple[int, ...] = choice(30, 60, 90, 120, 150)  # angles to choose from
    # directions to choose from, as seen from above
    directions: tuple[str, ...] = choice(*DIRECTIONS)

    def angle_deg(self, rng: EpisodeRng) -> int:
        """Draw a turn, positive is anti-clockwise."""
        angle = self.angles_deg[rng.roles.integers(len(self.angles_deg))]
        direction = self.directions[rng.roles.integers(len(self.directions))]
        return DIRECTIONS[direction] * angle


def turnable(rng: EpisodeRng) -> tuple[str, ...]:
    """Return shapes whose outline shows each turn, whatever they are covered with.

    Of others a turn could not be seen, or not be distinguished from one by another angle or in the
    other direction.
    """
    names = dict.fromkeys(rng.pools.movable)
    return tuple(n for n in names if outline_symmetry(shape(n, rng.size_m(n))) == 1)


def turnable_body(key: str, name: str, texture: str, rng: EpisodeRng, table: TableLayout) -> Body:
    """Return a body with room to be turned on the spot.

    Raises:
        LayoutError: It has no place.
    """
    size = rng.size_m(name)
    item = shape(name, size)
    place = table.place(room_to_turn(item))
    return Body(key, name, texture, (*place[:2], item.half_extents[2], *place[3:]), size)


def room_to_turn(*shapes: Shape) -> Shape:
    """Return disc that each of some shapes covers when turned, as high as the highest of them."""
    diameter = 2 * max(item.radius_m for item in shapes)
    height = 2 * max(item.half_extents[2] for item in shapes)
    return shape("cylinder", (diameter, diameter, height))
