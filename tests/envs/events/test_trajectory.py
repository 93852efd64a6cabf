"""Measures of a trajectory."""

import numpy as np
import pytest

from clevrskills.envs.events.trajectory import path_length_m, spectral_arc_length


def bell(seconds: float, rate_hz: float) -> np.ndarray:
    """Speeds of a minimum-jerk reach."""
    t = np.linspace(0.0, 1.0, round(seconds * rate_hz))
    return 30 * t**2 * (1 - t) ** 2


def test_path_length() -> None:
    assert path_length_m([]) == path_length_m([np.zeros(3)]) == 0.0
    assert path_length_m(np.array([[0, 0, 0], [0.3, 0, 0.4], [0.3, 0, 0]])) == pytest.approx(0.9)


def test_one_reach_is_smoother_than_two_or_a_jerky_one() -> None:
    one = spectral_arc_length(bell(1.0, 100.0), 100.0)
    assert one == pytest.approx(-1.41, abs=0.02)  # as published for a minimum-jerk reach
    two = spectral_arc_length(np.tile(bell(1.0, 100.0), 2), 100.0)
    jerky = bell(1.0, 100.0) * (1 + 0.5 * np.sin(0.3 * np.arange(100)))
    assert two < one - 0.3
    assert spectral_arc_length(jerky, 100.0) < one - 0.1
    assert spectral_arc_length(5 * bell(1.0, 100.0), 100.0) == pytest.approx(one)  # of any size


def test_no_movement() -> None:
    assert spectral_arc_length(np.zeros(10), 20.0) == 0.0
    with pytest.raises(ValueError, match="speed is empty"):
        spectral_arc_length([], 20.0)
