"""Simulation of sequential evaluations: false positives between equal policies, coverage of
intervals, and rounds until a decision.

    nice python benchmarks/sequential.py --out results/sequential.json

Outcomes are independent draws from the success rates of the policies, tested after every round. The
exit code is 1 if a number misses its bound.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from common import print_table
from numpy.typing import NDArray

from clevrskills.evaluation.power import paired_episodes
from clevrskills.evaluation.sequential.confidence import ALPHA, first_within, p_values

Floats = NDArray[np.float64]
Rate = float | Floats
Draw = Callable[[np.random.Generator, tuple[int, int, int]], Floats]
"""Values (runs, rounds, tasks); for two policies (second - first + 1) / 2."""

SEED = 20261124
BATCH = 200
TASKS = (1, 12, 33)
LOOKS = (20, 50, 100)
BARS = {"false alarm": 0.03, "missed": 0.04, "differs once": 0.5}
RATIOS = {1: (1.0, 1.7), 12: (1.3, 2.1), 33: (1.3, 2.1)}
"""Maximum rounds to a decision relative to a fixed test of 90 % power: mean, 90 % quantile."""
Z_LEVEL, Z_POWER = 1.959964, 1.281552


def coins(generator: np.random.Generator, shape: tuple[int, int, int], rate: Rate) -> Floats:
    """Return independent outcomes."""
    return (generator.random(shape) < rate).astype(float)


def independent(
    generator: np.random.Generator, shape: tuple[int, int, int], one: Rate, other: Rate
) -> Floats:
    """Return differences of two policies whose outcomes are independent given their rates."""
    return (coins(generator, shape, other) - coins(generator, shape, one) + 1) / 2


def discordant(
    generator: np.random.Generator, shape: tuple[int, int, int], share: float, difference: float = 0
) -> Floats:
    """Return differences of two policies that disagree on a share of the episodes."""
    u = generator.random(shape)
    wins = (share + difference) / 2
    return (1.0 * (u < wins) - ((u >= wins) & (u < share)) + 1) / 2


def alike(generator: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Return differences of two policies with the same rates, which differ between tasks."""
    rates = generator.beta(0.7, 0.7, (shape[0], 1, shape[2]))
    return independent(generator, shape, rates, rates)


