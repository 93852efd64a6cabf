"""Confidence sequences and anytime-valid tests, by simulation."""

import numpy as np
import pytest

from clevrskills.evaluation.sequential.confidence import Bettor, confidence_sequence


def drawn(rates: np.ndarray, episodes: int, seed: int = 0) -> np.ndarray:
    """Outcomes of policies on finite sets of episodes, in random order, (n, episodes)."""
    generator = np.random.default_rng(seed)
    return (generator.random((len(rates), episodes)) < rates[:, None]).astype(float)


@pytest.mark.parametrize("rate", [0.03, 0.5, 0.9])
def test_the_true_mean_is_hardly_ever_rejected(rate: float) -> None:
    values = drawn(np.full(2000, rate), 60)
    bettor = Bettor(values.mean(axis=1, keepdims=True), 60)
    for k in range(60):
        bettor.see(values[:, k])
    assert bettor.rejected.mean() <= 0.05


def test_an_order_that_looks_like_another_mean_is_rejected() -> None:
    """The method can fail: successes first are no random order."""
    values = np.repeat([1.0, 0.0], 30)
    bettor = Bettor(np.array([0.5]), 60)
    for value in values[:30]:
        bettor.see(value)
    assert bettor.rejected.all()


def test_an_interval_shrinks_to_the_mean_of_the_whole_population() -> None:
    (values,) = drawn(np.array([0.7]), 200, seed=3)
    bounds = confidence_sequence(values, 200)
    assert (np.diff(bounds.low) >= 0).all() and (np.diff(bounds.high) <= 0).all()
    assert (bounds.low <= values.mean() + 1e-9).all() and (
        bounds.high >= values.mean() - 1e-9
    ).all()
    assert bounds.low[-1] == pytest.approx(values.mean()) == bounds.high[-1]
    assert bounds.low[0] >= 1 / 200 * values[0] and bounds.high[0] <= 1.0
    wide, narrow = bounds.first_within(0.3), bounds.first_within(0.15)
    assert wide is not None and narrow is not None and wide < narrow < 200


def test_rounds_of_many_tasks_need_fewer() -> None:
    """What is averaged over twenty tasks varies less than one task's outcomes."""
    generator = np.random.default_rng(0)
    one = (generator.random(100) < 0.5).astype(float)
    many = (generator.random((20, 100)) < 0.5).mean(axis=0)
    alone = confidence_sequence(one, 100).first_within(0.2)
    together = confidence_sequence(many, 100).first_within(0.2)
    assert alone is not None and together is not None and together < 0.7 * alone


def test_a_part_of_the_population_says_less_than_all_of_it() -> None:
    (values,) = drawn(np.array([0.5]), 50)
    bounds, of_many = confidence_sequence(values, 50), confidence_sequence(values, 5000)
    assert of_many.high[-1] - of_many.low[-1] > 0.2 > bounds.high[-1] - bounds.low[-1]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="all 2 rounds"):
        confidence_sequence(np.zeros(3), 2)
    with pytest.raises(ValueError, match="allowed: 0 to 1"):
        confidence_sequence(np.array([1.5]), 2)
    assert len(confidence_sequence(np.zeros(0), 2).low) == 0
    assert confidence_sequence(np.ones(1), 40).first_within(0.1) is None
