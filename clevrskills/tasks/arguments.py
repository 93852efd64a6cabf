"""Arguments of tasks with their allowed values."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from clevrskills.errors import ClevrSkillsError

Count = tuple[int, int]
"""Least and greatest number, from which each episode samples one."""


@dataclasses.dataclass(frozen=True)
class Allowed:
    """Allowed values of a task's argument."""

    values: tuple[Any, ...]  # all allowed values; consecutive for numbers
    is_count: bool  # whether the argument is a range of numbers, otherwise a choice

    def read(self, name: str, given: Any) -> Any:
        """Return the range of numbers, the values to choose from, or the state of a switch.

        Raises:
            ClevrSkillsError: The argument is not allowed.
        """
        values = tuple(given) if isinstance(given, list | tuple) else (given,)
        known = all(type(v) in {type(a) for a in self.values} and v in self.values for v in values)
        if self.is_count:
            values = values * 2 if len(values) == 1 else values
            known = known and len(values) == 2 and values[0] <= values[1]
        if not known or not values:
            raise ClevrSkillsError(f"{name}={given!r}; allowed: {self}")
        return values

    def __str__(self) -> str:
        if self.is_count:
            low, high = self.values[0], self.values[-1]
            return f"a number or a pair (least, most) from {low} to {high}"
        return "one or several of " + ", ".join(map(repr, self.values))


@dataclasses.dataclass(frozen=True)
class Switch(Allowed):
    """Allowed values of a task's argument that is true or false."""

    values: tuple[Any, ...] = (False, True)
    is_count: bool = False

    def read(self, name: str, given: Any) -> Any:
        if not isinstance(given, bool):
            raise ClevrSkillsError(f"{name}={given!r}; allowed: {self}")
        return given

    def __str__(self) -> str:
        return "True or False"


def count(low: int, high: int, most: int | None = None) -> Any:
    """Return the field of a number, by default from ``low`` to ``high``, at most ``most``."""
    allowed = Allowed(tuple(range(low, (most or high) + 1)), True)
    return dataclasses.field(default=(low, high), metadata={"allowed": allowed})


def choice(*values: Any) -> Any:
    """Return the field of a value sampled from some; an argument may restrict them."""
    return dataclasses.field(default=values, metadata={"allowed": Allowed(values, False)})


def switch() -> Any:
    """Return the field of a switch that is off by default."""
    return dataclasses.field(default=False, metadata={"allowed": Switch()})


def allowed_arguments(task: Any) -> Mapping[str, Allowed]:
    """Return the arguments of a task or its class."""
    return {f.name: f.metadata["allowed"] for f in dataclasses.fields(task) if f.metadata}
