"""Termination of the household: repeats, failures, limits."""

import pytest

from clevrskills.suites.asgardbench.tasks.termination import Termination


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_the_eighth_repeat_of_a_pattern_ends_the_episode(length):
    ends = Termination(100)
    for turn in range(8 * length - 1):
        ends.turn("FIND", f"Thing{turn % length}", ok=True)
        assert ends.reason == ""
    ends.turn("FIND", f"Thing{length - 1}", ok=True)
    assert ends.reason == "repeats"


def test_ten_consecutive_failures_end_the_episode():
    ends = Termination(100)
    for turn in range(9):
        ends.turn("FIND", f"A{turn}", ok=False)
    ends.turn("FIND", "B", ok=True)
    for turn in range(9):
        ends.turn("FIND", f"C{turn}", ok=False)
    assert ends.reason == ""
    ends.turn("", "", ok=False)
    assert ends.reason == "failures"


def test_limits_of_turns():
    few = ("A", "B", "C")
    ends = Termination(4)  # soft 15, hard 20
    order = [few[(turn * turn + turn // 5) % 3] for turn in range(16)]
    for turn, kind in enumerate(order):
        ends.turn("FIND" if turn % 4 else "OPEN", kind, ok=True)
    assert (ends.reason, ends.hit_hard_limit) == ("step limit", False)
    ends = Termination(4)
    for turn in range(20):
        ends.turn("FIND", f"New{turn}", ok=True)
        assert ends.reason == ""
    assert ends.extended
    ends.turn("FIND", "Last", ok=True)
    assert (ends.reason, ends.hit_hard_limit) == ("step limit", True)
