"""Predicate: a statement about a world, with its reward, its sentence and its realization."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from clevrskills.core.registry import check_new
from clevrskills.errors import UnknownNameError

__all__ = ["SymbolicPredicate"]

Types = Mapping[str, "type[Predicate]"]
CPU = torch.device("cpu")
GoalState = dict[str, Tensor]
"""State of a goal: what it must remember, by name; every tensor is (B, ...)."""


@dataclass(frozen=True)
class Outcome:
    """Result of evaluating a predicate in a world.

    Attributes:
        holds: (B,) bool.
        reward: On the scale of the published numbers, (B,).
        progress: In [0, 1], 1 exactly where it holds, (B,).
        state: The next goal state.
        children: Outcomes of the parts of a logical predicate.
        credit: Of a leaf, the share of it that counts as met, in [0, 1], (B,); ``None``: 1 where it
            holds, else 0.
    """

    holds: Tensor
    reward: Tensor
    progress: Tensor
    state: GoalState
    children: tuple[Outcome, ...] = ()
    credit: Tensor | None = None

    @classmethod
    def without_rewards(
        cls, holds: Tensor, state: GoalState | None = None, children: tuple[Outcome, ...] = ()
    ) -> Self:
        """Return the outcome in a context in which rewards do not matter: reward and progress 0."""
        zeros = torch.zeros_like(holds, dtype=torch.float32)
        return cls(holds, zeros, zeros, state or {}, children)


PREDICATES: dict[str, type[Predicate]] = {}
"""Predicate types by name, of the modules that were imported; a class enters itself."""


@dataclass(frozen=True, eq=False)
class Predicate(ABC):
    """A statement about the world, in ``B`` environments at once.

    Fields are tensors (B, ...), children or tables, so that a tree can be written to JSON and read
    back. An evaluation depends on a world, which is a
    :class:`~clevrskills.core.goal.context.Context` of the kind that the leaves are about, and a
    goal state, on nothing else, and changes neither.
    """

    name: ClassVar[str]
    """Key of the type, e.g. ``on_top``."""
    goal_words: ClassVar[tuple[str, ...]] = ()
    """Words of relation and order that ask for it, e.g. ``on``, ``onto``; in a wording they stand
    in braces."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            check_new("predicate", cls.name, PREDICATES.get(cls.name), cls)
            PREDICATES[cls.name] = cls

    @property
    @abstractmethod
    def max_reward(self) -> Tensor | float:
        """Return the reward when it holds, a number or (B,)."""

    @abstractmethod
    def evaluate(self, world: Any, state: GoalState) -> Outcome:
        """Evaluate it; the goal state of the outcome is that of the next control step."""

    def holds(self, world: Any, state: GoalState) -> Tensor:
        """Return whether it holds, (B,) bool, as :meth:`evaluate` does, if nothing else matters."""
        return self.evaluate(world, state).holds

    @abstractmethod
    def describe(self, world: Any, env: int = 0) -> str:
        """Return the sentence, with ``{obj:key}`` placeholders, for one environment."""

    @abstractmethod
    def realize(self, world: Any, where: Tensor | None = None) -> None:
        """Change the world so that it holds, in the environments ``where`` (B,) is true."""

    def initial_state(self, world: Any) -> GoalState:
        """Return the goal state at the start of an episode."""
        del world
        return {}

    @property
    def failure_flags(self) -> tuple[str, ...]:
        """Return the names of flags (B,) in the goal state; where the goal is :meth:`unsolvable`,
        one of them is true.
        """
        return ()

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        """Return where it can't be achieved any more, (B,) bool, by reason: what the goal itself
        rules out for good. The reasons do not depend on the state.
        """
        del state
        return {}

    @abstractmethod
    def leaves(self) -> Iterator[Leaf]:
        """Yield the leaves of the tree, in order."""

    @abstractmethod
    def steps(self, env: int = 0) -> Iterator[Predicate]:
        """Yield the parts that one environment achieves one after the other; realizing them in turn
        achieves the whole.
        """

    @abstractmethod
    def next_index(self, outcome: Outcome) -> Tensor:
        """Return the index of the leaf to achieve next, -1 where it holds, (B,)."""

    def next_leaf(self, outcome: Outcome, env: int = 0) -> Leaf | None:
        """Return the leaf to achieve next; ``None`` if it holds."""
        index = int(self.next_index(outcome)[env])
        return None if index < 0 else list(self.leaves())[index]

    @cached_property
    def device(self) -> torch.device:
        """Return the device of its tensors."""
        values = (getattr(leaf, f.name) for leaf in self.leaves() for f in dataclasses.fields(leaf))
        return next((value.device for value in values if isinstance(value, Tensor)), CPU)

    def with_criteria(self, table: Any) -> Self:
        """Return the tree with other tolerances, of the kind that its leaves have."""
        del table
        return self

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data that :func:`from_json` reads."""
        names = [field.name for field in dataclasses.fields(self)]
        return {"predicate": self.name, **{name: self._entry(name) for name in names}}

    def _entry(self, name: str) -> Any:
        """Return a field as JSON data."""
        return _encode(getattr(self, name))

    @classmethod
    def _value(cls, name: str, entry: Any, types: Types) -> Any:
        """Return the value of a field from JSON data."""
        del name
        if isinstance(entry, Mapping):
            return from_json(entry, types)
        if isinstance(entry, list) and any(isinstance(each, Mapping) for each in entry):
            return tuple(from_json(each, types) for each in entry)
        return torch.tensor(entry) if isinstance(entry, list) else entry


@dataclass(frozen=True, eq=False)
class Leaf(Predicate):
    """A predicate that is not made of others."""

    # how much it counts among the leaves of a goal, a number or (B,)
    weight: Tensor | float = dataclasses.field(default=1.0, kw_only=True)

    def to_json(self) -> dict[str, Any]:
        data = super().to_json()
        if data["weight"] == 1.0:
            del data["weight"]
        return data

    def phrases(self, env: int = 0) -> Mapping[str, str]:
        """Return what its sentence says besides bodies, such as a turn in words, by name."""
        del env
        return {}

    def leaves(self) -> Iterator[Leaf]:
        yield self

    def steps(self, env: int = 0) -> Iterator[Predicate]:
        del env
        yield self

    def next_index(self, outcome: Outcome) -> Tensor:
        return -outcome.holds.long()


@dataclass(frozen=True, eq=False)
class SymbolicPredicate(Leaf):
    """A leaf about a world of symbols: its reward and progress are its credit."""

    max_reward = 1.0

    @abstractmethod
    def credit(self, world: Any) -> Tensor:
        """Return the share of it that counts as met, in [0, 1], (B,); it holds where that is 1."""

    def evaluate(self, world: Any, state: GoalState) -> Outcome:
        del state
        credit = self.credit(world)
        return Outcome(credit == 1.0, credit, credit, {}, credit=credit)


def _encode(value: Any) -> Any:
    if isinstance(value, Predicate):
        return value.to_json()
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, tuple):
        return [_encode(v) for v in value]
    return value


def from_json(data: Mapping[str, Any], types: Types) -> Predicate:
    """Read a goal tree.

    Args:
        data: What :meth:`Predicate.to_json` returned.
        types: Predicate types by name, such as those of
            :func:`clevrskills.predicates.predicate_types`.

    Raises:
        UnknownNameError: The type of a predicate or a field of it is unknown.
    """
    kind = data.get("predicate")
    if kind not in types:
        raise UnknownNameError("predicate", kind, tuple(types))
    cls = types[str(kind)]
    names = [f.name for f in dataclasses.fields(cls)]
    values = {name: entry for name, entry in data.items() if name != "predicate"}
    for name in values:
        if name not in names:
            raise UnknownNameError(f"field of {kind}", name, names)
    return cls(**{name: cls._value(name, entry, types) for name, entry in values.items()})
