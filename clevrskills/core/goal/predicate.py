"""What every predicate offers: whether it holds, how close it is, what it says, how it looks."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from clevrskills.errors import UnknownNameError
from clevrskills.predicates.criteria import PAPER, Criteria, criteria
from clevrskills.sim.world import World

CPU = torch.device("cpu")
GoalState = dict[str, Tensor]
"""What a goal must remember, by name; every tensor is (B, ...)."""


@dataclass(frozen=True)
class Outcome:
    """What a predicate says of a world.

    Attributes:
        holds: (B,) bool.
        reward: On the scale of the published numbers, (B,).
        progress: In [0, 1], 1 exactly where it holds, (B,).
        state: The goal state after this look at the world.
        children: Outcomes of the parts of a logical predicate.
    """

    holds: Tensor
    reward: Tensor
    progress: Tensor
    state: GoalState
    children: tuple[Outcome, ...] = ()


_TYPES: dict[str, type[Predicate]] = {}


@dataclass(frozen=True, eq=False)
class Predicate(ABC):
    """A statement about the world, in ``B`` environments at once.

    Fields are tensors (B, ...), children or tables, so that a tree can be written to JSON and read
    back. A predicate looks at a world and a goal state and at nothing else: looking twice gives the
    same answer twice.
    """

    name: ClassVar[str]
    """Key of the type, e.g. ``on_top``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            _TYPES[cls.name] = cls

    @property
    @abstractmethod
    def max_reward(self) -> Tensor | float:
        """The reward when it holds, a number or (B,)."""

    @abstractmethod
    def evaluate(self, world: World, state: GoalState) -> Outcome:
        """Look at the world; called once per control step."""

    @abstractmethod
    def says(self, world: World, env: int = 0) -> str:
        """The sentence, with ``{obj:key}`` placeholders, for one environment."""

    @abstractmethod
    def realise(self, world: World, where: Tensor | None = None) -> None:
        """Change the world so that it holds, in the environments ``where`` (B,) is true."""

    def initial_state(self, world: World) -> GoalState:
        """The goal state at the start of an episode."""
        del world
        return {}

    def leaves(self) -> Iterator[Predicate]:
        """The physical predicates of the tree, in order."""
        yield self

    def steps(self, env: int = 0) -> Iterator[Predicate]:
        """The parts that one environment achieves one after the other; realising them in turn
        achieves the whole.
        """
        del env
        yield self

    def next_index(self, outcome: Outcome) -> Tensor:
        """Which of the :meth:`leaves` is to be achieved next, -1 where it holds, (B,)."""
        return -outcome.holds.long()

    def next_leaf(self, outcome: Outcome, env: int = 0) -> Predicate | None:
        """The physical predicate that is to be achieved next, ``None`` if it holds."""
        index = int(self.next_index(outcome)[env])
        return None if index < 0 else list(self.leaves())[index]

    @property
    def device(self) -> torch.device:
        """Where its numbers are."""
        values = (getattr(leaf, f.name) for leaf in self.leaves() for f in dataclasses.fields(leaf))
        return next((value.device for value in values if isinstance(value, Tensor)), CPU)

    def using(self, table: Criteria) -> Self:
        """The same tree with other tolerances."""
        del table
        return self

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data that :func:`from_json` reads."""
        data: dict[str, Any] = {"predicate": self.name}
        for field in dataclasses.fields(self):
            data[field.name] = _encode(getattr(self, field.name))
        return data


@dataclass(frozen=True, eq=False)
class PhysicalPredicate(Predicate):
    """A predicate about bodies and the robot; success and reward follow from the same
    measurements.
    """

    criteria: Criteria = dataclasses.field(default=PAPER, kw_only=True)

    def using(self, table: Criteria) -> Self:  # noqa: D102
        return dataclasses.replace(self, criteria=table)

    def outcome(self, holds: Tensor, shaping: Tensor, progress: Tensor | None = None) -> Outcome:
        """Build the outcome.

        Args:
            holds: Whether it holds, (B,).
            shaping: The reward short of success, on the published scale, (B,).
            progress: How far it is short of success, in [0, 1], (B,); ``None``: the share that
                the shaping has of the greatest reward.
        """
        most = float(self.max_reward)
        short = (shaping / most if progress is None else progress).clamp(0.0, 0.99)
        return Outcome(holds, shaping.masked_fill(holds, most), short.masked_fill(holds, 1.0), {})


def _encode(value: Any) -> Any:
    if isinstance(value, Predicate):
        return value.to_json()
    if isinstance(value, Criteria):
        return value.name
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, tuple):
        return [_encode(v) for v in value]
    return value


def predicate_types() -> Mapping[str, type[Predicate]]:
    """All predicate types of the package by name; every module of ``clevrskills.predicates`` is
    looked at.
    """
    package = importlib.import_module("clevrskills.predicates")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"clevrskills.predicates.{module.name}")
    return _TYPES


def from_json(data: Mapping[str, Any]) -> Predicate:
    """Read a goal tree.

    Raises:
        UnknownNameError: The type of a predicate or a field of it is unknown.
    """
    types, kind = predicate_types(), data.get("predicate")
    if kind not in types:
        raise UnknownNameError("predicate", kind, tuple(types))
    cls = types[str(kind)]
    names = [f.name for f in dataclasses.fields(cls)]
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key == "predicate":
            continue
        if key not in names:
            raise UnknownNameError(f"field of {kind}", key, names)
        if key == "children":
            values[key] = tuple(from_json(v) for v in value)
        elif isinstance(value, Mapping):
            values[key] = from_json(value)
        elif key == "criteria":
            values[key] = criteria(value)
        else:
            values[key] = torch.tensor(value) if isinstance(value, list) else value
    return cls(**values)
