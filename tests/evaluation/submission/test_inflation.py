"""Tests of inflation: exact values, levels, and how many episodes are run again."""

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

from clevrskills.evaluation.submission.inflation import (
    FIRST,
    LEVEL,
    Outcomes,
    excess_p,
    judge,
    paired_p,
    sample_size,
    settled,
)


def test_p_values_are_exact() -> None:
    for lost, gained in ((0, 0), (3, 0), (7, 2), (2, 7)):
        expected = 1.0
        if lost + gained:
            expected = binomtest(lost, lost + gained, alternative="greater").pvalue
        assert paired_p(lost, gained) == pytest.approx(expected)
    for claimed, of, now, new in (
        (40, 50, 3, 10),
        (0, 50, 0, 10),
        (50, 50, 10, 10),
        (9, 10, 0, 30),
    ):
        expected = hypergeom.cdf(now, of + new, claimed + now, new)
        assert excess_p([(claimed, of, now, new)]) == pytest.approx(expected)
    one, two = (20, 50, 1, 10), (10, 20, 3, 9)
    first, second = (
        hypergeom(of + new, claimed + now, new).pmf(np.arange(new + 1))
        for claimed, of, now, new in (one, two)
    )
    expected = np.convolve(first, second)[: 1 + 3 + 1].sum()
    assert excess_p([one, two]) == pytest.approx(expected)


def file(rates: list[float], count: int = 50) -> dict[str, str]:
    return {str(k): ("1" * round(rate * count)).ljust(count, "0") for k, rate in enumerate(rates)}


def test_one_sided() -> None:
    """A file that claims too little is not refused."""
    claimed = file([0.2] * 12)
    fresh = {k: Outcomes(of, {0: True}, [True] * 10) for k, of in claimed.items()}
    assert judge(fresh, {}).failed == ()
    fresh = {k: Outcomes(of, {0: False}, [False] * 10) for k, of in file([0.8] * 12).items()}
    assert set(judge(fresh, {}).failed) == {"sample", "fresh", "all"}


def test_each_number_is_tested() -> None:
    """One number is inflated, the other one is right."""
    claimed = file([0.9] * 4 + [0.5] * 40)
    tasks = {k: Outcomes(of, fresh=[True] * 5 + [False] * 5) for k, of in claimed.items()}
    verdict = judge(tasks, {"few": ["0", "1", "2", "3"], "many": [str(k) for k in range(4, 44)]})
    assert verdict.failed == ("few",) and set(verdict.p) == {"fresh", "all", "few", "many"}


def test_honest_and_inflated_files() -> None:
    """Of 300 honest files at most one in 200 on average; most of those inflated by ten points."""
    rng, refused = np.random.default_rng(3), {"honest": 0, "inflated": 0}
    size = sample_size(12 * 50, 12 * 10)
    for _ in range(150):
        rate = rng.random((12, 1))
        true, again = rng.random((2, 12, 50)) < rate
        fresh = rng.random((12, 10)) < rate
        more = true.copy()
        more.ravel()[rng.permutation(np.flatnonzero(~true))[:60]] = True
        chosen = np.sort(rng.permutation(600)[:size])
        for kind, claimed in (("honest", true), ("inflated", more)):
            tasks = {
                str(k): Outcomes(
                    "".join("01"[int(one)] for one in claimed[k]),
                    {int(i) % 50: bool(again.ravel()[i]) for i in chosen if i // 50 == k},
                    [bool(one) for one in fresh[k]],
                )
                for k in range(12)
            }
            refused[kind] += bool(judge(tasks, {}).failed)
    assert refused["honest"] <= 3 and refused["inflated"] >= 0.8 * 150
    assert LEVEL == pytest.approx(1 / 200)


def test_sample_sizes() -> None:
    assert sample_size(600, 120) > 500 and sample_size(1650, 330) < 300
    assert sample_size(60, 10) == 60 and sample_size(10_000, 5_000) == FIRST
    assert settled(3, 100) and not settled(4, 100) and not settled(0, 43) and settled(0, 44)
