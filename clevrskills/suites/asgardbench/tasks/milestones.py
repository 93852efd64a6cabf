"""Milestones: what every way to a goal passes, to tell how far an episode came."""

from __future__ import annotations

from collections.abc import Sequence

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


def milestones(task: str, variant: Variant) -> Sequence[tuple[str, Predicate]]:
    """Name and condition of each, in the order in which they are usually passed; each counts once
    it has held.

    Args:
        task: The family.
        variant: The instance.
    """
    clean: list[tuple[str, Predicate]] = [
        (f"{kind} clean", StateIs(kind, "dirty", False)) for kind in variant.dirty
    ]
    if task == "coffee":
        return [*_COFFEE, ("drunk", Did("DRINK", "coffee")), ("stored", Stored("Mug"))]
    if task in COOKED:
        dish = catalogue().served_in[COOKED[task]]
        return [*clean, *_COOKING[task], ("served", Contained(COOKED[task], dish))]
    if task == "distribute":
        piece = catalogue().slices[variant.food]
        served = [(f"in the {dish}", Contained(piece, dish)) for dish in variant.objects]
        return [*clean, ("knife held", Held("Knife")), ("sliced", ObjectExists(piece)), *served]
    if task.startswith("put_away"):
        return [*clean, *((f"{kind} stored", Stored(kind)) for kind in variant.objects)]
    if task == "set_table":
        laid = [(f"{kind} on table", Contained(kind, "DiningTable")) for kind in ("Mug", "Plate")]
        toast = [*_COOKING["cook_toast"], ("served", Contained("BreadSliced", "Plate"))]
        return [*clean, *_COFFEE, *laid, *toast]
    if task == "clean_mirror":
        return [
            ("sprayer held", Held("SprayBottle")),
            ("sprayed", Did("SPRAY", "Mirror")),
            ("cloth held", Held("Cloth")),
            ("clean", StateIs("Mirror", "dirty", False)),
        ]
    return [("remote held", Held("RemoteControl")), ("on", StateIs("Television", "on", True))]


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
