"""Resets of two versions in vector environments, one after the other by turns, so that
a busy machine slows both alike.

    python benchmarks/reset_pairs.py ../other trace neighbour --rounds 12

Each side runs in a process of its own; a round resets eight environments of either.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

ROOT = Path(__file__).parents[1]
ENVIRONMENTS, WARM_UP = 8, 6


@dataclass
class Args:
    """What to measure."""

    other: Annotated[Path, tyro.conf.Positional]
    """Another checkout."""
    tasks: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Keys of tasks."""
    rounds: int = 12
    """How often each side resets all its environments."""
    seed: int = 70_000
    """The first one."""


def serve() -> None:
    """Make environments of tasks and reset them, as lines of JSON ask for; tell CPU-ms a reset."""
    import torch

    from clevrskills.vector import make_vec

    torch.set_num_threads(1)
    several: Any = None
    for line in sys.stdin:
        task, seed = json.loads(line)
        if several is None or several.spec_of_all.task != task:
            several = make_vec(task, ENVIRONMENTS)
            for k in range(WARM_UP):
                several.reset(seed=k * ENVIRONMENTS)
        begin = time.process_time()
        several.reset(seed=seed)
        print(1e3 * (time.process_time() - begin) / ENVIRONMENTS, flush=True)


def side(code: Path) -> subprocess.Popen[str]:
    """A process with the package of a checkout."""
    path = {**os.environ, "PYTHONPATH": str(code.resolve())}
    command = [sys.executable, str(Path(__file__).resolve()), "serve"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=code, env=path, stdin=pipe, stdout=pipe, text=True)


def ask(process: subprocess.Popen[str], task: str, seed: int) -> float:
    """CPU-ms of a reset there."""
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps([task, seed]) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main(args: Args) -> None:
    """Measure and print."""
    sides = [side(args.other), side(ROOT)]
    for task in args.tasks:
        found: list[list[float]] = [[], []]
        for number in range(args.rounds):
            for k in (0, 1) if number % 2 else (1, 0):
                found[k].append(ask(sides[k], task, args.seed + number * ENVIRONMENTS))
        other, this = (statistics.median(values) for values in found)
        print(
            f"{task:22} other {other:6.2f}  this {this:6.2f}  ratio {this / other:.2f}", flush=True
        )
    for process in sides:
        process.communicate()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        main(tyro.cli(Args, description=__doc__))
