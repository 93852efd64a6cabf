"""Verbs of the household: preconditions, in order, and effects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.world import GONE, HAND, Entity, Household

VERBS = (
    *("CLEAN", "CLOSE", "DRINK", "EMPTY", "FIND", "OPEN", "PICKUP", "PUT", "SLICE", "SPRAY"),
    *("TOGGLE_OFF", "TOGGLE_ON"),
)
DONE = "DONE"
TOPS = ("CounterTop", "DiningTable", "SideTable")
"""Types that are interchangeable as a target of PUT, if visible."""
TOP_M = 0.52
"""Minimum height at which food is sliced."""
SLICES = 4
"""Number of slices."""
_COMMAND = re.compile(rf"({'|'.join(VERBS)}) ([a-z]+)".replace("_", "[_ ]"), re.IGNORECASE)
_VESSELS = ("Bowl", "Cup", "Mug", "Pan", "Plate", "Pot")


@dataclass(frozen=True)
class Result:
    """Result of a verb."""

    ok: bool  # whether it was executed
    code: str  # code of the outcome
    args: dict[str, str] = field(default_factory=dict)  # arguments of the code's message


def apply(world: Household, verb: str, kind: str) -> Result:
    """Execute a verb with an object of a type if possible; a refused verb only moves the agent near
    the object, if it is visible.

    Args:
        world: The household.
        verb: One of :data:`VERBS`.
        kind: A type.
    """
    code, about = _apply(world, verb, kind)
    if code == DONE:
        _settle(world)
        world.last_verb = verb
    args = {"object": about or kind, "held": world.held_type or "nothing"}
    return Result(code == DONE, code, args)


def canonical(text: str) -> str:
    """Return a command with its verb in capitals; empty if it is not a verb and a type."""
    found = _COMMAND.fullmatch(text)
    return f"{found[1].upper().replace(' ', '_')} {found[2]}" if found else ""


def allowed(world: Household, verb: str, kind: str) -> bool:
    """Return whether a verb would be executed."""
    if verb == "PUT":
        fits = catalogue().fits.get(world.held_type, ())
        return kind in fits and apply(world.copy(), verb, kind).ok
    codes = sorted(RULES[verb][0], key="NOT_VISIBLE".__eq__)  # the most expensive check last
    there = world.of_type(kind)
    if world.released and all(map(world.serves, there)):
        return False
    return any(not any(CHECKS[code](world, e) for code in codes) for e in there)


def _apply(world: Household, verb: str, kind: str) -> tuple[str, str]:
    """Return the code, and the type that it concerns if it differs."""
    if kind not in world.types:
        return "UNKNOWN_OBJECT", ""
    if verb == "PUT" and kind == "Sink":
        kind = "SinkBasin"
    there = world.of_type(kind)
    if not there:
        gone = any(e.type == kind for e in world.entities.values())
        return "ALREADY_SLICED" if gone else "NO_SUCH_OBJECT", ""
    if world.released and all(map(world.serves, there)):
        return "SERVES_GOAL", ""
    candidates = instances(world, verb, kind)
    first = next(candidates)
    if verb == "PUT":
        code, target = _put(world, first, candidates)
    else:
        code, target = _other(world, verb, first, candidates)
    if target is None:
        if not CHECKS["NOT_VISIBLE"](world, first):
            _approach(world, first)
        return code, kind
    return DONE, target.type


def _other(
    world: Household, verb: str, first: Entity, others: Iterator[Entity]
) -> tuple[str, Entity | None]:
    """Execute any verb but PUT; return the code and the entity it was executed with."""
    checks, effect = RULES[verb]
    codes = []
    for entity in chain((first,), others):
        code = next((code for code in checks if CHECKS[code](world, entity)), "")
        if not code:
            _use(world, entity)
            effect(world, entity)
            return DONE, entity
        codes.append(code)
    return codes[0], None


def instances(world: Household, verb: str, kind: str) -> Iterator[Entity]:
    """Yield the entities that a type may refer to: the one last used, then by visibility, angle and
    distance; those that serve the goal already come last.
    """
    opened = verb == "PUT" and world.last_verb not in ("FIND", "OPEN")
    first = (world.opened if opened else world.found).get(kind, "")
    if verb == "TOGGLE_ON" and kind in ("StoveBurner", "StoveKnob"):
        under = [p for pan in world.of_type("Pan") for p in world.parents(pan)]
        burner = next((p.id for p in under if p.type == "StoveBurner"), "")
        if burner:
            first = burner if kind == "StoveBurner" else _twin(world, burner)
    there = world.of_type(kind)
    for serving in (False, True):
        group = [entity for entity in there if world.serves(entity) is serving]
        yield from (entity for entity in group if entity.id == first)
        yield from world.nearest([entity for entity in group if entity.id != first])


def _twin(world: Household, name: str) -> str:
    """Return the knob of a burner, or the burner of a knob."""
    kind, _, number = name.partition("_")
    other = f"{'StoveKnob' if kind == 'StoveBurner' else 'StoveBurner'}_{number}"
    return other if other in world.entities else ""


def _use(world: Household, entity: Entity) -> None:
    """Remember the entity that a type refers to, and look at it."""
    world.found[entity.type] = world.last_used = entity.id
    _approach(world, entity)


def _approach(world: Household, entity: Entity) -> None:
    """Look at an entity, unless it is in the hand."""
    if not world.in_hand(entity):
        world.look_at(entity)


def _is_low(world: Household, entity: Entity) -> bool:
    """Return whether an object is not on a counter or table; eggs may be cracked anywhere."""
    if entity.type == "Egg":
        return False
    return world.parent_type(entity) not in TOPS or world.place(entity)[2] < TOP_M


def _is_blocked(world: Household, entity: Entity) -> bool:
    """Return whether an entity is a faucet above objects that must not get wet."""
    if entity.type != "Faucet":
        return False
    inside = {e.type for basin in world.of_type("SinkBasin") for e in world.all_contents(basin)}
    return not inside <= catalogue().washable


_COFFEE, _MIRROR = "CoffeeMachine", "Mirror"
CHECKS: Mapping[str, Callable[[Household, Entity], bool]] = {
    "HAND_FULL": lambda w, e: w.held is not None,
    "NOT_HELD": lambda w, e: w.held is None,
    "NEEDS_KNIFE": lambda w, e: e.type != "Egg" and "Knife" not in w.held_type,
    "NEEDS_CLOTH": lambda w, e: e.type == _MIRROR and w.held_type != "Cloth",
    "NEEDS_SPONGE": lambda w, e: e.type != _MIRROR and w.held_type != "DishSponge",
    "NEEDS_REMOTE": lambda w, e: e.type == "Television" and w.held_type != "RemoteControl",
    "NEEDS_SPRAYER": lambda w, e: w.held_type != "SprayBottle",
    "NOT_VISIBLE": lambda w, e: not (w.visible(e) or w.seen_by_turning(e)),
    "INSIDE_CLOSED": lambda w, e: w.shut_in(e) is not None,
    "NOT_PICKUPABLE": lambda w, e: e.type not in catalogue().sizes,
    "NOT_OPENABLE": lambda w, e: e.type not in catalogue().openable,
    "NOT_SLICEABLE": lambda w, e: e.type not in catalogue().slices,
    "NOT_TOGGLEABLE": lambda w, e: e.type not in catalogue().toggleable,
    "WRONG_CONTENT": lambda w, e: e.type == _COFFEE and w.contents(e)[0].type != "Mug",
    "ALREADY_SLICED": lambda w, e: e.type in catalogue().slices.values(),
    "ALREADY_OPEN": lambda w, e: e.open,
    "ALREADY_CLOSED": lambda w, e: not e.open,
    "ALREADY_ON": lambda w, e: e.on,
    "ALREADY_OFF": lambda w, e: not e.on,
    "DEVICE_ON": lambda w, e: e.type == "Microwave" and e.on,
    "NOT_ON_TOP": _is_low,
    "NOT_SPRAYED": lambda w, e: (
        e.type == _MIRROR and not (e.sprayed or (w.released and ("SPRAY", _MIRROR) in w.events))
    ),
    "FAUCET_OFF": lambda w, e: e.type != _MIRROR and not any(f.on for f in w.of_type("Faucet")),
    "NOT_IN_SINK": lambda w, e: (
        e.type != _MIRROR and all(p.type != "SinkBasin" for p in w.parents(e))
    ),
    "MACHINE_EMPTY": lambda w, e: e.type == _COFFEE and not w.contents(e),
    "MUG_FULL": lambda w, e: e.type == _COFFEE and bool(w.contents(e)[0].filled),
    "MUG_DIRTY": lambda w, e: e.type == _COFFEE and w.contents(e)[0].dirty,
    "SINK_BLOCKED": _is_blocked,
    "DOOR_OPEN": lambda w, e: e.type == "Microwave" and e.open,
    "NOT_FILLED": lambda w, e: not e.filled,
}
"""Conditions under which a verb is refused with each code; see also :data:`PUT_CHECKS`."""


def _find(world: Household, entity: Entity) -> None:
    shut = world.shut_in(entity)
    if shut is not None and shut.type in ("Cabinet", "Drawer"):
        shut.open = True
        world.opened[shut.type] = world.found[shut.type] = shut.id


def _pick_up(world: Household, entity: Entity) -> None:
    world.focus = entity.parent if entity.parent in world.entities else world.focus
    entity.parent, entity.slot = HAND, 0


def _open(world: Household, entity: Entity) -> None:
    entity.open = True
    world.opened[entity.type] = entity.id


def _close(world: Household, entity: Entity) -> None:
    entity.open = False
    world.opened.pop(entity.type, None)


def _slice(world: Household, entity: Entity) -> None:
    kind = catalogue().slices[entity.type]
    parent, slot = world.entities.get(entity.parent), entity.slot
    where = entity.parent
    entity.parent, entity.slot = GONE, 0
    for number in range(1 if entity.type == "Egg" else SLICES):
        piece = Entity(kind if entity.type == "Egg" else f"{kind}_{number + 1}", kind)
        free = slot if number == 0 else world.free_slot(parent, piece, slot) if parent else None
        if free is None:
            break
        piece.parent, piece.slot = where, free
        world.entities[piece.id] = piece
    if world.focus == entity.id:
        world.focus = where if where in world.entities else world.focus


def _clean(world: Household, entity: Entity) -> None:
    entity.dirty = entity.sprayed = False


def _switch(world: Household, entity: Entity, on: bool) -> None:
    entity.on = on
    if entity.type.startswith("Stove") and (twin := _twin(world, entity.id)):
        world.entities[twin].on = on


def _switch_on(world: Household, entity: Entity) -> None:
    _switch(world, entity, True)
    if entity.type == "CoffeeMachine":
        world.contents(entity)[0].filled = "coffee"


def _switch_off(world: Household, entity: Entity) -> None:
    _switch(world, entity, False)
    vessels: Iterable[Entity] = ()
    if world.released:
        vessels = world.entities.values()
    elif entity.type == "Faucet":
        vessels = chain(*(world.all_contents(basin) for basin in world.of_type("SinkBasin")))
    for item in vessels:
        if item.type in _VESSELS and item.filled == "water":
            item.filled = ""


def _empty(world: Household, entity: Entity) -> None:
    entity.filled = ""


def _drink(world: Household, entity: Entity) -> None:
    world.events.append(("DRINK", entity.filled))
    world.held_while_drinking = entity.id if entity.parent == HAND else ""
    entity.filled = ""
    if entity.type in catalogue().dirtyable and (not world.released or world.held_type == "Mug"):
        entity.dirty = True


def _spray(world: Household, entity: Entity) -> None:
    world.events.append(("SPRAY", "Mirror" if world.released else entity.type))
    if entity.type == "Mirror":
        entity.sprayed = True


RULES: Mapping[str, tuple[Sequence[str], Callable[[Household, Entity], None]]] = {
    "FIND": ((), _find),
    "PICKUP": (("HAND_FULL", "NOT_VISIBLE", "INSIDE_CLOSED", "NOT_PICKUPABLE"), _pick_up),
    "OPEN": (("NOT_VISIBLE", "NOT_OPENABLE", "ALREADY_OPEN", "DEVICE_ON"), _open),
    "CLOSE": (("NOT_VISIBLE", "NOT_OPENABLE", "ALREADY_CLOSED"), _close),
    "SLICE": (
        ("ALREADY_SLICED", "NOT_VISIBLE", "NOT_SLICEABLE", "NOT_ON_TOP", "NEEDS_KNIFE"),
        _slice,
    ),
    "CLEAN": (
        (
            *("NOT_VISIBLE", "NOT_SPRAYED", "NEEDS_CLOTH"),
            *("FAUCET_OFF", "NOT_IN_SINK", "NEEDS_SPONGE"),
        ),
        _clean,
    ),
    "TOGGLE_ON": (
        (
            *("NOT_TOGGLEABLE", "ALREADY_ON", "NOT_VISIBLE", "NEEDS_REMOTE", "DOOR_OPEN"),
            *("SINK_BLOCKED", "MACHINE_EMPTY", "WRONG_CONTENT", "MUG_FULL", "MUG_DIRTY"),
        ),
        _switch_on,
    ),
    "TOGGLE_OFF": (("NOT_TOGGLEABLE", "ALREADY_OFF", "NOT_VISIBLE", "NEEDS_REMOTE"), _switch_off),
    "EMPTY": (("NOT_VISIBLE", "NOT_FILLED"), _empty),
    "DRINK": (("NOT_VISIBLE", "NOT_HELD", "NOT_FILLED"), _drink),
    "SPRAY": (("NOT_VISIBLE", "NEEDS_SPRAYER"), _spray),
}
"""Codes with which each verb may be refused, in the order of the checks, and its effect."""


PUT_CHECKS: Mapping[str, Callable[[Household, Entity], bool]] = {
    "NOT_HELD": CHECKS["NOT_HELD"],
    "NOT_VISIBLE": CHECKS["NOT_VISIBLE"],
    "TARGET_DIRTY": lambda w, e: e.dirty and e.type in _VESSELS,
    "CLOSED": lambda w, e: e.shut or w.shut_in(e) is not None,
    "INCOMPATIBLE": lambda w, e: e.type not in catalogue().fits[w.held_type] or w.in_hand(e),
}
"""Conditions under which PUT is refused, in order."""


def _put(world: Household, first: Entity, others: Iterator[Entity]) -> tuple[str, Entity | None]:
    """Execute PUT with the first candidate that has room; return the code and the container."""
    code = next((code for code, check in PUT_CHECKS.items() if check(world, first)), "")
    item = world.held
    if code or item is None:
        return code, None
    if first.type in TOPS:
        tops = (e for top in TOPS if top != first.type for e in world.of_type(top))
        others = chain(others, filter(world.visible, tops))
    for target in chain((first,), others):
        slot = world.free_slot(target, item)
        barred = target.dirty or PUT_CHECKS["INCOMPATIBLE"](world, target) or world.shut_in(target)
        if slot is None or barred:
            continue
        if target.shut:
            target.open = True
            world.opened[target.type] = target.id
        item.parent, item.slot = target.id, slot
        _use(world, target)
        return DONE, target
    return "NO_SPACE", None


def _settle(world: Household) -> None:
    """Apply running devices: water washes and fills, heat cooks."""
    data = catalogue()
    for device in [e for e in world.entities.values() if e.on]:
        if device.type == "Faucet":
            for basin in world.of_type("SinkBasin"):
                for item in world.contents(basin):
                    item.dirty = False
                    if item.type in data.fillable and not item.filled:
                        item.filled = "water"
            continue
        for item in world.all_contents(device):
            in_pan = device.type != "StoveBurner" or world.parent_type(item) == "Pan"
            if data.cooked_by.get(item.type) == device.type and in_pan:
                item.cooked = True
