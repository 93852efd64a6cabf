"""Predicates: statements about a world, with reward, description and realization."""

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
"""Memory of a goal between control steps, by name; every tensor is (B, ...)."""


@dataclass(frozen=True)
class Outcome:
    """Result of evaluating a predicate in a world.

    Attributes:
        holds: Whether the predicate holds, (B,) bool.
        reward: Reward on the published scale, (B,).
        progress: Progress in [0, 1], (B,); 1 exactly where the predicate holds.
        state: The next goal state.
        children: Outcomes of the children of a logical predicate.
        credit: Fraction of a leaf that counts as met, in [0, 1], (B,); ``None``: ``holds``.
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
        """Return an outcome with reward and progress 0, for a context without rewards."""
        zeros = torch.zeros_like(holds, dtype=torch.float32)
        return cls(holds, zeros, zeros, state or {}, children)


PREDICATES: dict[str, type[Predicate]] = {}
"""Predicate types by name; subclasses register themselves when they are defined."""


@dataclass(frozen=True, eq=False)
class Predicate(ABC):
    """Statement about the world in ``B`` environments.

    Fields are tensors (B, ...), children or tables, so that a tree can be written to JSON. An
    evaluation depends only on a world, a :class:`~clevrskills.core.goal.context.Context`, and a
    goal state, and changes neither.
    """

    name: ClassVar[str]
    """Key of the type, e.g. ``on_top``."""
    goal_words: ClassVar[tuple[str, ...]] = ()
    """Words for its relation and order, e.g. ``on``, ``onto``; wordings put them in braces."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            check_new("predicate", cls.name, PREDICATES.get(cls.name), cls)
            PREDICATES[cls.name] = cls

    @property
    @abstractmethod
    def max_reward(self) -> Tensor | float:
        """Reward where the predicate holds, a number or (B,)."""

    @abstractmethod
    def evaluate(self, world: Any, state: GoalState) -> Outcome:
        """Evaluate the predicate; the outcome has the goal state of the next control step."""

    def holds(self, world: Any, state: GoalState) -> Tensor:
        """Return whether the predicate holds, (B,) bool, without the rest of the outcome."""
        return self.evaluate(world, state).holds

    @abstractmethod
    def describe(self, world: Any, env: int = 0) -> str:
        """Return the sentence for one environment, with ``{obj:key}`` placeholders."""

    @abstractmethod
    def realize(self, world: Any, where: Tensor | None = None) -> None:
        """Change the world so that the predicate holds in the environments ``where`` (B,)."""

    def initial_state(self, world: Any) -> GoalState:
        """Return the goal state at the start of an episode."""
        del world
        return {}

    @property
    def failure_flags(self) -> tuple[str, ...]:
        """Names of the flags (B,) in the goal state, one of which is true where it is
        :meth:`unsolvable`.
        """
        return ()

    def unsolvable(self, state: GoalState) -> dict[str, Tensor]:
        """Return where the goal can no longer be achieved, (B,) bool, by reason.

        The set of reasons does not depend on the state.
        """
        del state
        return {}

    @abstractmethod
    def leaves(self) -> Iterator[Leaf]:
        """Yield the leaves of the tree in order."""

    @abstractmethod
    def steps(self, env: int = 0) -> Iterator[Predicate]:
        """Yield the steps of one environment; realizing them in order achieves the goal."""

    @abstractmethod
    def next_index(self, outcome: Outcome) -> Tensor:
        """Return the index of the leaf to achieve next, (B,); -1 where the predicate holds."""

    def next_leaf(self, outcome: Outcome, env: int = 0) -> Leaf | None:
        """Return the leaf to achieve next; ``None`` if the predicate holds."""
        index = int(self.next_index(outcome)[env])
        return None if index < 0 else list(self.leaves())[index]

    @cached_property
    def device(self) -> torch.device:
        """Device of the tensors."""
        values = (getattr(leaf, f.name) for leaf in self.leaves() for f in dataclasses.fields(leaf))
        return next((value.device for value in values if isinstance(value, Tensor)), CPU)

    def with_criteria(self, table: Any) -> Self:
        """Return the tree with other success criteria."""
        del table
        return self

    def to_json(self) -> dict[str, Any]:
        """Return JSON data for :func:`from_json`."""
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
    """Predicate without children."""

    # weight in partial credit, a number or (B,)
    weight: Tensor | float = dataclasses.field(default=1.0, kw_only=True)

    def to_json(self) -> dict[str, Any]:
        data = super().to_json()
        if data["weight"] == 1.0:
            del data["weight"]
        return data

    def phrases(self, env: int = 0) -> Mapping[str, str]:
        """Return phrases of its sentence other than bodies by name, such as an angle in words."""
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
    """Leaf about a symbolic world, whose reward and progress equal its credit."""

    max_reward = 1.0

    @abstractmethod
    def credit(self, world: Any) -> Tensor:
        """Return the fraction that is met, in [0, 1], (B,); the leaf holds where it is 1."""

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
        data: Result of :meth:`Predicate.to_json`.
        types: Predicate types by name, such as those of
            :func:`clevrskills.predicates.predicate_types`.

    Raises:
        UnknownNameError: The type or a field of a predicate is unknown.
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
