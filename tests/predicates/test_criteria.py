"""The two tables of tolerances: names, numbers, order."""

import dataclasses
from math import inf, radians

import pytest

from clevrskills.predicates import CRITERIA, criteria

AT_LEAST = (
    "pick_clearance_m",
    "support_share",
    "release_distance_m",
    "push_displacement_m",
    "push_gain",
    "push_target_share",
    "topple_angle_rad",
    "fly_distance_m",
)


def test_the_numbers():
    paper, released = criteria("paper"), criteria("released")
    assert (paper.pick_clearance_m, paper.support_share, paper.position_m) == (0.02, 0.5, 0.05)
    assert paper.angle_rad == pytest.approx(radians(5))
    assert released.angle_rad == pytest.approx(radians(18))
    assert released.inside_overhang_m == inf and released.release_distance_m == -inf


def test_the_paper_is_never_the_more_lenient():
    paper, released = criteria("paper"), criteria("released")
    for field in dataclasses.fields(paper):
        a, b = getattr(paper, field.name), getattr(released, field.name)
        if field.name == "name":
            assert (a, b) == ("paper", "released") == tuple(CRITERIA)
        elif field.name == "topple_displacement_m":
            assert a < b  # the paper asks for the tilt alone
        elif field.name in AT_LEAST:
            assert a >= b, field.name  # at least this much is asked for
        else:
            assert a <= b, field.name  # at most this much is allowed
