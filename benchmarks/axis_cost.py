"""Cost of an axis over the clean episode: CPU time of the same episode perturbed and clean, by
turns, so that a busy machine slows both alike.

    python benchmarks/axis_cost.py --axis camera noise --rounds 9

An episode is its reset, and so many control steps of which a policy sees both cameras at 256
pixels. The ratio is the median over rounds of the ratios within a round.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
import tyro
from common import print_table

from clevrskills.core.env import RecordableEnv
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import Perturbable, default_cameras, load_suite


@dataclass
class Args:
    """What to measure."""

    axis: tuple[str, ...] = ()
    """Axes; by default all but embodiment, which is another robot."""
    level: int = 3
    """Their level."""
    task: str = "sort"
    """The task."""
    steps: int = 20
    """Control steps of an episode."""
    rounds: int = 9
    """How often each is run, after one run that does not count."""


def run(env: RecordableEnv, episode: Any, steps: int) -> float:
    """CPU-seconds of an episode in which nothing is done."""
    begin = time.process_time()
    env.reset(options={"episode": episode})
    nothing = [0.0] * 6 + [-1.0]
    for _ in range(steps):
        env.capture()
        env.step(torch.tensor(nothing).numpy())
    return time.process_time() - begin


def main(args: Args) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    suite = load_suite()
    assert isinstance(suite, Perturbable)
    axes = args.axis or tuple(name for name in suite.axes() if name != "embodiment")
    cameras = tuple(default_cameras(suite))
    env = suite.make(EnvConfig(args.task, "train", cameras=cameras, size_px=256))
    assert isinstance(env, RecordableEnv)
    clean = suite.frozen(args.task, "train")[0]
    rows: list[list[object]] = []
    for name in axes:
        perturbed = suite.perturb(clean, {name: args.level})
        pairs = []
        for _ in range(1 + args.rounds):
            pairs.append((run(env, clean, args.steps), run(env, perturbed, args.steps)))
        ratios = [other / own for own, other in pairs[1:]]
        ms = statistics.median(1e3 * own / args.steps for own, _ in pairs[1:])
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append([name, f"{ms:.1f}", f"{statistics.median(ratios):.2f}", spread])
    env.close()
    title = f"{args.task}, level {args.level}, {args.steps} control steps"
    print_table(title, ["axis", "clean, CPU-ms a step", "ratio", "least to greatest"], rows)


if __name__ == "__main__":
    main(tyro.cli(Args))
