"""Cost of the environments in the protocols: CPU-seconds per step or turn, including images, for a
random policy with the observations of the protocol, without the start of a process.

    python benchmarks/protocol_cost.py                       # all suites: what the suites declare
    python benchmarks/protocol_cost.py ivispar --episodes 10
"""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from common import print_table

from clevrskills.core.interface import Interface
from clevrskills.core.policy import Observation, PromptInput
from clevrskills.core.report import Cell, protocol_of
from clevrskills.core.suite import SUITES, Suite, load_suite
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.benchmark.protocol import cell_tasks
from clevrskills.evaluation.evaluate import evaluate
from clevrskills.evaluation.results import read_results

POLICY = "protocol_cost:Random"  # this file


@dataclass
class CostArgs:
    """Suites and episodes to measure."""

    suites: Annotated[tuple[str, ...], tyro.conf.Positional] = tuple(SUITES)
    """Names of suites; default: all."""
    episodes: int = 1
    """Episodes per task."""


class Random:
    """Random policy with default observations."""

    track = "none"

    def __init__(self, suite: Suite, interface: Interface) -> None:
        self._interface = interface

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode."""
        self._generator = np.random.default_rng(prompt.seed)

    def act(self, observation: Observation) -> Any:
        """Return a random action."""
        return self._interface.random(self._generator)


def main(args: CostArgs) -> None:
    """Measure each cell of the protocols and print a table."""
    os.chdir(Path(__file__).parent)
    rows: list[list[object]] = []
    for name in args.suites:
        suite = load_suite(name)
        protocol = protocol_of(suite)
        for cell in protocol.cells if protocol else ():
            tasks = cell_tasks(suite, cell)
            few_steps, start_s = _measure(suite, cell, tasks[:1], 1)
            steps, spent_s = _measure(suite, cell, tasks, args.episodes)
            each = (spent_s - start_s) / (steps - few_steps)
            rows.append([name, cell.name, steps, f"{start_s:.0f}", f"{spent_s:.0f}", f"{each:.4f}"])
    columns = ["suite", "cell", "steps or turns", "CPU s, one episode", "CPU s", "CPU s each"]
    print_table("Cost of the environments", columns, rows)


def _measure(suite: Suite, cell: Cell, tasks: Sequence[str], episodes: int) -> tuple[int, float]:
    """Return the steps or turns, and the CPU-seconds, of some episodes of each task."""
    before = _cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        evaluate(
            EvaluateArgs(
                **cell.options,
                suite=suite.name,
                tasks=tuple(tasks),
                split=(cell.split,),
                episodes=episodes,
                policy=POLICY,
                out=out,
            ),
            suite,
            {},
        )
        steps = sum(result.turns or result.steps for result in read_results(out))
    return steps, _cpu_s() - before


def _cpu_s() -> float:
    """Return the CPU-seconds of this process and of its finished workers."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main(tyro.cli(CostArgs))
