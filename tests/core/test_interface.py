"""Interfaces: shapes, numbers and range of answers; declared action specs."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from clevrskills.core.interface import in_range
from clevrskills.core.policy import PolicyError
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots.delta_action import ACTION_SPEC, DELTA


def test_actions_and_chunks() -> None:
    one = np.linspace(-1, 1, 7)
    for answer in (one, one[None], one.tolist(), torch.tensor(one, requires_grad=True)):
        actions = DELTA.read(answer)
        assert actions.shape == (1, 7) and actions.dtype == np.float32
        np.testing.assert_array_equal(actions[0], one.astype(np.float32))
    assert DELTA.read(np.zeros((5, 7), int)).shape == (5, 7)


def test_half_precision_may_round_beyond_one() -> None:
    actions = DELTA.read(torch.full((2, 7), 1.0078125, dtype=torch.bfloat16))
    np.testing.assert_array_equal(actions, np.ones((2, 7)))


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_actions_out_of_range(kind: Any) -> None:
    answer = np.zeros((3, 7))
    answer[1, 3], answer[2, 0] = -1.5, 1.008  # the latter as rounded
    actions, outside = in_range(kind(answer))
    assert actions[1, 3] == -1.0 and actions[2, 0] == 1.0
    assert outside.tolist() == [False, True, False]
    with pytest.raises(PolicyError, match="^entry 3 of an action is -1.5; allowed: -1 to 1"):
        in_range(kind(answer), clip=False)
    np.testing.assert_array_equal(DELTA.read(answer), actions)
    with pytest.raises(PolicyError, match="^entry 3 of an action is -1.5; allowed: -1 to 1"):
        DELTA.read(answer, clip=False)
    for wrong in (np.inf, np.nan):
        answer[1, 2] = wrong
        with pytest.raises(PolicyError, match=f"^entry 2 of an action is {wrong}, not a number"):
            in_range(kind(answer))


@pytest.mark.parametrize("answer", [None, {}, [[0] * 7, [0]], "left", object()])
def test_invalid_actions(answer: object) -> None:
    with pytest.raises(
        PolicyError, match="^(an action of (type|shape) .*|no action: .*); allowed: "
    ):
        DELTA.read(answer)


# --- what a policy says of its actions


def test_ours_and_parts_of_ours_fit() -> None:
    DELTA.check(ACTION_SPEC, "mine")
    DELTA.check({}, "mine")
    DELTA.check({"rate_hz": 20.0, "shape": (7,)}, "mine")
    DELTA.check({"parts": [{"name": "rotation", "scale": 0.1 + 1e-9}]}, "mine")


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
        DELTA.check(spec, "mine")
    assert str(error.value) == (
        f"policy mine has other actions than the environments: its {name} is {value!r}, "
        f"theirs {ours!r}"
    )


def test_unknown_names_are_refused() -> None:
    with pytest.raises(
        ClevrSkillsError,
        match="unknown field angle='deg' of its action_spec; allowed: shape, low, high",
    ):
        DELTA.check({"angle": "deg"}, "mine")
    with pytest.raises(ClevrSkillsError, match=r"unknown field jaw\.start=6 of its action_spec"):
        DELTA.check({"parts": [{"name": "jaw", "start": 6}]}, "mine")
    with pytest.raises(ClevrSkillsError, match="policy mine: its action_spec is of type str"):
        DELTA.check("delta pose", "mine")  # type: ignore[arg-type]
