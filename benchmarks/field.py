"""Cost of LoHoRavens in CPU-seconds: drawing an episode, a reset, a turn of the oracle with the
arm, and images of the map and from above.

    python benchmarks/field.py stack_all_on_zone bowls_matching --episodes 3 --looks flat soft
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Annotated

import torch
import tyro
from common import print_table

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import find_interface, load_suite

IMAGES = 20


@dataclass
class FieldArgs:
    """What is measured."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = (
        *("pick_place_color", "stack_all_on_zone", "bowls_matching", "hidden_in_two_layers"),
        *("move_area", "odd_to_zone", "line_by_color"),
    )
    episodes: int = 3
    seed: int = 50_000
    looks: tuple[str, ...] = ()
    """Looks of images; none: no images."""


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    """Take note of the CPU-seconds of a block."""
    began = time.process_time()
    yield
    into.append(time.process_time() - began)


def main(args: FieldArgs) -> None:
    """Measure, and print."""
    torch.set_num_threads(1)
    suite, rows = load_suite("lohoravens"), list[list[object]]()
    for task in args.tasks:
        env = suite.make(EnvConfig(task, "test", cameras=()))
        draws, resets, turns = list[float](), list[float](), list[float]()
        solved = 0
        for seed in range(args.seed, args.seed + args.episodes):
            with timed(draws):
                episode = suite.draw(task, "test", seed)
            with timed(resets):
                env.reset(options={"episode": episode})
            interface = find_interface(suite)
            oracle = suite.oracle(env, interface)
            rollout = Rollout(env, actuator=interface.begin(env))
            while not rollout.ended:
                with timed(turns):
                    rollout.step(oracle.act())
            solved += rollout.success
        env.close()
        numbers = (f"{median(values):.3f}" for values in (draws, resets, turns))
        rows.append([task, *numbers, f"{solved}/{args.episodes}"])
    print_table("CPU-seconds, medians", ["task", "draw", "reset", "turn", "solved"], rows)
    for look in args.looks:
        env = suite.make(EnvConfig(args.tasks[0], "test", cameras=("map", "top"), look=look))
        env.reset(options={"episode": suite.draw(args.tasks[0], "test", args.seed)})
        env.capture()
        times = list[float]()
        for _ in range(IMAGES):
            with timed(times):
                env.capture()
        env.close()
        print_table(f"Images, {look}", ["map and top"], [[f"{median(times):.3f}"]])


if __name__ == "__main__":
    main(tyro.cli(FieldArgs))
