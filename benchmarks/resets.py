"""What episodes start from: is the goal open, the scene free of overlap, settled and in view, and
do policies without skill fail?

python benchmarks/resets.py --episodes 500 --seed 60000
python benchmarks/resets.py --episodes 100 --policy zero      # to the end, or until all is still
python benchmarks/resets.py --episodes 100 --policy random    # the same with random actions
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Literal

import numpy as np
import tyro
from common import Args, print_table, zero_action

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.evaluation.freeze.screening import succeeds_blindly


@dataclass
class ResetArgs(Args):
    """Starts of episodes."""

    episodes: int = 500
    seed: int = 60_000
    policy: Literal["none", "zero", "random"] = "none"
    """What acts after each reset, to the step limit: nothing, zeros, or numbers drawn evenly from
    -1 to 1."""
    workers: int = 1
    """Processes; each runs one task in one split."""


def look(env: ClevrSkillsEnv, seed: int, policy: str) -> dict[str, bool]:
    """Reset and report what is wrong."""
    env.reset(seed=seed)
    wrong = env.faults()
    generator = np.random.default_rng((seed, 2))

    def action() -> np.ndarray:
        if policy == "zero":
            return zero_action(env)
        return generator.uniform(-1.0, 1.0, 7).astype(np.float32)

    blind = policy != "none" and succeeds_blindly(env, action, steady=policy == "zero")
    return {**wrong, "success without skill": blind}


def run(args: ResetArgs, task: str, split: str) -> list[dict[str, bool]]:
    """Look at all episodes of a task in a split."""
    env = args.env(task, split)
    return [look(env, seed, args.policy) for seed in args.seeds()]


def main(args: ResetArgs) -> None:
    """Run all and print a table."""
    rows: list[list[object]] = []
    columns: list[str] = []
    runs = list(args.runs())
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(run, args, task, split) for task, split in runs]
        for (task, split), job in zip(runs, jobs, strict=True):
            found = job.result()
            columns = list(found[0])
            rows.append(
                [task, split, len(found), *(int(np.sum([f[c] for f in found])) for c in columns)]
            )
            for seed, wrong in zip(args.seeds(), found, strict=True):
                if any(wrong.values()):
                    faults = [name for name, is_wrong in wrong.items() if is_wrong]
                    print(task, split, seed, faults, flush=True)
    print_table("starts of episodes with a fault", ["task", "split", "episodes", *columns], rows)


if __name__ == "__main__":
    main(tyro.cli(ResetArgs, description=__doc__))
