"""Verbs of the household: what each asks for, in order, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.world import GONE, HAND, SHUTTING, Entity, World

VERBS = (
    *("CLEAN", "CLOSE", "DRINK", "EMPTY", "FIND", "OPEN", "PICKUP", "PUT", "SLICE", "SPRAY"),
    *("TOGGLE_OFF", "TOGGLE_ON"),
)
DONE = "DONE"
TOPS = ("CounterTop", "DiningTable", "SideTable")
"""Types that stand for one another as a place, where they are seen."""
TOP_M = 0.52
"""Lowest place on which food is sliced."""
SLICES = 4
"""Pieces of a sliced food."""
_VESSELS = ("Bowl", "Cup", "Mug", "Pan", "Plate", "Pot")


@dataclass(frozen=True)
class Result:
    """What became of a verb.

    Attributes:
        ok: Whether it was done.
        code: What happened.
        args: What the sentence of the code names.
    """

    ok: bool
    code: str
    args: dict[str, str] = field(default_factory=dict)


Check = Callable[[World, Entity], str]


def apply(world: World, verb: str, kind: str) -> Result:
    """Do a verb with an object of a type, if that can be done; else nothing changes but where the
    agent stands: it goes near what it sees, to see why.

    Args:
        world: The world.
        verb: One of :data:`VERBS`.
        kind: A type.
    """
    code, about = _apply(world, verb, kind)
    if code == DONE:
        _settle(world)
        world.last_verb = verb
    held = world.held
    args = {"object": about or kind, "held": held.type if held else "nothing"}
    return Result(code == DONE, code, args)


def allowed(world: World, verb: str, kind: str) -> bool:
    """Whether a verb would be done."""
    if verb == "PUT":
        fits = catalogue().fits[world.held.type] if world.held else ()
        return kind in fits and apply(world.copy(), verb, kind).ok
    checks = sorted(RULES[verb][0], key=lambda check: check is _seen)  # the dearest one last
    there = world.of_type(kind)
    if world.released and all(map(world.serves, there)):
        return False
    return any(not any(check(world, e) for check in checks) for e in there)


def _apply(world: World, verb: str, kind: str) -> tuple[str, str]:
    """Code, and the type that it is about, if that is another."""
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
        if not _seen(world, first):
            _approach(world, first)
        return code, kind
    return DONE, target.type


def _other(
    world: World, verb: str, first: Entity, others: Iterator[Entity]
) -> tuple[str, Entity | None]:
    """What any verb but PUT comes to, and with what it was done."""
    checks, effect = RULES[verb]
    codes = []
    for entity in chain((first,), others):
        code = next((code for check in checks if (code := check(world, entity))), "")
        if not code:
            _use(world, entity)
            effect(world, entity)
            return DONE, entity
        codes.append(code)
    return codes[0], None


def instances(world: World, verb: str, kind: str) -> Iterator[Entity]:
    """What a type may mean, the likeliest first: what was last used of it, else what is seen, by
    angle and distance; what serves the goal already comes last.
    """
    first = ""
    if verb == "PUT" and world.last_verb not in ("FIND", "OPEN"):
        first = world.opened.get(kind, "")
    else:
        first = world.found.get(kind, "")
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


def _twin(world: World, name: str) -> str:
    """The knob of a burner, or the burner of a knob."""
    kind, _, number = name.partition("_")
    other = f"{'StoveKnob' if kind == 'StoveBurner' else 'StoveBurner'}_{number}"
    return other if other in world.entities else ""


def _use(world: World, entity: Entity) -> None:
    """Remember what a type meant, and look at it."""
    world.found[entity.type] = world.last_used = entity.id
    _approach(world, entity)


def _approach(world: World, entity: Entity) -> None:
    """Go before something and look at it, unless it is in the hand."""
    if entity.parent != HAND and all(p.parent != HAND for p in world.parents(entity)):
        world.look_at(entity)


# ---- checks: the code of what is wrong, or nothing ----


def _seen(world: World, entity: Entity) -> str:
    return "" if world.visible(entity) or world.seen_by_turning(entity) else "NOT_VISIBLE"


def _hand_free(world: World, entity: Entity) -> str:
    return "HAND_FULL" if world.held else ""


def _hand_full(world: World, entity: Entity) -> str:
    return "" if world.held else "NOT_HELD"


def _reached(world: World, entity: Entity) -> str:
    return "INSIDE_CLOSED" if world.shut_in(entity) else ""


def _movable(world: World, entity: Entity) -> str:
    return "" if entity.type in catalogue().sizes else "NOT_PICKUPABLE"


def _openable(world: World, entity: Entity) -> str:
    return "" if entity.type in catalogue().openable else "NOT_OPENABLE"


def _is_closed(world: World, entity: Entity) -> str:
    return "ALREADY_OPEN" if entity.open else ""


def _is_open(world: World, entity: Entity) -> str:
    return "" if entity.open else "ALREADY_CLOSED"


def _stopped(world: World, entity: Entity) -> str:
    return "DEVICE_ON" if entity.type == "Microwave" and entity.on else ""


def _whole(world: World, entity: Entity) -> str:
    return "ALREADY_SLICED" if entity.type in catalogue().slices.values() else ""


def _sliceable(world: World, entity: Entity) -> str:
    return "" if entity.type in catalogue().slices else "NOT_SLICEABLE"


def _on_top(world: World, entity: Entity) -> str:
    parent = world.entities.get(entity.parent)
    if entity.type == "Egg":
        return ""
    flat = parent is not None and parent.type in TOPS
    return "" if flat and world.place(entity)[2] >= TOP_M else "NOT_ON_TOP"


def _knife(world: World, entity: Entity) -> str:
    held = world.held
    if entity.type == "Egg" or (held is not None and "Knife" in held.type):
        return ""
    return "NEEDS_KNIFE"


def _washable(world: World, entity: Entity) -> str:
    held = world.held.type if world.held else ""
    if entity.type == "Mirror":
        if not entity.sprayed and not (world.released and ("SPRAY", "Mirror") in world.events):
            return "NOT_SPRAYED"
        return "" if held == "Cloth" else "NEEDS_CLOTH"
    if not any(faucet.on for faucet in world.of_type("Faucet")):
        return "FAUCET_OFF"
    if all(parent.type != "SinkBasin" for parent in world.parents(entity)):
        return "NOT_IN_SINK"
    return "" if held == "DishSponge" else "NEEDS_SPONGE"


def _toggleable(world: World, entity: Entity) -> str:
    return "" if entity.type in catalogue().toggleable else "NOT_TOGGLEABLE"


def _is_off(world: World, entity: Entity) -> str:
    return "ALREADY_ON" if entity.on else ""


def _is_on(world: World, entity: Entity) -> str:
    return "" if entity.on else "ALREADY_OFF"


def _remote(world: World, entity: Entity) -> str:
    held = world.held
    if entity.type != "Television" or (held is not None and held.type == "RemoteControl"):
        return ""
    return "NEEDS_REMOTE"


def _ready(world: World, entity: Entity) -> str:
    if entity.type == "Microwave" and entity.open:
        return "DOOR_OPEN"
    if entity.type == "Faucet":
        allowed = {*catalogue().classes["Dishes"], *catalogue().classes["Cookware"], "DishSponge"}
        basins = world.of_type("SinkBasin")
        inside = {thing.type for basin in basins for thing in world.all_contents(basin)}
        return "SINK_BLOCKED" if inside - allowed else ""
    if entity.type != "CoffeeMachine":
        return ""
    inside_it = world.contents(entity)
    if not inside_it:
        return "MACHINE_EMPTY"
    mug = inside_it[0]
    if mug.type != "Mug":
        return "WRONG_CONTENT"
    if mug.filled:
        return "MUG_FULL"
    return "MUG_DIRTY" if mug.dirty else ""


def _filled(world: World, entity: Entity) -> str:
    return "" if entity.filled else "NOT_FILLED"


def _sprayer(world: World, entity: Entity) -> str:
    held = world.held
    return "" if held is not None and held.type == "SprayBottle" else "NEEDS_SPRAYER"


# ---- effects ----


def _find(world: World, entity: Entity) -> None:
    shut = world.shut_in(entity)
    if shut is not None and shut.type in ("Cabinet", "Drawer"):
        shut.open = True
        world.opened[shut.type] = world.found[shut.type] = shut.id


def _pick_up(world: World, entity: Entity) -> None:
    world.focus = entity.parent if entity.parent in world.entities else world.focus
    entity.parent, entity.slot = HAND, 0


def _open(world: World, entity: Entity) -> None:
    entity.open = True
    world.opened[entity.type] = entity.id


def _close(world: World, entity: Entity) -> None:
    entity.open = False
    world.opened.pop(entity.type, None)


def _slice(world: World, entity: Entity) -> None:
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


def _clean(world: World, entity: Entity) -> None:
    entity.dirty = entity.sprayed = False


def _switch_on(world: World, entity: Entity) -> None:
    entity.on = True
    if twin := _twin(world, entity.id) if entity.type.startswith("Stove") else "":
        world.entities[twin].on = True
    if entity.type == "CoffeeMachine":
        world.contents(entity)[0].filled = "coffee"


def _switch_off(world: World, entity: Entity) -> None:
    entity.on = False
    if twin := _twin(world, entity.id) if entity.type.startswith("Stove") else "":
        world.entities[twin].on = False
    vessels: Iterable[Entity] = ()
    if world.released:
        vessels = world.entities.values()
    elif entity.type == "Faucet":
        vessels = chain(*(world.all_contents(basin) for basin in world.of_type("SinkBasin")))
    for thing in vessels:
        if thing.type in _VESSELS and thing.filled == "water":
            thing.filled = ""


def _empty(world: World, entity: Entity) -> None:
    entity.filled = ""


def _drink(world: World, entity: Entity) -> None:
    world.events.append(("DRINK", entity.filled))
    world.held_while_drinking = entity.id if entity.parent == HAND else ""
    entity.filled = ""
    if world.held is not None and world.held.type == "Mug" and entity.type in catalogue().dirtyable:
        entity.dirty = True


def _spray(world: World, entity: Entity) -> None:
    world.events.append(("SPRAY", "Mirror" if world.released else entity.type))
    if entity.type == "Mirror":
        entity.sprayed = True


RULES: dict[str, tuple[Sequence[Check], Callable[[World, Entity], Any]]] = {
    "FIND": ((), _find),
    "PICKUP": ((_hand_free, _seen, _reached, _movable), _pick_up),
    "OPEN": ((_seen, _openable, _is_closed, _stopped), _open),
    "CLOSE": ((_seen, _openable, _is_open), _close),
    "SLICE": ((_whole, _seen, _sliceable, _on_top, _knife), _slice),
    "CLEAN": ((_seen, _washable), _clean),
    "TOGGLE_ON": ((_toggleable, _is_off, _seen, _remote, _ready), _switch_on),
    "TOGGLE_OFF": ((_toggleable, _is_on, _seen, _remote), _switch_off),
    "EMPTY": ((_seen, _filled), _empty),
    "DRINK": ((_seen, _hand_full, _filled), _drink),
    "SPRAY": ((_seen, _sprayer), _spray),
}
"""Checks of each verb, in order, and its effect; PUT has a function of its own."""


def _put(world: World, first: Entity, others: Iterator[Entity]) -> tuple[str, Entity | None]:
    """What PUT comes to, and in or on what the thing is then."""
    thing, kind = world.held, first.type
    if thing is None:
        return "NOT_HELD", None
    fits = catalogue().fits[thing.type]
    inside = {e.id for e in world.all_contents(thing)} | {thing.id}
    if code := _seen(world, first):
        return code, None
    if first.dirty and first.type in _VESSELS:
        return "TARGET_DIRTY", None
    if _shut(first) or world.shut_in(first):
        return "CLOSED", None
    if kind not in fits or first.id in inside:
        return "INCOMPATIBLE", None
    if kind in TOPS:
        tops = (e for top in TOPS if top != kind for e in world.of_type(top))
        others = chain(others, (e for e in tops if world.visible(e)))
    for target in chain((first,), others):
        slot = world.free_slot(target, thing)
        if slot is None or target.dirty or target.id in inside or target.type not in fits:
            continue
        if world.shut_in(target):
            continue
        if _shut(target):
            target.open = True
            world.opened[target.type] = target.id
        thing.parent, thing.slot = target.id, slot
        _use(world, target)
        return DONE, target
    return "NO_SPACE", None


def _shut(entity: Entity) -> bool:
    return entity.type in SHUTTING and not entity.open


def _settle(world: World) -> None:
    """What devices do by themselves: water washes and fills, heat cooks."""
    cooked_by, data = catalogue().cooked_by, catalogue()
    for device in [e for e in world.entities.values() if e.on]:
        if device.type == "Faucet":
            for basin in world.of_type("SinkBasin"):
                for thing in world.contents(basin):
                    thing.dirty = False
                    if thing.type in data.fillable and not thing.filled:
                        thing.filled = "water"
            continue
        for thing in world.all_contents(device):
            in_pan = device.type != "StoveBurner" or (
                thing.parent in world.entities and world.entities[thing.parent].type == "Pan"
            )
            if cooked_by.get(thing.type) == device.type and in_pan:
                thing.cooked = True
