"""Symbolic predicates of the household: states, places, events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clevrskills.core.goal import tree
from clevrskills.core.goal.context import Context
from clevrskills.core.goal.logical import Keeping
from clevrskills.core.goal.predicate import Predicate, SymbolicPredicate
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.world import Household


class HouseWorld(Context):
    """Context in which goals of a household are evaluated.

    Args:
        house: The household.
    """

    def __init__(self, house: Household) -> None:
        super().__init__(tuple(house.entities), 1, torch.device("cpu"))
        self.house = house


@dataclass(frozen=True, eq=False)
class _HouseLeaf(SymbolicPredicate):
    """Predicate of one household, true or false."""

    def met(self, house: Household) -> bool:
        """Return whether the predicate holds."""
        raise NotImplementedError

    def credit(self, world: HouseWorld) -> Tensor:
        return torch.tensor([float(self.met(world.house))])

    def realize(self, world: HouseWorld, where: Tensor | None = None) -> None:
        raise NotImplementedError("a household changes by verbs only")


def met_now(goal: Predicate, house: Household) -> bool:
    """Return whether all leaves of a goal hold now, regardless of the history."""
    if isinstance(goal, _HouseLeaf):
        return goal.met(house)
    parts = (*tree.parts(goal), *((goal.kept,) if isinstance(goal, Keeping) else ()))
    return all(met_now(part, house) for part in parts)


@dataclass(frozen=True, eq=False)
class StateIs(_HouseLeaf):
    """Entities of a type are in a state; at least one exists."""

    name: ClassVar[str] = "state_is"
    kind: str  # type
    variable: str  # ``dirty``, ``cooked``, ``filled``, ``open`` or ``on``
    value: bool  # required value
    quantifier: str = "first"  # ``any``, ``all`` or ``first``, by id
    liquid: str = ""  # required liquid, if ``filled``; empty: any

    def met(self, house: Household) -> bool:
        values = [getattr(e, self.variable) for e in house.of_type(self.kind)]
        if self.liquid:
            met = [value == self.liquid for value in values]
        else:
            met = [bool(value) is self.value for value in values]
        if not met:
            return False
        return {"any": any(met), "all": all(met), "first": met[0]}[self.quantifier]

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        state = self.liquid or self.variable
        return f"The {self.kind} is {'' if self.value else 'not '}{state}"


@dataclass(frozen=True, eq=False)
class Contained(_HouseLeaf):
    """An object of a type is directly in or on a container of another type."""

    name: ClassVar[str] = "contained_in"
    kind: str  # type of the object
    container: str  # type of the container
    cooked: bool = False  # whether the object must be cooked
    clean: bool = False  # whether the container must be clean
    alone: bool = False  # whether the container may hold nothing else

    def met(self, house: Household) -> bool:
        return any(
            (parent := house.entities.get(item.parent)) is not None
            and parent.type == self.container
            and not (self.alone and len(house.contents(parent)) > 1)
            and (item.cooked or not self.cooked)
            and not (self.clean and parent.dirty)
            for item in house.of_type(self.kind)
        )

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"The {self.kind} is in the {self.container}"


@dataclass(frozen=True, eq=False)
class Stored(_HouseLeaf):
    """An object is in one of its homes."""

    name: ClassVar[str] = "stored"
    kind: str  # type
    preferred: bool = False  # whether only preferred homes count

    def met(self, house: Household) -> bool:
        first, others = catalogue().homes[self.kind]
        homes = first if self.preferred else (*first, *others)
        return any(house.parent_type(item) in homes for item in house.of_type(self.kind)[:1])

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"The {self.kind} is stored"


@dataclass(frozen=True, eq=False)
class Did(_HouseLeaf):
    """An event has occurred."""

    name: ClassVar[str] = "did"
    verb: str  # ``DRINK`` or ``SPRAY``
    argument: str  # liquid or type; empty: any
    held: bool = False  # whether the vessel must have been held

    def met(self, house: Household) -> bool:
        done = any(v == self.verb and self.argument in ("", what) for v, what in house.events)
        return done and (not self.held or bool(house.held_while_drinking))

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"{self.verb.capitalize()} {self.argument or 'anything'}"


@dataclass(frozen=True, eq=False)
class Held(_HouseLeaf):
    """An object of a type is held."""

    name: ClassVar[str] = "held"
    kind: str  # type

    def met(self, house: Household) -> bool:
        return house.held_type == self.kind

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"The {self.kind} is held"


@dataclass(frozen=True, eq=False)
class ContainsOnly(_HouseLeaf):
    """A container holds objects of all listed types, at any depth, and nothing else."""

    name: ClassVar[str] = "contains_only"
    container: str  # type of the container
    kinds: tuple[str, ...]  # types of the objects

    def met(self, house: Household) -> bool:
        return any(
            {item.type for item in house.all_contents(each)} == set(self.kinds)
            for each in house.of_type(self.container)
        )

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"On the {self.container}: {', '.join(self.kinds)}, nothing else"
