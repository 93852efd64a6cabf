"""World of a household: entities, what is in or on what, where the agent looks; no simulator."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clevrskills.suites.asgardbench.rules.catalogue import SIZES, catalogue
from clevrskills.suites.asgardbench.rules.layout import Fixture, Placed, Room

HAND = "hand"
"""Parent of what is held."""
GONE = "gone"
"""Parent of a whole food that has been sliced."""
EYE_M, CROUCHED_M = 1.58, 0.90
"""Height of the eye, standing and crouched."""
CROUCH_BELOW_M = 0.6
"""The agent crouches to look at what is lower than this."""
DISTANCE_M = 1.0
FRIDGE_DISTANCE_M = 2.0
"""From where the agent looks at a fixture, before its front."""
FAR_M = 5.0
"""How far the agent sees."""
HALF_VIEW = 0.95 * math.tan(math.radians(30))
"""Tangent of the widest angle from the middle of the image at which something is seen."""
SEE_THROUGH = frozenset({"Microwave"})
"""Types whose closed door hides nothing."""
SHUTTING = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Box"})
"""Types that can't be reached into while they are closed."""


@dataclass(slots=True)
class Entity:
    """A thing or a fixture, with its state.

    Attributes:
        id: Its name.
        type: Its type.
        parent: Id of what it is in or on, :data:`HAND`, :data:`GONE`; empty for a fixture.
        slot: Number of its slot there.
        filled: The liquid in it; empty: none.
    """

    id: str
    type: str
    parent: str = ""
    slot: int = 0
    dirty: bool = False
    cooked: bool = False
    filled: str = ""
    open: bool = False
    on: bool = False
    sprayed: bool = False


