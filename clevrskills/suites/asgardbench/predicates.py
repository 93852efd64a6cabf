"""Leaves of goals in the household: states, places, and what was done."""

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
from clevrskills.suites.asgardbench.rules.world import Entity, Household


class HouseWorld(Context):
    """One household as the goals see it.

    Args:
        house: The household.
    """

    def __init__(self, house: Household) -> None:
        super().__init__(tuple(house.entities), 1, torch.device("cpu"))
        self.house = house


@dataclass(frozen=True, eq=False)
class _HouseLeaf(SymbolicPredicate):
    """A statement about one household, true or false."""

    def met(self, house: Household) -> bool:
        """Return whether it holds."""
        raise NotImplementedError

    def credit(self, world: HouseWorld) -> Tensor:
        return torch.tensor([float(self.met(world.house))])

    def realize(self, world: HouseWorld, where: Tensor | None = None) -> None:
        raise NotImplementedError("a household is changed by its verbs alone")


def met_now(goal: Predicate, house: Household) -> bool:
    """Return whether all leaves of a goal hold at once, whatever held before, without a world."""
    if isinstance(goal, _HouseLeaf):
        return goal.met(house)
    parts = (*tree.parts(goal), *((goal.kept,) if isinstance(goal, Keeping) else ()))
    return all(met_now(part, house) for part in parts)


@dataclass(frozen=True, eq=False)
class StateIs(_HouseLeaf):
    """Things of a type are in a state; there must be one."""

    name: ClassVar[str] = "state_is"
    kind: str  # the type
    variable: str  # ``dirty``, ``cooked``, ``filled``, ``open`` or ``on``
    value: bool  # what it must be; of ``filled`` also a liquid in :attr:`liquid`
    quantifier: str = "first"  # ``any``, ``all`` or ``first``, by id
    liquid: str = ""  # the liquid that is asked for; empty: any

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
    """A thing of a type lies directly in or on something of another type."""

    name: ClassVar[str] = "contained_in"
    kind: str  # the type of the thing
    container: str  # the type of what it is in
    cooked: bool = False  # whether it must be cooked
    clean: bool = False  # whether what it is in must be clean
    alone: bool = False  # whether nothing else may be in that

    def met(self, house: Household) -> bool:
        return any(self._good(house, thing) for thing in house.of_type(self.kind))

    def _good(self, house: Household, thing: Entity) -> bool:
        parent = house.entities.get(thing.parent)
        if parent is None or parent.type != self.container:
            return False
        if self.alone and len(house.contents(parent)) > 1:
            return False
        return (thing.cooked or not self.cooked) and not (self.clean and parent.dirty)

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"The {self.kind} is in the {self.container}"


@dataclass(frozen=True, eq=False)
class Stored(_HouseLeaf):
    """A thing is in one of its homes."""

    name: ClassVar[str] = "stored"
    kind: str  # its type
    preferred: bool = False  # whether only the preferred homes count

    def met(self, house: Household) -> bool:
        first, others = catalogue().homes[self.kind]
        homes = first if self.preferred else (*first, *others)
        return any(house.parent_type(thing) in homes for thing in house.of_type(self.kind)[:1])

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"The {self.kind} is stored"


@dataclass(frozen=True, eq=False)
class Did(_HouseLeaf):
    """Record that an action was done."""

    name: ClassVar[str] = "did"
    verb: str  # ``DRINK`` or ``SPRAY``
    argument: str  # the liquid or the type; empty: any
    held: bool = False  # whether the vessel must have been held

    def met(self, house: Household) -> bool:
        done = any(v == self.verb and self.argument in ("", what) for v, what in house.events)
        return done and (not self.held or bool(house.held_while_drinking))

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"{self.verb.capitalize()} {self.argument or 'anything'}"


@dataclass(frozen=True, eq=False)
class Held(_HouseLeaf):
    """A thing of a type is in the hand."""

    name: ClassVar[str] = "held"
    kind: str  # the type

    def met(self, house: Household) -> bool:
        return house.held_type == self.kind

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"The {self.kind} is held"


@dataclass(frozen=True, eq=False)
class ContainsOnly(_HouseLeaf):
    """Content of a thing: things of all listed types, at any depth, and nothing else."""

    name: ClassVar[str] = "contains_only"
    container: str  # the type of what holds them
    kinds: tuple[str, ...]  # the types

    def met(self, house: Household) -> bool:
        return any(
            {thing.type for thing in house.all_contents(each)} == set(self.kinds)
            for each in house.of_type(self.container)
        )

    def describe(self, world: HouseWorld, env: int = 0) -> str:
        return f"On the {self.container}: {', '.join(self.kinds)}, nothing else"
