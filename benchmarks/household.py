"""The household of AsgardBench without images: how fast its rules are, and how often it is solved.

    python benchmarks/household.py --episodes 1000

Verbs with visibility a second of one core: those of the solver's plans, which are done, and random
ones, most of which are refused; with the ratio to hashes of the state in the same run. Then the
instances of ``test`` and as many of ``train`` as asked for, by the solver, in the three readings,
each played under the rules of its own.
"""

from __future__ import annotations

import time

import numpy as np
import tyro
from common import print_table

from clevrskills.core.suite import load_suite
from clevrskills.suites.asgardbench.env import house_of
from clevrskills.suites.asgardbench.rules.layout import Placed
from clevrskills.suites.asgardbench.rules.verbs import VERBS, apply
from clevrskills.suites.asgardbench.rules.world import World
from clevrskills.suites.asgardbench.tasks.goals import READINGS, goal_of
from clevrskills.suites.asgardbench.tasks.instances import TABLE, Variant, draw_variant
from clevrskills.suites.asgardbench.tasks.setup import set_up
from clevrskills.suites.asgardbench.tasks.solver import StuckError, reaches, solve
from clevrskills.suites.symbolic import SymbolicEpisode


def main(episodes: int = 100, verbs: int = 3000, repeats: int = 5) -> None:
    """Measure.

    Args:
        episodes: Instances of ``train``.
        verbs: Random verbs to try.
        repeats: How often each rate is measured.
    """
    suite = load_suite("asgardbench")
    test = []
    for task in TABLE:
        for episode in suite.frozen(task, "test"):
            assert isinstance(episode, SymbolicEpisode)
            variant = Variant.from_json(episode.start["variant"])
            test.append((task, variant, [Placed(**t) for t in episode.start["things"]]))
    houses = [house_of(*about) for about in test]
    plans = [(house, solve(*about[:2], house)) for about, house in zip(test, houses, strict=True)]
    rng = np.random.default_rng(0)
    some = [(house, _random(house, rng, verbs // len(houses) + 1)) for house in houses]
    _rate(plans[::9])  # shapes are made once
    found = []
    for _ in range(repeats):  # side by side, as other work on the machine comes and goes
        hashes = _hashes(houses)
        found.append((_rate(plans), _rate(some), hashes))
    of_plans, random, hashes = np.median(found, axis=0).tolist()
    ratios = np.median([[row[0] / row[2], row[1] / row[2]] for row in found], axis=0).tolist()
    rates: list[list[object]] = [
        ["of plans", round(of_plans), round(ratios[0], 2)],
        ["random", round(random), round(ratios[1], 2)],
        ["state hashes", round(hashes), 1.0],
    ]
    print_table("A CPU-second, median", ["what", "rate", "to a hash"], rates)
    tasks = list(TABLE)
    drawn = [_drawn(tasks[k % len(tasks)], k) for k in range(episodes)]
    rows: list[list[object]] = []
    for name, instances in (("test", test), ("train, as they are drawn first", drawn)):
        for reading in READINGS:
            solved = sum(_solved(*about, reading) for about in instances)
            rows.append([name, reading, solved, len(instances)])
    print_table("Solved", ["instances", "reading", "solved", "of"], rows)


def _drawn(task: str, number: int) -> tuple[str, Variant, list[Placed]]:
    """An instance that no solver has looked at yet."""
    rng = np.random.default_rng((number, 26))
    variant = draw_variant(task, rng)
    return task, variant, list(set_up(task, variant, rng))


def _solved(task: str, variant: Variant, things: list[Placed], reading: str) -> bool:
    """Whether the solver's plan reaches the goal, under the rules of a reading."""
    house = house_of(task, variant, things, reading)
    try:
        plan = solve(task, variant, house)
    except StuckError:
        return False
    return bool(reaches(plan, house, goal_of(task, variant, reading, house)))


def _rate(plans: list[tuple[World, list[str]]]) -> float:
    """Verbs a CPU-second."""
    begin = time.process_time()
    for house, plan in plans:
        world = house.copy()
        for command in plan:
            apply(world, *command.split())
    return sum(len(plan) for _, plan in plans) / (time.process_time() - begin)


def _hashes(houses: list[World]) -> float:
    """Hashes of states a CPU-second: the yardstick of this machine."""
    begin = time.process_time()
    for house in houses:
        for _ in range(10):
            assert house.state_hash
    return 10 * len(houses) / (time.process_time() - begin)


def _random(house: World, rng: np.random.Generator, many: int) -> list[str]:
    return [f"{rng.choice(VERBS)} {rng.choice(house.types)}" for _ in range(many)]


if __name__ == "__main__":
    tyro.cli(main)