class World:
    """A room with all that is in it.

    Args:
        room: The room.
        things: What lies in it at the start.
        dirty: Ids of fixtures that start dirty.

    Attributes:
        entities: All entities by id, fixtures first.
        events: What was done, in order: verb and argument, e.g. ``("DRINK", "coffee")``.
        found: Instance of each type that a verb last used.
        opened: Instance of each type that was last opened.
        last_verb: Verb of the last turn that was done.
        last_used: Id of what it was done with.
        held_while_drinking: Id of the vessel that was drunk from last, if it was held.
        locations: Types of things with the type in which the goal wants one of them.
    """

    def __init__(self, room: Room, things: Sequence[Placed], dirty: Sequence[str] = ()) -> None:
        self.fixtures: dict[str, Fixture] = {fixture.id: fixture for fixture in room.fixtures}
        self.entities: dict[str, Entity] = {
            f.id: Entity(f.id, f.type, dirty=f.id in dirty) for f in room.fixtures
        }
        for thing in things:
            fields = (thing.id, thing.type, thing.parent, thing.slot, thing.dirty)
            self.entities[thing.id] = Entity(*fields, filled=thing.filled)
        self.events: list[tuple[str, str]] = []
        self.found: dict[str, str] = {}
        self.opened: dict[str, str] = {}
        self.last_verb = self.last_used = ""
        self.held_while_drinking = ""
        self.locations: frozenset[tuple[str, str]] = frozenset()
        known = {e.type for e in self.entities.values()}
        slices = catalogue().slices
        self.types = tuple(sorted(known | {slices[t] for t in known if t in slices}))
        self.focus = next(
            (f.id for f in room.fixtures if f.type in ("CounterTop", "CoffeeTable")),
            room.fixtures[0].id,
        )
        self._aim()

    def copy(self) -> World:
        """Another world in the same state."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.entities = {key: replace(e) for key, e in self.entities.items()}
        other.events = list(self.events)
        other.found, other.opened = dict(self.found), dict(self.opened)
        return other

    @property
    def state_hash(self) -> str:
        """SHA-256 of entities, held thing and events, in hexadecimal."""
        rows = [
            (e.id, e.type, e.parent, e.slot, e.dirty, e.cooked, e.filled, e.open, e.on, e.sprayed)
            for e in sorted(self.entities.values(), key=lambda e: e.id)
        ]
        return hashlib.sha256(repr((rows, self.events)).encode()).hexdigest()

    # ---- what is where ----

    @property
    def held(self) -> Entity | None:
        """What the agent holds."""
        return next((e for e in self.entities.values() if e.parent == HAND), None)

    def of_type(self, kind: str) -> list[Entity]:
        """What there is now of a type, in order of id."""
        return [e for e in self.entities.values() if e.type == kind and e.parent != GONE]

    def contents(self, container: Entity) -> list[Entity]:
        """What is directly in or on something."""
        return [e for e in self.entities.values() if e.parent == container.id]

    def all_contents(self, container: Entity) -> Iterator[Entity]:
        """What is in or on something, at any depth."""
        for thing in self.contents(container):
            yield thing
            yield from self.all_contents(thing)

    def parents(self, entity: Entity) -> Iterator[Entity]:
        """What an entity is in or on, from the nearest on."""
        while entity.parent in self.entities:
            entity = self.entities[entity.parent]
            yield entity

    def base(self, entity: Entity) -> Entity:
        """The last of the :meth:`parents`; of what has none, itself."""
        return ([entity, *self.parents(entity)])[-1]

    def free_slot(self, container: Entity, thing: Entity) -> int | None:
        """The first slot of something that takes a thing; ``None``: it has none."""
        room = catalogue().containers.get(container.type)
        if room is None:
            return None
        size = catalogue().sizes[thing.type]
        if SIZES.index(size) > SIZES.index(room.size):
            return None
        taken = {e.slot for e in self.entities.values() if e.parent == container.id}
        most = room.slots + room.small_slots
        slots = room.slots
        if container.type in ON_TOP and container.id in self.fixtures:
            slots = min(slots, 3 * columns_of(self.fixtures[container.id]))
        order = list(range(slots))
        if size == "small" and room.small_slots:  # places for dishes are kept for dishes
            order = [*range(room.slots, most), *order]
        return next((slot for slot in order if slot not in taken), None)

    def serves(self, entity: Entity) -> bool:
        """Whether something is where the goal wants one of its type."""
        parent = self.entities.get(entity.parent)
        return parent is not None and (entity.type, parent.type) in self.locations

    def shut_in(self, entity: Entity) -> Entity | None:
        """The closed container in which something is."""
        for parent in self.parents(entity):
            if parent.type in SHUTTING and not parent.open:
                return parent
        return None

    # ---- where things are, and what is seen ----

    def place(self, entity: Entity) -> tuple[float, float, float]:
        """Position in the room, metres: of a thing that of its slot, of a fixture its middle."""
        base = self.base(entity)
        slot = 0
        child = entity
        while child is not base:
            slot = child.slot
            child = self.entities[child.parent]
        fixture = self.fixtures[base.id]
        right, back, up = 0.0, 0.0, fixture.height_m / 2
        if entity is not base:
            up = fixture.height_m if fixture.type in ON_TOP else 0.5 * fixture.height_m
            columns = columns_of(fixture)
            column, row = slot % columns, slot // columns
            right = ((column + 0.5) / columns - 0.5) * fixture.width_m
            back = min(0.4, 0.2 * row - 0.2) * fixture.depth_m
        cos, sin = math.cos(fixture.yaw_rad), math.sin(fixture.yaw_rad)
        x_m = fixture.x_m + cos * right - sin * back
        y_m = fixture.y_m + sin * right + cos * back
        return x_m, y_m, fixture.z_m + up

    def _aim(self) -> None:
        """The camera before the focus, aimed at it."""
        entity = self.entities[self.focus]
        base = self.base(entity)
        if base.id not in self.fixtures:  # it is held: the agent stays where it is
            return
        fixture = self.fixtures[base.id]
        x_m, y_m, z_m = self.place(entity)
        away = FRIDGE_DISTANCE_M if fixture.type in ("Fridge", "Television") else DISTANCE_M
        front = fixture.depth_m / 2 + away
        cos, sin = math.cos(fixture.yaw_rad), math.sin(fixture.yaw_rad)
        along = (x_m - fixture.x_m) * cos + (y_m - fixture.y_m) * sin
        eye_m = CROUCHED_M if z_m < CROUCH_BELOW_M else EYE_M
        eye = (
            fixture.x_m + cos * along + sin * front,
            fixture.y_m + sin * along - cos * front,
            eye_m,
        )
        ahead = [b - a for a, b in zip(eye, (x_m, y_m, z_m), strict=True)]
        length = math.hypot(*ahead)
        forward = [a / length for a in ahead]
        flat = math.hypot(forward[0], forward[1]) or 1e-9
        side = (forward[1] / flat, -forward[0] / flat, 0.0)
        upward = (
            side[1] * forward[2] - side[2] * forward[1],
            side[2] * forward[0] - side[0] * forward[2],
            side[0] * forward[1] - side[1] * forward[0],
        )
        self.camera = (eye, tuple(forward), side, upward)

    def look_at(self, entity: Entity) -> None:
        """Stand before something and look at it."""
        self.focus = entity.id
        self._aim()

    def turn_to(self, entity: Entity) -> tuple[float, float]:
        """Angle from the middle of the image (its tangent; infinite: behind) and distance in m."""
        eye, forward, side, upward = self.camera
        x_m, y_m, z_m = self.place(entity)
        ray = (x_m - eye[0], y_m - eye[1], z_m - eye[2])
        ahead = sum(a * b for a, b in zip(ray, forward, strict=True))
        distance = math.hypot(*ray)
        if ahead <= 1e-6:
            return math.inf, distance
        across = abs(sum(a * b for a, b in zip(ray, side, strict=True))) / ahead
        above = abs(sum(a * b for a, b in zip(ray, upward, strict=True))) / ahead
        return max(across, above), distance

    def visible(self, entity: Entity) -> bool:
        """Whether the agent sees something: it holds it, or it is in the image, within reach of
        the eye and behind no closed door; or something that is in or on it is seen.
        """
        if entity.parent == GONE:
            return False
        above = list(self.parents(entity))
        if entity.parent == HAND or any(parent.parent == HAND for parent in above):
            return True
        if any(p.type in SHUTTING - SEE_THROUGH and not p.open for p in above):
            return False
        angle, distance = self.turn_to(entity)
        if distance <= FAR_M and angle <= HALF_VIEW:
            return True
        return any(self.visible(thing) for thing in self.contents(entity))

    def nearest(self, entities: Sequence[Entity]) -> list[Entity]:
        """Entities, those in view first, then by angle, distance and id."""

        def order(entity: Entity) -> tuple[bool, float, float, str]:
            if entity.parent == HAND or any(p.parent == HAND for p in self.parents(entity)):
                return (False, 0.0, 0.0, entity.id)
            return (not self.visible(entity), *self.turn_to(entity), entity.id)

        return sorted(entities, key=order) if len(entities) > 1 else list(entities)


def columns_of(fixture: Fixture) -> int:
    """Slots side by side on a fixture."""
    return max(1, int(fixture.width_m / 0.2 + 1e-6))


ON_TOP = frozenset(
    {"CounterTop", "DiningTable", "SideTable", "CoffeeTable", "TVStand", "Desk", "StoveBurner"}
)
"""Fixtures on whose upper side things lie; in others they lie inside."""
