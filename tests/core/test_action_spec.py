"""What a policy says of its actions must be what they mean here."""

from copy import deepcopy
from typing import Any

import pytest

from clevrskills.core.action_spec import check_action_spec
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots.controller import ACTION_SPEC


def test_ours_and_parts_of_ours_fit() -> None:
    check_action_spec(ACTION_SPEC, "mine")
    check_action_spec({}, "mine")
    check_action_spec({"rate_hz": 20.0, "shape": (7,)}, "mine")
    check_action_spec({"parts": [{"name": "rotation", "scale": 0.1 + 1e-9}]}, "mine")


@pytest.mark.parametrize(
    ("part", "field", "value", "name"),
    [
        (None, "frame", "robot base", "frame"),
        (None, "rate_hz", 10, "rate_hz"),
        (None, "shape", [8], "shape"),
        (None, "low", 0.0, "low"),
        ("translation", "scale", 0.05, "translation.scale"),
        ("translation", "unit", "mm", "translation.unit"),
        ("rotation", "form", "euler angles", "rotation.form"),
        ("rotation", "scale", 1, "rotation.scale"),
        ("gripper", "on", "< 0", "gripper.on"),
        ("gripper", "start", 0, "gripper.start"),
    ],
)
def test_each_field_is_compared(part: str | None, field: str, value: Any, name: str) -> None:
    spec = deepcopy(ACTION_SPEC)
    where = next(p for p in spec["parts"] if p["name"] == part) if part else spec
    ours, where[field] = where[field], value
    with pytest.raises(ClevrSkillsError) as error:
        check_action_spec(spec, "mine")
    assert str(error.value) == (
        f"policy mine does not act as the environments do: its {name} is {value!r}, theirs {ours!r}"
    )


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(ClevrSkillsError, match="says angle='deg'; known are shape, low, high"):
        check_action_spec({"angle": "deg"}, "mine")
    with pytest.raises(ClevrSkillsError, match=r"says jaw\.start=6; known are"):
        check_action_spec({"parts": [{"name": "jaw", "start": 6}]}, "mine")
    with pytest.raises(ClevrSkillsError, match="policy mine: its action_spec is of type str"):
        check_action_spec("delta pose", "mine")  # type: ignore[arg-type]
