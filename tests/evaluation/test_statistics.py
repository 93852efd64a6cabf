"""Intervals and tests: against SciPy, against published examples, and by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from clevrskills.evaluation import statistics
from clevrskills.evaluation.statistics import (
    NOTHING,
    Estimate,
    Pairs,
    difference,
    holm,
    interquartile_mean,
    mean,
    over_runs,
    paired_difference,
    rate,
    share,
    wilson,
)


def test_an_estimate_is_printed_with_its_interval() -> None:
    assert Estimate(0.62916, 0.5665, 0.6878, 240).percent() == "62.9 [56.6, 68.8]"
    assert Estimate(-0.05, -0.1, 0.0, 20).percent(sign="+") == "-5.0 [-10.0, +0.0]"
    assert Estimate(3.064, 2.951, 3.1749, 20).text() == "3.06 [2.95, 3.17]"
    assert Estimate(3.0, math.nan, math.nan, 1).text(1) == "3.0 [-, -]"
    assert Estimate(math.nan, math.nan, math.nan, 0).percent() == "-"
    assert Estimate(-1e-9, -1e-9, 0.1, 20).percent() == "0.0 [0.0, 10.0]"


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100, 1320])
def test_wilson_is_that_of_scipy(n: int) -> None:
    for successes in {0, 1, n // 3, n // 2, n - 1, n}:
        reference = binomtest(successes, n).proportion_ci(method="wilson")
        assert wilson(successes, n) == pytest.approx((reference.low, reference.high), abs=1e-9)
    assert wilson(0, n)[0] == 0.0 and wilson(n, n)[1] == 1.0


def test_wilson_without_episodes_is_zero_to_one() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert math.isnan(rate(np.array([], bool)).value)


def test_rate_of_a_task() -> None:
    outcomes = np.array([True] * 7 + [False] * 13)
    assert rate(outcomes) == Estimate(0.35, *wilson(7, 20), 20)
    assert share([outcomes]) == rate(outcomes)


def test_a_mean_is_over_tasks_not_over_episodes() -> None:
    few, many = np.array([1.0, 0.0]), np.zeros(100)
    assert mean([few, many]).value == 0.25
    assert mean([few, many]).n == 102
    assert share([few, many]).value == 0.25
    assert mean([few, np.array([])]).value == 0.5


def test_bootstrap_is_that_of_the_normal_distribution_for_many_episodes() -> None:
    generator = np.random.default_rng(3)
    strata = [generator.normal(task, 1 + task, 400) for task in range(4)]
    estimate = mean(strata)
    half = 1.96 * math.sqrt(sum(s.var(ddof=1) / len(s) for s in strata)) / 4
    assert estimate.low == pytest.approx(estimate.value - half, abs=0.06 * half)
    assert estimate.high == pytest.approx(estimate.value + half, abs=0.06 * half)


def test_bootstrap_is_stratified() -> None:
    """What differs between tasks alone does not widen the interval."""
    spread = [np.full(20, 5.0), np.full(20, 500.0)]
    assert mean(spread) == Estimate(252.5, 252.5, 252.5, 40)


def test_bootstrap_gives_the_same_again_and_leaves_the_global_generator_alone() -> None:
    values = [np.random.default_rng(k).normal(size=30) for k in range(3)]
    state = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    assert mean(values) == mean(values)
    assert np.random.get_state()[1].tolist() == state  # type: ignore[index, union-attr]


def test_one_episode_of_a_task_gives_no_interval_of_a_mean() -> None:
    estimate = mean([np.array([3.0]), np.array([4.0, 5.0])])
    assert estimate.value == 3.75 and math.isnan(estimate.low) and math.isnan(estimate.high)


def test_nothing_is_ever_certain() -> None:
    """Resampling failures alone would say that the rate is exactly 0."""
    failures = share([np.zeros(20)] * 15)
    assert (failures.value, failures.low) == (0.0, 0.0)
    assert failures.high == pytest.approx(wilson(0, 300)[1])
    perfect = share([np.ones(20)] * 6)
    assert perfect.high == 1.0 and perfect.low == pytest.approx(wilson(120, 120)[0])
    one_each = share([np.array([True]), np.array([False])])
    assert (one_each.low, one_each.high) == pytest.approx(wilson(1, 2))


def test_a_level_is_known_better_than_its_pooled_episodes_where_tasks_differ() -> None:
    strata = [np.repeat([1, 0], [19, 1])] * 6 + [np.repeat([1, 0], [1, 19])] * 6
    level, pooled = share(strata), wilson(120, 240)
    assert level.value == pytest.approx(0.5)
    assert pooled[0] < level.low < 0.5 < level.high < pooled[1]


def test_shares_that_are_not_just_0_or_1() -> None:
    values = [np.array([0.0, 0.5, 1.0, 0.5] * 5), np.array([0.25] * 20)]
    estimate = share(values)
    assert estimate.value == 0.375
    assert 0.25 < estimate.low < 0.375 < estimate.high < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("episodes", [5, 20, 100])
@pytest.mark.parametrize(
    "rates",
    [[0.005] * 15, [0.5] * 12, [0.0] * 10 + [0.9] * 2, np.linspace(0.02, 0.98, 12), [0.95] * 6],
)
def test_coverage_of_level_intervals(
    rates: list[float], episodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interval has the true rate in it about 95 times of 100, whatever the tasks are like."""
    monkeypatch.setattr(statistics, "RESAMPLES", 500)
    generator = np.random.default_rng(11)
    hits = 0
    for _ in range(400):
        estimate = share([generator.random(episodes) < p for p in rates])
        hits += estimate.low <= np.mean(rates) <= estimate.high
    assert hits >= 0.9 * 400


