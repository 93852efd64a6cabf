"""Goals of the families in three readings: ``paper``, the instruction; ``released``, the scoring of
AsgardBench's code; ``strict``, with preferred homes and everything closed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from clevrskills.core.goal.logical import Keeping, Once, Sequence, Set
from clevrskills.core.goal.predicate import Leaf, Predicate
from clevrskills.suites.asgardbench.predicates import (
    Contained,
    ContainsOnly,
    Did,
    HouseWorld,
    StateIs,
    Stored,
)
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.world import Household
from clevrskills.suites.asgardbench.tasks.instances import Variant

READINGS = ("paper", "released", "strict")
COOKED = {
    "cook_potato": "Potato",
    "cook_egg": "EggCracked",
    "cook_toast": "BreadSliced",
    "cook_potato_slice": "PotatoSliced",
}


def goal_of(task: str, variant: Variant, reading: str, house: Household) -> Predicate:
    """Return the goal of an instance.

    Args:
        task: The family.
        variant: The instance.
        reading: One of :data:`READINGS`.
        house: Initial state; leaves that hold there have no weight.
    """
    world = HouseWorld(house)
    parts: list[Predicate] = []
    for leaf in _leaves(task, variant, reading):
        weighed = replace(leaf, weight=0.0 if bool(leaf.credit(world)) else 1.0)  # type: ignore[attr-defined]
        latched = reading == "released" and isinstance(leaf, Contained)
        parts.append(Once(weighed) if latched else weighed)
    goal: Predicate = Set(tuple(parts))
    if reading == "strict" and isinstance(parts[0], Did):  # ordered
        goal = Sequence((parts[0], Set(tuple(parts[1:]))))
    kept = tidy(reading, house)
    return goal if kept is None else Keeping(goal, kept)


def locations(task: str, variant: Variant) -> frozenset[tuple[str, str]]:
    """Return pairs of object and container types that the goal requires."""
    leaves = _leaves(task, variant, "paper")
    return frozenset((e.kind, e.container) for e in leaves if isinstance(e, Contained))


def leaf_names(task: str, variant: Variant) -> set[str]:
    """Return the names of the predicates of an instance's goal."""
    return {leaf.name for leaf in _leaves(task, variant, "paper")}


def _leaves(task: str, variant: Variant, reading: str) -> list[Leaf]:
    return _LEAVES[task](task, variant, reading)


def _clean(variant: Variant) -> list[Leaf]:
    return [StateIs(kind, "dirty", False) for kind in variant.dirty]


def _coffee(task: str, variant: Variant, reading: str) -> list[Leaf]:
    strict = reading == "strict"
    drunk = Did("DRINK", "" if reading == "released" else "coffee", strict)
    washed = [StateIs("Mug", "dirty", False), StateIs("Mug", "filled", False)]
    return [drunk, *washed, Stored("Mug", strict)]


def _cooked(task: str, variant: Variant, reading: str) -> list[Leaf]:
    kind, strict = COOKED[task], reading == "strict"
    dish, cooked = catalogue().served_in[kind], reading != "released"
    served = Contained(kind, dish, cooked=cooked, clean=strict, alone=strict)
    return [StateIs(kind, "cooked", True, "any"), served, *_clean(variant)]


def _distributed(task: str, variant: Variant, reading: str) -> list[Leaf]:
    piece = catalogue().slices[variant.food]
    return [*(Contained(piece, dish) for dish in variant.objects), *_clean(variant)]


def _put_away(task: str, variant: Variant, reading: str) -> list[Leaf]:
    released = reading == "released"
    first = reading == "strict" or (task == "put_away_silverware" and not released)
    stored = [Stored(kind, first) for kind in variant.objects]
    if task != "put_away_dishes" or released:
        return [*stored, *_clean(variant)]
    return [*stored, *(StateIs(kind, "dirty", False) for kind in variant.objects)]


def _table_set(task: str, variant: Variant, reading: str) -> list[Leaf]:
    released = reading == "released"
    return [
        StateIs("Mug", "filled", True, liquid="" if released else "coffee"),
        ContainsOnly("DiningTable", ("Mug", "Plate", "BreadSliced")),
        Contained("BreadSliced", "Plate", cooked=not released),
        *_clean(variant),
    ]


_LEAVES: Mapping[str, Callable[[str, Variant, str], list[Leaf]]] = {
    "coffee": _coffee,
    **dict.fromkeys(COOKED, _cooked),
    "distribute": _distributed,
    "put_away_food": _put_away,
    "put_away_dishes": _put_away,
    "put_away_silverware": _put_away,
    "set_table": _table_set,
    "clean_mirror": lambda *_: [Did("SPRAY", "Mirror"), StateIs("Mirror", "dirty", False)],
    "turn_on_tv": lambda *_: [StateIs("Television", "on", True)],
}
"""Functions that return the leaves of the goal of an instance in a reading, by family."""


def tidy(reading: str, house: Household) -> Set | None:
    """Return what must be switched off and closed at the end in kitchens, else ``None``."""
    if not house.of_type("Fridge"):
        return None
    many = "first" if reading == "released" else "all"
    off = ("CoffeeMachine", "Toaster", "StoveKnob", "Faucet")
    shut = ["Microwave", "Fridge"]
    if reading == "strict":
        shut += [kind for kind in ("Cabinet", "Drawer") if house.of_type(kind)]
    return Set(
        (
            *(StateIs(kind, "on", False, many) for kind in off),
            *(StateIs(kind, "open", False, many) for kind in shut),
        )
    )