def permuted(generator: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Return differences of two policies with the same rates, of other tasks."""
    rates = generator.beta(0.7, 0.7, (shape[0], 1, shape[2]))
    return independent(generator, shape, rates, generator.permuted(rates, axis=2))


def halves(generator: np.random.Generator, shape: tuple[int, int, int], gap: float) -> Floats:
    """Return differences of policies of which one is better by a gap at half of the tasks, and
    worse by it at the others; of an odd number of tasks one is equal.
    """
    half = shape[2] // 2
    gaps = np.repeat([gap, -gap, 0], [half, half, shape[2] - 2 * half])
    return independent(generator, shape, 0.5 - gaps / 2, 0.5 + gaps / 2)


def one_against_all(generator: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Return differences of policies of which one wins one task and loses the others narrowly."""
    gaps = np.full(shape[2], -0.9 / (shape[2] - 1))
    gaps[0] = 0.9
    return independent(generator, shape, 0.5 - gaps / 2, 0.5 + gaps / 2)


def twins(generator: np.random.Generator, shape: tuple[int, int, int], same: float) -> Floats:
    """Return differences averaged over two splits, a share of whose pairs have equal outcomes."""
    one, other = (independent(generator, shape, 0.5, 0.5) for _ in range(2))
    return (one + np.where(generator.random(shape) < same, one, other)) / 2


def ever_below(draw: Draw, tasks: int, runs: int, mean: float = 0.5) -> dict[int, float]:
    """Return the share of runs that ever had p < 0.05, by the number of rounds.

    Args:
        draw: Function that draws the values.
        tasks: Values per round.
        runs: Simulated runs.
        mean: The true mean.
    """
    generator, ever = np.random.default_rng((SEED, tasks)), []
    for first in range(0, runs, BATCH):
        x = draw(generator, (min(BATCH, runs - first), max(LOOKS), tasks))
        p = np.minimum.accumulate(p_values(x, mean), axis=1)
        ever.append(p[:, np.array(LOOKS) - 1] < ALPHA)
    return dict(zip(LOOKS, np.concatenate(ever).mean(axis=0).tolist(), strict=True))


def missed_beta(tasks: int, runs: int) -> dict[int, float]:
    """Return :func:`ever_below` of the mean, for rates that differ between tasks and runs."""
    generator, ever = np.random.default_rng((SEED, tasks)), []
    for _ in range(0, runs, BATCH):
        rates = generator.beta(0.7, 0.7, (BATCH, 1, tasks))
        x = coins(generator, (BATCH, max(LOOKS), tasks), rates)
        p = np.minimum.accumulate(p_values(x, rates.mean(axis=(1, 2))), axis=1)
        ever.append(p[:, np.array(LOOKS) - 1] < ALPHA)
    return dict(zip(LOOKS, np.concatenate(ever).mean(axis=0).tolist(), strict=True))


def decisions(tasks: int, share: float, difference: float, runs: int) -> dict[str, Any]:
    """Return the rounds until p < 0.05 at a true difference, and those of a fixed test of 90 %
    power: McNemar's exact test for one task, else the z-test of the pooled pairs.
    """
    generator = np.random.default_rng((SEED, tasks))
    root = Z_LEVEL * share**0.5 + Z_POWER * (share - difference**2) ** 0.5
    fixed = (root / difference) ** 2 / tasks
    if tasks == 1:
        fixed = paired_episodes((1 - difference) / 2, difference, share, 0.9)
    rounds = round(8 * fixed) + 8
    found = []
    for _ in range(0, runs, BATCH):
        x = discordant(generator, (BATCH, rounds, tasks), share, difference)
        below = p_values(x) < ALPHA
        found.append(np.where(below.any(axis=1), below.argmax(axis=1) + 1, rounds))
    needed = np.concatenate(found)
    mean, quantile = float(needed.mean()), float(np.quantile(needed, 0.9))
    return {
        "tasks": tasks,
        "discordance": share,
        "fixed": round(fixed, 1),
        "mean": round(mean, 1),
        "quantile_90": quantile,
        "mean_ratio": round(mean / fixed, 3),
        "quantile_ratio": round(quantile / fixed, 3),
        "within_100": float((needed <= 100).mean()),
    }


def widths(tasks: int, width: float, rate: float | None, runs: int) -> dict[str, Any]:
    """Return the rounds until an interval is narrow enough; without a rate they differ."""
    generator, needed = np.random.default_rng((SEED, tasks)), []
    most = 800 if tasks == 1 else 200
    for _ in range(runs):
        rates = generator.beta(0.7, 0.7, tasks) if rate is None else rate
        needed.append(first_within(coins(generator, (1, most, tasks), rates)[0], width) or most)
    return {
        "tasks": tasks,
        "width": width,
        "rate": "mixed" if rate is None else rate,
        "mean": round(float(np.mean(needed)), 1),
        "quantile_90": float(np.quantile(needed, 0.9)),
        "most": most,
    }


def nulls(tasks: int) -> dict[str, Draw]:
    """Return the designs of two policies of equal expected success."""
    found: dict[str, Draw] = {
        f"independent, rate {rate:g}": partial(independent, one=rate, other=rate)
        for rate in (0.1, 0.5, 0.9)
    }
    found |= {
        f"discordant on {100 * share:g} %": partial(discordant, share=share)
        for share in (0.05, 0.1, 0.3, 0.5)
    }
    found |= {"rates differ between tasks": alike}
    found |= {f"twins, {100 * s:g} % the same": partial(twins, same=s) for s in (0.3, 1.0)}
    if tasks > 1:
        found |= {
            "rates permuted between tasks": permuted,
            "20 points apart on halves of the tasks": partial(halves, gap=0.2),
            "90 points apart on halves of the tasks": partial(halves, gap=0.9),
            "90 points ahead at one task": one_against_all,
        }
    return found


def main(
    pairs: int = 10_000, runs: int = 5_000, widths_of: int = 20, out: Path | None = None
) -> None:
    """Simulate, print, write, and compare with the bounds.

    Args:
        pairs: Pairs of equal policies, and policies, per cell.
        runs: Pairs of policies that differ by 20 points, per cell.
        widths_of: Policies per cell of widths.
        out: File for the numbers.
    """
    began_s = time.process_time()
    data: dict[str, Any] = {"pairs": pairs, "runs": runs, "widths_of": widths_of}
    data["equal"] = [
        {"tasks": k, "policies": name, "called_different": ever_below(draw, k, pairs)}
        for k in TASKS
        for name, draw in nulls(k).items()
    ]
    data["missed"] = [
        {"tasks": k, "rates": rate, "missed": ever_below(partial(coins, rate=rate), k, pairs, rate)}
        for k in TASKS
        for rate in (0.05, 0.5, 0.95)
    ] + [{"tasks": k, "rates": "mixed", "missed": missed_beta(k, pairs)} for k in TASKS]
    once = np.full((200, 1), 0.5)
    once[100] = 1.0
    data["one_of_200_p"] = float(p_values(once)[-1])
    data["decisions"] = [decisions(k, d, 0.2, runs) for k in TASKS for d in (0.24, 0.35, 0.5)]
    several = ((12, 0.14), (12, 0.1), (33, 0.1), (33, 0.05))
    cells: list[tuple[int, float, float | None]] = [(1, 0.2, 0.5), (1, 0.14, 0.5), (1, 0.14, 0.05)]
    cells += [(*cell, rate) for rate in (0.5, None) for cell in several]
    data["widths"] = [widths(*cell, widths_of) for cell in cells]
    data["cpu_s"] = round(time.process_time() - began_s)
    if out is not None:
        out.write_text(json.dumps(data, indent=1) + "\n")
    for key, column, value in (
        ("equal", "policies", "called_different"),
        ("missed", "rates", "missed"),
    ):
        rows = [
            [r["tasks"], r[column], *(f"{100 * v:.2f}" for v in r[value].values())]
            for r in data[key]
        ]
        print_table(f"{value}, %", ["tasks", column, *(f"{n} rounds" for n in LOOKS)], rows)
    for key in ("decisions", "widths"):
        print_table(key, [*data[key][0]], [[*row.values()] for row in data[key]])
    failed = list(misses(data))
    print(f"one of 200 episodes differs: p = {data['one_of_200_p']:.2g}; {data['cpu_s']} CPU-s")
    print("\n".join(failed) or "all bounds are met")
    sys.exit(bool(failed))


def misses(data: dict[str, Any]) -> Any:
    """Yield a message for each missed bound."""
    for key, value, bar in (
        ("equal", "called_different", BARS["false alarm"]),
        ("missed", "missed", BARS["missed"]),
    ):
        worst = max(data[key], key=lambda row: max(row[value].values()))
        if max(worst[value].values()) > bar:
            yield f"missed: {value} at most {bar:g}: {worst}"
    if data["one_of_200_p"] <= BARS["differs once"]:
        yield f"missed: one of 200 episodes differs: p = {data['one_of_200_p']}"
    for row in data["decisions"]:
        mean, quantile = RATIOS[row["tasks"]]
        if row["mean_ratio"] > mean or row["quantile_ratio"] > quantile:
            yield f"missed: rounds to a decision, {mean} and {quantile}: {row}"


if __name__ == "__main__":
    tyro.cli(main)
