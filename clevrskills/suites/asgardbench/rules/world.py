"""World of a household: entities, what is in or on what, where the agent looks; no simulator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.rules import slots
from clevrskills.suites.asgardbench.rules.camera import (
    CROUCHED_M,
    EYE_M,
    AgentCamera,
    aimed,
    before,
)
from clevrskills.suites.asgardbench.rules.catalogue import SIZES, catalogue
from clevrskills.suites.asgardbench.rules.layout import Fixture, PlacedObject, Room
from clevrskills.suites.asgardbench.rules.sight import (
    fixture_blocks,
    fixture_points,
    may_see,
    reach,
    scenery_blocks,
    sees,
    thing_blocks,
    turned,
)
from clevrskills.suites.asgardbench.rules.slots import Origin, Pose

HAND = "hand"
"""Parent of what is held."""
GONE = "gone"
"""Parent of a whole food that has been sliced."""
SEE_THROUGH = frozenset({"Microwave"})
"""Types whose closed door hides nothing."""
SHUTTING = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Box"})
"""Types that can't be reached into while they are closed."""
_PLACED = attrgetter("id", "parent", "slot", "open")


@dataclass(slots=True)
class Entity:
    """A thing or a fixture, with its state."""

    id: str  # its name
    type: str  # its type
    parent: str = ""  # id of what it is in or on, :data:`HAND`, :data:`GONE`; empty for a fixture
    slot: int = 0  # number of its slot there
    dirty: bool = False
    cooked: bool = False
    filled: str = ""  # the liquid in it; empty: none
    open: bool = False
    on: bool = False
    sprayed: bool = False

    @property
    def shut(self) -> bool:
        """``True`` if it is closed, so that nothing in it can be reached."""
        return self.type in SHUTTING and not self.open


