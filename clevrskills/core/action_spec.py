"""Whether a policy means by its actions what the environments do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots.controller import ACTION_SPEC


def check_action_spec(theirs: Mapping[str, Any], policy_name: str) -> None:
    """Compare what a policy declares of its actions with :data:`ACTION_SPEC`, field by field.

    Args:
        theirs: As ``ACTION_SPEC``; it may say less.
        policy_name: What the policy is called in the message.

    Raises:
        ClevrSkillsError: A field differs, or there is no such field.
    """
    if not isinstance(theirs, Mapping):
        raise ClevrSkillsError(
            f"policy {policy_name}: its action_spec is of type {type(theirs).__name__}; "
            "allowed: a mapping such as clevrskills.sim.robots.controller.ACTION_SPEC"
        )
    ours = dict(_fields(ACTION_SPEC))
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
