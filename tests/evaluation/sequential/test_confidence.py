"""Confidence sequences and anytime-valid tests, by simulation and by hand."""

import numpy as np
import pytest

from clevrskills.evaluation.sequential.confidence import (
    STAKES,
    first_within,
    interval,
    p_values,
    rounds_needed,
)


def drawn(shape: tuple[int, ...], rate: float | np.ndarray, seed: int = 0) -> np.ndarray:
    """Outcomes of policies, (..., rounds, tasks)."""
    return (np.random.default_rng(seed).random(shape) < rate).astype(float)


def pairs(shape: tuple[int, ...], one: float | np.ndarray, other: float | np.ndarray) -> np.ndarray:
    """Differences of two policies' outcomes, from 0 to 1."""
    return (drawn(shape, other, seed=1) - drawn(shape, one, seed=2) + 1) / 2


@pytest.mark.parametrize(
    ("shape", "one", "other"),
    [
        ((2000, 100, 1), 0.5, 0.5),
        ((2000, 40, 4), 0.1, 0.1),
        ((2000, 40, 2), np.array([0.9, 0.1]), np.array([0.1, 0.9])),  # equal in the mean only
    ],
)
def test_equal_policies_are_hardly_ever_called_different(
    shape: tuple[int, ...], one: float | np.ndarray, other: float | np.ndarray
) -> None:
    ever = p_values(pairs(shape, one, other)).min(axis=-1) < 0.05
    assert ever.mean() <= 0.03


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_the_true_rate_is_hardly_ever_missed(rate: float) -> None:
    missed = p_values(drawn((2000, 100, 1), rate), rate).min(axis=-1) < 0.05
    assert missed.mean() <= 0.04


def test_one_who_stops_when_ahead_wins_nothing() -> None:
    """The last look of each pair is where its p-value is least; a fixed test would be fooled."""
    x = pairs((2000, 60, 1), 0.5, 0.5)
    wins, losses = (x == 1).cumsum(axis=1)[..., 0], (x == 0).cumsum(axis=1)[..., 0]
    z = (wins - losses) / np.sqrt(np.maximum(wins + losses, 1))
    assert (z[:, 9:].max(axis=1) > 1.96).mean() > 0.08
    assert (p_values(x).min(axis=1)[z.max(axis=1) > 1.96] < 0.05).mean() < 0.3
    assert ((p_values(x) < 0.05) & (wins > losses)).any(axis=1).mean() <= 0.025


def test_identical_runs_and_runs_that_differ_once() -> None:
    same = np.full((200, 1), 0.5)
    low, high = interval(same)
    assert p_values(same)[-1] == 1.0 and low < 0.5 < high and high - low > 0.01
    same[77] = 1.0
    low, high = interval(same)
    assert p_values(same)[-1] > 0.5 and low < 0.5 < high


def test_discordant_pairs_alone_move_the_p_value_of_one_task() -> None:
    """For n wins in n pairs the evidence is the mean over stakes of (1 + stake) ** n."""
    wins = np.ones((9, 1))
    assert p_values(wins)[[7, 8]] == pytest.approx(
        [2 / np.mean((1 + STAKES) ** n) for n in (8, 9)], rel=1e-9
    )
    assert p_values(wins)[7] > 0.05 > p_values(wins)[8]
    assert p_values(1 - wins) == pytest.approx(p_values(wins))
    among_ties = np.full((50, 1), 0.5)
    among_ties[5:50:5] = 1.0
    assert p_values(among_ties)[-1] == pytest.approx(p_values(wins)[-1])


def test_p_below_alpha_means_that_the_null_is_outside() -> None:
    generator, outside = np.random.default_rng(3), 0
    for _ in range(40):
        one, other = generator.beta(0.7, 0.7, (2, 3))
        x = pairs((int(generator.integers(5, 60)), 3), one, other)
        low, high = interval(x)
        outside += not low < 0.5 < high
        assert (p_values(x)[-1] < 0.05) == (not low < 0.5 < high)
    assert 5 < outside < 35


def test_an_interval_never_widens_and_is_never_a_point() -> None:
    x = drawn((40, 3), np.array([0.2, 0.5, 0.9]), seed=4)
    ends = np.array([interval(x[:n]) for n in range(41)])
    assert ends[0].tolist() == [0.0, 1.0]
    assert (np.diff(ends[:, 0]) >= 0).all() and (np.diff(ends[:, 1]) <= 0).all()
    first = first_within(x, 0.4)
    assert first == np.flatnonzero(ends[:, 1] - ends[:, 0] <= 0.4)[0]
    assert first_within(x, 0.01) is None
    swept = np.ones((40, 33))
    low, high = interval(swept)
    assert low < high == 1.0 and 0 < p_values(swept)[-1] < 1e-200


def test_values_that_are_known_by_their_least_and_most() -> None:
    least = drawn((60, 2), 0.8, seed=5)
    most = np.maximum(least, drawn((60, 2), 0.3, seed=6))
    assert interval(least, most) == (interval(least)[0], interval(most)[1])
    assert 0.05 > p_values(least, most=most)[-1] == pytest.approx(p_values(least)[-1])
    assert p_values(1 - most, most=1 - least)[-1] == pytest.approx(p_values(least)[-1])
    assert p_values(np.zeros((60, 2)), most=np.ones((60, 2)))[-1] == 1.0


def test_rounds_of_several_tasks_need_fewer() -> None:
    one, six = rounds_needed(0.2, 1, 60), rounds_needed(0.2, 6, 60)
    assert one > 100 > 60 > six > 20
    assert rounds_needed(0.1, 6, 60) > 2 * six


def test_values_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        interval(np.array([[1.5]]))
