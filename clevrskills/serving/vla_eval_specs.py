"""Actions and observations in the terms of vla-eval, and how ours are called there.

vla-eval describes a part of an action by its number of values, the name of a format and a range. It
has no words for units and frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clevrskills.errors import ClevrSkillsError

DimSpec = Mapping[str, Any]

ACTION: dict[str, DimSpec] = {
    "position": {"name": "position", "dims": 3, "format": "delta_xyz", "range": [-1, 1]},
    "rotation": {"name": "rotation", "dims": 3, "format": "axis_angle", "range": [-1, 1]},
    "gripper": {"name": "gripper", "dims": 1, "format": "binary_close_positive", "range": [-1, 1]},
}
"""Our seven numbers. The gripper is closed while it sucks."""

IMAGE: DimSpec = {"name": "image", "dims": 0, "format": "rgb_hwc_uint8"}
LANGUAGE: DimSpec = {"name": "language", "dims": 0, "format": "language"}
STATE: DimSpec = {"name": "state", "dims": 0, "format": "raw"}

_ANYTHING = "raw"


def check_action_dims(declared: Any, policy_name: str) -> None:
    """Compare what a vla-eval server declares its actions to be with ours.

    A format "raw" declares nothing, and parts that are not declared are not compared.

    Raises:
        ClevrSkillsError: They differ.
    """
    if not isinstance(declared, Mapping):
        raise ClevrSkillsError(f"{policy_name}: its action_spec is no map: {declared!r:.80}")
    for name, theirs in declared.items():
        if not isinstance(theirs, Mapping) or "format" not in theirs:
            raise ClevrSkillsError(f"{policy_name}: its {name} is no DimSpec: {theirs!r:.80}")
        if theirs["format"] == _ANYTHING:
            continue
        ours = ACTION.get(name)
        if ours is None:
            raise ClevrSkillsError(
                f"{policy_name}: its actions have a {name}; allowed: {', '.join(ACTION)}"
            )
        if theirs["format"] != ours["format"] or theirs.get("dims", 0) not in (0, ours["dims"]):
            raise ClevrSkillsError(
                f"{policy_name}: its actions have a {name} of {_said(theirs)}; "
                f"allowed: {_said(ours)}"
            )


def _said(part: DimSpec) -> str:
    return f"{part.get('dims', 0)} x {part['format']}"
