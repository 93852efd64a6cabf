import numpy as np
import pytest

from clevrskills.solvers.backends.rrt_connect import rrt_connect

LOW, HIGH = np.zeros(2), np.ones(2)
START, GOAL = np.array([0.1, 0.5]), np.array([0.9, 0.5])


def wall(gap):
    """A wall at x = 0.5, 0.02 thick, open for y within an interval."""

    def free(a, b):
        points = a + (b - a) * np.linspace(0, 1, 200)[:, None]
        through = points[np.abs(points[:, 0] - 0.5) < 0.01, 1]
        return bool(((through > gap[0]) & (through < gap[1])).all())

    return free


def plan(gap, seed=0):
    generator = np.random.default_rng(seed)
    return rrt_connect(START, GOAL, LOW, HIGH, wall(gap), 0.1, generator)


@pytest.mark.parametrize("gap", [(0.4, 0.6), (0.85, 1.0)])
def test_a_path_leads_through_the_gap(gap):
    path = plan(gap)
    assert np.array_equal(path[0], START) and np.array_equal(path[-1], GOAL)
    assert all(wall(gap)(a, b) for a, b in zip(path, path[1:], strict=False))
    shortest = 2 * np.hypot(0.4, max(0.0, gap[0] - 0.5))
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).sum() < 1.25 * shortest


def test_one_seed_gives_one_path():
    assert np.array_equal(plan((0.85, 1.0), 3), plan((0.85, 1.0), 3))
    assert not np.array_equal(plan((0.85, 1.0), 3), plan((0.85, 1.0), 4))


def test_a_closed_wall_has_no_path(monkeypatch):
    monkeypatch.setattr("clevrskills.solvers.backends.rrt_connect.SAMPLES", 50)
    assert plan((2.0, 2.0)) is None
