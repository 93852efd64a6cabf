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
    """Capacity of a type."""

    slots: int  # places for things of any size up to ``size``
    size: str  # size class of the largest thing that it holds


@dataclass(frozen=True)
class TypeCatalog:
    """Knowledge of the types."""

    sizes: Mapping[str, str]  # size class of each thing that can be picked up
    fits: Mapping[str, frozenset[str]]  # types into or onto which each thing can be put
    fixtures: frozenset[str]  # types of what stays where it is
    containers: Mapping[str, Container]  # how much each type holds
    classes: Mapping[str, Sequence[str]]  # types of each class, such as ``Food``
    slices: Mapping[str, str]  # what each sliceable type becomes
    cooked_by: Mapping[str, str]  # device that cooks a type
    dirtyable: frozenset[str]  # types that get dirty
    fillable: frozenset[str]  # types that hold a liquid
    openable: frozenset[str]  # types with a door, drawer or lid
    toggleable: frozenset[str]  # types that are switched on and off
    # types in which a type is stored, the preferred ones and the others
    homes: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    served_in: Mapping[str, str]  # dish in which a food is served

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
