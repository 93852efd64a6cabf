"""Sequential evaluation, simulated: coverage, false alarms, episodes saved.

    python benchmarks/sequential.py --policies 10000 --out sequential.json

Policies are simulated as outcomes on a finite set of episodes: tasks with success rates of their
own, each with the same number of frozen episodes, in random order.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.evaluation.sequential.confidence import ALPHA, Bettor, confidence_sequence

SEED = 20261124
EPISODES = 200
"""Frozen episodes of a task."""


def coverage(policies: int, tasks: int, generator: np.random.Generator) -> dict[str, float]:
    """How often the interval holds the mean in all rounds, and whether a test without any
    difference stays silent.
    """
    rates = generator.beta(0.7, 0.7, (policies, tasks, 1))
    wins = generator.random((policies, tasks, EPISODES)) < rates
    rounds = wins.mean(axis=1)
    truth = rounds.mean(axis=-1, keepdims=True)
    bettor = Bettor(truth, EPISODES)
    for k in range(EPISODES):
        bettor.see(rounds[:, k])
    # two policies that win equally often: discordant pairs, half of them each way, shuffled
    share = generator.uniform(0.05, 0.9, (policies, 1, 1))
    ranks = generator.random((policies, tasks, EPISODES)).argsort(axis=-1)
    half = np.floor(share * EPISODES / 2)
    pairs = (ranks < half).astype(float) - ((ranks >= half) & (ranks < 2 * half))
    test = Bettor(np.full((policies, 1), 0.5), EPISODES)
    difference = pairs.mean(axis=1)
    for k in range(EPISODES):
        test.see((difference[:, k] + 1) / 2)
    return {
        "tasks": tasks,
        "policies": policies,
        "coverage": float(1 - bettor.rejected.mean()),
        "false_alarms": float(test.rejected.mean()),
    }


def savings(runs: int, discordance: float, generator: np.random.Generator) -> dict[str, Any]:
    """Episodes until a true difference of 20 points is found, of one task's."""
    plus, minus = (round(EPISODES * (discordance + sign * 0.2) / 2) for sign in (1, -1))
    pairs = np.repeat([1.0, -1.0, 0.0], [plus, minus, EPISODES - plus - minus])
    shuffled = generator.permuted(np.tile(pairs, (runs, 1)), axis=1)
    test, needed = Bettor(np.full((runs, 1), 0.5), EPISODES), np.full(runs, EPISODES)
    for k in range(EPISODES):
        test.see((shuffled[:, k] + 1) / 2)
        found = test.rejected[:, 0] & (needed == EPISODES)
        needed[found] = k + 1
    return {
        "discordance": discordance,
        "power": float(test.rejected.mean()),
        "mean_episodes": float(needed.mean()),
        "quantile_90": float(np.quantile(needed, 0.9)),
        "saved_of_200": float(1 - needed.mean() / EPISODES),
    }


def widths(runs: int, tasks: int, width: float, generator: np.random.Generator) -> dict[str, Any]:
    """Rounds until the interval of the mean over tasks is narrow enough."""
    needed = []
    for _ in range(runs):
        rates = generator.beta(0.7, 0.7, (tasks, 1))
        rounds = (generator.random((tasks, EPISODES)) < rates).mean(axis=0)
        needed.append(confidence_sequence(rounds, EPISODES).first_within(width) or EPISODES)
    return {
        "tasks": tasks,
        "width": width,
        "mean_rounds": float(np.mean(needed)),
        "quantile_90": float(np.quantile(needed, 0.9)),
        "saved_of_200": float(1 - np.mean(needed) / EPISODES),
    }


def main() -> None:
    """Simulate, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    began_s, generator = time.process_time(), np.random.default_rng(SEED)
    data: dict[str, Any] = {"alpha": ALPHA, "episodes": EPISODES}
    data["coverage"] = [coverage(args.policies, tasks, generator) for tasks in (1, 12)]
    data["differences"] = [savings(args.policies, share, generator) for share in (0.24, 0.35, 0.5)]
    data["widths"] = [
        widths(args.runs, tasks, width, generator)
        for tasks, width in ((1, 0.14), (1, 0.2), (12, 0.14), (12, 0.1), (33, 0.1), (33, 0.05))
    ]
    data["cpu_s"] = round(time.process_time() - began_s, 1)
    text = json.dumps(data, indent=1)
    print(text)
    if args.out is not None:
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
