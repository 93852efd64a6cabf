"""Milestones: what every way to a goal passes, to tell how far an episode came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from clevrskills.core.goal.predicate import Predicate
from clevrskills.suites.asgardbench.predicates import (
    Contained,
    Did,
    Held,
    ObjectExists,
    StateIs,
    Stored,
)
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.tasks.goals import COOKED
from clevrskills.suites.asgardbench.tasks.instances import Variant

Milestones = Sequence[tuple[str, Predicate]]


def milestones(task: str, variant: Variant) -> Milestones:
    """Return name and condition of each milestone, in the order in which they are usually passed;
    each counts once it has held.

    Args:
        task: The family.
        variant: The instance.
    """
    return _MILESTONES[task](task, variant)


_COFFEE: Sequence[tuple[str, Predicate]] = (
    ("coffee in the mug", StateIs("Mug", "filled", True, liquid="coffee")),
)
_COOKING: dict[str, Sequence[tuple[str, Predicate]]] = {
    "cook_potato": (
        ("in the microwave", Contained("Potato", "Microwave")),
        ("cooked", StateIs("Potato", "cooked", True, "any")),
    ),
    "cook_egg": (
        ("in the pan", Contained("EggCracked", "Pan")),
        ("pan on the stove", Contained("Pan", "StoveBurner")),
        ("cooked", StateIs("EggCracked", "cooked", True, "any")),
    ),
    "cook_toast": (
        ("knife held", Held("Knife")),
        ("sliced", ObjectExists("BreadSliced")),
        ("in the toaster", Contained("BreadSliced", "Toaster")),
        ("cooked", StateIs("BreadSliced", "cooked", True, "any")),
    ),
    "cook_potato_slice": (
        ("knife held", Held("Knife")),
        ("sliced", ObjectExists("PotatoSliced")),
        ("in the pan", Contained("PotatoSliced", "Pan")),
        ("pan on the stove", Contained("Pan", "StoveBurner")),
        ("cooked", StateIs("PotatoSliced", "cooked", True, "any")),
    ),
}


def _clean(variant: Variant) -> Milestones:
    return [(f"{kind} clean", StateIs(kind, "dirty", False)) for kind in variant.dirty]


def _coffee(task: str, variant: Variant) -> Milestones:
    return [*_COFFEE, ("drunk", Did("DRINK", "coffee")), ("stored", Stored("Mug"))]


def _cooked(task: str, variant: Variant) -> Milestones:
    dish = catalogue().served_in[COOKED[task]]
    return [*_clean(variant), *_COOKING[task], ("served", Contained(COOKED[task], dish))]


def _distributed(task: str, variant: Variant) -> Milestones:
    piece = catalogue().slices[variant.food]
    served = [(f"in the {dish}", Contained(piece, dish)) for dish in variant.objects]
    sliced = [("knife held", Held("Knife")), ("sliced", ObjectExists(piece))]
    return [*_clean(variant), *sliced, *served]


def _put_away(task: str, variant: Variant) -> Milestones:
    return [*_clean(variant), *((f"{kind} stored", Stored(kind)) for kind in variant.objects)]


def _table_set(task: str, variant: Variant) -> Milestones:
    laid = [(f"{kind} on table", Contained(kind, "DiningTable")) for kind in ("Mug", "Plate")]
    toast = [*_COOKING["cook_toast"], ("served", Contained("BreadSliced", "Plate"))]
    return [*_clean(variant), *_COFFEE, *laid, *toast]


def _mirror_cleaned(task: str, variant: Variant) -> Milestones:
    return [
        ("sprayer held", Held("SprayBottle")),
        ("sprayed", Did("SPRAY", "Mirror")),
        ("cloth held", Held("Cloth")),
        ("clean", StateIs("Mirror", "dirty", False)),
    ]


def _television_on(task: str, variant: Variant) -> Milestones:
    return [("remote held", Held("RemoteControl")), ("on", StateIs("Television", "on", True))]


_MILESTONES: Mapping[str, Callable[[str, Variant], Milestones]] = {
    "coffee": _coffee,
    **dict.fromkeys(COOKED, _cooked),
    "distribute": _distributed,
    "put_away_food": _put_away,
    "put_away_dishes": _put_away,
    "put_away_silverware": _put_away,
    "set_table": _table_set,
    "clean_mirror": _mirror_cleaned,
    "turn_on_tv": _television_on,
}
"""Milestones of each family, of an instance."""
