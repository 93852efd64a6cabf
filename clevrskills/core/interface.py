"""Interfaces: what an answer of a policy means, and how it is read and checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clevrskills.core.policy import PolicyError
from clevrskills.errors import ClevrSkillsError

TOLERANCE = 0.01
"""How far beyond 1 an entry may be: numbers of half precision are rounded by up to 0.008 there."""


class Interface(Protocol):
    """What policies act by; stateless and picklable."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def spec(self) -> Mapping[str, Any]:
        """What an action means, as JSON data; policies may declare the same."""

    def read(self, answer: Any, clip: bool = False) -> Any:
        """The actions of an answer, one after the other.

        Raises:
            PolicyError: It is something else.
        """

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Compare what a policy declares of its actions with :attr:`spec`, field by field.

        Raises:
            ClevrSkillsError: A field differs, or there is no such field.
        """


@dataclass(frozen=True)
class BoxInterface:
    """Actions of n numbers in [-1, 1], alone or several at once.

    Attributes:
        name: Name of the interface.
        spec: What they mean; ``shape`` is ``[n]``.
    """

    name: str
    spec: Mapping[str, Any]

    def read(self, answer: Any, clip: bool = False) -> np.ndarray:
        """The actions of an answer, (H, n) float32 in [-1, 1].

        Args:
            answer: An action (n,) or several (H, n).
            clip: Whether to clip what lies outside [-1, 1] instead of refusing it.

        Raises:
            PolicyError: It is something else, not finite or outside [-1, 1].
        """
        (size,) = self.spec["shape"]
        allowed = f"({size},) or (H, {size})"
        if hasattr(answer, "detach"):  # a torch tensor, wherever it is and whatever its precision
            answer = answer.detach().float().cpu()
        try:
            actions = np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError):
            raise PolicyError(
                f"an action of type {type(answer).__name__}; allowed: numbers {allowed}"
            ) from None
        if actions.shape != (size,) and (actions.ndim != 2 or actions.shape[1] != size):
            raise PolicyError(f"an action of shape {actions.shape}; allowed: {allowed}")
        if not actions.size:
            raise PolicyError("no action: the chunk is empty")
        actions = actions.reshape(-1, size)
        if not np.isfinite(actions).all():
            row, entry = np.argwhere(~np.isfinite(actions))[0]
            raise PolicyError(f"entry {entry} of an action is {actions[row, entry]}, not a number")
        if not clip and np.abs(actions).max() > 1.0 + TOLERANCE:
            row, entry = np.unravel_index(np.abs(actions).argmax(), actions.shape)
            raise PolicyError(
                f"entry {entry} of an action is {actions[row, entry]:.4g}; allowed: -1 to 1 "
                "(--clip clips it)"
            )
        return np.clip(actions, -1.0, 1.0)

    def check(self, theirs: Mapping[str, Any], policy_name: str) -> None:
        """Compare what a policy declares of its actions with :attr:`spec`, field by field.

        Args:
            theirs: As :attr:`spec`; it may say less.
            policy_name: What the policy is called in the message.

        Raises:
            ClevrSkillsError: A field differs, or there is no such field.
        """
        if not isinstance(theirs, Mapping):
            raise ClevrSkillsError(
                f"policy {policy_name}: its action_spec is of type {type(theirs).__name__}; "
                "allowed: a mapping such as clevrskills.sim.robots.delta_action.ACTION_SPEC"
            )
        ours = dict(_fields(self.spec))
        for name, value in _fields(theirs):
            if name not in ours:
                raise ClevrSkillsError(
                    f"policy {policy_name}: its action_spec says {name}={value!r}; "
                    f"known are {', '.join(ours)}"
                )
            if not _equal(value, ours[name]):
                raise ClevrSkillsError(
                    f"policy {policy_name} does not act as the environments do: its {name} is "
                    f"{value!r}, theirs {ours[name]!r}"
                )


def _fields(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values; those of a part as ``rotation.scale``."""
    for name, value in spec.items():
        if name != "parts":
            yield name, value
            continue
        for part in value:
            for key, entry in part.items():
                if key != "name":
                    yield f"{part.get('name')}.{key}", entry


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)