def test_counting_pairs() -> None:
    pairs = Pairs.count(np.array([(1, 1), (1, 0), (0, 1), (0, 1), (0, 0)], bool))
    assert pairs == Pairs(1, 1, 2, 1)
    assert (pairs.total, pairs.difference) == (5, 0.2)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(0, 0, 1.0), (0, 5, 0.0625), (5, 0, 0.0625), (1, 1, 1.0), (2, 12, 0.012939453125)],
)
def test_mcnemar(only_a: int, only_b: int, p: float) -> None:
    assert Pairs(7, only_a, only_b, 9).p_value == pytest.approx(p)


def test_newcombe() -> None:
    """The numbers are from the formulas of the paper, worked by hand."""
    pairs = Pairs(both=20, only_a=2, only_b=12, neither=16)
    assert pairs.interval() == pytest.approx((0.0562, 0.3292), abs=5e-5)
    shares = Pairs(0.4, 0.04, 0.24, 0.32)
    assert shares.interval(50) == pytest.approx(pairs.interval())
    swapped = Pairs(20, 12, 2, 16)
    assert swapped.interval() == pytest.approx(tuple(-x for x in reversed(pairs.interval())))


@pytest.mark.parametrize("cells", [(20, 0, 0, 0), (0, 0, 0, 20), (10, 0, 0, 10), (0, 20, 0, 0)])
def test_newcombe_at_the_edges(cells: tuple[int, ...]) -> None:
    pairs = Pairs(*cells)
    low, high = pairs.interval()
    assert -1 <= low <= pairs.difference <= high <= 1
    assert high - low > 0.05


def test_paired_difference_of_one_task_and_of_several() -> None:
    one = np.repeat([(1, 1), (0, 1), (1, 0), (0, 0)], [5, 6, 2, 7], axis=0)
    assert paired_difference([one]) == Estimate(0.2, *Pairs(5, 2, 6, 7).interval(), 20)
    two = paired_difference([one, np.repeat([(0, 0), (0, 1)], [18, 2], axis=0)])
    assert two.value == pytest.approx(0.15) and two.n == 40
    assert -0.02 < two.low < 0.05 and 0.25 < two.high < 0.32
    same = paired_difference([np.ones((20, 2)), np.zeros((20, 2))])
    assert same.value == 0 and same.low < -0.02 and same.high > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("episodes", [5, 20])
