"""Catalogue: all types of things and fixtures with what they can do; read from one data file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Container:
    """Capacity of a type.

    Attributes:
        slots: Places for things of any size up to ``size``.
        size: Size class of the largest thing that it holds.
    """

    slots: int
    size: str


@dataclass(frozen=True)
class TypeCatalog:
    """Knowledge of the types.

    Attributes:
        sizes: Size class of each thing that can be picked up.
        fits: Types into or onto which each thing can be put.
        fixtures: Types of what stays where it is.
        containers: How much each type holds.
        classes: Types of each class, such as ``Food``.
        slices: What each sliceable type becomes.
        cooked_by: Device that cooks a type.
        dirtyable: Types that get dirty.
        fillable: Types that hold a liquid.
        openable: Types with a door, drawer or lid.
        toggleable: Types that are switched on and off.
        homes: Types in which a type is stored, the preferred ones and the others.
        served_in: Dish in which a food is served.
    """

    sizes: Mapping[str, str]
    fits: Mapping[str, frozenset[str]]
    fixtures: frozenset[str]
    containers: Mapping[str, Container]
    classes: Mapping[str, Sequence[str]]
    slices: Mapping[str, str]
    cooked_by: Mapping[str, str]
    dirtyable: frozenset[str]
    fillable: frozenset[str]
    openable: frozenset[str]
    toggleable: frozenset[str]
    homes: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    served_in: Mapping[str, str]

    @cached_property
    def washable(self) -> frozenset[str]:
        """Types that may get wet: the faucet is kept off by anything else in the sink."""
        return frozenset((*self.classes["Dishes"], *self.classes["Cookware"], "DishSponge"))


@cache
def catalogue() -> TypeCatalog:
    """Return the catalogue of ``catalogue.json``."""
    path = Path(__file__).parent.parent / "catalogue.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    things = data["things"]
    return TypeCatalog(
        sizes={kind: entry["size"] for kind, entry in things.items()},
        fits={kind: frozenset(entry["fits"]) for kind, entry in things.items()},
        fixtures=frozenset(data["fixtures"]),
        containers={kind: Container(**entry) for kind, entry in data["containers"].items()},
        classes=data["classes"],
        slices=data["slices"],
        cooked_by=data["cooked_by"],
        dirtyable=frozenset(data["dirtyable"]),
        fillable=frozenset(data["fillable"]),
        openable=frozenset(data["openable"]),
        toggleable=frozenset(data["toggleable"]),
        homes={kind: (first, others) for kind, (first, others) in data["homes"].items()},
        served_in=data["served_in"],
    )
