"""Tests of inflation: exact values and levels."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from clevrskills.evaluation.submission.inflation import LEVEL, Outcomes, excess_p, judge


def test_p_values_are_exact() -> None:
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
    fresh = {k: Outcomes(of, [True] * 10) for k, of in file([0.2] * 12).items()}
    assert judge(fresh, {})[1] == []
    fresh = {k: Outcomes(of, [False] * 10) for k, of in file([0.8] * 12).items()}
    assert judge(fresh, {})[1] == ["all"]
    assert judge({k: Outcomes(of) for k, of in file([0.8]).items()}, {}) == ({}, [])


def test_each_number_is_tested() -> None:
    """One number is inflated, the other one is right."""
    claimed = file([0.9] * 4 + [0.5] * 40)
    tasks = {k: Outcomes(of, [True] * 5 + [False] * 5) for k, of in claimed.items()}
    numbers = {"few": ["0", "1", "2", "3"], "many": [str(k) for k in range(4, 44)]}
    p, failed = judge(tasks, numbers)
    assert failed == ["few"] and set(p) == {"all", "few", "many"}


def test_honest_and_inflated_files() -> None:
    """Of 150 honest files at most one in 200 on average; most of those inflated by 30 points."""
    rng, refused = np.random.default_rng(3), {"honest": 0, "inflated": 0}
    for _ in range(150):
        rate = rng.random((12, 1))
        true, fresh = rng.random((12, 50)) < rate, rng.random((12, 10)) < rate
        more = true.copy()
        more.ravel()[rng.permutation(np.flatnonzero(~true))[:180]] = True
        for kind, claimed in (("honest", true), ("inflated", more)):
            letters = ("".join("01"[int(one)] for one in of) for of in claimed)
            tasks = {
                str(k): Outcomes(of, new.tolist())
                for k, (of, new) in enumerate(zip(letters, fresh, strict=True))
            }
            refused[kind] += bool(judge(tasks, {})[1])
    assert refused["honest"] <= 3 and refused["inflated"] >= 0.8 * 150
    assert LEVEL == pytest.approx(1 / 200)