@pytest.mark.parametrize(
    "cells",
    [
        [(0.4, 0.1, 0.2, 0.3)] * 6,
        [(0.0, 0.0, 0.01, 0.99)] * 12,
        [(0.9, 0.0, 0.0, 0.1)] * 6 + [(0.1, 0.1, 0.6, 0.2)] * 6,
        [(0.4, 0.1, 0.2, 0.3)],
    ],
)
def test_coverage_of_differences(
    cells: list[tuple[float, ...]], episodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", 500)
    generator = np.random.default_rng(12)
    outcomes = np.array([(1, 1), (1, 0), (0, 1), (0, 0)])
    truth = np.mean([c[2] - c[1] for c in cells])
    hits = 0
    for _ in range(400):
        estimate = paired_difference(
            [outcomes[generator.choice(4, size=episodes, p=c)] for c in cells]
        )
        hits += estimate.low - 1e-12 <= truth <= estimate.high + 1e-12
    assert hits >= 0.91 * 400


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_interquartile_mean_is_that_of_scipy() -> None:
    from scipy.stats import trim_mean

    generator = np.random.default_rng(0)
    for runs in (2, 3, 5):
        scores = generator.uniform(size=(7, runs))
        found = interquartile_mean(list(scores))
        assert found.value == pytest.approx(trim_mean(scores, 0.25, axis=None))
        assert found.low < found.value < found.high and found.n == 7 * runs
        assert found == interquartile_mean(list(scores))


def test_single_runs_have_no_interval() -> None:
    found = interquartile_mean([np.array([0.2, 0.4]), np.array([0.9])])
    assert found.value == pytest.approx(0.5) and math.isnan(found.low)
    assert math.isnan(interquartile_mean([]).value)


def test_extremes_do_not_move_the_interquartile_mean() -> None:
    middle = [np.array([0.4, 0.5]), np.array([0.5, 0.6])]
    far = [np.array([0.0, 0.5]), np.array([0.5, 1.0])]
    assert interquartile_mean(middle).value == interquartile_mean(far).value == 0.5


def test_the_bootstrap_of_runs_covers() -> None:
    """About 95 % of the intervals have the true mean."""
    generator = np.random.default_rng(3)
    tasks = np.linspace(0.2, 0.8, 4)
    hits = 0
    for _ in range(100):
        found = interquartile_mean([generator.normal(mean, 0.05, 8) for mean in tasks])
        hits += found.low <= 0.5 <= found.high
    assert 85 <= hits <= 100


# --- functions of estimates, training runs


def test_a_difference_has_newcombes_interval() -> None:
    one, other = Estimate(0.7, 0.5, 0.8, 10), Estimate(0.4, 0.3, 0.6, 20)
    found = difference(one, other)
    assert found.low == pytest.approx(0.3 - np.hypot(0.2, 0.2))
    assert found.high == pytest.approx(0.3 + np.hypot(0.1, 0.1))
    assert found.n == 10
    assert math.isnan(difference(one, Estimate(0.4, math.nan, math.nan, 1)).low)
    assert math.isnan(difference(NOTHING, one).value)


def test_the_interval_over_runs() -> None:
    """Three runs at 0.4, 0.5, 0.6: 4.303 * 0.1 / sqrt(3) to either side, beside the episodes'."""
    exact = Estimate(0.5, 0.5, 0.5, 60)
    found = over_runs(exact, [0.4, 0.5, 0.6])
    assert (found.value, found.n) == (0.5, 60)
    assert (0.5 - found.low, found.high - 0.5) == pytest.approx((0.2484, 0.2484), abs=1e-4)
    both = over_runs(Estimate(0.5, 0.4, 0.7, 60), [0.4, 0.5, 0.6])
    assert 0.5 - both.low == pytest.approx(math.hypot(0.1, 0.2484), abs=1e-4)
    assert both.high - 0.5 == pytest.approx(math.hypot(0.2, 0.2484), abs=1e-4)


def test_of_one_run_or_equal_ones_the_interval_is_that_over_episodes() -> None:
    whole = Estimate(0.1, 0.05, 0.2, 40)
    assert over_runs(whole, [0.1]) == whole
    found = over_runs(whole, [0.1, 0.1, 0.1])
    assert (found.low, found.high) == pytest.approx((0.05, 0.2))


def test_shares_stay_within_their_range() -> None:
    whole, runs = Estimate(0.1, 0.05, 0.2, 40), [0.0, 0.0, 0.3]
    assert over_runs(whole, runs).low < 0 and over_runs(whole, runs, is_share=True).low == 0


def test_the_interval_over_runs_covers() -> None:
    """About 95 % of the intervals or more have the true rate, where runs and episodes differ."""
    generator = np.random.default_rng(5)
    hits = 0
    for _ in range(200):
        skill, ease = generator.normal(0, 0.5, (3, 1)), generator.normal(0, 1, 40)
        done = generator.normal(size=(3, 40)) < skill + ease  # half of all episodes
        found = over_runs(share([done.mean(0)]), done.mean(1).tolist(), is_share=True)
        hits += found.low <= 0.5 <= found.high
    assert hits >= 185
