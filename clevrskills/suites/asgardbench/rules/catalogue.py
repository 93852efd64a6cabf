"""Catalogue of the types of objects and fixtures with their affordances, from one data file."""

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

    slots: int  # number of objects
    size: str  # size class of the largest object


@dataclass(frozen=True)
class TypeCatalog:
    """Properties of all types."""

    sizes: Mapping[str, str]  # size class of each portable type
    fits: Mapping[str, frozenset[str]]  # types in or on which each type can be put
    fixtures: frozenset[str]  # types that cannot be moved
    containers: Mapping[str, Container]  # capacity of each type
    classes: Mapping[str, Sequence[str]]  # types of each class, such as ``Food``
    slices: Mapping[str, str]  # type of the slices of each sliceable type
    cooked_by: Mapping[str, str]  # device that cooks each type
    dirtyable: frozenset[str]  # types that can be dirty
    fillable: frozenset[str]  # types that hold a liquid
    openable: frozenset[str]  # types with a door, drawer or lid
    toggleable: frozenset[str]  # types that can be switched on and off
    homes: Mapping[str, tuple[Sequence[str], Sequence[str]]]  # preferred and other homes
    served_in: Mapping[str, str]  # dish of each food

    @cached_property
    def washable(self) -> frozenset[str]:
        """Types that may get wet; anything else in the sink blocks the faucet."""
        return frozenset((*self.classes["Dishes"], *self.classes["Cookware"], "DishSponge"))


@cache
def catalogue() -> TypeCatalog:
    """Return the catalogue of ``catalogue.json``."""
    path = Path(__file__).parent.parent / "catalogue.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    items = data["items"]
    return TypeCatalog(
        sizes={kind: entry["size"] for kind, entry in items.items()},
        fits={kind: frozenset(entry["fits"]) for kind, entry in items.items()},
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
