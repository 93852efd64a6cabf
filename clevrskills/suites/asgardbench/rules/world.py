"""State of a household: entities, containment, the agent's view; without a simulator."""

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
    item_blocks,
    may_see,
    reach,
    scenery_blocks,
    sees,
    turned,
)
from clevrskills.suites.asgardbench.rules.slots import Origin, Pose

HAND = "hand"
"""Parent of the held object."""
GONE = "gone"
"""Parent of sliced food."""
SEE_THROUGH = frozenset({"Microwave"})
"""Types with a transparent door."""
SHUTTING = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Box"})
"""Types whose content is out of reach while they are closed."""
_PLACED = attrgetter("id", "parent", "slot", "open")


@dataclass(slots=True)
class Entity:
    """Object or fixture with its state."""

    id: str
    type: str
    parent: str = ""  # id of its container, :data:`HAND` or :data:`GONE`; empty for fixtures
    slot: int = 0  # number of its slot there
    dirty: bool = False
    cooked: bool = False
    filled: str = ""  # liquid; empty: none
    open: bool = False
    on: bool = False
    sprayed: bool = False

    @property
    def shut(self) -> bool:
        """``True`` if it is closed and its content out of reach."""
        return self.type in SHUTTING and not self.open


class Household:
    """State of a room and everything in it.

    Args:
        room: The room.
        items: Objects at the start.
        dirty: Ids of fixtures that start dirty.

    Attributes:
        entities: All entities by id, fixtures first.
        events: Past events in order, e.g. ``("DRINK", "coffee")``.
        found: Id of the entity of each type that was last used.
        opened: Id of the entity of each type that was last opened.
        last_verb: Last executed verb.
        last_used: Id of the entity of the last verb.
        held_while_drinking: Id of the vessel that was drunk from last, if it was held.
        locations: Pairs of object and container types that the goal requires.
        released: Whether to use the rules of AsgardBench's code where they differ.
    """

    released = False

    def __init__(
        self, room: Room, items: Sequence[PlacedObject], dirty: Sequence[str] = ()
    ) -> None:
        self.room = room
        self.fixtures: dict[str, Fixture] = {fixture.id: fixture for fixture in room.fixtures}
        self.entities: dict[str, Entity] = {
            f.id: Entity(f.id, f.type, dirty=f.id in dirty) for f in room.fixtures
        }
        for item in items:
            fields = (item.id, item.type, item.parent, item.slot, item.dirty)
            self.entities[item.id] = Entity(*fields, filled=item.filled)
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
        self._items: dict[tuple[Any, ...], np.ndarray] = {}
        self.camera: AgentCamera = aimed((0.0, 0.0, EYE_M), self.place(self.entities[self.focus]))

    def copy(self) -> Household:
        """Return an independent copy."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.entities = {key: replace(e) for key, e in self.entities.items()}
        other.events = list(self.events)
        other.found, other.opened = dict(self.found), dict(self.opened)
        return other

    @property
    def state_hash(self) -> str:
        """SHA-256 of entities, held object and events, in hexadecimal."""
        rows = [
            (e.id, e.type, e.parent, e.slot, e.dirty, e.cooked, e.filled, e.open, e.on, e.sprayed)
            for e in sorted(self.entities.values(), key=lambda e: e.id)
        ]
        return hashlib.sha256(repr((rows, self.events)).encode()).hexdigest()

    @property
    def held(self) -> Entity | None:
        """Held object."""
        return next((e for e in self.entities.values() if e.parent == HAND), None)

    @property
    def held_type(self) -> str:
        """Type of the held object; empty: none."""
        return self.held.type if self.held else ""

    def of_type(self, kind: str) -> list[Entity]:
        """Return the existing entities of a type."""
        return [e for e in self.entities.values() if e.type == kind and e.parent != GONE]

    def contents(self, container: Entity) -> list[Entity]:
        """Return the direct contents of a container."""
        return [e for e in self.entities.values() if e.parent == container.id]

    def all_contents(self, container: Entity) -> Iterator[Entity]:
        """Yield the contents of a container, at any depth."""
        for item in self.contents(container):
            yield item
            yield from self.all_contents(item)

    def parents(self, entity: Entity) -> Iterator[Entity]:
        """Yield the containers of an entity, the innermost first."""
        while entity.parent in self.entities:
            entity = self.entities[entity.parent]
            yield entity

    def parent_type(self, entity: Entity) -> str:
        """Return the type of an entity's container; empty: it has none."""
        parent = self.entities.get(entity.parent)
        return parent.type if parent else ""

    def base(self, entity: Entity) -> Entity:
        """Return the outermost container of an entity, or the entity itself."""
        return ([entity, *self.parents(entity)])[-1]

    def free_slots(self, container: Entity, item: Entity) -> list[int]:
        """Return the free slots of a container for an object, in order of preference."""
        room = catalogue().containers.get(container.type)
        if room is None:
            return []
        size = catalogue().sizes[item.type]
        if SIZES.index(size) > SIZES.index(room.size):
            return []
        there = [(e.type, e.slot) for e in self.contents(container)]
        fixture = self.fixtures.get(container.id)
        model = fixture.model if fixture else container.type
        return slots.free_slots(fixture, model, item.type, there)

    def free_slot(self, container: Entity, item: Entity, near: int | None = None) -> int | None:
        """Return the preferred free slot of a container for an object, or the one closest to the
        slot ``near``; ``None``: there is no room.
        """
        free = self.free_slots(container, item)
        if not free:
            return None
        if near is None:
            return free[0]
        at = self._rest(container, item.type, near)
        places = {slot: self._rest(container, item.type, slot) for slot in free}
        return min(free, key=lambda k: sum((places[k][i] - at[i]) ** 2 for i in range(3)))

    def serves(self, entity: Entity) -> bool:
        """Return whether an object is where the goal requires one of its type."""
        return (entity.type, self.parent_type(entity)) in self.locations

    def shut_in(self, entity: Entity) -> Entity | None:
        """Return the closed container of an entity, if any."""
        return next((parent for parent in self.parents(entity) if parent.shut), None)

    def concealed(self, entity: Entity) -> bool:
        """Return whether an entity is behind a closed opaque door."""
        return any(p.shut and p.type not in SEE_THROUGH for p in self.parents(entity))

    def _rest(self, container: Entity, kind: str, slot: int) -> Pose:
        """Return the pose of an object in a slot, in the frame of its container."""
        fixture = self.fixtures.get(container.id)
        if fixture is None:
            return slots.rest(container.type, 0.0, kind, slot, False)
        opened = container.open and container.type == "Drawer"
        return slots.rest(fixture.model, fixture.width_m, kind, slot, opened)

    def pose(self, entity: Entity) -> Pose:
        """Return the pose of an entity's bounding box in the room; the held object is at the
        origin.
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
        """Return the position of an entity's center in the room, meters."""
        return self.pose(entity)[:3]

    def in_hand(self, entity: Entity) -> bool:
        """Return whether an entity is held, or in or on the held object."""
        return entity.parent == HAND or any(p.parent == HAND for p in self.parents(entity))

    def look_at(self, entity: Entity) -> None:
        """Move in front of an entity and look at it, from the position with the fewest occlusions
        of it and its contents.
        """
        base = self.base(entity)
        self.focus = entity.id
        if base.id not in self.fixtures:  # it is held
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
        """Return whether all exposed objects are visible from in front of their fixture."""
        for name in self.fixtures:
            there = [e for e in self.contents(self.entities[name]) if not self.concealed(e)]
            if there:
                world = self.copy()
                world.look_at(world.entities[name])
                if not all(map(world.visible, there)):
                    return False
        return True

    def seen_by_turning(self, entity: Entity) -> bool:
        """Return whether an entity at the agent's fixture is visible after turning the head,
        crouching or rising.
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
        """Return tangent of the angle off the image's center (infinite: behind), distance in m."""
        place = self.place(entity)
        across, above, _ = self.camera.seen_at(place)
        eye = self.camera.eye
        distance = sum((a - b) ** 2 for a, b in zip(place, eye, strict=True)) ** 0.5
        return max(abs(across), abs(above)), distance

    def _hiding(self) -> np.ndarray:
        """Return the current occluding boxes (15, b)."""
        key = list(map(_PLACED, self.entities.values()))
        if self._key != key:
            self._key, self._views = key, {}
            self._numbers = {name: number for number, name in enumerate(self.entities)}
            parts = [self._fixed()]
            items = [e for e in self.entities.values() if e.parent]
            parts += (self._of_item(item) for item in items if self._lies(item))
            self._blocks = np.concatenate(parts, axis=1)
        return self._blocks

    def _lies(self, entity: Entity) -> bool:
        """Return whether an entity is an exposed object."""
        parents = [*self.parents(entity)]
        return bool(parents) and parents[-1].id in self.fixtures and self.shut_in(entity) is None

    def _of_item(self, item: Entity) -> np.ndarray:
        """Return the occluding boxes of an object."""
        number, parent = self._numbers[item.id], self.entities[item.parent]
        if parent.id not in self.fixtures:
            return item_blocks(item.type, item.open, self.pose(item), number)
        key = (item.type, item.open, number, item.slot, parent.id, parent.open)
        if key not in self._items:
            self._items[key] = item_blocks(item.type, item.open, self.pose(item), number)
        return self._items[key]

    def _fixed(self) -> np.ndarray:
        """Return the occluding boxes of fixtures and scenery."""
        opened = tuple(name for name in self.fixtures if self.entities[name].open)
        if opened not in self._fixed_of:
            parts = [scenery_blocks(self.room)]
            for number, (name, fixture) in enumerate(self.fixtures.items()):
                parts.append(fixture_blocks(fixture, name in opened, number))
            self._fixed_of[opened] = np.concatenate(parts, axis=1)
        return self._fixed_of[opened]

    def visible(self, entity: Entity) -> bool:
        """Return whether an entity is visible: it is held, enough of it is in the image and
        unoccluded, or one of its contents is visible.
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
            known[entity.id] = self._unoccluded(entity, blocks)
        if known[entity.id]:
            return True
        return any(self._visible(item, blocks) for item in self.contents(entity))

    def _unoccluded(self, entity: Entity, blocks: np.ndarray) -> bool:
        """Return whether enough of an entity is in the image and unoccluded."""
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
        """Yield entities lazily, visible ones first, by angle, distance and id."""
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