class Household:
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
        released: Whether the rules are those of the original's code where these are others.
    """

    released = False

    def __init__(
        self, room: Room, things: Sequence[PlacedObject], dirty: Sequence[str] = ()
    ) -> None:
        self.room = room
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
        self._key: list[tuple[str, str, int, bool]] = []
        self._views: dict[AgentCamera, dict[str, bool]] = {}
        self._fixed_of: dict[tuple[str, ...], np.ndarray] = {}
        self._things: dict[tuple[Any, ...], np.ndarray] = {}
        self.camera: AgentCamera = aimed((0.0, 0.0, EYE_M), self.place(self.entities[self.focus]))

    def copy(self) -> Household:
        """Return another world in the same state."""
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
        """Object in the agent's hand."""
        return next((e for e in self.entities.values() if e.parent == HAND), None)

    @property
    def held_type(self) -> str:
        """Type of what the agent holds; empty: it holds nothing."""
        return self.held.type if self.held else ""

    def of_type(self, kind: str) -> list[Entity]:
        """Return what there is now of a type, in order of id."""
        return [e for e in self.entities.values() if e.type == kind and e.parent != GONE]

    def contents(self, container: Entity) -> list[Entity]:
        """Return what is directly in or on something."""
        return [e for e in self.entities.values() if e.parent == container.id]

    def all_contents(self, container: Entity) -> Iterator[Entity]:
        """Yield what is in or on something, at any depth."""
        for thing in self.contents(container):
            yield thing
            yield from self.all_contents(thing)

    def parents(self, entity: Entity) -> Iterator[Entity]:
        """Yield what an entity is in or on, from the nearest on."""
        while entity.parent in self.entities:
            entity = self.entities[entity.parent]
            yield entity

    def parent_type(self, entity: Entity) -> str:
        """Return the type of what an entity is in or on; empty: it is a fixture, held or gone."""
        parent = self.entities.get(entity.parent)
        return parent.type if parent else ""

    def base(self, entity: Entity) -> Entity:
        """Return the last of the :meth:`parents`; of what has none, itself."""
        return ([entity, *self.parents(entity)])[-1]

    def free_slots(self, container: Entity, thing: Entity) -> list[int]:
        """Return the slots of something that take a thing, the first choice first."""
        room = catalogue().containers.get(container.type)
        if room is None:
            return []
        size = catalogue().sizes[thing.type]
        if SIZES.index(size) > SIZES.index(room.size):
            return []
        there = [(e.type, e.slot) for e in self.contents(container)]
        fixture = self.fixtures.get(container.id)
        model = fixture.model if fixture else container.type
        return slots.free_slots(fixture, model, thing.type, there)

    def free_slot(self, container: Entity, thing: Entity, near: int | None = None) -> int | None:
        """Return the slot of something that a thing takes, as near as can be to another; ``None``:
        it takes none.
        """
        free = self.free_slots(container, thing)
        if not free:
            return None
        if near is None:
            return free[0]
        at = self._rest(container, thing.type, near)
        places = {slot: self._rest(container, thing.type, slot) for slot in free}
        return min(free, key=lambda k: sum((places[k][i] - at[i]) ** 2 for i in range(3)))

    def serves(self, entity: Entity) -> bool:
        """Return whether something is where the goal wants one of its type."""
        return (entity.type, self.parent_type(entity)) in self.locations

    def shut_in(self, entity: Entity) -> Entity | None:
        """Return the closed container in which something is."""
        return next((parent for parent in self.parents(entity) if parent.shut), None)

    def concealed(self, entity: Entity) -> bool:
        """Return whether something is behind a closed door through which nothing is seen."""
        return any(p.shut and p.type not in SEE_THROUGH for p in self.parents(entity))

    # ---- where things are, and what is seen ----

    def _rest(self, container: Entity, kind: str, slot: int) -> Pose:
        """Return how a thing lies in a slot, in the frame of what holds it."""
        fixture = self.fixtures.get(container.id)
        if fixture is None:
            return slots.rest(container.type, 0.0, kind, slot, False)
        opened = container.open and container.type == "Drawer"
        return slots.rest(fixture.model, fixture.width_m, kind, slot, opened)

    def pose(self, entity: Entity) -> Pose:
        """Return the pose in the room of the middle of the box around something. In the hand: as if
        it were at the origin.
        """
        fixture = self.fixtures.get(entity.id)
        if fixture is not None:
            middle = slots.middle(fixture.model, fixture.width_m)
            return slots.under(fixture.origin, (*middle, 0.0, 0.0))
        parent = self.entities.get(entity.parent)
        if parent is None:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        return slots.under(self._origin(parent), self._rest(parent, entity.type, entity.slot))

    def _origin(self, entity: Entity) -> Origin:
        fixture = self.fixtures.get(entity.id)
        if fixture is not None:
            return fixture.origin
        return slots.origin_of(entity.type, self.pose(entity))

    def place(self, entity: Entity) -> tuple[float, float, float]:
        """Return the position in the room of its middle, metres."""
        return self.pose(entity)[:3]

    def in_hand(self, entity: Entity) -> bool:
        """Return whether something is held, or is in or on what is held."""
        return entity.parent == HAND or any(p.parent == HAND for p in self.parents(entity))

    def look_at(self, entity: Entity) -> None:
        """Stand before something and look at it; where something hides it, or anything of what is
        in or on it, from the side from which most is seen.
        """
        base = self.base(entity)
        self.focus = entity.id
        if base.id not in self.fixtures:  # it is held: the agent stays where it is
            return
        shown = [self.shut_in(entity) or entity]
        shown += [e for e in self.all_contents(shown[0]) if not self.concealed(e)]
        fixture, place = self.fixtures[base.id], self.place(entity)
        most, best = -1, self.camera
        for camera in before(self.room, fixture, place, entity is base):
            self.camera = camera
            seen = sum(map(self.visible, shown))
            if seen > most:
                most, best = seen, camera
            if seen == len(shown):
                break
        self.camera = best

    def all_seen(self) -> bool:
        """Return whether all that lies in the open is seen from before what it lies on."""
        for name in self.fixtures:
            there = [e for e in self.contents(self.entities[name]) if not self.concealed(e)]
            if there:
                world = self.copy()
                world.look_at(world.entities[name])
                if not all(map(world.visible, there)):
                    return False
        return True

    def seen_by_turning(self, entity: Entity) -> bool:
        """Return whether something in or on the fixture before which the agent stands is seen when
        it turns its head, or crouches or rises.
        """
        base, before = self.base(entity), self.entities[self.focus]
        if base is not self.base(before) or base.id not in self.fixtures:
            return False
        here, place = self.camera, self.place(entity)
        for height in {here.z_m: 0, EYE_M: 0, CROUCHED_M: 0}:
            self.camera = aimed((here.x_m, here.y_m, height), place)
            seen = self.visible(entity)
            self.camera = here
            if seen:
                return True
        return False

    def turn_to(self, entity: Entity) -> tuple[float, float]:
        """Return tangent of the angle off the image's middle (infinite: behind), distance in m."""
        place = self.place(entity)
        across, above, _ = self.camera.seen_at(place)
        eye = self.camera.eye
        distance = sum((a - b) ** 2 for a, b in zip(place, eye, strict=True)) ** 0.5
        return max(abs(across), abs(above)), distance

    def _hiding(self) -> np.ndarray:
        """Return what hides now what is behind it."""
        key = list(map(_PLACED, self.entities.values()))
        if self._key != key:
            self._key, self._views = key, {}
            self._numbers = {name: number for number, name in enumerate(self.entities)}
            parts = [self._fixed()]
            things = [e for e in self.entities.values() if e.parent]
            parts += (self._of_thing(thing) for thing in things if self._lies(thing))
            self._blocks = np.concatenate(parts, axis=1)
        return self._blocks

    def _lies(self, entity: Entity) -> bool:
        """Return whether it is a thing that lies in the open."""
        while (parent := self.entities.get(entity.parent)) is not None:
            if parent.shut:
                return False
            entity = parent
            if entity.id in self.fixtures:
                return True
        return False

    def _of_thing(self, thing: Entity) -> np.ndarray:
        """Return what hides of a thing."""
        number, parent = self._numbers[thing.id], self.entities[thing.parent]
        if parent.id not in self.fixtures:
            return thing_blocks(thing.type, thing.open, self.pose(thing), number)
        key = (thing.type, thing.open, number, thing.slot, parent.id, parent.open)
        if key not in self._things:
            self._things[key] = thing_blocks(thing.type, thing.open, self.pose(thing), number)
        return self._things[key]

    def _fixed(self) -> np.ndarray:
        """Return what hides of the fixtures and the scenery."""
        opened = tuple(name for name in self.fixtures if self.entities[name].open)
        if opened not in self._fixed_of:
            parts = [scenery_blocks(self.room)]
            for number, (name, fixture) in enumerate(self.fixtures.items()):
                parts.append(fixture_blocks(fixture, name in opened, number))
            self._fixed_of[opened] = np.concatenate(parts, axis=1)
        return self._fixed_of[opened]

    def visible(self, entity: Entity) -> bool:
        """Return whether the agent sees something: it holds it; or enough of it is in the image,
        near and hidden by nothing; or something that is in or on it is seen.
        """
        return self._visible(entity, self._hiding())

    def _visible(self, entity: Entity, blocks: np.ndarray) -> bool:
        if entity.parent == GONE:
            return False
        if self.in_hand(entity):
            return True
        if self.concealed(entity):
            return False
        known = self._views.setdefault(self.camera, {})
        if entity.id not in known:
            known[entity.id] = self._seen(entity, blocks)
        if known[entity.id]:
            return True
        return any(self._visible(thing, blocks) for thing in self.contents(entity))

    def _seen(self, entity: Entity, blocks: np.ndarray) -> bool:
        """Return whether enough of it is in the image and hidden by nothing."""
        fixture = self.fixtures.get(entity.id)
        x, y, z, yaw, tilt = self.pose(entity)
        kind, width_m = (fixture.model, fixture.width_m) if fixture else (entity.type, 0.0)
        if not may_see(self.camera, (x, y, z), reach(kind, width_m)):
            return False
        if fixture is not None:
            points = fixture_points(fixture, entity.open)
        else:
            points = turned(entity.type, entity.open, yaw, tilt) + (x, y, z)
        areas, number = shape(kind, width_m).areas_m2, self._numbers[entity.id]
        return sees(self.camera, points, areas, yaw, blocks, number, self.held_type)

    def nearest(self, entities: Sequence[Entity]) -> Iterator[Entity]:
        """Yield entities, those in view first, then by angle, distance and id; no further are
        looked at than are asked for.
        """
        if len(entities) < 2:
            yield from entities
            return

        def order(entity: Entity) -> tuple[float, float, str]:
            return (*((0.0, 0.0) if self.in_hand(entity) else self.turn_to(entity)), entity.id)

        unseen = []
        for entity in sorted(entities, key=order):
            if self.visible(entity):
                yield entity
            else:
                unseen.append(entity)
        yield from unseen
