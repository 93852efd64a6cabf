"""Prompts of the oracle planner, and the states in which the oracle hands over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from clevrskills.core.policy import GaveUp
from clevrskills.evaluation.handover import director
from clevrskills.evaluation.handover.director import NO_HANDOVER, STEADY, SubgoalSchedule

LIMIT = 50


class FakeLeaf:
    def __init__(self, name: str) -> None:
        self.name = name


class Oracle:
    """Goes from leaf to leaf as prompted; ``None``: it gives up."""

    def __init__(self, subgoals: Sequence[int | None]) -> None:
        self._left = list(subgoals)
        self.subgoal = -1

    def act(self) -> str:
        subgoal = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        if subgoal is None:
            raise GaveUp("cannot")
        self.subgoal = subgoal
        return "action"


class Actuator:
    limit = LIMIT

    def __init__(self) -> None:
        self.acted: list[str] = []

    def act(self, action: str) -> None:
        self.acted.append(action)


@pytest.fixture
def leaves(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeLeaf]]:
    monkeypatch.setattr(director, "Leaf", FakeLeaf)
    monkeypatch.setattr(director, "leaf_status", lambda goal, outcome: [])
    yield [FakeLeaf("a"), FakeLeaf("b"), FakeLeaf("c")]


def make(
    leaves: Sequence[FakeLeaf], part: str, oracle: Oracle | None = None
) -> tuple[Any, Any, Any]:
    """A director, and an environment whose outcome is the leaf that is next."""
    goal = SimpleNamespace(
        steps=lambda: iter(leaves),
        leaves=lambda: iter(leaves),
        next_leaf=lambda outcome: outcome,
    )
    env = SimpleNamespace(goal=goal, outcome=leaves[0], subgoal_prompt=lambda leaf: leaf.name)
    suite = SimpleNamespace(tasks={}, oracle=lambda env: oracle)
    return SubgoalSchedule(suite, part), env, Actuator()  # type: ignore[arg-type]


def test_a_later_leaf_is_prompted_at_once_and_an_earlier_one_after_a_delay(
    leaves: list[FakeLeaf],
) -> None:
    a, b, c = leaves
    one, env, actuator = make(leaves, "plan")
    start = one.begin(env, actuator)
    assert (start.prompt, start.limit, start.cause) == ("a", LIMIT, "")
    assert one.new_prompt() is None
    env.outcome = b
    assert one.new_prompt() == "b"
    env.outcome = a
    assert [one.new_prompt() for _ in range(STEADY - 1)] == [None] * (STEADY - 1)
    env.outcome = b  # it flickered
    assert one.new_prompt() is None
    env.outcome = a
    assert [one.new_prompt() for _ in range(STEADY)] == [None] * (STEADY - 1) + ["a"]
    env.outcome = c
    assert one.new_prompt() == "c"
    env.outcome = None
    assert one.new_prompt() is None
    assert one.record == {"part": "plan", "leaves": 3, "prompts": 4}


def test_the_policy_begins_where_the_oracle_would_begin_its_leaf(leaves: list[FakeLeaf]) -> None:
    one, env, actuator = make(leaves, "leaf1_own", Oracle([0, 0, 0, 1]))
    start = one.begin(env, actuator)
    assert (start.prompt, start.cause) == ("b", "")
    assert actuator.acted == ["action"] * 3 and one.record["began"] == 3
    env.outcome = leaves[1]
    assert not one.achieved
    env.outcome = leaves[2]
    assert one.achieved


@pytest.mark.parametrize(
    "subgoals", [[0, None], [0, 2], [0, -1], [0]], ids=["gives up", "skips it", "ends", "too slow"]
)
def test_where_the_oracle_does_not_come_to_the_leaf_nothing_begins(
    leaves: list[FakeLeaf], subgoals: list[int | None]
) -> None:
    one, env, actuator = make(leaves, "leaf1_own", Oracle(subgoals))
    assert one.begin(env, actuator).cause == NO_HANDOVER
    assert len(actuator.acted) == (LIMIT if subgoals == [0] else 1)
