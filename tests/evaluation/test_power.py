"""Numbers of episodes, against formulas and simulations."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from clevrskills.cli import main
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.power import (
    PlanArgs,
    independent_discordance,
    paired_episodes,
    paired_power,
    plan,
    unpaired_episodes,
)

TRIES = 4000
NOISE = 3 * (0.8 * 0.2 / TRIES) ** 0.5  # three standard errors of a simulated power of 0.8


def test_unpaired_is_that_of_the_textbooks() -> None:
    assert unpaired_episodes(0.4, 0.1) == 388
    assert unpaired_episodes(0.4, -0.1) == unpaired_episodes(0.3, 0.1) == 356
    assert unpaired_episodes(0.4, 0.1, power=0.9) == 519
    assert unpaired_episodes(0.0, 0.1) < unpaired_episodes(0.0, 0.05)


def z_test(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """Whether the two-sided test of two proportions rejects at 0.05."""
    middle = (a + b) / (2 * n)
    error = np.sqrt(2 * middle * (1 - middle) / n)
    statistic = np.divide((b - a) / n, error, out=np.zeros(len(a)), where=error > 0)
    return np.abs(statistic) > norm.ppf(0.975)


@pytest.mark.parametrize(("rate", "difference"), [(0.4, 0.1), (0.1, 0.15), (0.7, -0.2)])
def test_power_of_the_unpaired_number(rate: float, difference: float) -> None:
    n = unpaired_episodes(rate, difference)

    def power(n: int) -> float:
        generator = np.random.default_rng(1)
        a = generator.binomial(n, rate, TRIES)
        b = generator.binomial(n, rate + difference, TRIES)
        return float(z_test(a, b, n).mean())

    assert power(n) == pytest.approx(0.8, abs=0.025)
    assert power(n // 2) < 0.65


def simulated(difference: float, discordant: float) -> Callable[[int], float]:
    """The power of McNemar's exact test by simulation."""
    p_values: dict[tuple[int, int], float] = {}

    def p_value(wins: int, all_: int) -> float:
        if (wins, all_) not in p_values:
            p_values[wins, all_] = binomtest(wins, all_).pvalue if all_ else 1.0
        return p_values[wins, all_]

    def power(n: int) -> float:
        generator = np.random.default_rng(2)
        better = (discordant + difference) / 2
        cells = generator.multinomial(n, [better, discordant - better, 1 - discordant], size=TRIES)
        return float(np.mean([p_value(w, w + loss) <= 0.05 for w, loss, _ in cells.tolist()]))

    return power


@pytest.mark.parametrize(
    ("rate", "difference", "discordant"), [(0.4, 0.1, 0.3), (0.4, -0.2, 0.3), (0.0, 0.1, 0.1)]
)
def test_power_of_the_paired_number(rate: float, difference: float, discordant: float) -> None:
    n = paired_episodes(rate, difference, discordant)
    power = simulated(difference, discordant)
    assert power(n) == pytest.approx(paired_power(n, difference, discordant), abs=NOISE)
    assert paired_power(n, difference, discordant) >= 0.8
    assert paired_power(n - 1, difference, discordant) < 0.8
    assert power(round(0.6 * n)) < 0.7


def test_a_test_without_a_difference_seldom_finds_one() -> None:
    assert 0.01 < paired_power(200, 0.0, 0.3) <= 0.05


def test_pairs_save_episodes() -> None:
    """Where both succeed at the same episodes, few are needed."""
    needed = [paired_episodes(0.4, 0.1, share) for share in (0.1, 0.2, 0.3, 0.5)]
    assert needed == sorted(needed)
    assert needed[0] < 100 < needed[2] < unpaired_episodes(0.4, 0.1)
    assert paired_episodes(0.4, 0.1, independent_discordance(0.4, 0.5)) == pytest.approx(
        unpaired_episodes(0.4, 0.1), rel=0.1
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate": 0.4, "difference": 0.7}, "rate + difference must be between 0 and 1, not 1.1"),
        ({"rate": -0.1, "difference": 0.2}, "rate must be between 0 and 1, not -0.1"),
        ({"rate": 0.4, "difference": 0.0}, "difference must not be 0"),
        ({"rate": 0.4, "difference": 0.1, "power": 1.0}, "power must be between 0 and 1, not 1"),
        ({"rate": 0.4, "difference": 0.1, "power": 0.04}, "power must be greater than alpha"),
        ({"rate": 0.4, "difference": 0.1, "tasks": 0}, "--tasks must be at least 1, not 0"),
        ({"rate": 0.4, "difference": 0.1, "discordant": 0.3}, "--discordant requires --paired"),
        (
            {"rate": 0.4, "difference": 0.1, "discordant": 0.05, "paired": True},
            "the discordant share must be between 0.1 and 0.9 for rates of 0.4 and 0.5, not 0.05",
        ),
        ({"rate": 0.4, "difference": 1e-4, "paired": True}, "more than 1000000 episodes"),
    ],
)
def test_bad_input(given: dict, said: str) -> None:
    with pytest.raises(ClevrSkillsError, match="^.*" + said.replace("+", r"\+")):
        plan(PlanArgs(**given))


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = "plan --rate 0.4 --difference 0.1 --paired --discordant 0.3 --tasks 12"
    assert main(command.split()) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "249 episodes per policy: 21 for each of 12 tasks"
    assert second.startswith("to distinguish 50 % from 40 % with power 0.8 (McNemar's exact test")
    assert main([*command.split(), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["episodes"], data["episodes_per_task"], data["discordant"]) == (249, 21, 0.3)
    assert main("plan --rate 0.4 --difference 0.1".split()) == 0
    assert capsys.readouterr().out.startswith("388 episodes per policy\n")
    assert main("plan --rate 2 --difference 0.1".split()) == 2
    assert capsys.readouterr().err.count("\n") == 1
